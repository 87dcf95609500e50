//! The apply engine: a fragment of an execution graph, compiled and carried out by a worker.
//!
//! Reading order: [`worker`] is what a program starts; what it needs of its host is in [`options`] and [`packages`].
//!
//! Inside: [`docket`] and [`held`] decide about runs, shards and tasks, pure, and [`desk`] carries the decisions out;
//! [`shard`] is a fragment made ready to run, with its results in [`results`] and its provider instances in
//! [`provider`]; [`formulas`] runs formulas and [`functions`] calls functions of providers for them; [`carried`] is how
//! values travel; [`ephemeral`] keeps ephemeral objects open and [`live`] knows what reads them; [`resource`] knows a
//! resource type and how its objects are stored, [`problems`] has the diagnostics.
//!
//! A task is carried out by [`task`]: [`simple`] has the operations that call nobody, [`data`] reads data sources,
//! [`change`] gets everything ready for a change of the world, [`final_plan`] makes the final plan, [`apply`] carries
//! it out and judges what came of it, [`provision`] runs provisioners, [`settle`] finds out what became of an attempt
//! in doubt.
//!
//! # Promises
//!
//! - No call that changes the world is made without a granted, young intent for that very attempt.
//! - An error is called a failure only when the provider really returned it, or when nothing was sent; everything else
//!   after the call is a doubt (RUNS.md, step 6).
//! - A result is kept until the coordinator has acknowledged it.
//! - No ephemeral value leaves the process, but for the providers that it is meant for.
//! - The work of a task does not grow with its fragment.

// A diagnostic is large; it is made once, where a task has failed.
#![allow(clippy::result_large_err)]

mod apply;
mod carried;
mod change;
mod data;
mod desk;
mod docket;
mod ephemeral;
mod final_plan;
mod formulas;
mod functions;
mod held;
mod live;
mod options;
mod outcome;
mod packages;
mod problems;
mod provider;
mod provision;
mod resource;
mod results;
mod settle;
mod shard;
mod simple;
mod subject;
mod task;
mod worker;

#[cfg(feature = "simulation")]
pub mod simulation;

pub use carried::{CarryError, decode_value, encode_value};
pub use held::Open;
pub use options::{EphemeralStep, Said, WorkerOptions};
pub use packages::{NoPackages, Packages};
pub use worker::{Channel, Ended, Frame, Worker, WorkerHandle};
