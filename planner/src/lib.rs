//! The planning engine. Compares the configuration with state, asks providers, and makes an execution graph.
//!
//! Start with [`planning`]: it runs a plan in three passes. During evaluation, `face.rs` passes each instance to the
//! first pass, `instance/`, which asks providers and decides with plain functions. The second pass, `whole/`, applies
//! the rules over all instances. The third, `draft/`, turns the result into operations; only it knows the graph's
//! builder. `kind/` has the differences of destroy and refresh-only plans. [`providers`] holds the provider instances.
//! [`validate`] and [`inspect`] implement the same interface without a plan; [`progress`] reports progress.

pub mod diagnostics;
mod draft;
mod evaluated;
mod face;
mod facts;
mod inputs;
pub mod inspect;
mod instance;
mod kind;
mod outcome;
mod planner;
pub mod planning;
mod prior_state;
mod problems;
pub mod progress;
mod provider_meta;
pub mod providers;
mod report;
pub mod validate;
mod whole;

pub use inspect::{Inspected, inspect};
pub use instance::prior;
pub use planning::{PlanInputs, PlanKind, PlanOptions, PlanOutcome, Planned, plan, plan_open, rehearse};
pub use progress::{ProgressReport, ProgressSender, ProgressStep};
pub use providers::{PluginSource, ProviderSet};
pub use validate::validate;
