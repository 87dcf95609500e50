//! What modules tell their providers of themselves: `provider_meta` blocks, sent with every call about their objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_evaluator::config::CompiledModule;
use weft_graph_format::address::{ModuleInstance, ProviderSource};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::plan_file::Manifest;
use weft_graph_format::value::Value;

use crate::providers::ProviderSet;

/// What the blocks of all modules say, by [`Manifest::meta_key`].
#[derive(Debug, Default)]
pub(crate) struct ProviderMetas {
    values: BTreeMap<String, Value>,
    /// What is wrong with a block. It is said of every instance that the block would go along with, and of none when
    /// there is no such instance.
    problems: BTreeMap<String, Vec<Diagnostic>>,
}

impl ProviderMetas {
    /// A block whose provider has no resource in its module is not looked at.
    pub(crate) async fn of(root: &Arc<CompiledModule>, providers: &ProviderSet) -> ProviderMetas {
        let mut found = ProviderMetas::default();
        for module in root.all() {
            for (name, block) in &module.settings.provider_metas {
                let source = module.provider_source(name);
                let uses = |local: &str| module.provider_source(local) == source;
                if !module.resources.values().any(|resource| uses(&resource.provider_local_name())) {
                    continue;
                }
                // Who needs the provider says why it is not to be had.
                let Ok(schema) = providers.schema(&source).await else { continue };
                let key = Manifest::meta_key(&module.path, &source);
                let block_schema = &schema.provider_meta.block;
                if block_schema.attributes.is_empty() && block_schema.blocks.is_empty() {
                    let summary = format!("Provider {} doesn't support provider_meta", source.for_display());
                    let detail = "This block has values for a provider that does not take any. Remove the block.";
                    let problem = Diagnostic::error(summary, detail).at(block.range.clone());
                    found.problems.insert(key, vec![problem]);
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

    /// What the plan file keeps for apply.
    pub(crate) fn values(&self) -> &BTreeMap<String, Value> {
        &self.values
    }

    /// What the module of an instance tells the instance's provider of itself.
    pub(crate) fn value(&self, module: &ModuleInstance, provider: &ProviderSource) -> Option<Value> {
        if self.values.is_empty() {
            return None;
        }
        self.values.get(&Manifest::meta_key(&module.config(), provider)).cloned()
    }

    /// Refuses an instance whose module tells the provider what it does not take.
    ///
    /// # Errors
    /// What is wrong with the block of the module.
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
