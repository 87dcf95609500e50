//! The apply engine: a fragment of an execution graph, compiled and carried out by a worker.
//!
//! Reading order: [`worker`] is what a program starts. [`options`] and [`packages`] are what it needs from its host.
//!
//! Inside: [`docket`] and [`held`] are the pure decisions about runs, shards and tasks, and [`desk`] carries them out.
//! [`spool`] keeps results on disk that no coordinator has acknowledged.
//! [`shard`] is a fragment prepared to run, with its results in [`results`]. Its modules keep its provider instances,
//! run its formulas, call functions of providers for them, keep ephemeral objects open and know their readers.
//! [`carried`] encodes values. [`resource`] knows resource types and the stored form of objects, and [`problems`] has
//! the diagnostics.
//!
//! [`host`] is what all tasks share, and [`context`] what one task needs. [`task`] carries out a task. [`simple`] has
//! the operations that call no provider, and [`data`] reads data sources.
//! [`change`] prepares a change of the world, [`final_plan`] makes the final plan, and [`apply`] carries it out and
//! decides what the reply means. [`provision`] runs provisioners, and [`settle`] finds out what an attempt in doubt
//! did.
//!
//! # Promises
//!
//! - A call that changes the world needs a granted, young intent for that very attempt.
//! - An error is a failure only if the provider returned it, or if nothing was sent. Every other error after the call
//!   is a doubt.
//! - A result is kept until the coordinator acknowledges it.
//! - No ephemeral value leaves the process, except to the providers that it is meant for.
//! - The work of a task does not grow with its fragment.

// A diagnostic is large. It is created once, when a task fails.
#![allow(clippy::result_large_err)]

mod apply;
mod carried;
mod change;
mod context;
mod data;
mod desk;
mod docket;
mod final_plan;
mod held;
mod host;
mod look_up;
mod options;
mod outcome;
mod packages;
mod problems;
mod provision;
mod resource;
mod results;
mod saying;
mod settle;
mod shard;
mod simple;
mod spool;
mod spool_writer;
mod subject;
mod task;
mod unsent;
mod worker;

#[cfg(feature = "simulation")]
pub mod simulation;

pub use carried::{CarryError, decode_value, encode_value};
pub use held::UnfinishedWork;
pub use options::{EphemeralStep, HostMessage, WorkerOptions};
pub use packages::{NoPackages, Packages};
pub use spool::{
    FileSpool, FoundResults, PlainSpool, Spool, SpoolError, SpoolSeal, SpoolWork, SpooledResult, WorkerSpool,
};
pub use worker::{Channel, Ended, Worker, WorkerFigures, WorkerHandle};
