//! Requests to services: authorization, retries, and responses.

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
use crate::retry::{AttemptResult, RequestRetries};

/// The default retries of requests.
pub const RETRY: RequestRetries =
    RequestRetries { repeats: 6, first: Duration::from_millis(300), longest: Duration::from_secs(10) };

/// The characters that are escaped in paths.
pub const IN_PATHS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');
/// The characters that are escaped in queries.
pub const IN_QUERIES: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The error codes of services for expired credentials.
pub const EXPIRED: [&str; 4] =
    ["ExpiredToken", "ExpiredTokenException", "SecurityTokenExpired", "TokenRefreshRequired"];

/// A string, escaped for a query.
pub fn in_query(text: &str) -> String {
    utf8_percent_encode(text, IN_QUERIES).to_string()
}

/// A query string of these names and values, in the given order. A name with an empty value has no `=`.
pub fn query(pairs: &[(&str, &str)]) -> String {
    let pair = |(name, value): &(&str, &str)| match value.is_empty() {
        true => in_query(name),
        false => format!("{}={}", in_query(name), in_query(value)),
    };
    pairs.iter().map(pair).collect::<Vec<_>>().join("&")
}

/// Headers with their names.
pub type Headers = Vec<(&'static str, String)>;

/// A request before it is authorized.
#[derive(Clone, Debug)]
pub struct Call {
    /// A description of the request for messages, such as "reading the state".
    pub doing: &'static str,
    /// The method.
    pub method: Method,
    /// The address.
    pub url: Url,
    /// Headers.
    pub headers: Headers,
    /// Headers whose names are not fixed, such as metadata.
    pub metadata: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

impl Call {
    /// A request without headers and without a body.
    pub fn new(doing: &'static str, method: Method, url: Url) -> Call {
        Call { doing, method, url, headers: Vec::new(), metadata: Vec::new(), body: Bytes::new() }
    }

    /// Adds a header to the request.
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Call {
        self.headers.push((name, value.into()));
        self
    }

    /// Adds a body of this media type to the request.
    pub fn body(mut self, media_type: &str, body: impl Into<Bytes>) -> Call {
        self.body = body.into();
        self.header("content-type", media_type)
    }
}

/// The response of a service.
#[derive(Debug)]
pub struct HttpReply {
    /// The number of the attempt that led to this response, counted from 1.
    pub attempt: u32,
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl HttpReply {
    /// The value of a header. `None` if the header is missing, or is not text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body as JSON. Null if it is not JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The error of this response, with the message of the service.
    pub fn refusal(&self, place: String, doing: &'static str, error: Option<String>, advice: &str) -> BackendError {
        let error = error.filter(|error| !error.is_empty()).unwrap_or_else(|| format!("HTTP {}", self.status.as_u16()));
        let error = error.trim_end_matches('.').to_owned();
        BackendError::Refused { place, doing, error, advice: advice.to_owned() }
    }

    /// Whether the service rejected the credentials because they are wrong or have expired.
    fn rejects_credentials(&self) -> bool {
        let named = |code: &&str| {
            let ends = [format!(">{code}<"), format!("{code}\"")];
            let text = String::from_utf8_lossy(&self.body);
            ends.iter().any(|end| text.contains(end.as_str()))
        };
        self.status == StatusCode::UNAUTHORIZED || self.status.is_client_error() && EXPIRED.iter().any(named)
    }

    /// Whether another attempt may succeed.
    fn may_pass(&self) -> bool {
        let status = self.status;
        matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT)
            || status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED
    }
}

/// The authorization of requests.
#[async_trait]
pub trait Authorize: Send + Sync {
    /// The headers to add, and the parameters to add to the query.
    async fn authorize(&self, call: &Call) -> Result<Vec<(String, String)>, BackendError>;

    /// Called after the service has rejected the headers or parameters from [`Authorize::authorize`]. Returns `true` if
    /// that method can return other credentials now. The request is then sent once more.
    async fn rejected(&self) -> bool {
        false
    }
}

/// An authorization that adds the same headers to all requests. The list may be empty.
pub struct Constant(pub Vec<(String, String)>);

#[async_trait]
impl Authorize for Constant {
    async fn authorize(&self, _call: &Call) -> Result<Vec<(String, String)>, BackendError> {
        Ok(self.0.clone())
    }
}

/// A service with its connections, retries and authorization.
pub struct HttpService {
    /// The connections.
    pub http: reqwest::Client,
    /// The retries of requests.
    pub retry: RequestRetries,
    /// The location of the state, for messages.
    pub place: String,
    /// The authorization of requests.
    pub authorize: Box<dyn Authorize>,
}

impl fmt::Debug for HttpService {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "HttpService({})", self.place)
    }
}

impl HttpService {
    /// Sends a request. Retries it if it fails for a reason that may be temporary. Returns the last response, even one
    /// with an error status.
    ///
    /// # Errors
    /// Returns an error if the service does not respond, or if there are no credentials.
    pub async fn send(&self, call: &Call) -> Result<HttpReply, BackendError> {
        match self.retry.run(|number| self.attempt(call, number)).await {
            Ok(reply) => Ok(reply),
            Err(last) => last,
        }
    }

