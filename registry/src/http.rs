//! The HTTP client: the one place from which Weft asks others for packages, modules and documents.
//!
//! What it holds every answer to: a cap on its bytes, a time in which it begins and goes on, a limited number of
//! redirects, none of them from TLS to plain text, and repeated attempts when a server is overloaded or gone for a
//! moment. Proxies are those of the environment, certificates those of the system or of `SSL_CERT_FILE` and
//! `SSL_CERT_DIR` ([`roots`]). Nothing is opened before the first request.

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

/// Most redirects of a request; Go's client, which servers are tried with, takes as many.
const MAX_REDIRECTS: usize = 10;

/// How long a connection may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a server may fall silent in the middle of an answer.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(60);

/// Longest wait between two attempts, also when a server asks for a longer one.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// A client. Clones share their connections.
#[derive(Clone, Debug)]
pub struct Http {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    settings: HttpSettings,
    /// For hosts elsewhere, and for this machine itself, which no proxy is asked for.
    outward: OnceLock<reqwest::Client>,
    inward: OnceLock<reqwest::Client>,
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its status, below 500: with others a request fails.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// What it came from, after redirects.
    pub url: Url,
    /// Its content, within the cap of the request.
    pub body: Vec<u8>,
}

/// What was written to a file.
#[derive(Clone, Debug)]
pub struct Download {
    /// Length in bytes.
    pub length: u64,
    /// SHA-256 of the content.
    pub sha256: Digest,
    /// What it came from, after redirects.
    pub url: Url,
    /// Headers of the answer.
    pub headers: HeaderMap,
}

/// Why there is no answer. Texts name hosts and paths, and neither passwords nor signed queries.
#[derive(Clone, Debug, thiserror::Error)]
pub enum HttpError {
    /// The client cannot be set up.
    #[error("secure connections cannot be made: {0}")]
    Setup(String),
    /// A request that no server would understand.
    #[error("cannot ask for {url}: {problem}")]
    Request {
        /// The address.
        url: String,
        /// What is wrong with it.
        problem: String,
    },
    /// No connection, or one that broke; of the last attempt.
    #[error("{}{url}: {problem}", after(*.attempts))]
    Unreachable {
        /// The address.
        url: String,
        /// How often it was tried.
        attempts: u32,
        /// The reason, with what lies behind it.
        problem: String,
    },
    /// An answer that does not serve.
    #[error("{}{url} answered {status}{}", after(*.attempts), meaning(*.status))]
    Status {
        /// The address.
        url: String,
        /// The status.
        status: StatusCode,
        /// How often it was tried.
        attempts: u32,
    },
    /// An answer over the cap.
    #[error("{url} answered with more than {limit} bytes")]
    TooLarge {
        /// The address.
        url: String,
        /// The cap.
        limit: u64,
    },
    /// An answer of another form than expected.
    #[error("{url} answered with something that is not the JSON document expected: {problem}")]
    Document {
        /// The address.
        url: String,
        /// What is wrong.
        problem: String,
    },
    /// The answer cannot be written to where it should go.
    #[error("{path}: {problem}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
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
    /// The status that a server answered with, if that is what went wrong.
    pub fn status(&self) -> Option<StatusCode> {
        if let HttpError::Status { status, .. } = self { Some(*status) } else { None }
    }
}

/// What one attempt came to: done, worth another attempt, or not.
enum Attempt<T> {
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

    /// Its settings.
    pub fn settings(&self) -> &HttpSettings {
        &self.inner.settings
    }

    /// Asks, and reads the answer whole. Every status below 500 but 429 is an answer: the caller knows what 404 means.
    ///
    /// # Errors
    /// When there is no answer after as many attempts as the request allows, or one over the cap.
    pub async fn send(&self, request: &Request) -> Result<Answer, HttpError> {
        self.repeat(request, async |client, attempts| {
            let mut response = match open(client, request, attempts).await {
                Attempt::Done(response) => response,
                Attempt::Again(error, wait) => return Attempt::Again(error, wait),
                Attempt::Failed(error) => return Attempt::Failed(error),
            };
            let mut body = Vec::new();
            loop {
                match response.chunk().await {
                    Ok(Some(chunk)) if (body.len() + chunk.len()) as u64 > request.limit() => {
                        return Attempt::Failed(too_large(request));
                    }
                    Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                    Ok(None) => break,
                    Err(error) => return Attempt::Again(broken(request, attempts, &error), None),
                }
            }
            let (status, url) = (response.status(), response.url().clone());
            Attempt::Done(Answer { status, headers: std::mem::take(response.headers_mut()), url, body })
        })
        .await
    }

    /// Asks for a JSON document. Members that the type does not know are passed over.
    ///
    /// # Errors
    /// As [`send`](Http::send); also when the status is another than 200 or the document another than expected.
    pub async fn json<T: DeserializeOwned>(&self, request: &Request) -> Result<T, HttpError> {
        self.send(request).await?.sound()?.json()
    }

