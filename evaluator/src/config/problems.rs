//! Diagnostics of the reading of configurations, by subject.

pub mod address;
pub mod cycles;
pub mod modules;
pub mod moved;
pub mod output;
pub mod overrides;
pub mod provider;
pub mod provisioner;
pub mod references;
pub mod removed;
pub mod repetition;
pub mod requirements;
pub mod resource;
pub mod terraform;
pub mod test_file;
pub mod test_mocks;
pub mod test_run;
pub mod variable;
pub mod versions;
