//! The planning engine: compares the configuration with the state, asks providers, and makes an execution graph.
//!
//! Start with [`planning`], which runs a plan in three passes. During evaluation, `face.rs` passes each instance to the
//! first pass, `instance/`, which asks providers (`ask.rs`) and decides with plain functions. The second pass,
//! `whole/`, applies the rules over all instances. The third pass, `draft/`, turns the result into operations. Only
//! this pass adds operations to the graph.
//!
//! `rules.rs` and `kind/` describe how destroy, refresh-only and import plans differ from normal ones: `rules.rs` has
//! their properties as data, and `kind/` their behaviour. [`prior`] decodes and refreshes stored objects. `agenda/` has
//! the plan so far. [`providers`] holds the provider instances. [`mod@validate`] and [`mod@inspect`] evaluate a
//! configuration through the same interface, without a plan. [`progress`] reports progress.

mod agenda;
mod ask;
pub mod diagnostics;
mod doubts;
mod draft;
mod evaluated;
mod face;
mod facts;
mod gaps;
mod inputs;
pub mod inspect;
mod instance;
mod kind;
mod memory;
mod outcome;
mod planner;
pub mod planning;
pub mod prior;
mod prior_state;
mod problems;
pub mod progress;
mod provider_meta;
pub mod providers;
mod report;
mod rules;
pub mod validate;
mod whole;

pub use inspect::{Inspected, inspect};
pub use planning::{PlanInputs, PlanKind, PlanOptions, PlanOutcome, Planned, plan, plan_open, rehearse};
pub use progress::{ProgressReport, ProgressSender, ProgressStep};
pub use providers::{PluginSource, ProviderSet, ReadGate};
pub use validate::validate;
