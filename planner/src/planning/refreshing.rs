//! Plans that only look at real objects and take into state what they are.

use weft_evaluator::glue::DesiredInstance;
use weft_graph_format::address::{ProviderInstance, ResourceInstance};
use weft_graph_format::value::Value;

use super::records::PendingRecord;
use super::{Planning, Problems};
use crate::prior::{Prior, with_schema_marks};
use crate::providers::InUse;

impl Planning {
    /// Looks at an instance. Others see what it is; nobody knows what one that is not there would be.
    pub(super) async fn refresh_managed(&self, desired: DesiredInstance, in_use: InUse<'_>) -> Result<Value, Problems> {
        let unknown = || Value::unknown(desired.schema.block.implied_type());
        let Some(prior) = self.prior_of(&desired, &in_use.provider).await? else { return Ok(unknown()) };
        self.note_refreshed(&desired.address, &desired.provider, &prior);
        Ok(if prior.value.is_null() { unknown() } else { with_schema_marks(&prior.value, &desired.schema) })
    }

    /// Whether state has no object of an instance that could be looked at.
    pub(super) fn holds_nothing(&self, address: &ResourceInstance) -> bool {
        self.stored(address).is_none_or(|stored| stored.record.current.is_none())
    }

    /// Whether there is no object of an instance: state has none, or the provider found that it is gone.
    pub(super) fn is_missing(&self, address: &ResourceInstance) -> bool {
        let found = self.refreshed.lock().get(address).map(|prior| prior.value.is_null());
        found.unwrap_or_else(|| self.holds_nothing(address))
    }

    /// Notes what state has to learn of an object that was looked at.
    pub(crate) fn note_refreshed(&self, address: &ResourceInstance, provider: &ProviderInstance, prior: &Prior) {
        self.claim(address.to_string(), false);
        if prior.stored.same_content(&prior.value) && self.previous(address).is_none() {
            return;
        }
        let object = (!prior.value.is_null()).then(|| self.object(address, prior));
        self.records.lock().push(PendingRecord::new(address.clone(), object, provider.clone()));
    }
}
