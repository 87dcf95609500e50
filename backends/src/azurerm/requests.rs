//! Requests to the blob service.

use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use md5::{Digest as _, Md5};
use reqwest::{Method, StatusCode};
use url::Url;
use weft_graph_format::diagnostic::Diagnostic;
use weft_state::remote::{BackendError, Object, ObjectVersion, Written};

use super::cloud::Clouds;
use super::refusals::{self, Right, code};
use super::settings::{AzureSettings, Encryption, Proof};
use super::sources::authorizer;
use crate::bucket::{Bucket, ObjectKind, When};
use crate::client::client;
use crate::exchange::{Call, HttpReply, HttpService, RETRY};
use crate::problems::no_client;
use crate::xml;

/// The version of the service's API.
const VERSION: &str = "2021-12-02";
/// The media type of states and journals.
const JSON: &str = "application/json";
/// The prefix of the headers with the metadata of a blob.
const METADATA: &str = "x-ms-meta-";
/// The maximum number of attempts to write a blob that changes between reading and writing. While a state is locked,
/// only the metadata of its blob can change.
const ROUNDS: usize = 5;
/// The name of the metadata with the lock.
pub(super) const LOCK: &str = "terraformlockid";

/// The properties of a blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Properties {
    /// The ETag, which also changes with the metadata.
    pub(super) etag: String,
    /// The digest of the content, if the service returned a digest.
    pub(super) digest: Option<ObjectVersion>,
    /// Whether the blob has a lease.
    pub(super) leased: bool,
    /// Whether the blob is empty.
    pub(super) empty: bool,
    /// The metadata. The names are in lower case.
    pub(super) metadata: Vec<(String, String)>,
}

impl Properties {
    fn of(reply: &HttpReply) -> Properties {
        let text = |name: &str| reply.header(name).map(str::to_owned);
        let metadata = reply.headers.iter().filter_map(|(name, value)| {
            let name = name.as_str().to_lowercase().strip_prefix(METADATA)?.to_owned();
            Some((name, value.to_str().ok()?.to_owned()))
        });
        Properties {
            etag: text("etag").unwrap_or_default(),
            digest: text("content-md5").map(ObjectVersion),
            leased: text("x-ms-lease-status").as_deref() == Some("locked"),
            empty: text("content-length").as_deref() == Some("0"),
            metadata: metadata.collect(),
        }
    }
}

/// The version of a state with this content. The ETag of the blob is not suitable, because locking also changes the
/// ETag.
fn version_of(content: &[u8]) -> ObjectVersion {
    ObjectVersion(STANDARD.encode(Md5::digest(content)))
}

/// The connection to the service.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) settings: AzureSettings,
    service: HttpService,
    clouds: Arc<Clouds>,
}

/// A change of the lease of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lease<'a> {
    /// Takes an infinite lease with this id, if the blob has this ETag.
    Acquire { id: &'a str, etag: &'a str },
    /// Ends the lease with this id.
    Release { id: &'a str },
}

impl Client {
    /// A client with these settings.
    pub(super) fn new(settings: AzureSettings) -> Result<Client, Diagnostic> {
        let http = client(&settings.client).map_err(|error| no_client(&error))?;
        let clouds = Arc::new(Clouds::new(settings.cloud.clone(), http.clone()));
        let authorize = authorizer(&settings, &clouds, &http);
        let place = settings.place(&settings.key);
        Ok(Client { settings, service: HttpService { http, retry: RETRY, place, authorize }, clouds })
    }

    /// The address of a blob. With an empty key, the address of the container.
    async fn address(&self, key: &str) -> Result<Url, BackendError> {
        let AzureSettings { account, container, .. } = &self.settings;
        let wrong = |error: &dyn std::fmt::Display| BackendError::Credentials {
            place: self.settings.place(key),
            error: error.to_string(),
        };
        let domain = &self.clouds.get().await.map_err(|error| wrong(&error))?.storage;
        let text = format!("https://{account}.blob.{domain}/{container}");
        let mut url = Url::parse(&text).map_err(|error| wrong(&format_args!("the address {text}: {error}")))?;
        if let (false, Ok(mut path)) = (key.is_empty(), url.path_segments_mut()) {
            path.push(key);
        }
        Ok(url)
    }

    /// The address of a blob for display and for lock information.
    pub(super) async fn shown(&self, key: &str) -> Result<String, BackendError> {
        self.address(key).await.map(String::from)
    }

