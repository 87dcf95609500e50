//! Tests of configurations: what `weft test` does.
//!
//! Reading order: [`load`] finds test files and the modules that they name (`weft_evaluator::config::test_file` parses
//! them). [`given`] are the values of variables. [`transformed`] makes the configuration that one run tests, and
//! [`stand_ins`] what replaces its providers, with [`made_up`] values, [`drawn`] as OpenTofu draws them. [`engine`]
//! plans and applies it with the usual planner, coordinator and worker, over states in memory. [`runs`] carries out the
//! runs of a file, compares failures with the [`expected`] ones and evaluates assertions. [`cleaning`] destroys
//! everything at the end. [`status`] and [`report`] are the output, and [`interrupts`] the interrupts of the user.

pub mod drawn;
pub mod engine;
pub mod expected;
pub mod given;
pub mod interrupts;
pub mod load;
pub mod made_up;
mod problems;
pub mod report;
pub mod runs;
pub mod stand_ins;
pub mod status;
pub mod transformed;
