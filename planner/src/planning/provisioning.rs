//! Provisioners: drafted after the create or before the delete of their object.

use smol_str::SmolStr;
use weft_evaluator::Leaving;
use weft_evaluator::glue::Provision;
use weft_graph_format::address::ResourceInstance;
use weft_graph_format::graph::{OperationId, ProvisionWhen};
use weft_graph_format::origin::Origin;

use super::Planning;
use crate::prior::Prior;

/// A create that provisioners follow.
#[derive(Debug)]
pub(crate) struct Created {
    /// The apply.
    pub(crate) operation: OperationId,
    /// The delete of the object that it takes the place of, where that comes afterwards.
    pub(crate) replaced: Option<OperationId>,
    /// What the object depends on, before and after.
    pub(crate) names: Vec<SmolStr>,
}

impl Planning {
    /// Drafts the provisioners of an instance that is created. The last of them is what others wait for.
    pub(crate) fn draft_provisions(&self, address: &ResourceInstance, provisions: Vec<Provision>) -> Option<Origin> {
        let created = self.created.lock().remove(address)?;
        let mut earlier = created.operation;
        let last = provisions.len().checked_sub(1)?;
        for (place, provision) in provisions.into_iter().enumerate() {
            let when = if place == last { ProvisionWhen::Completed } else { ProvisionWhen::Created };
            let operation = self.draft_provision(address, provision, when);
            self.builder.order(earlier, operation);
            earlier = operation;
        }
        if let Some(delete) = created.replaced {
            self.builder.order(earlier, delete);
        }
        self.ordering.lock().changes(earlier, &address.module, &created.names);
        Some(Origin::after(earlier))
    }

    /// Drafts what runs before an object is deleted: the first and the last of it. Nothing runs for an object that is
    /// tainted: it never was whole.
    pub(crate) fn draft_farewell(
        &self,
        address: &ResourceInstance,
        prior: &Prior,
    ) -> Option<(OperationId, OperationId)> {
        if prior.tainted {
            return None;
        }
        let config = address.config();
        let (directory, provisioners) = match self.blocks.get(&config) {
            Some(block) => (self.directories.get(&config.module)?, &block.provisioners),
            None => self.removed_block(address).map(|removed| (&removed.dir, &removed.provisioners))?,
        };
        let leaving = Leaving {
            environment: &self.environment,
            module_dir: directory,
            key: &address.key,
            object: prior.value.clone(),
            counters: &self.counters,
        };
        let mut ends: Option<(OperationId, OperationId)> = None;
        for provision in leaving.provisions(provisioners) {
            let operation = self.draft_provision(address, provision, ProvisionWhen::Deleting);
            ends = match ends {
                None => Some((operation, operation)),
                Some((first, earlier)) => {
                    self.builder.order(earlier, operation);
                    Some((first, operation))
                }
            };
        }
        ends
    }

    fn draft_provision(&self, address: &ResourceInstance, provision: Provision, when: ProvisionWhen) -> OperationId {
        let config = self.impure_apart(&address.to_string(), provision.config.clone());
        let origin = config.deep_origin();
        let Provision { kind, continues, range, .. } = provision;
        self.builder.provision(address.clone(), kind, when, continues, config.to_formula(), Some(range), origin).id()
    }
}
