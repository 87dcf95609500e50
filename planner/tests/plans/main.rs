//! Plans of hand-written configurations and states.
//!
//! Each test is a short script over [`harness`]. It makes a plan from a configuration and a state. Then it compares the
//! changes, the problems or the execution graph with a snapshot. `UPDATE_EXPECT=1 cargo test -p weft-planner` writes
//! new snapshots.

mod harness;
mod plugin;

mod claims;
mod disappeared;
mod formulas;
mod graphs;
mod imports;
mod kinds;
mod moves;
mod orphans;
mod outputs;
mod protection;
mod provider_instances;
mod provider_rules;
mod reading;
mod replacing;
mod selecting;
mod sensitive;
