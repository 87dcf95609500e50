//! State stores: where the state and the runs that change it are kept.
//!
//! Reading order:
//! - [`record`] is what is kept of a resource instance, an output, a check; [`snapshot`] the whole state at one
//!   moment, with revisions and open doubts; [`tfstate`] the state file of OpenTofu, in and out.
//! - [`run`] has the words of a run (token, lease, statuses), [`step`] what can be asked of a store about one, and
//!   [`store`] the trait that every store implements: one method for each atomic step of the run protocol, and
//!   [`edit`] for changes outside of any run.
//! - `ledger` is the rules as plain data: which step is legal, what it changes, what it answers. [`model`] is the
//!   ledger alone, for simulations; [`embedded`] the ledger behind a journal beside the state file; [`redis`] says
//!   the same rules again as scripts, and a test holds all three to the same answers.
//!
//! What a caller must know: steps are checked against the lease (`Fenced`), against what the run claims (`NotClaimed`),
//! against revisions (`Stale`) and against where the operation stands (`Illegal`); a step may always be sent again; an
//! `Err` says nothing about whether it took effect. At resume, CLAIM again: with [`RunView::written`] as the expected
//! revisions of what the run wrote, and the plan's for the rest.
//!
//! Absent here: what an operation is, when it may run, how results travel; these are the coordinator's.

#![forbid(unsafe_code)]

mod content;
pub mod edit;
pub mod embedded;
mod event;
pub mod json;
mod ledger;
pub mod model;
pub mod record;
pub mod redis;
pub mod run;
pub mod snapshot;
pub mod step;
pub mod store;
pub mod tfstate;

pub use edit::{Edit, EditAnswer};
pub use embedded::{Backup, EmbeddedOptions, EmbeddedStore};
pub use ledger::RevisionRule;
pub use model::ModelStore;
pub use record::{
    CheckObject, CheckRecord, DeposedKey, InstanceKey, InstanceObject, InstanceRecord, Opaque, OutputRecord, PathStep,
    RawJson, ResourceMode, SensitivePath, instance_address,
};
pub use redis::RedisStore;
pub use run::{
    Attempt, ChainTip, Digest, Holder, Incarnation, JournalLine, Lease, LeaseView, NewRun, OpCounts, OpIndex, OpRecord,
    OpStatus, RunHeader, RunId, RunStatus, RunView, Stray, Token, WorkerId,
};
pub use snapshot::{Doubt, DoubtKey, Revision, Snapshot, StoredInstance, StoredOutput, Subject, Unrelated};
pub use step::{
    Acquire, AcquireAnswer, Claim, ClaimAnswer, ClaimMode, CommitRecord, CreateAnswer, Ending, Evidence, Failure,
    FailureKind, Fenced, Held, InstanceWrite, Intent, Outcome, OutputWrite, ReleaseAnswer, RenewAnswer, Resolution,
    Stale, StoreAnswer, StoreStep, Writes,
};
pub use store::{RunStore, StoreError};
