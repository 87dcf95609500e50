//! The planning engine: what the configuration wants, what state has and what providers say become actions, and those
//! an execution graph.
//!
//! Reading order: [`planning`] is the story of one plan, in three passes. While evaluation goes on, it hands each instance
//! over through `face.rs` to the first pass, `instance/`: providers are asked, and plain functions decide. The second
//! pass, `whole/`, holds the rules over all instances. The third, `draft/`, turns what is planned into operations; it
//! alone knows the graph's builder. `kind/` says what plans to destroy or to refresh do otherwise. [`providers`] holds
//! the provider instances; [`validate`] is the same face without any of it, [`inspect`] with what state has; [`watch`]
//! tells what is being looked at.

pub mod diagnostics;
mod draft;
mod face;
mod facts;
mod inputs;
pub mod inspect;
mod instance;
mod kind;
mod planner;
pub mod planning;
mod prior_state;
mod provider_meta;
pub mod providers;
mod report;
mod told;
pub mod validate;
pub mod watch;
mod whole;

pub use inspect::{Inspected, inspect};
pub use instance::prior;
pub use planning::{PlanInputs, PlanKind, PlanOptions, PlanOutcome, Planned, plan, plan_open, rehearse};
pub use providers::{PluginSource, ProviderSet};
pub use validate::validate;
pub use watch::{Look, Looking, Watch};
