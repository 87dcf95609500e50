//! Changes of state alone.

use weft_graph_format::address::{ProviderInstance, ResourceInstance};
use weft_graph_format::graph::{OperationId, PriorObject, StateRecord};
use weft_graph_format::origin::Origin;
use weft_graph_format::value::Value;

use super::changing::Target;
use super::{Planning, without_provenance};
use crate::prior::Prior;

/// A change of state alone.
pub(crate) struct PendingRecord {
    address: ResourceInstance,
    object: Option<PriorObject>,
    provider: ProviderInstance,
    /// What has to happen before.
    waits: Option<Origin>,
}

impl PendingRecord {
    /// State is to have this object, or none, under the address.
    pub(crate) fn new(address: ResourceInstance, object: Option<PriorObject>, provider: ProviderInstance) -> Self {
        PendingRecord { address, object, provider, waits: None }
    }
}

impl Planning {
    /// An object as operations carry it.
    pub(crate) fn object(&self, address: &ResourceInstance, prior: &Prior) -> PriorObject {
        PriorObject {
            value: without_provenance(&prior.value),
            private: prior.private.clone(),
            tainted: prior.tainted,
            revision: self.stored(address).map_or(0, |s| s.revision.0),
            record: prior.record.clone(),
        }
    }

    /// Notes what state has to learn of an instance that nothing else happens to.
    pub(crate) fn note_record(&self, target: &Target<'_>, before: &Value) {
        let Some(prior) = target.prior else { return };
        let provider = &target.desired.provider;
        let known = self.stored(&target.desired.address).is_some_and(|s| s.record.provider == provider.to_string());
        let moved = self.previous(&target.desired.address).is_some()
            && !self.move_operations.lock().contains_key(&target.desired.address);
        let same = known && !moved && prior.stored.same_content(before) && prior.record == target.record;
        if same {
            return;
        }
        let address = target.desired.address.clone();
        let mut object = self.object(&address, prior);
        object.record = StateRecord {
            identity: prior.record.identity.clone(),
            identity_schema_version: prior.record.identity_schema_version,
            ..target.record.clone()
        };
        // An object that is taken over as it is stands in state as it was found, until its dependencies are written.
        if object.record.dependencies.is_empty() && self.imported.lock().contains_key(&address) {
            object.record.create_before_destroy = false;
            object.record.skip_destroy = false;
        }
        self.records.lock().push(PendingRecord {
            address,
            object: Some(object),
            provider: target.desired.provider.clone(),
            waits: None,
        });
    }

    pub(crate) fn draft_record(&self, record: PendingRecord) -> OperationId {
        let moving = self.move_origin(&record.address);
        let previous = self.previous(&record.address).filter(|_| moving.is_none()).cloned();
        if let Some(previous) = &previous {
            self.claim(previous.to_string(), true);
        }
        let operation = self.builder.record(record.address, previous, record.object, record.provider).id();
        self.builder.wait(operation, moving);
        self.builder.wait(operation, record.waits);
        operation
    }

    /// Drafts the moving of an object that something else happens to as well, once.
    pub(crate) fn move_first(&self, address: &ResourceInstance, prior: Option<&Prior>, provider: &ProviderInstance) {
        if self.previous(address).is_none() || self.move_operations.lock().contains_key(address) {
            return;
        }
        let object = prior.filter(|prior| !prior.value.is_null()).map(|prior| self.object(address, prior));
        let operation = self.draft_record(PendingRecord::new(address.clone(), object, provider.clone()));
        self.move_operations.lock().insert(address.clone(), operation);
    }

    /// What everything that happens to a moved object waits for.
    pub(crate) fn move_origin(&self, address: &ResourceInstance) -> Option<Origin> {
        self.move_operations.lock().get(address).copied().map(Origin::after)
    }

    /// What is taken out of state goes once everything is deleted that named it.
    pub(super) fn remove_after(&self, deleted: impl Fn(&ResourceInstance) -> Option<Origin>) {
        for record in self.records.lock().iter_mut().filter(|record| record.object.is_none()) {
            record.waits = deleted(&record.address);
        }
    }

    /// Drafts the changes of state alone. Says whether there are any.
    pub(crate) fn draft_records(&self) -> bool {
        let mut records = std::mem::take(&mut *self.records.lock());
        let any = !records.is_empty();
        records.sort_by(|a, b| a.address.cmp(&b.address));
        for record in records {
            self.claim(record.address.to_string(), true);
            self.draft_record(record);
        }
        any
    }
}