    /// A request for a blob. With an empty key, a request for the container.
    async fn call(
        &self,
        doing: &'static str,
        method: Method,
        key: &str,
        query: &[(&str, &str)],
    ) -> Result<Call, BackendError> {
        let mut url = self.address(key).await?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        if let Proof::Signature(signature) = &self.settings.proof {
            let query = url.query().map_or_else(|| signature.clone(), |query| format!("{query}&{signature}"));
            url.set_query(Some(&query));
        }
        Ok(Call::new(doing, method, url).header("x-ms-version", VERSION))
    }

    /// Adds the headers for the encryption of content and metadata. Only requests that write name an encryption scope.
    fn encrypted(&self, call: Call, writes: bool) -> Call {
        match &self.settings.encryption {
            Encryption::Customer(key, digest) => call
                .header("x-ms-encryption-key", key)
                .header("x-ms-encryption-key-sha256", digest)
                .header("x-ms-encryption-algorithm", "AES256"),
            Encryption::Scope(scope) if writes => call.header("x-ms-encryption-scope", scope),
            Encryption::Scope(_) | Encryption::OfAccount => call,
        }
    }

    async fn send(&self, key: &str, call: &Call) -> Result<HttpReply, BackendError> {
        let timeout = self.settings.timeout;
        let sent = tokio::time::timeout(timeout, self.service.send(call)).await;
        let sent = sent.map_err(|_| refusals::too_late(self.place(key), call.doing, timeout.as_secs()))?;
        sent.map_err(|error| refusals::unreachable(&self.settings.account, error))
    }

    fn refused(&self, key: &str, doing: &'static str, right: Right, reply: &HttpReply) -> BackendError {
        refusals::refused(&self.settings, key, doing, right, reply)
    }

    /// The properties of a blob. `None` if the blob does not exist.
    pub(super) async fn properties(&self, doing: &'static str, key: &str) -> Result<Option<Properties>, BackendError> {
        let call = self.encrypted(self.call(doing, Method::HEAD, key, &[]).await?, false);
        let reply = self.send(key, &call).await?;
        match reply.status {
            StatusCode::OK => Ok(Some(Properties::of(&reply))),
            StatusCode::NOT_FOUND if code(&reply) != "ContainerNotFound" => Ok(None),
            _ => Err(self.refused(key, doing, Right::Read, &reply)),
        }
    }

    /// Replaces the metadata of a blob if the blob has this ETag and no lease. Returns the new ETag, or `None` if the
    /// metadata was not replaced.
    pub(super) async fn set_metadata(
        &self,
        doing: &'static str,
        key: &str,
        etag: &str,
        metadata: &[(String, String)],
    ) -> Result<Option<String>, BackendError> {
        let call = self.call(doing, Method::PUT, key, &[("comp", "metadata")]).await?.header("if-match", etag);
        let reply = self.send(key, &with_metadata(self.encrypted(call, true), metadata)).await?;
        match reply.status {
            StatusCode::OK => Ok(Some(reply.header("etag").unwrap_or_default().to_owned())),
            StatusCode::PRECONDITION_FAILED | StatusCode::NOT_FOUND | StatusCode::CONFLICT => Ok(None),
            _ => Err(self.refused(key, doing, Right::Write, &reply)),
        }
    }

    /// Takes or ends a lease. Returns whether the service accepted the request.
    pub(super) async fn lease(&self, doing: &'static str, key: &str, what: Lease<'_>) -> Result<bool, BackendError> {
        let call = self.call(doing, Method::PUT, key, &[("comp", "lease")]).await?;
        let call = match what {
            Lease::Acquire { id, etag } => call
                .header("x-ms-lease-action", "acquire")
                .header("x-ms-lease-duration", "-1")
                .header("x-ms-proposed-lease-id", id)
                .header("if-match", etag),
            Lease::Release { id } => call.header("x-ms-lease-action", "release").header("x-ms-lease-id", id),
        };
        let reply = self.send(key, &call).await?;
        match (reply.status, what) {
            (status, _) if status.is_success() => Ok(true),
            // An earlier attempt may have taken effect, although its response was lost.
            (StatusCode::CONFLICT, Lease::Release { .. }) if reply.attempt > 1 => {
                Ok(code(&reply) == "LeaseNotPresentWithLeaseOperation")
            }
            (StatusCode::PRECONDITION_FAILED | StatusCode::NOT_FOUND | StatusCode::CONFLICT, _) => Ok(false),
            // The text is not a valid id of a lease.
            (StatusCode::BAD_REQUEST, Lease::Release { .. }) => Ok(false),
            _ => Err(self.refused(key, doing, Right::Write, &reply)),
        }
    }

