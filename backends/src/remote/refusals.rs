//! Requests that the service refused, and responses that do not have the expected form.

use reqwest::StatusCode;
use serde_json::Value as Json;
use weft_state::remote::BackendError;

use crate::exchange::HttpReply;

/// Why the service refused a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum HostedRefusal {
    #[error("unauthorized")]
    Unauthorized,
    #[error("resource not found")]
    NotFound,
    /// The errors in the response, or its status.
    #[error("{0}")]
    Said(String),
    #[error("the workspace is locked")]
    Locked,
    #[error("the service is still processing the latest state of the workspace: try again later")]
    Processing,
    #[error("the workspace still manages resources. Use -force to delete the workspace anyway")]
    ManagesResources,
    #[error("lock ID \"{id}\" does not match existing lock ID \"{existing}\"")]
    OtherLock { id: String, existing: String },
    /// The kind of the holder, such as "user".
    #[error("unable to unlock workspace locked by {0}")]
    LockedBy(String),
    #[error("workspace already unlocked")]
    NotLocked,
}

impl HostedRefusal {
    /// The refusal that a response with an error describes.
    pub(super) fn of(reply: &HttpReply) -> HostedRefusal {
        match reply.status {
            StatusCode::UNAUTHORIZED => return HostedRefusal::Unauthorized,
            StatusCode::NOT_FOUND => return HostedRefusal::NotFound,
            _ => {}
        }
        let document = reply.json();
        let all = document.get("errors").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
        let text = |error: &Json, name: &str| error.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
        let words = all.iter().map(|error| match (text(error, "title"), text(error, "detail")) {
            (title, detail) if detail.is_empty() => title,
            (title, detail) => format!("{title}: {detail}"),
        });
        let words = words.filter(|words| !words.is_empty()).collect::<Vec<_>>().join("; ");
        HostedRefusal::Said(if words.is_empty() { reply.status.to_string() } else { words })
    }

    fn advice(&self) -> &'static str {
        match self {
            HostedRefusal::Unauthorized => "Check the token for this host, or get another token with \"weft login\"",
            HostedRefusal::NotFound => "It does not exist, or the token does not allow to see it",
            _ => "",
        }
    }

    /// The error for the request.
    pub(super) fn at(&self, place: &str, doing: &'static str) -> BackendError {
        BackendError::Refused {
            place: place.to_owned(),
            doing,
            error: self.to_string().trim_end_matches('.').to_owned(),
            advice: self.advice().to_owned(),
        }
    }
}

/// The workspace is locked. The service does not name the holder.
pub(super) fn locked(id: &str) -> String {
    format!("workspace already locked (lock ID: \"{id}\")")
}

/// What is wrong with a response.
#[derive(Debug, thiserror::Error)]
pub(super) enum HostedDamage {
    /// The response names a URL that is not valid.
    #[error("{path}: {error}")]
    Url { path: String, error: url::ParseError },
    #[error("{0}")]
    NotJson(#[source] serde_json::Error),
    #[error("it is not a workspace")]
    NoWorkspace,
    #[error("it is not a project")]
    NoProject,
    #[error("the state has no address")]
    NoAddress,
    #[error("it is not a version of a state")]
    NoVersion,
    #[error("the new version has no address")]
    NoUploadAddress,
}

impl HostedDamage {
    /// The error for the request.
    pub(super) fn at(&self, place: &str, doing: &'static str) -> BackendError {
        BackendError::Damaged { place: place.to_owned(), doing, error: self.to_string() }
    }
}
