//! The statuses of requests that a coordinator refuses before it looks at a run, and the notices for watchers.

use tonic::Status;

/// The connection passed no gate.
pub(super) fn unauthenticated() -> Status {
    Status::internal("the caller was not authenticated")
}

/// The request is about the last run, but there is none.
pub(super) fn no_runs() -> Status {
    Status::not_found("there are no runs")
}

/// The request must name its run.
pub(super) fn unnamed_run() -> Status {
    Status::invalid_argument("a run must be named")
}

/// The name in a request is not the id of a run.
pub(super) fn not_a_run(text: &str) -> Status {
    Status::invalid_argument(format!("{text:?} is not the id of a run"))
}

/// The request to resolve a doubt has no decision.
pub(super) fn no_decision() -> Status {
    Status::invalid_argument("one of -adopt, -absent, -retry, -forget must be given")
}

/// The store does not respond for now. `error` is its last error.
pub(super) fn store_trouble(error: &str) -> String {
    format!("the store does not respond: {error}")
}

/// The store ended the run.
pub(super) fn store_gave_up() -> String {
    "the store has failed".to_owned()
}

/// The store responds again.
pub(super) fn store_back() -> String {
    "the store answers again".to_owned()
}
