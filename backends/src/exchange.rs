//! Requests to services: their authorization, their repetition, and the answers.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Method, StatusCode};
use url::Url;
use weft_state::remote::BackendError;

use crate::client::reason;
use crate::retry::{Attempt, RetryRule};

/// The repetition of requests where the settings do not say it.
pub const RETRY: RetryRule =
    RetryRule { repeats: 6, first: Duration::from_millis(300), longest: Duration::from_secs(10) };

/// The characters that stay as they are in a path.
pub const IN_PATHS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');
/// The characters that stay as they are in a query.
pub const IN_QUERIES: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A text as a part of a query.
pub fn in_query(text: &str) -> String {
    utf8_percent_encode(text, IN_QUERIES).to_string()
}

/// Pairs as a query, in their order. A name without a value has no `=`.
pub fn query(pairs: &[(&str, &str)]) -> String {
    let pair = |(name, value): &(&str, &str)| match value.is_empty() {
        true => in_query(name),
        false => format!("{}={}", in_query(name), in_query(value)),
    };
    pairs.iter().map(pair).collect::<Vec<_>>().join("&")
}

/// Headers by name.
pub type Headers = Vec<(&'static str, String)>;

/// A request before it is authorized.
#[derive(Clone, Debug)]
pub struct Call {
    /// The request in words, such as "reading the state".
    pub doing: &'static str,
    /// The method.
    pub method: Method,
    /// The address.
    pub url: Url,
    /// Headers.
    pub headers: Headers,
    /// Headers whose names the service gave, such as metadata.
    pub metadata: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

impl Call {
    /// A request without headers and without a body.
    pub fn new(doing: &'static str, method: Method, url: Url) -> Call {
        Call { doing, method, url, headers: Vec::new(), metadata: Vec::new(), body: Bytes::new() }
    }

    /// The request with one more header.
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Call {
        self.headers.push((name, value.into()));
        self
    }

    /// The request with a body of this media type.
    pub fn body(mut self, media_type: &str, body: impl Into<Bytes>) -> Call {
        self.body = body.into();
        self.header("content-type", media_type)
    }
}

/// The answer of a service.
#[derive(Debug)]
pub struct Reply {
    /// The number of the attempt that was answered, from 1.
    pub attempt: u32,
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Reply {
    /// A header as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body as JSON; null if it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The error in this answer, in the words of the service.
    pub fn refusal(&self, place: String, doing: &'static str, error: Option<String>, advice: &str) -> BackendError {
        let error = error.filter(|error| !error.is_empty()).unwrap_or_else(|| format!("HTTP {}", self.status.as_u16()));
        let error = error.trim_end_matches('.').to_owned();
        BackendError::Refused { place, doing, error, advice: advice.to_owned() }
    }

    /// Whether another attempt may be answered otherwise.
    fn may_pass(&self) -> bool {
        let status = self.status;
        matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT)
            || status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED
    }
}

/// How requests prove who sends them.
#[async_trait]
pub trait Authorize: Send + Sync {
    /// The headers to add, and the parameters to add to the query.
    async fn authorize(&self, call: &Call) -> Result<Vec<(String, String)>, BackendError>;

    /// The service did not accept what [`Authorize::authorize`] gave.
    async fn rejected(&self) {}
}

/// Requests without authorization, or with the same header each time.
pub struct Constant(pub Vec<(String, String)>);

#[async_trait]
impl Authorize for Constant {
    async fn authorize(&self, _call: &Call) -> Result<Vec<(String, String)>, BackendError> {
        Ok(self.0.clone())
    }
}

/// A service that answers requests.
pub struct Service {
    /// The connections.
    pub http: reqwest::Client,
    /// How requests are repeated.
    pub retry: RetryRule,
    /// The place of the state, for messages.
    pub place: String,
    /// How requests are authorized.
    pub authorize: Box<dyn Authorize>,
}

impl fmt::Debug for Service {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Service({})", self.place)
    }
}

impl Service {
    /// Sends a request, again if it fails for a reason that may pass. The last answer is returned in any case.
    ///
    /// # Errors
    /// No answer came, or there are no credentials.
    pub async fn send(&self, call: &Call) -> Result<Reply, BackendError> {
        match self.retry.run(|number| self.attempt(call, number)).await {
            Ok(reply) => Ok(reply),
            Err(last) => last,
        }
    }

    async fn attempt(&self, call: &Call, number: u32) -> Attempt<Reply, Result<Reply, BackendError>> {
        let authorization = match self.authorize.authorize(call).await {
            Ok(headers) => headers,
            Err(error) => return Attempt::Final(Err(Err(error))),
        };
        let mut request = self.http.request(call.method.clone(), call.url.clone()).body(call.body.clone());
        if call.body.is_empty() && matches!(call.method, Method::PUT | Method::POST) {
            // Some services insist on the length of an empty body, which would be left out.
            request = request.header("content-length", "0");
        }
        for (name, value) in &call.headers {
            request = request.header(*name, value);
        }
        for (name, value) in call.metadata.iter().chain(&authorization) {
            request = request.header(name, value);
        }
        let answer = match request.send().await {
            Ok(answer) => answer,
            Err(error) => {
                let words = reason(&error);
                // Certificates and addresses stay as they are.
                let stays = error.is_builder() || error.is_redirect() || words.contains("certificate");
                let failed = Err(self.unreachable(call.doing, words));
                return if stays { Attempt::Final(Err(failed)) } else { Attempt::Again(failed, None) };
            }
        };
        let (status, headers) = (answer.status(), answer.headers().clone());
        let body = match answer.bytes().await {
            Ok(body) => body,
            Err(error) => return Attempt::Again(Err(self.unreachable(call.doing, reason(&error))), None),
        };
        let reply = Reply { attempt: number, status, headers, body };
        if reply.may_pass() {
            let wanted = reply.header(RETRY_AFTER.as_str()).and_then(|value| value.parse().ok());
            return Attempt::Again(Ok(reply), wanted.map(Duration::from_secs));
        }
        if status == StatusCode::UNAUTHORIZED {
            self.authorize.rejected().await;
        }
        Attempt::Final(Ok(reply))
    }

    fn unreachable(&self, doing: &'static str, error: String) -> BackendError {
        BackendError::Unreachable { place: self.place.clone(), doing, error }
    }
}
