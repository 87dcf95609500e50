//! Diagnostics about failed evaluations, by subject.

pub(super) mod blocks;
pub(super) mod conditions;
pub(super) mod imports;
pub(super) mod providers;
pub(super) mod references;
pub(super) mod repetition;
pub(super) mod resources;
pub(super) mod values;
