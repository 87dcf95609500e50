//! Tests of configurations: what `weft test` does.
//!
//! Reading order: [`load`] finds test files and the modules that they name (what a file declares is read by
//! `weft_evaluator::config::test_file`); [`given`] are the values of variables; [`transformed`] makes the configuration
//! that one run tests, [`stand_ins`] what answers in place of its providers, with [`made_up`] values, [`drawn`] as OpenTofu draws them; [`engine`] plans
//! and applies it with the same planner, coordinator and worker as everywhere, over states in memory; [`runs`] carries
//! out the runs of a file, holds what went wrong against what they [`expect`](expected) and looks at their assertions;
//! [`cleaning`] destroys everything in the end; [`status`] and [`report`] are what is told, [`interrupts`] what the user
//! wants to end.

pub mod cleaning;
pub mod drawn;
pub mod engine;
pub mod expected;
pub mod given;
pub mod interrupts;
pub mod load;
pub mod made_up;
pub mod report;
pub mod runs;
pub mod stand_ins;
pub mod status;
pub mod transformed;
