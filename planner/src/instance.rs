//! The first pass: one instance at a time, while evaluation goes on.
//!
//! [`ask`] asks providers: what an object is, what would come of a configuration. [`decide`] holds the answers against
//! what is desired, as plain functions, and gives a [`PlannedInstance`](planned::PlannedInstance). Nothing is drafted
//! here: others read the result of an instance by a number that [`agenda`] reserves for it.

pub(crate) mod agenda;
pub(crate) mod ask;
pub(crate) mod computed;
pub(crate) mod data;
pub(crate) mod decide;
pub(crate) mod ephemeral;
pub(crate) mod importing;
pub(crate) mod leaving;
pub(crate) mod managed;
pub(crate) mod orphan;
pub(crate) mod planned;
pub mod prior;
pub(crate) mod provisioning;
pub(crate) mod retyping;

use weft_graph_format::diagnostic::Diagnostic;

/// What is wrong, reported by whoever asked.
pub(crate) type Problems = Vec<Diagnostic>;
