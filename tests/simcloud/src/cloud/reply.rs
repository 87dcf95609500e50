//! Responses, as data and as HTTP.

use std::convert::Infallible;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, TryStreamExt};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use hyper::header::{CONTENT_TYPE, RETRY_AFTER};
use hyper::{Response, StatusCode};
use serde_json::{Value as Json, json};

use super::fault::Twist;
use super::store::StoreError;
use super::world::Refusal;

/// The header with the time to wait, in milliseconds. `Retry-After` only has whole seconds.
pub const RETRY_AFTER_MS: &str = "retry-after-ms";

/// The member of a returned object that controls what the plugin does with it.
pub const TWIST: &str = "twist";

/// Lines that the server sends while it reads further lines from its store. An error in the middle closes the
/// connection, so that a part of the ledger does not look complete.
pub type Lines = Pin<Box<dyn Stream<Item = Result<Bytes, StoreError>> + Send>>;

/// The body of a response.
pub type Body = UnsyncBoxBody<Bytes, StoreError>;

/// A response.
pub enum Reply {
    /// JSON with a status.
    Json(StatusCode, Json),
    /// Success without a body.
    Nothing,
    /// JSON lines.
    Lines(Lines),
    /// An error response.
    Error {
        /// The status.
        status: StatusCode,
        /// The code, for programs.
        code: &'static str,
        /// The message, as a sentence for users.
        message: String,
        /// The field at fault.
        field: Option<String>,
        /// The time to wait before a retry.
        retry_after: Option<Duration>,
    },
    /// No response: the connection is closed.
    Cut,
}

impl Reply {
    /// An error response without a field or a time to wait.
    pub fn error(status: StatusCode, code: &'static str, message: impl Into<String>) -> Reply {
        Reply::Error { status, code, message: message.into(), field: None, retry_after: None }
    }

    /// Adds the instruction for the plugin to the object of the response, if the response has an object.
    #[must_use]
    pub fn twisted(mut self, twist: Option<Twist>) -> Reply {
        if let (Some(twist), Reply::Json(_, Json::Object(members))) = (twist, &mut self) {
            members.insert(TWIST.to_owned(), twist.word().into());
        }
        self
    }

    /// Converts the response to HTTP. `None` if the connection must be closed.
    pub fn into_response(self) -> Option<Response<Body>> {
        let (status, body, wait) = match self {
            Reply::Cut => return None,
            Reply::Nothing => (StatusCode::NO_CONTENT, None, None),
            Reply::Json(status, body) => (status, Some(body), None),
            Reply::Error { status, code, message, field, retry_after } => {
                let body = json!({"code": code, "message": message, "field": field});
                (status, Some(body), retry_after)
            }
            Reply::Lines(lines) => {
                let mut response = Response::new(StreamBody::new(lines.map_ok(Frame::data)).boxed_unsync());
                response.headers_mut().insert(CONTENT_TYPE, "application/x-ndjson".parse().ok()?);
                return Some(response);
            }
        };
        let bytes = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        let never = |error: Infallible| match error {};
        let mut response = Response::new(Full::new(bytes).map_err(never).boxed_unsync());
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, "application/json".parse().ok()?);
        if let Some(wait) = wait {
            let milliseconds = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
            headers.insert(RETRY_AFTER, milliseconds.div_ceil(1000).into());
            headers.insert(RETRY_AFTER_MS, milliseconds.into());
        }
        Some(response)
    }
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Reply {
        let message = refusal.to_string();
        let (status, code, field) = match refusal {
            Refusal::Absent { .. } => (StatusCode::NOT_FOUND, "no-such-object", None),
            Refusal::Invalid { field, .. } => (StatusCode::UNPROCESSABLE_ENTITY, "invalid", Some(field)),
            Refusal::Conflict { field, .. } => (StatusCode::CONFLICT, "conflict", field.map(str::to_owned)),
        };
        Reply::Error { status, code, message, field, retry_after: None }
    }
}

impl From<StoreError> for Reply {
    fn from(error: StoreError) -> Reply {
        Reply::error(StatusCode::INTERNAL_SERVER_ERROR, "store", error.to_string())
    }
}