    /// Makes a snapshot of a blob.
    async fn snapshot(&self, doing: &'static str, key: &str, lock: Option<&str>) -> Result<(), BackendError> {
        let call = self.call(doing, Method::PUT, key, &[("comp", "snapshot")]).await?;
        let reply = self.send(key, &self.encrypted(with_lease(call, lock), true)).await?;
        match reply.status {
            status if status.is_success() => Ok(()),
            _ => Err(self.refused(key, doing, Right::Write, &reply)),
        }
    }

    /// Creates an empty blob, unless the blob exists.
    pub(super) async fn create_empty(&self, doing: &'static str, key: &str) -> Result<(), BackendError> {
        self.upload(doing, key, Bytes::new(), &WriteCondition::Absent, None).await.map(|_| ())
    }

    /// Writes a blob if it meets `condition`.
    async fn upload(
        &self,
        doing: &'static str,
        key: &str,
        content: Bytes,
        condition: &WriteCondition,
        lock: Option<&str>,
    ) -> Result<Uploaded, BackendError> {
        let digest = version_of(&content).0;
        let call = self.call(doing, Method::PUT, key, &[]).await?.body(JSON, content).header("content-md5", digest);
        let call = call.header("x-ms-blob-type", "BlockBlob").header("x-ms-blob-content-type", JSON);
        let call = match condition {
            WriteCondition::Any => call,
            WriteCondition::Absent => call.header("if-none-match", "*"),
            WriteCondition::Is(found) => with_metadata(call.header("if-match", &found.etag), &found.metadata),
        };
        let reply = self.send(key, &self.encrypted(with_lease(call, lock), true)).await?;
        match reply.status {
            status if status.is_success() => Ok(Uploaded::Done),
            StatusCode::PRECONDITION_FAILED | StatusCode::CONFLICT
                if matches!(code(&reply).as_str(), "ConditionNotMet" | "BlobAlreadyExists") =>
            {
                Ok(if reply.attempt > 1 { Uploaded::Perhaps } else { Uploaded::No })
            }
            _ => Err(self.refused(key, doing, Right::Write, &reply)),
        }
    }

    /// Writes a state if the current version is the expected version. Locking a state that was never written creates an
    /// empty blob, which counts as absent. Each attempt has a condition, so it has no effect if another process changes
    /// the blob in the meantime. The next attempt then checks the version again.
    pub(super) async fn write(
        &self,
        key: &str,
        content: Bytes,
        when: &When,
        lock: Option<&str>,
    ) -> Result<Written, BackendError> {
        const DOING: &str = "writing the state";
        let version = version_of(&content);
        let mut perhaps = false;
        for _ in 0..ROUNDS {
            let found = self.properties(DOING, key).await?;
            let now = match &found {
                Some(found) if !found.empty => self.version(DOING, key, found).await?,
                _ => None,
            };
            if perhaps && now.as_ref() == Some(&version) {
                return Ok(Written::Done(version));
            }
            let fits = match when {
                When::Always => true,
                When::Absent => now.is_none(),
                When::Is(expected) => now.as_ref() == Some(expected),
            };
            if !fits {
                return Ok(Written::Conflict);
            }
            if self.settings.snapshot && found.is_some() {
                self.snapshot("keeping a snapshot of the state", key, lock).await?;
            }
            let condition = found.map_or(WriteCondition::Absent, WriteCondition::Is);
            match self.upload(DOING, key, content.clone(), &condition, lock).await? {
                Uploaded::Done => return Ok(Written::Done(version)),
                Uploaded::Perhaps => perhaps = true,
                Uploaded::No => {}
            }
        }
        Err(refusals::restless(self.place(key), DOING))
    }

    /// The version of the content of a blob.
    async fn version(
        &self,
        doing: &'static str,
        key: &str,
        found: &Properties,
    ) -> Result<Option<ObjectVersion>, BackendError> {
        // Blobs that consist of several blocks have no digest.
        match &found.digest {
            Some(digest) => Ok(Some(digest.clone())),
            None => Ok(self.get(doing, key).await?.map(|object| object.version)),
        }
    }

