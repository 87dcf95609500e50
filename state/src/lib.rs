//! State stores: where the state and the runs that change it are stored.
//!
//! Modules in reading order:
//!
//! - [`record`]: the record of a resource instance or an output. [`check`]: the record of a check. [`subject`]: the
//!   things that have a revision. [`choice`]: what a user can decide about an operation in doubt. [`snapshot`]: the
//!   whole state at one moment, with revisions and open doubts. [`tfstate`] reads and writes OpenTofu's state file.
//! - [`result`]: the results of operations. [`run`]: the data types of a run (token, lease, statuses). [`step`]: the
//!   requests of a run to a store. [`store`]: the trait that every store implements, with one method for each atomic
//!   step of the run protocol. [`error`]: the errors of stores. [`edit`]: changes outside of any run. [`budget`] limits
//!   the provider calls per second of all runs together.
//! - `ledger` implements the rules as plain data: which step is legal, what it changes and what the store answers.
//!   [`model`] is the ledger alone, for simulations. [`embedded`] is the ledger behind a journal beside the state file.
//!   [`redis`] implements the same rules again as scripts. A test requires the same answers from all three.
//!   [`second_copy`] is [`redis`] with a copy of the state in a backend.
//!
//! What a caller must know: a store checks each step against the lease (`Fenced`), the claims of the run
//! (`NotClaimed`), the revisions (`Stale`) and the status of the operation (`Illegal`). A step may always be sent
//! again. An `Err` does not say whether the step took effect. A resumed run must CLAIM again. For subjects that it
//! wrote itself, it expects the revisions in [`RunView::written`]. For all other subjects, it expects the revisions of
//! the plan.
//!
//! This crate does not know what an operation is, when it may run, or how results travel. The coordinator does.

#![forbid(unsafe_code)]

pub mod budget;
pub mod check;
pub mod choice;
mod content;
pub mod edit;
pub mod embedded;
pub mod error;
mod event;
pub mod json;
mod ledger;
pub mod model;
mod owners;
mod problems;
pub mod process;
mod provider;
mod recent;
pub mod record;
pub mod redis;
pub mod remote;
pub mod result;
pub mod run;
pub mod second_copy;
pub mod snapshot;
pub mod step;
pub mod store;
pub mod subject;
pub mod tfstate;

pub use budget::{LocalBudgets, TokenGrant, TokenRequest};
pub use check::{CheckObject, CheckRecord, StoredStatus};
pub use choice::Choice;
pub use edit::{Edit, EditAnswer};
pub use embedded::{Backup, EmbeddedOptions, EmbeddedStore, RemoteOptions, SAVE_INTERVAL};
pub use error::StoreError;
pub use ledger::RevisionRule;
pub use model::ModelStore;
pub use owners::IdOwners;
pub use problems::in_doubt;
pub use process::process_exists;
pub use provider::StoredProvider;
pub use record::{InstanceObject, InstanceRecord, Opaque, OutputRecord, OutputWrite, PathStep, RawJson, SensitivePath};
pub use redis::{
    DeclaredLoss, Losses, PasswordSource, RedisServer, RedisSettings, RedisStore, RunReport, ServerReport,
    StoreProblem, StoreReport,
};
pub use result::{CommitRecord, Failure, FailureKind, InstanceWrite, Writes};
pub use run::{
    Attempt, ChainTip, ChangeTotals, Digest, Holder, Incarnation, JournalLine, Lease, LeaseView, NewRun, OpCounts,
    OpIndex, OpRecord, OpStatus, RunHeader, RunId, RunPast, RunStatus, RunView, Stray, Token, WorkerId, random_run_id,
};
pub use second_copy::{CopyNotices, LostStore, SecondCopyOptions, SecondCopyStore, WaitingFile, waiting_files};
pub use snapshot::{Snapshot, StoredInstance, StoredOutput, Unrelated};
pub use step::{
    Acquire, AcquireAnswer, Claim, ClaimAnswer, ClaimMode, CreateAnswer, DoubtOutcome, Evidence, Fenced, HeldSubject,
    Intent, ReleaseAnswer, RenewAnswer, Resolution, Stale, StoreAnswer, StoreStep, TermEnding,
};
pub use store::{RunStore, Salvaged};
pub use subject::{Doubt, DoubtKey, Revision, Subject};
