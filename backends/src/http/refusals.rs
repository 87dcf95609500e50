//! Requests that the server refused, and the messages about its lock.

use reqwest::StatusCode;
use weft_state::remote::BackendError;

/// Why the server did not do what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum HttpRefusal {
    #[error("HTTP remote state endpoint requires auth")]
    Unauthorized,
    #[error("HTTP remote state endpoint invalid auth")]
    Forbidden,
    /// The status has no meaning for the request.
    #[error("Unexpected HTTP response code {}", .0.as_u16())]
    Unexpected(StatusCode),
    /// The state was not written.
    #[error("HTTP error: {}", .0.as_u16())]
    NotWritten(StatusCode),
}

impl HttpRefusal {
    /// The refusal with a status that has no special meaning for the request.
    pub(super) fn of(status: StatusCode) -> HttpRefusal {
        match status {
            StatusCode::UNAUTHORIZED => HttpRefusal::Unauthorized,
            StatusCode::FORBIDDEN => HttpRefusal::Forbidden,
            status => HttpRefusal::Unexpected(status),
        }
    }

    /// The error for the request.
    pub(super) fn at(self, place: String, doing: &'static str) -> BackendError {
        let advice = match self {
            HttpRefusal::Unauthorized => "Set username and password, or TF_HTTP_USERNAME and TF_HTTP_PASSWORD",
            HttpRefusal::Forbidden => "Check username and password, and the permissions of this user",
            HttpRefusal::Unexpected(_) | HttpRefusal::NotWritten(_) => "",
        };
        BackendError::Refused { place, doing, error: self.to_string(), advice: advice.to_owned() }
    }
}

/// The server still fails after this number of attempts.
pub(super) fn gave_up(status: StatusCode, attempts: u32) -> String {
    format!("the server answered {status}, giving up after {attempts} attempt(s)")
}

/// The state is locked. `unread` says whether the server did not describe the holder, so that `id` is the id of the
/// caller's own lock.
pub(super) fn locked(id: &str, unread: bool) -> String {
    let more = if unread { ", failed to unmarshal body" } else { "" };
    format!("HTTP remote state already locked: ID={id}{more}")
}
