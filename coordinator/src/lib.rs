//! Runs: shard, schedule, journal, lease, take over, resume.

pub mod core;
pub mod event;
pub mod outline;
pub mod status;
pub mod timing;
pub mod worker;
