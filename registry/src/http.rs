//! The HTTP client. All HTTP requests for packages, modules and documents use this client.
//!
//! The client limits every response: its size, the time until it begins, the time between its parts, and the number of
//! redirects. Redirects never lead from TLS to plain text. A request that allows retries is retried if a server is
//! overloaded or briefly unavailable. Proxies come from the environment. Certificates come from the system, or from
//! `SSL_CERT_FILE` and `SSL_CERT_DIR` ([`roots`]). No file or connection is opened before the first request.

mod request;
mod roots;
mod settings;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use aws_lc_rs::digest::{Context, Digest, SHA256};
use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use reqwest::redirect::Policy;
use serde::de::DeserializeOwned;
use tokio::io::AsyncWriteExt as _;
use url::Url;

pub use request::{Request, shown};
pub use settings::{CertificatePlaces, HttpSettings};

/// The maximum number of redirects. It is the same as in Go's client, with which servers are tested.
const MAX_REDIRECTS: usize = 10;

/// The time limit for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// The time limit for each pause within a response.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(60);

/// The maximum pause between two attempts, even if a server requests a longer pause.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// A client. Clones share their connections.
#[derive(Clone, Debug)]
pub struct Http {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    settings: HttpSettings,
    /// The client for other machines. `inward` is the client for this machine, which never uses a proxy.
    outward: OnceLock<reqwest::Client>,
    inward: OnceLock<reqwest::Client>,
}

/// A complete response.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status, which is below 500: a request with any other status fails.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The address, after redirects.
    pub url: Url,
    /// The content, within the size limit of the request.
    pub body: Vec<u8>,
}

/// A file that was downloaded.
#[derive(Clone, Debug)]
pub struct Download {
    /// The length in bytes.
    pub length: u64,
    /// The SHA-256 of the content.
    pub sha256: Digest,
    /// The address, after redirects.
    pub url: Url,
    /// The headers of the response.
    pub headers: HeaderMap,
}

/// Why there is no response. The messages have hosts and paths, but no passwords and no signed queries.
#[derive(Clone, Debug, thiserror::Error)]
pub enum HttpError {
    /// The client cannot be set up.
    #[error("secure connections cannot be made: {0}")]
    Setup(String),
    /// An invalid request.
    #[error("cannot request {url}: {problem}")]
    Request {
        /// The address.
        url: String,
        /// The problem.
        problem: String,
    },
    /// The connection of the last attempt failed.
    #[error("{}{url}: {problem}", after(*.attempts))]
    Unreachable {
        /// The address.
        url: String,
        /// The number of attempts.
        attempts: u32,
        /// The reason, with its causes.
        problem: String,
    },
    /// A response with an error status.
    #[error("{}{url} responded with {status}{}", after(*.attempts), meaning(*.status))]
    Status {
        /// The address.
        url: String,
        /// The status.
        status: StatusCode,
        /// The number of attempts.
        attempts: u32,
    },
    /// A response that exceeds the size limit.
    #[error("the response of {url} has more than {limit} bytes")]
    TooLarge {
        /// The address.
        url: String,
        /// The limit.
        limit: u64,
    },
    /// A response with content of an unexpected form.
    #[error("the response of {url} is not the expected JSON document: {problem}")]
    Document {
        /// The address.
        url: String,
        /// The problem.
        problem: String,
    },
    /// The response cannot be written to a file.
    #[error("{path}: {problem}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        problem: String,
    },
}

fn after(attempts: u32) -> String {
    if attempts > 1 { format!("the request failed after {attempts} attempts: ") } else { String::new() }
}

fn meaning(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => ", credentials are missing or not valid",
        StatusCode::FORBIDDEN => ", access is not allowed with these credentials",
        _ => "",
    }
}

impl HttpError {
    /// The status of the response, if the error is a status.
    pub fn status(&self) -> Option<StatusCode> {
        if let HttpError::Status { status, .. } = self { Some(*status) } else { None }
    }
}

/// The outcome of one attempt: done, worth a retry, or failed.
enum AttemptOutcome<T> {
    Done(T),
    Again(HttpError, Option<Duration>),
    Failed(HttpError),
}

impl Http {
    /// A client with these settings.
    pub fn new(settings: HttpSettings) -> Http {
        Http { inner: Arc::new(Inner { settings, outward: OnceLock::new(), inward: OnceLock::new() }) }
    }

    /// A client with the settings of this process's environment.
    pub fn of_process() -> Http {
        Http::new(HttpSettings::of_process())
    }

    /// The settings of the client.
    pub fn settings(&self) -> &HttpSettings {
        &self.inner.settings
    }

