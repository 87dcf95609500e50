//! Tests of configurations: the implementation of `weft test`.
//!
//! Modules in reading order:
//!
//! - [`load`] finds test files and the modules that they refer to. `weft_evaluator::config::test_file` parses the
//!   files.
//! - [`given`]: the values of variables.
//! - [`transformed`] makes the configuration that one run tests. [`stand_ins`] contains the replacements of the
//!   providers and resources of this configuration. [`made_up`] makes the values of mocked objects. The random numbers
//!   in these values come from [`drawn`], and are equal to OpenTofu's.
//! - [`engine`] plans and applies the configuration with the usual planner, coordinator and worker. The states are in
//!   memory.
//! - [`runs`] carries out the runs of a file, compares failures with the [`expected`] ones and evaluates assertions.
//!   `cleaning` destroys all objects at the end.
//! - [`status`] and [`report`]: the output. [`interrupts`]: the interrupts by the user.

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
