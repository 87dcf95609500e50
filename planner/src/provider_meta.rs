//! What modules tell their providers of themselves: `provider_meta` blocks, sent with every call about their objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_evaluator::config::CompiledModule;
use weft_graph_format::address::{ProviderSource, ResourceInstance};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::plan_file::Manifest;
use weft_graph_format::value::Value;

use crate::planning::Planning;
use crate::providers::ProviderSet;

/// The blocks of all modules, by [`Manifest::meta_key`], and what is wrong with them. A block whose provider has no
/// resource in its module is not looked at.
pub(crate) async fn provider_metas(
    root: &Arc<CompiledModule>,
    providers: &ProviderSet,
) -> (BTreeMap<String, Value>, Vec<Diagnostic>) {
    let (mut found, mut problems) = (BTreeMap::new(), Vec::new());
    for module in root.all() {
        for (name, block) in &module.provider_metas {
            let source = module.provider_source(name);
            let uses = |local: &str| module.provider_source(local) == source;
            if !module.resources.values().any(|resource| uses(&resource.provider_local_name())) {
                continue;
            }
            // Who needs the provider says why it is not to be had.
            let Ok(schema) = providers.schema(&source).await else { continue };
            let block_schema = &schema.provider_meta.block;
            if block_schema.attributes.is_empty() && block_schema.blocks.is_empty() {
                let detail =
                    "Resources of this module belong to it, and the block says something to them. Take it out.";
                let summary = format!("Provider {} doesn't support provider_meta", source.for_display());
                problems.push(Diagnostic::error(summary, detail).at(block.range.clone()));
                continue;
            }
            match block.settings(block_schema) {
                Ok(value) => drop(found.insert(Manifest::meta_key(&module.path, &source), value)),
                Err(said) => problems.extend(said),
            }
        }
    }
    (found, problems)
}

impl Planning {
    /// What the module of an instance tells the instance's provider of itself.
    pub(crate) fn meta(&self, address: &ResourceInstance, provider: &ProviderSource) -> Option<Value> {
        if self.metas.is_empty() {
            return None;
        }
        self.metas.get(&Manifest::meta_key(&address.config().module, provider)).cloned()
    }
}