    /// Makes one attempt. Rejected credentials are replaced once.
    async fn attempt(&self, call: &Call, number: u32) -> AttemptResult<HttpReply, Result<HttpReply, BackendError>> {
        let attempt = self.request(call, number).await;
        let rejected = matches!(&attempt, AttemptResult::Final(Ok(reply)) if reply.rejects_credentials());
        match rejected && self.authorize.rejected().await {
            true => self.request(call, number).await,
            false => attempt,
        }
    }

    async fn request(&self, call: &Call, number: u32) -> AttemptResult<HttpReply, Result<HttpReply, BackendError>> {
        let authorization = match self.authorize.authorize(call).await {
            Ok(headers) => headers,
            Err(error) => return AttemptResult::Final(Err(Err(error))),
        };
        let mut request = self.http.request(call.method.clone(), call.url.clone()).body(call.body.clone());
        if call.body.is_empty() && matches!(call.method, Method::PUT | Method::POST) {
            // Some services require this header, which the HTTP client omits for an empty body.
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
                // Errors of certificates and URLs are permanent.
                let stays = error.is_builder() || error.is_redirect() || words.contains("certificate");
                let failed = Err(self.unreachable(call.doing, words));
                return if stays { AttemptResult::Final(Err(failed)) } else { AttemptResult::Again(failed, None) };
            }
        };
        let (status, headers) = (answer.status(), answer.headers().clone());
        let body = match answer.bytes().await {
            Ok(body) => body,
            Err(error) => return AttemptResult::Again(Err(self.unreachable(call.doing, reason(&error))), None),
        };
        let reply = HttpReply { attempt: number, status, headers, body };
        if reply.may_pass() {
            let wanted = reply.header(RETRY_AFTER.as_str()).and_then(|value| value.parse().ok());
            return AttemptResult::Again(Ok(reply), wanted.map(Duration::from_secs));
        }
        AttemptResult::Final(Ok(reply))
    }

    fn unreachable(&self, doing: &'static str, error: String) -> BackendError {
        BackendError::Unreachable { place: self.place.clone(), doing, error }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::client::{ClientSettings, client};
    use crate::tokens::{AccessToken, Bearer, TokenSource};

    /// Uses a different token for each request.
    struct Counting(AtomicUsize, bool);

    #[async_trait]
    impl TokenSource for Counting {
        async fn token(&self) -> Result<AccessToken, BackendError> {
            let text = format!("t{}", self.0.fetch_add(1, Ordering::SeqCst));
            let later = std::time::SystemTime::now() + Duration::from_secs(3600);
            Ok(if self.1 { AccessToken::until(text, later) } else { AccessToken::lasting(text) })
        }
    }

    /// Starts a server that accepts only this token, and counts its requests.
    async fn server(token: &'static str, seen: &'static AtomicUsize) -> Url {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                seen.fetch_add(1, Ordering::SeqCst);
                let good = String::from_utf8(head).unwrap().contains(&format!("Bearer {token}\r\n"));
                let status = if good { "200 OK" } else { "401 Unauthorized" };
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        Url::parse(&format!("http://127.0.0.1:{port}/")).unwrap()
    }

    /// If the service no longer accepts a token, the client requests a new token, but only once.
    #[tokio::test]
    async fn rejected_tokens_are_replaced_once() {
        static SEEN: AtomicUsize = AtomicUsize::new(0);
        for (accepted, expire, status, requests) in
            [("t0", true, 200, 1), ("t1", true, 200, 2), ("t2", true, 401, 2), ("t1", false, 401, 1)]
        {
            let url = server(accepted, &SEEN).await;
            SEEN.store(0, Ordering::SeqCst);
            let authorize = Box::new(Bearer::new(Counting(AtomicUsize::new(0), expire)));
            let http = client(&ClientSettings::default()).unwrap();
            let service = HttpService { http, retry: RETRY, place: "here".to_owned(), authorize };
            let reply = service.send(&Call::new("reading", Method::GET, url)).await.unwrap();
            assert_eq!((reply.status.as_u16(), SEEN.load(Ordering::SeqCst)), (status, requests), "{accepted} {expire}");
        }
    }

    #[test]
    fn answers_about_expired_credentials() {
        let reply = |status: u16, body: &'static str| HttpReply {
            attempt: 1,
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: body.into(),
        };
        for (status, body, want) in [
            (401, "", true),
            (400, "<Error><Code>ExpiredToken</Code></Error>", true),
            (400, r#"{"__type":"com.amazon#ExpiredTokenException"}"#, true),
            (403, "<Error><Code>SecurityTokenExpired</Code></Error>", true),
            (403, "<Error><Code>AccessDenied</Code></Error>", false),
            (200, "<Code>ExpiredToken</Code>", false),
        ] {
            assert_eq!(reply(status, body).rejects_credentials(), want, "{status} {body}");
        }
    }
}