    /// Sends a request, and reads the whole response. Every status below 500 except 429 counts as a response, so the
    /// caller must handle 404.
    ///
    /// # Errors
    /// Returns an error if all attempts that the request allows fail, or if the response exceeds the size limit.
    pub async fn send(&self, request: &Request) -> Result<Response, HttpError> {
        self.repeat(request, async |client, attempts| {
            let mut response = match open(client, request, attempts).await {
                AttemptOutcome::Done(response) => response,
                AttemptOutcome::Again(error, wait) => return AttemptOutcome::Again(error, wait),
                AttemptOutcome::Failed(error) => return AttemptOutcome::Failed(error),
            };
            let mut body = Vec::new();
            loop {
                match response.chunk().await {
                    Ok(Some(chunk)) if (body.len() + chunk.len()) as u64 > request.limit() => {
                        return AttemptOutcome::Failed(too_large(request));
                    }
                    Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                    Ok(None) => break,
                    Err(error) => return AttemptOutcome::Again(broken(request, attempts, &error), None),
                }
            }
            let (status, url) = (response.status(), response.url().clone());
            AttemptOutcome::Done(Response { status, headers: std::mem::take(response.headers_mut()), url, body })
        })
        .await
    }

    /// Requests a JSON document. Fields that the type does not have are ignored.
    ///
    /// # Errors
    /// Errors of [`send`](Http::send). Also returns an error if the status is not 200, or if the document does not
    /// match the type.
    pub async fn json<T: DeserializeOwned>(&self, request: &Request) -> Result<T, HttpError> {
        self.send(request).await?.sound()?.json()
    }

    /// Downloads into a file, which is overwritten. After an error, the contents of the file are not usable. The result
    /// has the digest of the file.
    ///
    /// # Errors
    /// Errors of [`send`](Http::send). Also returns an error if the status is not 200, or if the file cannot be
    /// written.
    pub async fn download(&self, request: &Request, to: &Path) -> Result<Download, HttpError> {
        self.repeat(request, async |client, attempts| {
            let response = match open(client, request, attempts).await {
                AttemptOutcome::Done(response) => response,
                AttemptOutcome::Again(error, wait) => return AttemptOutcome::Again(error, wait),
                AttemptOutcome::Failed(error) => return AttemptOutcome::Failed(error),
            };
            if response.status() != StatusCode::OK {
                let (url, status) = (shown(response.url()), response.status());
                return AttemptOutcome::Failed(HttpError::Status { url, status, attempts });
            }
            store(response, request, attempts, to).await
        })
        .await
    }

    async fn repeat<T>(
        &self,
        request: &Request,
        attempt: impl AsyncFn(&reqwest::Client, u32) -> AttemptOutcome<T>,
    ) -> Result<T, HttpError> {
        let client = self.client(request.url())?;
        let mut wait = self.inner.settings.first_wait;
        let mut attempts = 1;
        loop {
            match attempt(client, attempts).await {
                AttemptOutcome::Done(done) => return Ok(done),
                AttemptOutcome::Failed(error) => return Err(error),
                AttemptOutcome::Again(error, _) if attempts > request.retries() => return Err(error),
                AttemptOutcome::Again(error, asked) => {
                    tracing::debug!("{error}; retrying");
                    tokio::time::sleep(asked.unwrap_or(wait).min(MAX_WAIT)).await;
                    wait = wait.saturating_mul(2);
                    attempts += 1;
                }
            }
        }
    }

    fn client(&self, url: &Url) -> Result<&reqwest::Client, HttpError> {
        let inward = is_this_machine(url);
        let cell = if inward { &self.inner.inward } else { &self.inner.outward };
        if let Some(client) = cell.get() {
            return Ok(client);
        }
        let settings = &self.inner.settings;
        let builder = reqwest::Client::builder()
            .tls_backend_preconfigured(roots::client_config(&settings.certificates)?)
            .user_agent(settings.user_agent.as_str())
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(SILENCE_TIMEOUT)
            .redirect(redirects());
        let builder = if inward { builder.no_proxy() } else { builder };
        let client = builder.build().map_err(|error| HttpError::Setup(chain(&error)))?;
        Ok(cell.get_or_init(|| client))
    }
}

impl Response {
    /// Returns the response if its status is 200.
    ///
    /// # Errors
    /// Returns an error for any other status.
    pub fn sound(self) -> Result<Response, HttpError> {
        match self.status {
            StatusCode::OK => Ok(self),
            status => Err(HttpError::Status { url: shown(&self.url), status, attempts: 1 }),
        }
    }

