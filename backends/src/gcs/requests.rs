//! Requests to Cloud Storage (its JSON API).

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use reqwest::{Method, StatusCode};
use serde_json::{Value as Json, json};
use url::Url;
use weft_graph_format::diagnostic::Diagnostic;
use weft_state::remote::{BackendError, Object, ObjectVersion, Written};

use super::credentials::Source;
use super::refusals;
use super::settings::{Encryption, GcsSettings};
use super::sources::{GoogleTokens, OBJECTS};
use crate::bucket::{Bucket, ObjectKind, When};
use crate::client::{ClientSettings, client};
use crate::exchange::{Authorize, Call, Constant, HttpReply, HttpService, RETRY};
use crate::problems::no_client;
use crate::tokens::Bearer;

/// The media type of states, as in OpenTofu.
const TEXT: &str = "text/plain; charset=utf-8";
/// The header with the generation of an object.
const GENERATION: &str = "x-goog-generation";
/// The query parameter for the condition of a request. Its value is the generation that an object must have, or 0 if
/// the object must not exist.
const CONDITION: &str = "ifGenerationMatch";

/// The connection to the service.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) settings: GcsSettings,
    service: HttpService,
}

impl Client {
    /// A client with these settings.
    pub(super) fn new(settings: GcsSettings) -> Result<Client, Diagnostic> {
        let http = client(&ClientSettings::default()).map_err(|error| no_client(&error))?;
        let place = format!("gs://{}/{}", settings.bucket, settings.prefix);
        let authorize: Box<dyn Authorize> = match &settings.source {
            Source::None => Box::new(Constant(Vec::new())),
            source => {
                let tokens =
                    GoogleTokens { source: source.clone(), http: http.clone(), scope: OBJECTS, place: place.clone() };
                Box::new(Bearer::new(tokens))
            }
        };
        Ok(Client { settings, service: HttpService { http, retry: RETRY, place, authorize } })
    }

    /// The URL of an object. With an empty key, the URL of all objects. If `upload` is true, the URL for writing.
    fn url(&self, key: &str, upload: bool, query: &[(&str, &str)]) -> Url {
        let mut url = self.settings.endpoint.clone();
        if upload {
            url.set_path("/upload/storage/v1/");
        }
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["b", &self.settings.bucket, "o"]);
            if !key.is_empty() {
                path.push(key);
            }
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    fn customer_headers(&self, kind: ObjectKind) -> Vec<(&'static str, String)> {
        let Encryption::Customer(key) = &self.settings.encryption else { return Vec::new() };
        if kind == ObjectKind::Lock {
            return Vec::new();
        }
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, key);
        vec![
            ("x-goog-encryption-algorithm", "AES256".to_owned()),
            ("x-goog-encryption-key", STANDARD.encode(key)),
            ("x-goog-encryption-key-sha256", STANDARD.encode(digest)),
        ]
    }

    fn refused(&self, key: &str, doing: &'static str, action: &str, reply: &HttpReply) -> BackendError {
        refusals::refused(self.place(key), doing, &self.settings.bucket, action, reply)
    }

    /// The keys of the objects that begin with this prefix and have no `/` after the prefix.
    pub(super) async fn list_level(&self, doing: &'static str, prefix: &str) -> Result<Vec<String>, BackendError> {
        self.pages(doing, &[("prefix", prefix), ("delimiter", "/")]).await
    }

    async fn pages(&self, doing: &'static str, query: &[(&str, &str)]) -> Result<Vec<String>, BackendError> {
        let mut keys = Vec::new();
        let mut next: Option<String> = None;
        loop {
            let mut query = query.to_vec();
            if let Some(next) = &next {
                query.push(("pageToken", next));
            }
            let reply = self.service.send(&Call::new(doing, Method::GET, self.url("", false, &query))).await?;
            if reply.status != StatusCode::OK {
                return Err(self.refused("", doing, "storage.objects.list", &reply));
            }
            let json = reply.json();
            let items = json.get("items").and_then(Json::as_array).into_iter().flatten();
            keys.extend(items.filter_map(|item| Some(item.get("name")?.as_str()?.to_owned())));
            next = json.get("nextPageToken").and_then(Json::as_str).map(str::to_owned);
            if next.is_none() {
                return Ok(keys);
            }
        }
    }

    /// Deletes an object if it has this version. If the object does not exist, the result is a conflict.
    pub(super) async fn delete_version(
        &self,
        doing: &'static str,
        key: &str,
        version: &ObjectVersion,
    ) -> Result<Written, BackendError> {
        let url = self.url(key, false, &[(CONDITION, &version.0)]);
        let reply = self.service.send(&Call::new(doing, Method::DELETE, url)).await?;
        match reply.status {
            status if status.is_success() => Ok(Written::Done(version.clone())),
            // An earlier attempt may have taken effect, although its response was lost.
            StatusCode::NOT_FOUND if reply.attempt > 1 => Ok(Written::Done(version.clone())),
            StatusCode::NOT_FOUND | StatusCode::PRECONDITION_FAILED => Ok(Written::Conflict),
            _ => Err(self.refused(key, doing, "storage.objects.delete", &reply)),
        }
    }
}

