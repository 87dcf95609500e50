//! Provider configurations that state needs and the configuration does not have.

use std::collections::BTreeSet;

use weft_graph_format::address::{InstanceKey, ProviderInstance, ResourceInstance};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;
use weft_state::ResourceMode;

use super::{Planning, Problems};
use crate::providers::missing_instance;

impl Planning {
    /// An error for each provider configuration that is gone although objects whose blocks are gone too need it.
    pub(crate) fn absent_providers(&self) -> Problems {
        let orphans = self.snapshot.instances.iter().filter(|(address, stored)| {
            stored.record.mode == ResourceMode::Managed
                && address.parse::<ResourceInstance>().is_ok_and(|address| !self.blocks.contains_key(&address.config()))
        });
        let needed: BTreeSet<ProviderInstance> =
            orphans.filter_map(|(_, stored)| stored.record.provider.parse().ok()).collect();
        needed
            .into_iter()
            .filter(|instance| !self.root.has_provider(&instance.config()))
            .map(|instance| missing_instance(&ProviderInstance { key: InstanceKey::None, ..instance }))
            .collect()
    }

    /// Takes note of the empty configuration that stands for a provider of the root module without a block, when
    /// nothing but state needs it.
    ///
    /// # Errors
    /// A provider that does not say what it has.
    pub(crate) async fn stand_in(&self, instance: &ProviderInstance) -> Result<(), Problems> {
        let plain = instance.module.is_root() && instance.alias.is_none() && instance.key == InstanceKey::None;
        if !plain || self.providers.registered(instance).is_some() || !self.root.has_provider(&instance.config()) {
            return Ok(());
        }
        let schema = self.providers.schema(&instance.source).await.map_err(|problem: Diagnostic| vec![problem])?;
        let range = SourceRange::default();
        let (config, problems) = weft_evaluator::decode::decode_empty(&schema.provider.block, &range);
        if problems.is_empty() {
            self.providers.register(instance, &config, &range);
        }
        Ok(())
    }
}
