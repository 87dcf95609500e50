//! The coordinator: schedules the operations of runs, leases shards to workers, keeps the journal, and takes over and
//! resumes runs.
//!
//! Modules in reading order:
//!
//! - [`outline`]: a coordinator's view of a plan. [`status`]: the state of an operation.
//! - [`event`] and [`core`]: the state machine of one run, as pure functions without input or output.
//! - [`plan`], [`placement`], [`retry`] and [`process`]: the inputs of a run.
//! - [`transport`] and [`hub`]: the connections of workers.
//! - [`driver`]: runs one term of one run on a store.
//! - [`service`]: drives many runs concurrently, and takes over runs of other coordinators.
//! - [`server`] and [`client`]: the service over connections. [`door`] accepts connections, and [`dial`] opens them.
//! - [`operation_event`]: the events that watchers receive. [`listing`]: the data of `weft runs`. [`fleet`]: the data
//!   of `weft workers`. [`figures`]: the metrics.
//! - [`timing`]: the constants.
//!
//! `weft-protocol` describes the obligations of coordinators and workers.

pub mod client;
pub mod core;
pub mod dial;
pub mod door;
pub mod doubts;
pub mod driver;
pub mod event;
pub mod figures;
pub mod fleet;
pub mod hub;
pub mod listing;
pub mod operation_event;
pub mod outline;
pub mod placement;
pub mod plan;
pub mod process;
pub mod result;
pub mod retry;
pub mod server;
pub mod service;
pub mod status;
pub mod term;
pub mod timing;
pub mod transport;

mod batch;
mod gate;
mod handshakes;
mod lease;
mod orders;
mod packages;
mod patience;
mod problems;
mod rule_name;
mod table;
mod wire;

#[cfg(feature = "simulation")]
pub mod simulation;

pub use client::Client;
pub use core::{Coordinator, RunOptions};
pub use dial::{Address, Dialer};
pub use door::{Guard, Inherited};
pub use driver::{InProcess, Notices, RunEvent, RunOutcome, run_in_process};
pub use event::{Cancel, Decision, FinishReason, UserResolution};
pub use operation_event::{OperationEvent, OperationEventKind};
pub use outline::{
    Need, OperationKind, Outline, OutlineExport, OutlineOperation, OutlineShard, RunClaim, ShardKey, Waiter,
};
pub use plan::{PlanFiles, ReadPlan, RunPlan, ShardFragment};
pub use service::Service;
pub use table::{BudgetIndex, Position, ShardIndex};
pub use term::RunError;
pub use transport::{CoordinatorEnd, WorkerEnd, pair};