/// A body with the properties of an object and its content (RFC 2387). Returns the media type and the body.
fn related(key: &str, content: &[u8]) -> (String, Vec<u8>) {
    // The boundary must not occur in the content. The digest of the content does not occur there.
    let boundary = blake3::hash(content).to_hex();
    let properties = json!({ "name": key, "contentType": TEXT });
    let mut body = format!(
        "--{boundary}\r\ncontent-type: application/json\r\n\r\n{properties}\r\n--{boundary}\r\ncontent-type: {TEXT}\r\n\r\n"
    )
    .into_bytes();
    body.extend_from_slice(content);
    body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    (format!("multipart/related; boundary={boundary}"), body)
}

#[async_trait]
impl Bucket for Client {
    fn place(&self, key: &str) -> String {
        format!("gs://{}/{key}", self.settings.bucket)
    }

    async fn get(&self, doing: &'static str, key: &str) -> Result<Option<Object>, BackendError> {
        let kind = if key.ends_with(super::LOCK) { ObjectKind::Lock } else { ObjectKind::State };
        let mut call = Call::new(doing, Method::GET, self.url(key, false, &[("alt", "media")]));
        call.headers = self.customer_headers(kind);
        let reply = self.service.send(&call).await?;
        match reply.status {
            StatusCode::OK => {
                let version = ObjectVersion(reply.header(GENERATION).unwrap_or_default().to_owned());
                Ok(Some(Object { content: reply.body, version }))
            }
            StatusCode::NOT_FOUND if !String::from_utf8_lossy(&reply.body).contains("bucket does not exist") => {
                Ok(None)
            }
            _ => Err(self.refused(key, doing, "storage.objects.get", &reply)),
        }
    }

    async fn put(
        &self,
        doing: &'static str,
        key: &str,
        content: Bytes,
        kind: ObjectKind,
        when: &When,
    ) -> Result<Written, BackendError> {
        let mut query = vec![("uploadType", "multipart")];
        match when {
            When::Always => {}
            When::Absent => query.push((CONDITION, "0")),
            When::Is(version) => query.push((CONDITION, &version.0)),
        }
        if let (Encryption::Kms(name), ObjectKind::State) = (&self.settings.encryption, kind) {
            query.push(("kmsKeyName", name));
        }
        let (media_type, body) = related(key, &content);
        let mut call = Call::new(doing, Method::POST, self.url("", true, &query)).body(&media_type, body);
        call.headers.extend(self.customer_headers(kind));
        let reply = self.service.send(&call).await?;
        match reply.status {
            StatusCode::OK => {
                let generation = reply.json().get("generation").and_then(Json::as_str).map(str::to_owned);
                Ok(Written::Done(ObjectVersion(generation.unwrap_or_default())))
            }
            StatusCode::PRECONDITION_FAILED if *when != When::Always => {
                if reply.attempt == 1 {
                    return Ok(Written::Conflict);
                }
                match self.get(doing, key).await? {
                    Some(found) if found.content == content => Ok(Written::Done(found.version)),
                    _ => Ok(Written::Conflict),
                }
            }
            _ => Err(self.refused(key, doing, "storage.objects.create", &reply)),
        }
    }

    async fn delete(&self, doing: &'static str, key: &str) -> Result<(), BackendError> {
        let reply = self.service.send(&Call::new(doing, Method::DELETE, self.url(key, false, &[]))).await?;
        match reply.status {
            status if status.is_success() || status == StatusCode::NOT_FOUND => Ok(()),
            _ => Err(self.refused(key, doing, "storage.objects.delete", &reply)),
        }
    }

    async fn list(&self, doing: &'static str, prefix: &str) -> Result<Vec<String>, BackendError> {
        self.pages(doing, &[("prefix", prefix)]).await
    }
}
