//! `provider_meta` blocks: values that a module sends to its providers with every call.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_evaluator::config::CompiledModule;
use weft_graph_format::address::{ModuleInstance, ProviderSource};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::plan_file::Manifest;
use weft_graph_format::value::Value;

use crate::problems::meta_unsupported;
use crate::providers::ProviderSet;

/// The values of the blocks of all modules, by [`Manifest::meta_key`].
#[derive(Debug, Default)]
pub(crate) struct ProviderMetas {
    values: BTreeMap<String, Value>,
    /// Problems of a block. They are reported for each instance that uses the block. Without such an instance, they are
    /// not reported.
    problems: BTreeMap<String, Vec<Diagnostic>>,
}

impl ProviderMetas {
    /// Evaluates the blocks. A block is ignored if no resource of its module uses the provider.
    pub(crate) async fn of(root: &Arc<CompiledModule>, providers: &ProviderSet) -> ProviderMetas {
        let mut found = ProviderMetas::default();
        for module in root.all() {
            for (name, block) in &module.settings.provider_metas {
                let source = module.provider_source(name);
                let uses = |local: &str| module.provider_source(local) == source;
                if !module.resources.values().any(|resource| uses(&resource.provider_local_name())) {
                    continue;
                }
                // The resources that need the provider report why it is missing.
                let Ok(schema) = providers.schema(&source).await else { continue };
                let key = Manifest::meta_key(&module.path, &source);
                let block_schema = &schema.provider_meta.block;
                if block_schema.attributes.is_empty() && block_schema.blocks.is_empty() {
                    found.problems.insert(key, vec![meta_unsupported(&source, &block.range)]);
                    continue;
                }
                match block.settings(block_schema) {
                    Ok(value) => drop(found.values.insert(key, value)),
                    Err(said) => drop(found.problems.insert(key, said)),
                }
            }
        }
        found
    }

    /// The values for the plan file.
    pub(crate) fn values(&self) -> &BTreeMap<String, Value> {
        &self.values
    }

    /// The value for an instance.
    pub(crate) fn value(&self, module: &ModuleInstance, provider: &ProviderSource) -> Option<Value> {
        if self.values.is_empty() {
            return None;
        }
        self.values.get(&Manifest::meta_key(&module.config(), provider)).cloned()
    }

    /// Checks the `provider_meta` block for this provider in the module of an instance.
    ///
    /// # Errors
    /// Returns the problems of the block.
    pub(crate) fn check(&self, module: &ModuleInstance, provider: &ProviderSource) -> Result<(), Vec<Diagnostic>> {
        if self.problems.is_empty() {
            return Ok(());
        }
        match self.problems.get(&Manifest::meta_key(&module.config(), provider)) {
            Some(problems) => Err(problems.clone()),
            None => Ok(()),
        }
    }
}
