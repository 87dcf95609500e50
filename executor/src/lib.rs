//! The apply engine: a worker compiles fragments of an execution graph and carries them out.
//!
//! Modules in reading order:
//!
//! - [`worker`]: what a program starts. [`options`] and [`packages`]: what the worker needs from its host.
//! - [`docket`] and [`held`]: the pure decisions about runs, shards and tasks. [`desk`]: carries out these decisions.
//! - [`spool`]: stores results on disk until a coordinator acknowledges them.
//! - [`shard`]: a fragment that is ready to run, with its results in [`results`]. Its modules manage provider
//!   instances, formulas, functions of providers, and ephemeral objects.
//! - [`carried`]: the encoding of values. [`resource`]: resource types, and the stored form of objects. [`problems`]:
//!   the diagnostics.
//! - [`host`]: the state that all tasks share. [`context`]: the state of one task. [`task`]: carries out a task.
//! - [`simple`]: operations that call no provider. [`data`]: reads of data sources.
//! - [`change`]: prepares a change of a real object. [`final_plan`]: makes the final plan. [`apply`]: makes the call
//!   and interprets the reply. [`provision`]: runs provisioners. [`settle`]: finds out what an attempt in doubt did.
//!
//! # Promises
//!
//! - A call that changes the world needs a granted, young intent for exactly that attempt.
//! - An error is a failure only if the provider returned it, or if nothing was sent. Every other error after the call
//!   is a doubt.
//! - A result is kept until the coordinator acknowledges it.
//! - No ephemeral value leaves the process, except to the providers that need it.
//! - The cost of a task does not depend on the size of its fragment.

// A diagnostic is large. It is created once, when a task fails.
#![allow(clippy::result_large_err)]

mod apply;
mod arguments;
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
    FileSpool, FoundResults, PlainSpool, SealError, Spool, SpoolError, SpoolSeal, SpoolWork, SpooledResult,
    UnreadableRecord, WorkerSpool,
};
pub use worker::{Channel, Ended, Worker, WorkerFigures, WorkerHandle};
