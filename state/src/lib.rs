//! State stores: embedded and Redis; leases, fencing, claims, intents, commits; tfstate v4 in and out.

#![forbid(unsafe_code)]

mod content;
pub mod embedded;
mod event;
pub mod json;
mod ledger;
pub mod model;
pub mod record;
pub mod run;
pub mod snapshot;
pub mod step;
pub mod store;
pub mod tfstate;

pub use embedded::{Backup, EmbeddedOptions, EmbeddedStore};
pub use ledger::RevisionRule;
pub use model::ModelStore;
pub use record::{
    CheckObject, CheckRecord, DeposedKey, InstanceKey, InstanceObject, InstanceRecord, Opaque, OutputRecord, PathStep,
    RawJson, ResourceMode, SensitivePath, instance_address,
};
pub use run::{
    Attempt, ChainTip, Digest, Holder, Incarnation, JournalLine, Lease, LeaseView, NewRun, OpCounts, OpIndex, OpRecord,
    OpStatus, RunHeader, RunId, RunStatus, RunView, Stray, Token, WorkerId,
};
pub use snapshot::{Doubt, DoubtKey, Revision, Snapshot, StoredInstance, StoredOutput, Subject};
pub use step::{
    Acquire, AcquireAnswer, Claim, ClaimAnswer, ClaimMode, CommitRecord, CreateAnswer, Ending, Evidence, Failure,
    Fenced, Held, InstanceWrite, Intent, Outcome, OutputWrite, ReleaseAnswer, RenewAnswer, Resolution, Stale,
    StoreAnswer, StoreStep, Writes,
};
pub use store::{RunStore, StoreError};