    /// Asks for something that goes into a file, which is written anew; what is there of a failed download is of no
    /// use. With its digest, taken on the way.
    ///
    /// # Errors
    /// As [`send`](Http::send); also when the status is another than 200 or the file cannot be written.
    pub async fn download(&self, request: &Request, to: &Path) -> Result<Download, HttpError> {
        self.repeat(request, async |client, attempts| {
            let response = match open(client, request, attempts).await {
                Attempt::Done(response) => response,
                Attempt::Again(error, wait) => return Attempt::Again(error, wait),
                Attempt::Failed(error) => return Attempt::Failed(error),
            };
            if response.status() != StatusCode::OK {
                let (url, status) = (shown(response.url()), response.status());
                return Attempt::Failed(HttpError::Status { url, status, attempts });
            }
            store(response, request, attempts, to).await
        })
        .await
    }

    async fn repeat<T>(
        &self,
        request: &Request,
        attempt: impl AsyncFn(&reqwest::Client, u32) -> Attempt<T>,
    ) -> Result<T, HttpError> {
        let client = self.client(request.url())?;
        let mut wait = self.inner.settings.first_wait;
        let mut attempts = 1;
        loop {
            match attempt(client, attempts).await {
                Attempt::Done(done) => return Ok(done),
                Attempt::Failed(error) => return Err(error),
                Attempt::Again(error, _) if attempts > request.retries() => return Err(error),
                Attempt::Again(error, asked) => {
                    tracing::debug!("{error}; trying again");
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

impl Answer {
    /// The answer, if its status is 200.
    ///
    /// # Errors
    /// When it is another.
    pub fn sound(self) -> Result<Answer, HttpError> {
        match self.status {
            StatusCode::OK => Ok(self),
            status => Err(HttpError::Status { url: shown(&self.url), status, attempts: 1 }),
        }
    }

    /// The content as a JSON document.
    ///
    /// # Errors
    /// When it is none, or not of this form.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, HttpError> {
        serde_json::from_slice(&self.body)
            .map_err(|error| HttpError::Document { url: shown(&self.url), problem: error.to_string() })
    }

    /// A header's value, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Sends a request, and reads the answer as far as its headers.
async fn open(client: &reqwest::Client, request: &Request, attempts: u32) -> Attempt<reqwest::Response> {
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
            return Attempt::Failed(HttpError::Request { url: shown(request.url()), problem });
        }
        Err(error) => return Attempt::Again(broken(request, attempts, &error), None),
    };
    let status = response.status();
    if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
        let error = HttpError::Status { url: shown(response.url()), status, attempts };
        return match status {
            StatusCode::NOT_IMPLEMENTED => Attempt::Failed(error),
            _ => Attempt::Again(error, asked_wait(response.headers())),
        };
    }
    if response.content_length().is_some_and(|length| length > request.limit()) {
        return Attempt::Failed(too_large(request));
    }
    Attempt::Done(response)
}

async fn store(mut response: reqwest::Response, request: &Request, attempts: u32, to: &Path) -> Attempt<Download> {
    let unwritten =
        |error: std::io::Error| Attempt::Failed(HttpError::Write { path: to.to_owned(), problem: error.to_string() });
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
            Err(error) => return Attempt::Again(broken(request, attempts, &error), None),
        };
        length += chunk.len() as u64;
        if length > request.limit() {
            return Attempt::Failed(too_large(request));
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
    Attempt::Done(Download { length, sha256: digest.finish(), url, headers: std::mem::take(response.headers_mut()) })
}

fn too_large(request: &Request) -> HttpError {
    HttpError::TooLarge { url: shown(request.url()), limit: request.limit() }
}

fn broken(request: &Request, attempts: u32, error: &reqwest::Error) -> HttpError {
    let problem = if error.is_timeout() { "no answer in time".to_owned() } else { chain(error) };
    HttpError::Unreachable { url: shown(request.url()), attempts, problem }
}

/// What a server wants to be left alone for, in seconds; dates, which some send too, are not heeded.
fn asked_wait(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// The innermost reasons of an error. Its outer ones repeat the address, with whatever secrets are in it.
fn chain(error: &dyn std::error::Error) -> String {
    let mut texts = Vec::new();
    let mut next = error.source();
    while let Some(error) = next {
        texts.push(error.to_string());
        next = error.source();
    }
    // A reason is often repeated by what encloses it.
    texts.dedup_by(|later, earlier| earlier.contains(later.as_str()));
    if texts.is_empty() { "the connection failed".to_owned() } else { texts.join(": ") }
}

/// Addresses of this machine, for which Go's clients ask no proxy either.
fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Follows redirects to other addresses, but none that leads from a secure connection to one that is not. Credentials
/// do not go along to another host.
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
    #[error("it redirects more than {MAX_REDIRECTS} times")]
    TooMany,
    #[error("it redirects from a secure connection to one that is not")]
    Insecure,
}
