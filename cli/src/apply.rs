//! Applying a plan in this process or on a coordinator, and showing its progress.

pub mod checks;
mod elsewhere;
mod errored;
mod here;
mod problems;
mod progress;
mod unsaved;

use std::collections::BTreeMap;

use weft_coordinator::doubts::KnownDoubt;
use weft_graph_format::graph::ClaimedSubject;
use weft_graph_format::operation_kind::OperationKind;
use weft_graph_format::plan_file::{Manifest, PlanFile};
use weft_state::{Digest, Revision, Snapshot, Subject};

pub use elsewhere::{coordinator, resume as resume_elsewhere, submit};
pub use here::{LocalRun, begin, resume};
pub use problems::{applied_a_part, client as client_problem, run as run_problem, stale_plan as stale_problem};

pub use crate::plan::inputs::{Inputs, inputs};
use crate::render::events::ChangeCounts;

/// A plan that is about to be applied.
#[derive(Debug)]
pub struct Work {
    /// The plan.
    pub plan: PlanFile,
    /// The bytes of the plan file.
    pub bytes: Vec<u8>,
    /// The digest of the plan file.
    pub digest: Digest,
    /// Values that the plan does not contain.
    pub inputs: Inputs,
    /// The signature of the plan, for a coordinator that requires one. Empty if there is none.
    pub signature: Vec<u8>,
    /// Whether the plan may be applied only once, because of its signature.
    pub single_use: bool,
}

/// An action whose outcome is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionInDoubt {
    /// The kind of the operation, or `None` if it is not known.
    pub kind: Option<OperationKind>,
    /// What is known about the outcome of the action.
    pub known: KnownDoubt,
}

/// The outcome of an apply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApplyOutcome {
    /// The id of the run.
    pub run: String,
    /// The exit code: 0 for success, 1 for errors or an unfinished run, 3 for operations in doubt.
    pub code: u8,
    /// Whether the run ended before everything was done.
    pub stopped: bool,
    /// Whether the store of the run has failed.
    pub store_failed: bool,
    /// The numbers of objects that the apply created, changed and so on.
    pub counts: ChangeCounts,
    /// What is known about each object in doubt, by its name.
    pub doubts: BTreeMap<String, ActionInDoubt>,
}

/// The instances that the plan changes or reads, and that something else has changed since the plan was made.
pub fn stale(manifest: &Manifest, snapshot: &Snapshot) -> Vec<String> {
    let changed = manifest.claims.iter().filter(|claim| {
        let found = match &claim.subject {
            ClaimedSubject::Instance(address) => snapshot.instance_revision(address),
            ClaimedSubject::Output(name) => snapshot.revision(&Subject::Output(name.to_string())),
        };
        found != Revision(claim.revision)
    });
    changed.map(|claim| claim.subject.to_string()).collect()
}
