//! The planning engine: what the configuration wants, what state has and what providers say become actions, and those
//! an execution graph.
//!
//! Reading order: [`providers`] holds the provider instances that planning talks to; [`decide`] chooses actions as
//! plain functions, [`moves`] the addresses that objects go by; [`planning`] answers the evaluator for each desired instance and drafts operations; what is left
//! in state afterwards is decided in its `orphans`, destroy order in its `order`; [`validate`] is the same face
//! without any of it, [`inspect`] with what state has; [`watch`] tells what is being looked at.

pub mod decide;
pub mod diagnostics;
pub mod inspect;
pub mod moves;
pub mod planning;
pub mod prior;
mod provider_meta;
pub mod providers;
pub mod validate;
pub mod watch;

pub use inspect::{Inspected, inspect};
pub use planning::{PlanOptions, PlanOutcome, Planned, plan, plan_open, rehearse};
pub use providers::{PluginSource, ProviderSet};
pub use validate::validate;
pub use watch::{Look, Looking, Watch};
