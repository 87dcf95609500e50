//! Plans single orphans: objects that are in the state but not in the configuration.

use weft_graph_format::address::{ObjectName, ProviderInstance, ResourceInstance, ResourceMode};
use weft_graph_format::changes::Reason;
use weft_graph_format::schema::Schema;

use crate::instance::leaving::Unwanted;
use crate::instance::problems;
use crate::planner::Planner;
use crate::prior::Prior;
use crate::problems::Problems;
use crate::whole::orphans::Orphan;

impl Planner {
    /// Plans an orphan and its deposed objects, according to the kind of plan. A data source is only removed from the
    /// state.
    pub(crate) async fn plan_orphan(&self, orphan: Orphan) -> Result<(), Problems> {
        let Orphan { address, provider: instance, reason, is_selected } = orphan;
        if address.resource.mode != ResourceMode::Managed {
            if is_selected && !self.facts.destroys_unread() {
                // Readers see no object. In destroy plans, there are two exceptions: orphans outside the selection stay
                // in the prior state, and if the plan does not refresh, all orphans stay in the prior state.
                self.found().refreshed.insert(address.clone(), Prior::gone());
            }
            self.note_record(&address, None, &instance);
            return Ok(());
        }
        if self.heed_doubt_of_orphan(&address)? {
            return Ok(());
        }
        let Some(stored) = self.facts.state.get(&address) else { return Ok(()) };
        let schema = self.schema_of(&address, &instance).await?;
        self.recall(&instance).await?;
        if !self.facts.root.has_provider_block(&instance.config()) {
            self.ask.stand_in(&instance).await?;
        } else if self.ask.providers.registered(&instance).is_none() && self.report.has_errors() {
            // The block could not be evaluated.
            return Ok(());
        }
        let in_use = self.ask.open(&instance).await?;
        let through = (&instance, &in_use.provider);
        let record = &stored.instance.record;
        if let Some(object) = &record.current {
            let prior = self.ask.read((&address).into(), object, &schema, through, self.ask.refresh).await?;
            self.note_drift(&address, &instance, &prior, schema.version);
            self.found().refreshed.insert(address.clone(), prior.clone());
            let current = Unwanted {
                address: &address,
                deposed: None,
                instance: &instance,
                provider: &in_use.provider,
                schema: &schema,
                prior: &prior,
                reason,
            };
            self.kind().plan_orphan(self, current).await?;
        }
        for (key, object) in &record.deposed {
            let name = ObjectName { address: &address, deposed: Some(key) };
            let prior = self.ask.read(name, object, &schema, through, self.ask.refresh).await?;
            self.found().deposed.insert((address.clone(), key.clone()), prior.clone());
            let deposed = Unwanted {
                address: &address,
                deposed: Some(key),
                instance: &instance,
                provider: &in_use.provider,
                schema: &schema,
                prior: &prior,
                reason: Reason::None,
            };
            self.kind().plan_orphan(self, deposed).await?;
        }
        Ok(())
    }

    /// The current schema of an object's type.
    async fn schema_of(
        &self,
        address: &ResourceInstance,
        instance: &ProviderInstance,
    ) -> Result<std::sync::Arc<Schema>, Problems> {
        let text = address.to_string();
        let schemas = self.ask.providers.schema(&instance.source).await.map_err(|p| vec![p.about(text.as_str())])?;
        schemas
            .resources
            .get(&address.resource.type_name)
            .cloned()
            .ok_or_else(|| vec![problems::type_removed(&text, &instance.source)])
    }
}
