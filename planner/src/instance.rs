//! The first pass: plans one instance at a time, during evaluation.
//!
//! The calls of providers are in `ask`. [`decide`] compares their answers with the desired instance, as plain
//! functions, and returns a [`PlannedInstance`](crate::agenda::planned::PlannedInstance). This pass drafts no
//! operations. Other instances refer to the result of an instance by a number that [`Agenda`](crate::agenda::Agenda)
//! reserves for it.

pub(crate) mod computed;
pub(crate) mod data;
pub(crate) mod decide;
pub(crate) mod doubtful;
pub(crate) mod ephemeral;
pub(crate) mod importing;
pub(crate) mod leaving;
pub(crate) mod managed;
pub(crate) mod problems;
pub(crate) mod provisioning;
pub(crate) mod retyping;
