//! The configuration document in a plan, for tools that read plans.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_evaluator::config::{CompiledModule, SourceFiles};
use weft_evaluator::document::{DocumentInputs, document, providers_of};
use weft_graph_format::address::ProviderSource;
use weft_graph_format::schema::ProviderSchema;
use weft_planner::ProviderSet;

use crate::project::of_module;

/// The configuration document as JSON. The function requests the schemas of providers that planning did not need. It
/// ignores failures of these requests, because planning has already reported the failures that matter.
pub async fn text(root: &Arc<CompiledModule>, sources: &SourceFiles, providers: &ProviderSet) -> String {
    let mut schemas: BTreeMap<ProviderSource, Arc<ProviderSchema>> = BTreeMap::new();
    for module in root.all() {
        for source in providers_of(&module) {
            if !schemas.contains_key(&source)
                && let Ok(schema) = providers.schema(&source).await
            {
                schemas.insert(source, schema);
            }
        }
    }
    let inputs = DocumentInputs { schemas: &schemas, sources, constraints: &constraints, alone: false };
    document(root, &inputs).to_string()
}

/// The version constraints of a module for each provider, as text.
pub fn constraints(module: &CompiledModule) -> BTreeMap<ProviderSource, String> {
    let (requirements, _) = of_module(module);
    requirements.into_iter().map(|(source, constraints)| (source, constraints.to_string())).collect()
}
