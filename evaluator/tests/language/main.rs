//! The rules of the language.
//!
//! Each test is a short script over [`harness`]: files in, a snapshot of the problems or of the evaluated instances
//! out. `UPDATE_EXPECT=1 cargo test -p weft-evaluator` writes new snapshots.

mod harness;
mod provider;

mod blocks;
mod conditions;
mod deprecation;
mod ephemeral;
mod imports;
mod lifecycle;
mod loading;
mod modules;
mod overriding;
mod providers;
mod references;
mod repetition;
mod selections;
mod static_values;
mod variables;
