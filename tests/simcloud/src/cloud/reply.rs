//! Answers as data, and as HTTP.

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

/// How long to wait, in milliseconds, beside `Retry-After`, which has whole seconds only.
pub const RETRY_AFTER_MS: &str = "retry-after-ms";

/// The member of an answered object that tells the plugin what to make of it.
pub const TWIST: &str = "twist";

/// Lines that are sent as they are read. An error in the middle cuts the connection: half a ledger must not look whole.
pub type Lines = Pin<Box<dyn Stream<Item = Result<Bytes, StoreError>> + Send>>;

/// The body of an answer.
pub type Body = UnsyncBoxBody<Bytes, StoreError>;

/// An answer.
pub enum Reply {
    /// JSON with a status.
    Json(StatusCode, Json),
    /// Success without a body.
    Nothing,
    /// JSON lines.
    Lines(Lines),
    /// An error that the cloud answers.
    Error {
        /// The status.
        status: StatusCode,
        /// A word for programs.
        code: &'static str,
        /// A sentence for people.
        message: String,
        /// The field to blame.
        field: Option<String>,
        /// When to come again.
        retry_after: Option<Duration>,
    },
    /// No answer: the connection is cut.
    Cut,
}

impl Reply {
    /// An error without further particulars.
    pub fn error(status: StatusCode, code: &'static str, message: impl Into<String>) -> Reply {
        Reply::Error { status, code, message: message.into(), field: None, retry_after: None }
    }

    /// The same, telling the plugin what to make of the object, where there is one.
    #[must_use]
    pub fn twisted(mut self, twist: Option<Twist>) -> Reply {
        if let (Some(twist), Reply::Json(_, Json::Object(members))) = (twist, &mut self) {
            members.insert(TWIST.to_owned(), twist.word().into());
        }
        self
    }

    /// As HTTP; `None` where the connection is to be cut.
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
