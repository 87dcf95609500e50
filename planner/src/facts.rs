//! What planning starts from. Nothing of it changes while planning goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weft_evaluator::config::CompiledModule;
use weft_evaluator::selection::Selection;
use weft_evaluator::{Counters, Declared, Environment};
use weft_graph_format::address::{ConfigResource, DeposedKey, ResourceInstance};
use weft_graph_format::changes::Reason;
use weft_graph_format::graph::StateRecord;
use weft_graph_format::schema::Schema;
use weft_graph_format::value::Value;
use weft_state::Snapshot;

use crate::inputs::PlanOptions;
use crate::instance::prior::{Prior, stored_value};
use crate::kind::Kind;
use crate::prior_state::PriorState;

/// Hexadecimal digits of a deposed key.
const DEPOSED_KEY_DIGITS: usize = 8;

/// The configuration, the state, and what is to be done.
pub(crate) struct Facts {
    pub(crate) root: Arc<CompiledModule>,
    /// What it declares.
    pub(crate) declared: Declared,
    pub(crate) environment: Environment,
    /// For the formulas of provisioners that run before a destroy.
    pub(crate) counters: Counters,
    /// State as the store has it.
    pub(crate) original: Arc<Snapshot>,
    /// State, its objects under the addresses that they have by the configuration.
    pub(crate) state: PriorState,
    /// Objects that moved: the address by the configuration, and the one that the store has.
    pub(crate) moved: BTreeMap<ResourceInstance, ResourceInstance>,
    pub(crate) kind: Box<dyn Kind>,
    pub(crate) options: PlanOptions,
    /// The objects that a plan to destroy a part is about; `None` for all.
    pub(crate) going: Option<BTreeSet<ResourceInstance>>,
}

impl Facts {
    /// Whether a resource has a block.
    pub(crate) fn is_configured(&self, config: &ConfigResource) -> bool {
        self.declared.has(config)
    }

    /// The address under which the store has an object, when it is another one.
    pub(crate) fn previous(&self, address: &ResourceInstance) -> Option<&ResourceInstance> {
        self.moved.get(address)
    }

    /// Which part of the configuration is planned.
    pub(crate) fn selection(&self) -> &Selection {
        &self.options.selection
    }

    /// Whether the selection wants an instance, which state may have without anything wanting it.
    pub(crate) fn is_selected_to_go(&self, address: &ResourceInstance) -> bool {
        self.going.as_ref().is_none_or(|going| going.contains(address))
    }

    /// What stands for an instance that is left out: the object as state has it; `None` when there is none.
    pub(crate) fn stored_value(&self, address: &ResourceInstance, schema: &Schema) -> Option<Value> {
        stored_value(self.state.current(address)?, schema)
    }

    /// Whether state has no current object of an instance.
    pub(crate) fn holds_nothing(&self, address: &ResourceInstance) -> bool {
        self.state.current(address).is_none()
    }

    /// An object as operations carry it.
    pub(crate) fn object(&self, address: &ResourceInstance, prior: &Prior) -> weft_graph_format::graph::PriorObject {
        prior.object(self.state.revision(address))
    }

    /// The key under which the current object of an instance is set aside: the same for the same plan.
    pub(crate) fn deposed_key(&self, address: &ResourceInstance) -> DeposedKey {
        let text = format!("{address} {} {}", self.options.timestamp, self.state.snapshot().serial);
        let hash = blake3::hash(text.as_bytes()).to_hex();
        DeposedKey(hash.as_str()[..DEPOSED_KEY_DIGITS].into())
    }

    /// Why an object that is not wanted any more is not deleted but left alone; `None` when it is deleted. A `removed`
    /// block decides before anything else. `wanted` says whether the configuration has the instance.
    pub(crate) fn left_alone(
        &self,
        address: &ResourceInstance,
        record: Option<&StateRecord>,
        wanted: bool,
    ) -> Option<Reason> {
        let config = address.config();
        let skips = record.is_some_and(|record| record.skip_destroy);
        if let Some(removal) = self.declared.removal(&config) {
            let reason = match skips {
                true => Reason::ForgotBecauseLifecycleDestroyInState,
                false => Reason::DeleteBecauseNoResourceConfig,
            };
            return (removal.destroy != Some(true)).then_some(reason);
        }
        match self.declared.resource(&config).and_then(|block| block.destroy) {
            Some(false) => Some(Reason::ForgotBecauseLifecycleDestroyInConfig),
            // Reading an instance that is wanted has brought what the state says of it up to date.
            _ if wanted && self.kind.reads_then_destroys(self.options.refresh) => None,
            _ => skips.then_some(Reason::ForgotBecauseLifecycleDestroyInState),
        }
    }
}
