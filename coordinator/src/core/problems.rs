//! The reasons that a term names: for its changes of state, and for doubts about the outcome of an operation.

use std::fmt;

use weft_state::WorkerId;

use super::records::RecordError;
use crate::process::in_words;
use crate::status::Happening;

/// Why an operation enters a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// An event of the run protocol.
    Happened(Happening),
    /// The worker of the operation asks for an intent.
    IntentWanted,
    /// The store refused the intent.
    IntentRefused,
    /// The result of the operation has arrived.
    ResultArrived,
    /// The outcome is unknown.
    OutcomeUnknown,
    /// The outcome is known.
    OutcomeKnown,
    /// The resolution was sent together with the doubt.
    ResolvedAtOnce,
    /// The worker that made the attempt may still report the outcome.
    HolderMayReport,
    /// A worker can look for evidence.
    CanSettle,
    /// A worker looks for evidence.
    Settles,
    /// The search for evidence ended.
    SearchEnded,
    /// No worker needs to look for evidence.
    SearchNotNeeded,
    /// A new report about the outcome has arrived.
    NewReport,
    /// There is no evidence.
    NoEvidence,
}

impl fmt::Display for Cause {
    /// Writes the cause as the rest of a sentence that names the operation.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Cause::Happened(happening) => return happening.fmt(out),
            Cause::IntentWanted => "its worker asks for an intent",
            Cause::IntentRefused => "the store refused its intent",
            Cause::ResultArrived => "its result has arrived",
            Cause::OutcomeUnknown => "its outcome is unknown",
            Cause::OutcomeKnown => "its outcome is known",
            Cause::ResolvedAtOnce => "its resolution was sent together with the doubt",
            Cause::HolderMayReport => "its worker may still report the outcome",
            Cause::CanSettle => "a worker can look for evidence",
            Cause::Settles => "a worker looks for evidence",
            Cause::SearchEnded => "the search for evidence ended",
            Cause::SearchNotNeeded => "no worker needs to look for evidence",
            Cause::NewReport => "a new report about the outcome has arrived",
            Cause::NoEvidence => "there is no evidence",
        })
    }
}

/// The worker of a doubt from an earlier term is gone.
pub(super) fn holder_gone() -> String {
    "its worker has ended or lost its connection".to_owned()
}

/// The worker of an open call did not reconnect in time.
pub(super) fn worker_gone(worker: &WorkerId) -> String {
    format!("{} has ended or lost its connection", in_words(worker))
}

/// The worker that made the attempt is asked first.
pub(super) fn holder_asked(worker: &WorkerId) -> String {
    format!("{} is asked about the outcome", in_words(worker))
}

/// The user ended the run during the call.
pub(super) fn stopped_during_call(worker: &WorkerId) -> String {
    format!("the run was stopped while {} was still carrying out the call", in_words(worker))
}

/// The store has an intent without a worker.
pub(super) fn unrecorded_worker() -> String {
    "the store has no record of the worker that made the attempt".to_owned()
}

/// The run stopped beginning calls while the store recorded the intent.
pub(super) fn intent_too_late() -> String {
    "the call was no longer allowed when the intent was durable".to_owned()
}

/// The run ended while the call waited for a slot.
pub(super) fn ended_before_call() -> String {
    "the run was ended before its call was allowed".to_owned()
}

/// The worker was lost while the call waited for a slot.
pub(super) fn worker_lost_before_call() -> String {
    "its worker ended or lost its connection before the call was allowed".to_owned()
}

/// The worker does not have the task.
pub(super) fn permission_lost() -> String {
    "the worker never received the permission for the call".to_owned()
}

/// The worker still prepares the task.
pub(super) fn permission_not_wanted() -> String {
    "the worker had not asked for the permission for the call".to_owned()
}

/// A create ended without an object.
pub(super) fn no_object() -> String {
    "the create was reported as done, but without an object".to_owned()
}

/// The result of a call cannot be recorded.
pub(super) fn result_unrecordable(error: &RecordError) -> String {
    format!("the result cannot be recorded: {error}")
}

/// A call failed, and its object cannot be recorded.
pub(super) fn left_object_unrecordable(error: &RecordError) -> String {
    format!("the failed call left an object that cannot be recorded: {error}")
}

/// The object of a late report cannot be recorded.
pub(super) fn reported_object_unrecordable(error: &RecordError) -> String {
    format!("the reported object cannot be recorded: {error}")
}

/// The object that is evidence cannot be recorded.
pub(super) fn found_object_unrecordable(error: &RecordError) -> String {
    format!("the object that was found cannot be recorded: {error}")
}

/// The state has the object that was found at another address.
pub(super) fn found_object_owned(owner: &str) -> String {
    format!("the object that was found belongs to {owner}")
}

/// There is no object with the id that the user gave.
pub(super) fn no_object_with_id() -> String {
    "no object with the given id was found".to_owned()
}

/// The object is absent, but the call may still be under way.
pub(super) fn call_may_take_effect(holder: &WorkerId) -> String {
    format!(
        "the object was not found as planned, but {} made the call and may still be running, so the call may still \
         take effect",
        in_words(holder)
    )
}

/// No worker can open the provider to look for evidence. `reason` is the error of the last one.
pub(super) fn cannot_settle(reason: &str) -> String {
    format!("no worker can look for evidence: {reason}")
}

/// The store refused to record the operation.
pub(super) fn refused_by_store() -> String {
    "the store refused to record the operation".to_owned()
}
