//! Reasons that are parts of reports: why a call was not made, why an outcome is unknown, and why an object or a
//! function cannot be found.

#[cfg(feature = "ssh")]
use std::fmt::Display;

use weft_graph_format::codec::EncodeError;
use weft_protocol::FrameError;
use weft_providers::CallError;

/// Why a call is not made, although its intent may be durable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotCalled {
    /// The task was cancelled before its intent was granted.
    #[error("the task was cancelled")]
    Cancelled,
    /// The intent is so old that the coordinator may no longer have the run.
    #[error("the intent was granted too late")]
    TooLate,
    /// The worker does not hold the task.
    #[error("the worker does not hold the task")]
    NotHeld,
    /// No new call may begin.
    #[error("the run is being stopped")]
    Stopping,
    /// The coordinator dropped the task.
    #[error("the task was no longer needed")]
    NotNeeded,
    /// The provider could not be called.
    #[error("{0}")]
    Provider(CallError),
}

/// Why it is unknown whether an object exists.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unclear {
    /// The call had no proper reply.
    #[error("{0}")]
    Call(CallError),
    /// The provider reported errors.
    #[error("{0}")]
    Reported(String),
    /// The object has unknown parts.
    #[error("the provider returned unknown values")]
    UnknownValues,
    /// The import found no object of the type.
    #[error("the import by the provider returned no object of this type")]
    NoObject,
    /// The import found several objects of the type.
    #[error("the import by the provider returned several objects")]
    SeveralObjects,
}

/// A template of an import id needs the value of an attribute that is empty or unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the look-up needs a value of {name}, which is empty or unknown")]
pub(crate) struct MissingPart {
    /// The name of the attribute.
    pub(crate) name: String,
}

/// Why the object of a create cannot be looked up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoLookUp {
    /// The object has neither a template of an import id nor a planned identity. The verdict then names no reason, and
    /// the coordinator keeps the reason of the doubt.
    #[error("")]
    NoMethod,
    /// The import id is incomplete.
    #[error("{0}")]
    Missing(MissingPart),
}

/// Why functions of a provider cannot be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoFunction {
    /// The provider could not be started, and reported no reason.
    #[error("the provider could not be started")]
    NotStarted,
    /// The provider has no functions.
    #[error("the provider has no functions")]
    NoFunctions,
    /// The provider does not have the function.
    #[error("the provider has no function named {0:?}")]
    Unknown(String),
    /// The provider did not describe its functions.
    #[error("{0}")]
    Call(CallError),
}

/// The object that a change made cannot be encoded for the state.
pub(crate) fn object_not_encoded(error: &EncodeError) -> String {
    format!("the object that the provider returned cannot be stored: {error}")
}

/// A change succeeded without an object.
pub(crate) fn no_object_returned(provider: &str) -> String {
    format!("{provider} reported success, but returned no object")
}

/// A create was interrupted, and returned no object.
pub(crate) fn create_interrupted() -> String {
    "the create was interrupted, and the provider did not report whether it created an object".to_owned()
}

/// A task panicked when its call was already allowed.
pub(crate) fn task_broken() -> String {
    "a bug in the worker ended the task after the call was allowed".to_owned()
}

/// A search for evidence panicked.
pub(crate) fn search_broken() -> String {
    "a bug in the worker ended the search for evidence".to_owned()
}

/// A search for evidence needs a shard that is not open.
pub(crate) fn shard_not_open(number: u32) -> String {
    format!("shard {number} is not open at this worker")
}

/// There is no object with the id that the user gave.
pub(crate) fn no_object_with_id(id: &str) -> String {
    format!("there is no object with the id {id:?}")
}

/// The object of an update does not exist.
pub(crate) fn object_disappeared() -> String {
    "the object no longer exists".to_owned()
}

/// The look-up of a create found nothing.
pub(crate) fn not_found(id: &str) -> String {
    format!("an object with the id {id} was looked up and not found, which does not prove that none exists")
}

/// The look-up of a create failed, and its error must not be shown.
pub(crate) fn hidden_look_up_failed() -> String {
    "its look-up failed".to_owned()
}

/// The maximum number of differences from the plan that a message names.
const MOST_DIFFERENCES: usize = 5;

/// The look-up of a create found an object that may be older than the create, or that differs from the plan at these
/// paths.
pub(crate) fn found(id: &str, was_absent: bool, differences: &[String]) -> String {
    let since = match was_absent {
        true => "did not exist before the operation",
        false => "may be older than the operation",
    };
    if differences.is_empty() {
        return format!("an object with the id {id} exists and is as planned, but it {since}");
    }
    let named = differences.iter().take(MOST_DIFFERENCES).map(|path| path.trim_start_matches('.'));
    let named = named.collect::<Vec<_>>().join(", ");
    let more = if differences.len() > MOST_DIFFERENCES { " and more" } else { "" };
    format!("an object with the id {id} exists; it {since}, and differs from the plan in {named}{more}")
}

/// The connection was lost while a script ran. `reason` is the error of the connection.
#[cfg(feature = "ssh")]
pub(crate) fn lost_during_script(path: &str, reason: &str) -> String {
    format!("the connection was lost while {path} was running: {reason}")
}

/// The connection was lost during an upload. `reason` is the error of the connection.
#[cfg(feature = "ssh")]
pub(crate) fn lost_during_upload(destination: &str, reason: &str) -> String {
    format!("the connection was lost during the upload to {destination}: {reason}")
}

/// A script was not uploaded.
#[cfg(feature = "ssh")]
pub(crate) fn script_not_uploaded(error: &dyn Display) -> String {
    format!("Failed to upload script: {error}")
}

/// An upload began and failed.
#[cfg(feature = "ssh")]
pub(crate) fn upload_failed(error: &dyn Display) -> String {
    format!("Upload failed: {error}")
}

/// The provider of an ephemeral object is missing.
pub(crate) fn no_provider_of_object() -> String {
    "its provider is not in the part of the plan that this worker has".to_owned()
}

/// The first frame of the coordinator is damaged.
pub(crate) fn first_frame_undecodable(error: &FrameError) -> String {
    format!("the coordinator's first frame cannot be decoded: {error}")
}

/// The coordinator did not greet the worker.
pub(crate) fn no_welcome() -> String {
    "the first frame of the coordinator contains no welcome".to_owned()
}

#[cfg(test)]
mod tests {
    use super::found;

    #[test]
    fn the_reason_says_what_is_missing_for_a_proof() {
        let reason =
            |absent, paths: &[&str]| found("b", absent, &paths.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(
            reason(false, &[]),
            "an object with the id b exists and is as planned, but it may be older than the operation"
        );
        assert_eq!(
            reason(true, &[".a", ".b", ".c", ".d", ".e", ".f"]),
            "an object with the id b exists; it did not exist before the operation, and differs from the plan in a, b, \
             c, d, e and more"
        );
    }
}
