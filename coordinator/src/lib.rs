//! Runs: shard, schedule, journal, lease, take over, resume.
//!
//! Reading order: [`outline`] is what a coordinator knows of a plan, and [`status`] is where an operation stands.
//! [`event`] and [`core`] are the deciding machine of one run, which is pure. Around it: [`plan`], [`placement`],
//! [`retry`] and [`process`] hold what a run begins with, [`transport`] and [`hub`] the connections of workers, and [`driver`] one term
//! of one run on a store. [`service`] drives many runs at once, with takeover; [`server`] and [`client`] do so over
//! connections, which [`door`] accepts and [`dial`] makes; [`operation_event`] is what watchers receive, [`listing`] what
//! `weft runs` shows, and [`fleet`] what `weft workers` shows. [`figures`] is what metrics show, and [`timing`] holds the
//! constants.
//!
//! `weft-protocol` says what coordinators and workers owe each other.

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
pub use plan::{PlanFiles, ReadPlan, RunPlan};
pub use service::Service;
pub use table::{BudgetIndex, Position, ShardIndex};
pub use term::RunError;
pub use transport::{CoordinatorEnd, WorkerEnd, pair};