    /// Parses the content as JSON.
    ///
    /// # Errors
    /// Returns an error if the content is not JSON, or does not match the type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, HttpError> {
        serde_json::from_slice(&self.body)
            .map_err(|error| HttpError::Document { url: shown(&self.url), problem: error.to_string() })
    }

    /// The value of a header, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Sends a request, and reads the headers of the response.
async fn open(client: &reqwest::Client, request: &Request, attempts: u32) -> AttemptOutcome<reqwest::Response> {
    let mut builder =
        client.request(request.method().clone(), request.url().clone()).headers(request.headers().clone());
    if let Some(within) = request.within() {
        builder = builder.timeout(within);
    }
    if let Some(body) = request.body() {
        builder = builder.body(body.to_owned());
    }
    let response = match builder.send().await {
        Ok(response) => response,
        Err(error) if error.is_redirect() || error.is_builder() => {
            let problem = chain(&error.without_url());
            return AttemptOutcome::Failed(HttpError::Request { url: shown(request.url()), problem });
        }
        Err(error) => return AttemptOutcome::Again(broken(request, attempts, &error), None),
    };
    let status = response.status();
    if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
        let error = HttpError::Status { url: shown(response.url()), status, attempts };
        return match status {
            StatusCode::NOT_IMPLEMENTED => AttemptOutcome::Failed(error),
            _ => AttemptOutcome::Again(error, asked_wait(response.headers())),
        };
    }
    if response.content_length().is_some_and(|length| length > request.limit()) {
        return AttemptOutcome::Failed(too_large(request));
    }
    AttemptOutcome::Done(response)
}

async fn store(
    mut response: reqwest::Response,
    request: &Request,
    attempts: u32,
    to: &Path,
) -> AttemptOutcome<Download> {
    let unwritten = |error: std::io::Error| {
        AttemptOutcome::Failed(HttpError::Write { path: to.to_owned(), problem: error.to_string() })
    };
    let mut file = match tokio::fs::File::create(to).await {
        Ok(file) => file,
        Err(error) => return unwritten(error),
    };
    let mut digest = Context::new(&SHA256);
    let mut length = 0u64;
    loop {
        let chunk = match response.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break,
            Err(error) => return AttemptOutcome::Again(broken(request, attempts, &error), None),
        };
        length += chunk.len() as u64;
        if length > request.limit() {
            return AttemptOutcome::Failed(too_large(request));
        }
        digest.update(&chunk);
        if let Err(error) = file.write_all(&chunk).await {
            return unwritten(error);
        }
    }
    if let Err(error) = file.flush().await {
        return unwritten(error);
    }
    let url = response.url().clone();
    AttemptOutcome::Done(Download {
        length,
        sha256: digest.finish(),
        url,
        headers: std::mem::take(response.headers_mut()),
    })
}

fn too_large(request: &Request) -> HttpError {
    HttpError::TooLarge { url: shown(request.url()), limit: request.limit() }
}

fn broken(request: &Request, attempts: u32, error: &reqwest::Error) -> HttpError {
    let problem = if error.is_timeout() { "no response in time".to_owned() } else { chain(error) };
    HttpError::Unreachable { url: shown(request.url()), attempts, problem }
}

/// The delay that a server requests, in seconds. A date in place of a number is ignored.
fn asked_wait(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// The inner causes of an error. The outer errors repeat the address, which may contain secrets.
fn chain(error: &dyn std::error::Error) -> String {
    let mut texts = Vec::new();
    let mut next = error.source();
    while let Some(error) = next {
        texts.push(error.to_string());
        next = error.source();
    }
    // An error often repeats its cause.
    texts.dedup_by(|later, earlier| earlier.contains(later.as_str()));
    if texts.is_empty() { "the connection failed".to_owned() } else { texts.join(": ") }
}

/// Whether the address belongs to this machine. As in Go, requests to such addresses use no proxy.
fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Follows redirects, but never from a secure connection to an insecure connection. Credentials are not sent to another
/// host.
fn redirects() -> Policy {
    Policy::custom(|attempt| {
        if attempt.previous().len() > MAX_REDIRECTS {
            return attempt.error(RedirectProblem::TooMany);
        }
        let secure = attempt.previous().last().is_some_and(|url| url.scheme() == "https");
        if secure && attempt.url().scheme() != "https" {
            return attempt.error(RedirectProblem::Insecure);
        }
        attempt.follow()
    })
}

#[derive(Debug, thiserror::Error)]
enum RedirectProblem {
    #[error("the server redirects more than {MAX_REDIRECTS} times")]
    TooMany,
    #[error("the server redirects from https to http")]
    Insecure,
}
