//! The first pass: plans one instance at a time, during evaluation.
//!
//! [`ask`] calls providers. [`decide`] compares their answers with the desired instance, as plain functions, and
//! returns a [`PlannedInstance`](planned::PlannedInstance). This pass drafts no operations. Readers refer to the result
//! of an instance by a number that [`agenda`] reserves for it.

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
pub(crate) mod problems;
pub(crate) mod provisioning;
pub(crate) mod retyping;

use weft_graph_format::diagnostic::Diagnostic;

/// Problems that the caller reports.
pub(crate) type Problems = Vec<Diagnostic>;
