//! The HTTP client. Connections stay open and are shared. A request is sent only once, and an error says whether the
//! request may have arrived.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, RETRY_AFTER};
use hyper::{Method, Request, Response, Uri};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde_json::Value as Json;

use crate::cloud::reply::RETRY_AFTER_MS;

/// The maximum size of a response: a list of some ten thousand objects.
pub const MAX_ANSWER: usize = 64 << 20;

/// The time after which an idle connection is closed. The server keeps connections open longer, so a request rarely
/// uses a connection that is being closed.
const IDLE: Duration = Duration::from_secs(30);

/// The response to a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// The whole body.
    pub body: Bytes,
    /// The time to wait before a retry, if the server requests one.
    pub retry_after: Option<Duration>,
}

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The URL cannot be used.
    #[error("{url:?} is not an http:// URL")]
    Url {
        /// The URL.
        url: String,
    },
    /// No connection, so the request was not sent.
    #[error("cannot connect to {url}: {what}")]
    Unreachable {
        /// The server.
        url: String,
        /// The error of the operating system.
        what: String,
    },
    /// The connection broke: the request may have been executed.
    #[error("the connection to {url} broke before the answer: {what}")]
    Lost {
        /// The server.
        url: String,
        /// The error that was observed.
        what: String,
    },
}

/// A client of one server.
#[derive(Clone, Debug)]
pub struct Client {
    pool: Pool<HttpConnector, Full<Bytes>>,
    base: String,
}

impl Client {
    /// Creates a client. `url` is `http://HOST:PORT`, with or without a final slash.
    pub fn new(url: &str) -> Result<Client, ClientError> {
        let bad = || ClientError::Url { url: url.to_owned() };
        let parsed: Uri = url.parse().map_err(|_| bad())?;
        if parsed.scheme_str() != Some("http") || parsed.host().is_none() {
            return Err(bad());
        }
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let pool =
            Pool::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE).build(connector);
        Ok(Client { pool, base: url.trim_end_matches('/').to_owned() })
    }

    /// The URL of the server, without a final slash.
    pub fn url(&self) -> &str {
        &self.base
    }

    /// Sends a request and reads the whole response. `path` begins with a slash and may have a query.
    pub async fn send(&self, method: Method, path: &str, body: Option<&Json>) -> Result<Answer, ClientError> {
        let response = self.open(method, path, body).await?;
        let status = response.status().as_u16();
        let header = |name: &str| response.headers().get(name)?.to_str().ok()?.parse::<u64>().ok();
        let retry_after = header(RETRY_AFTER_MS)
            .map(Duration::from_millis)
            .or_else(|| header(RETRY_AFTER.as_str()).map(Duration::from_secs));
        let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
        let body = body.map_err(|error| self.lost(error.to_string()))?.to_bytes();
        Ok(Answer { status, body, retry_after })
    }

    /// Sends a request and returns the head of the response. The caller reads the body.
    pub async fn open(
        &self,
        method: Method,
        path: &str,
        body: Option<&Json>,
    ) -> Result<Response<Incoming>, ClientError> {
        let bytes = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(bytes))
            .map_err(|_| ClientError::Url { url: format!("{}{path}", self.base) })?;
        self.pool.request(request).await.map_err(|error| {
            let what = innermost(&error);
            if error.is_connect() { ClientError::Unreachable { url: self.base.clone(), what } } else { self.lost(what) }
        })
    }

    fn lost(&self, what: String) -> ClientError {
        ClientError::Lost { url: self.base.clone(), what }
    }
}

/// The text of the innermost error.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

/// Percent-encodes a path segment or a query value.
pub fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if plain(byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}