    /// The keys that begin with this prefix and have no `/` after the prefix.
    pub(super) async fn list_level(&self, doing: &'static str, prefix: &str) -> Result<Vec<String>, BackendError> {
        let keys = self.pages(doing, &[("prefix", prefix), ("delimiter", "/")]).await?;
        Ok(keys.into_iter().filter(|key| key.strip_prefix(prefix).is_some_and(|rest| !rest.contains('/'))).collect())
    }

    async fn pages(&self, doing: &'static str, query: &[(&str, &str)]) -> Result<Vec<String>, BackendError> {
        let mut keys = Vec::new();
        let mut next: Option<String> = None;
        loop {
            let mut query = [&[("restype", "container"), ("comp", "list")], query].concat();
            if let Some(next) = &next {
                query.push(("marker", next));
            }
            let call = self.call(doing, Method::GET, "", &query).await?;
            let reply = self.send("", &call).await?;
            if reply.status != StatusCode::OK {
                return Err(self.refused("", doing, Right::List, &reply));
            }
            keys.extend(xml::texts(&reply.body, "Name"));
            next = xml::text(&reply.body, "NextMarker").filter(|marker| !marker.is_empty());
            if next.is_none() {
                return Ok(keys);
            }
        }
    }
}

/// The condition on a blob under which a write takes effect.
enum WriteCondition {
    Any,
    Absent,
    /// The blob must have the ETag in these properties. The write preserves the metadata of the blob.
    Is(Properties),
}

/// The outcome of a write.
enum Uploaded {
    Done,
    /// The condition was not met at a retry. The cause may be an earlier attempt that took effect, but whose response
    /// was lost.
    Perhaps,
    /// The condition was not met at the first attempt, so the write had no effect.
    No,
}

fn with_lease(call: Call, lock: Option<&str>) -> Call {
    match lock {
        Some(id) => call.header("x-ms-lease-id", id),
        None => call,
    }
}

fn with_metadata(mut call: Call, metadata: &[(String, String)]) -> Call {
    call.metadata.extend(metadata.iter().map(|(name, value)| (format!("{METADATA}{name}"), value.clone())));
    call
}

#[async_trait]
impl Bucket for Client {
    fn place(&self, key: &str) -> String {
        self.settings.place(key)
    }

    async fn get(&self, doing: &'static str, key: &str) -> Result<Option<Object>, BackendError> {
        let call = self.encrypted(self.call(doing, Method::GET, key, &[]).await?, false);
        let reply = self.send(key, &call).await?;
        match reply.status {
            StatusCode::OK => Ok(Some(Object { version: version_of(&reply.body), content: reply.body })),
            StatusCode::NOT_FOUND if code(&reply) != "ContainerNotFound" => Ok(None),
            _ => Err(self.refused(key, doing, Right::Read, &reply)),
        }
    }

    async fn put(
        &self,
        doing: &'static str,
        key: &str,
        content: Bytes,
        _kind: ObjectKind,
        when: &When,
    ) -> Result<Written, BackendError> {
        let condition = match when {
            When::Always => WriteCondition::Any,
            When::Absent => WriteCondition::Absent,
            When::Is(_) => return self.write(key, content, when, None).await,
        };
        match self.upload(doing, key, content.clone(), &condition, None).await? {
            Uploaded::Done => Ok(Written::Done(version_of(&content))),
            Uploaded::No => Ok(Written::Conflict),
            Uploaded::Perhaps => match self.get(doing, key).await? {
                Some(found) if found.content == content => Ok(Written::Done(found.version)),
                _ => Ok(Written::Conflict),
            },
        }
    }

    async fn delete(&self, doing: &'static str, key: &str) -> Result<(), BackendError> {
        let reply = self.send(key, &self.call(doing, Method::DELETE, key, &[]).await?).await?;
        match reply.status {
            status if status.is_success() || status == StatusCode::NOT_FOUND => Ok(()),
            _ => Err(self.refused(key, doing, Right::Delete, &reply)),
        }
    }

    async fn list(&self, doing: &'static str, prefix: &str) -> Result<Vec<String>, BackendError> {
        self.pages(doing, &[("prefix", prefix)]).await
    }
}
