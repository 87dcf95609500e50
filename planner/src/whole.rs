//! Rules over all instances, as plain functions. Most of them are the second pass of planning, after evaluation:
//! [`orphans`], [`outputs`], [`checking`], [`applied_part`], [`bare`], [`remembering`], and the [`order`] of deletes.
//!
//! The other rules apply earlier. Before evaluation, [`moved`] gives stored objects their new addresses, and
//! [`selecting`] selects a part of the plan. During evaluation, [`protection`] decides whether an object may be
//! deleted.

pub(crate) mod applied_part;
pub(crate) mod bare;
pub(crate) mod checking;
pub(crate) mod moved;
pub(crate) mod moves;
pub(crate) mod order;
pub(crate) mod orphans;
pub(crate) mod outputs;
mod problems;
pub(crate) mod protection;
pub(crate) mod remembering;
pub(crate) mod selecting;
