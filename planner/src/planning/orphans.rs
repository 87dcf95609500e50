//! Objects that state has and the configuration does not want.

use std::sync::Arc;

use weft_evaluator::config::RemovedBlock;
use weft_graph_format::address::{ModuleInstance, ProviderInstance, ResourceInstance, ResourceMode};
use weft_graph_format::changes::Reason;
use weft_graph_format::diagnostic::Diagnostic;

use super::Planning;
use super::records::PendingRecord;
use crate::decide::orphan_reason;
use crate::prior::{Prior, read_prior};

impl Planning {
    /// Plans to delete what nobody wants; data sources are only dropped from state. When evaluation `failed`, what it
    /// may have left out is not touched.
    pub(crate) async fn orphans(self: Arc<Self>, failed: bool) {
        if self.options.importing {
            return;
        }
        let mut tasks = Vec::new();
        for (text, stored) in &self.snapshot.instances {
            let Ok(address) = text.parse::<ResourceInstance>() else {
                self.report_all(vec![Diagnostic::error(
                    "Invalid resource address in state",
                    format!("State has an object under {text:?}, which is no address of a resource instance."),
                )]);
                continue;
            };
            if !self.is_selected_orphan(&address) {
                continue;
            }
            if self.desired.lock().contains(&address) || failed && !self.is_orphan(&address) {
                continue;
            }
            let provider = match stored.record.provider.parse::<ProviderInstance>() {
                Ok(provider) => provider,
                Err(error) => {
                    self.report_all(vec![Diagnostic::error(
                        "Invalid provider address in state",
                        format!("State says that {text} belongs to {:?}: {error}.", stored.record.provider),
                    )]);
                    continue;
                }
            };
            if address.resource.mode != ResourceMode::Managed {
                // It is nothing any more, as far as looking goes.
                self.refreshed.lock().insert(address.clone(), Prior::gone());
                self.records.lock().push(PendingRecord::new(address, None, provider));
                continue;
            }
            let planning = self.clone();
            tasks.push(tokio::spawn(async move { planning.orphan(address, provider).await }));
        }
        for task in tasks {
            match task.await {
                Ok(Ok(())) => {}
                Ok(Err(problems)) => self.report_all(problems),
                Err(_) => self.report_all(vec![Diagnostic::error(
                    "Planning failed",
                    "A task of planning ended early. This is a defect of Weft; please report it.",
                )]),
            }
        }
    }

    async fn orphan(&self, address: ResourceInstance, instance: ProviderInstance) -> Result<(), Vec<Diagnostic>> {
        let text = address.to_string();
        let Some(stored) = self.stored(&address).map(|s| s.record.clone()) else { return Ok(()) };
        let schema = self.providers.schema(&instance.source).await.map_err(|p| vec![p.about(text.as_str())])?;
        let Some(schema) = schema.resources.get(&address.resource.type_name).cloned() else {
            return Err(vec![
                Diagnostic::error(
                    "Invalid resource type",
                    format!(
                        "The provider {} does not know the type of {text} any more. Use a version of it that does.",
                        instance.source.for_display()
                    ),
                )
                .about(text),
            ]);
        };
        self.stand_in(&instance).await?;
        let in_use = self.providers.open(&instance).await?;
        self.report_all(in_use.warnings.clone());
        let reason = if self.options.destroy { Reason::None } else { self.reason(&address) };
        let objects = stored.current.iter().map(|o| (None, o)).chain(stored.deposed.iter().map(|(k, o)| (Some(k), o)));
        for (key, object) in objects {
            let meta = self.meta(&address, &instance.source);
            let (prior, said) =
                read_prior(&address, object, &schema, &in_use.provider, self.options.refresh, meta, &self.watch)
                    .await?;
            self.report_all(said);
            if key.is_none() {
                self.note_drift(&address, &instance, &prior, schema.version);
                self.refreshed.lock().insert(address.clone(), prior.clone());
            }
            if key.is_none()
                && !self.options.destroy
                && !self.options.refresh_only
                && !prior.value.is_null()
                && self.is_left_alone(&address, Some(&prior.record)).is_some()
            {
                self.remark(Diagnostic::warning(
                    "Resource will be removed from the state",
                    format!("{address} is taken out of state and stays in the world: nobody looks after it any more."),
                ));
            }
            if self.options.refresh_only {
                if key.is_none() {
                    self.note_refreshed(&address, &instance, &prior);
                }
                continue;
            }
            let deposed = key.map(|k| weft_graph_format::address::DeposedKey(k.as_str().into()));
            let reason = if deposed.is_some() { Reason::None } else { reason };
            self.plan_delete(&address, deposed, &instance, &in_use.provider, &schema, &prior, reason).await?;
        }
        Ok(())
    }

    /// Whether nothing that evaluation left out could want it: its block is gone, or an expansion that is known does
    /// not have it.
    fn is_orphan(&self, address: &ResourceInstance) -> bool {
        if !self.blocks.contains_key(&address.config()) || self.module_is_there(&address.module) == Some(false) {
            return true;
        }
        let resources = self.resources.lock();
        resources.get(&address.all()).is_some_and(|expansion| !expansion.keys.contains(&address.key))
    }

    /// The `removed` block that speaks of an object whose own block is gone.
    pub(crate) fn removed_block(&self, address: &ResourceInstance) -> Option<&RemovedBlock> {
        let config = address.config();
        if self.blocks.contains_key(&config) {
            return None;
        }
        self.removed.iter().find(|block| block.covers(&config))
    }

    /// Why nobody wants it.
    fn reason(&self, address: &ResourceInstance) -> Reason {
        let configured = self.blocks.contains_key(&address.config());
        if !configured && self.previous(address).is_some() {
            return Reason::DeleteBecauseNoMoveTarget;
        }
        let there = self.module_is_there(&address.module) != Some(false);
        orphan_reason(&address.key, configured, there, self.resources.lock().get(&address.all()))
    }

    /// Whether a module instance is wanted; none when nobody found out.
    fn module_is_there(&self, module: &ModuleInstance) -> Option<bool> {
        let (Some(parent), Some(step)) = (module.parent(), module.0.last()) else { return Some(true) };
        let wanted = {
            let modules = self.modules.lock();
            modules.get(&(parent.clone(), step.name.clone())).map(|expansion| expansion.keys.contains(&step.key))
        };
        match (wanted, self.module_is_there(&parent)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }
    }
}
