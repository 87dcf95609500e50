//! Requests to S3.

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use md5::{Digest as _, Md5};
use percent_encoding::utf8_percent_encode;
use reqwest::{Method, StatusCode};
use tokio::sync::Mutex;
use url::Url;
use weft_graph_format::diagnostic::Diagnostic;
use weft_state::remote::{BackendError, Object, Version, Written};

use super::credentials::{Expiring, Provider};
use super::refusals::{self, About};
use super::settings::{Encryption, S3Settings};
use super::signing;
use super::sts::Sts;
use crate::bucket::{Bucket, ObjectKind, When};
use crate::client::{client, reason};
use crate::exchange::{IN_PATHS, IN_QUERIES};
use crate::problems::no_client;
use crate::retry::Attempt;
use crate::xml;

/// The codes of answers that may pass.
const PASSING: [&str; 6] =
    ["SlowDown", "RequestTimeout", "Throttling", "ThrottlingException", "InternalError", "RequestLimitExceeded"];
/// The number of objects that one request can delete, by the documentation of the service.
const DELETED_AT_ONCE: usize = 1_000;
/// The media type of states and locks.
const JSON: &str = "application/json";

/// A request before it is signed.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) doing: &'static str,
    pub(super) service: &'static str,
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Bytes,
}

/// The answer of a service.
#[derive(Debug)]
pub(super) struct Answer {
    /// The number of the attempt that was answered, from 1.
    attempt: u32,
    pub(super) status: StatusCode,
    pub(super) version: Option<Version>,
    pub(super) body: Bytes,
}

/// The connection to the services.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) settings: S3Settings,
    http: reqwest::Client,
    provider: Provider,
    credentials: Mutex<Option<Expiring>>,
}

impl Client {
    /// A client with these settings.
    pub(super) fn new(settings: S3Settings) -> Result<Client, Diagnostic> {
        let http = client(&settings.client).map_err(|error| no_client(&error))?;
        let (endpoint, region) = (settings.endpoint("sts").clone(), settings.region.clone());
        let provider = Provider::new(settings.login.clone(), Sts { http: http.clone(), endpoint, region });
        Ok(Client { settings, http, provider, credentials: Mutex::default() })
    }

    /// The credentials, looked for again before they expire.
    async fn credentials(&self) -> Result<Expiring, BackendError> {
        let mut known = self.credentials.lock().await;
        if let Some(found) = known.as_ref().filter(|found| !found.expires_soon()) {
            return Ok(found.clone());
        }
        let found = self.provider.find(&self.place(&self.settings.key)).await?;
        *known = Some(found.clone());
        Ok(found)
    }

    /// Signs and sends a request, again if it fails for a reason that may pass.
    pub(super) async fn send(&self, request: &Request) -> Result<Answer, BackendError> {
        let place = self.place(&self.settings.key);
        self.settings.retry.run(|number| self.attempt(request, &place, number)).await
    }

    async fn attempt(&self, request: &Request, place: &str, number: u32) -> Attempt<Answer, BackendError> {
        let credentials = match self.credentials().await {
            Ok(found) => found,
            Err(error) => return Attempt::Final(Err(error)),
        };
        let Request { doing, service, method, url, headers, body } = request;
        let failed = |error: String| refusals::unreachable(place.to_owned(), doing, error);
        let region = &self.settings.region;
        let signed = signing::headers(&credentials.keys, region, service, method, url, headers, body);
        let signed = match signed {
            Ok(signed) => signed,
            Err(error) => return Attempt::Final(Err(failed(error))),
        };
        let mut sent = self.http.request(method.clone(), url.clone()).body(body.clone());
        for (name, value) in headers.iter().chain(&signed) {
            sent = sent.header(name, value);
        }
        let answer = match sent.send().await {
            Ok(answer) => answer,
            Err(error) => return Attempt::Again(failed(reason(&error)), None),
        };
        let status = answer.status();
        let version = answer.headers().get("etag").and_then(|tag| tag.to_str().ok()).map(|tag| Version(tag.to_owned()));
        let body = match answer.bytes().await {
            Ok(body) => body,
            Err(error) => return Attempt::Again(failed(reason(&error)), None),
        };
        let passing = status.is_server_error()
            || status == StatusCode::TOO_MANY_REQUESTS
            || status.is_client_error()
                && xml::text(&body, "Code").is_some_and(|code| PASSING.contains(&code.as_str()));
        if passing && status != StatusCode::NOT_IMPLEMENTED {
            return Attempt::Again(self.refused(request, status, &body), None);
        }
        if status == StatusCode::FORBIDDEN && credentials.expires() {
            // Keys that expired on the way are looked for again at the next request.
            *self.credentials.lock().await = None;
        }
        Attempt::Final(Ok(Answer { attempt: number, status, version, body }))
    }

    /// The error in an answer.
    pub(super) fn refused(&self, request: &Request, status: StatusCode, body: &[u8]) -> BackendError {
        let settings = &self.settings;
        let (name, action) = match (request.service, &request.method) {
            ("dynamodb", _) => {
                (settings.dynamodb_table.as_deref().unwrap_or_default(), "dynamodb:PutItem, GetItem, DeleteItem")
            }
            (_, &Method::PUT) => (settings.bucket.as_str(), "s3:PutObject"),
            (_, &Method::DELETE | &Method::POST) => (settings.bucket.as_str(), "s3:DeleteObject"),
            (_, _) if request.url.query().is_some() => (settings.bucket.as_str(), "s3:ListBucket"),
            _ => (settings.bucket.as_str(), "s3:GetObject"),
        };
        let about = About { name, region: &settings.region, action };
        refusals::refused(self.place(&settings.key), request.doing, status, body, about)
    }

    /// The address of an object, or of the bucket with an empty key.
    fn url(&self, key: &str, query: &[(&str, &str)]) -> Url {
        let settings = &self.settings;
        let mut url = settings.endpoint("s3").clone();
        let encoded = utf8_percent_encode(key, IN_PATHS).to_string();
        let base = url.path().trim_end_matches('/').to_owned();
        let path_style = settings.path_style
            || settings.bucket.contains('.')
            || url.host_str().is_none_or(|host| host.parse::<std::net::IpAddr>().is_ok() || host.starts_with('['));
        if path_style {
            url.set_path(&format!("{base}/{}/{encoded}", settings.bucket));
        } else {
            let host = format!("{}.{}", settings.bucket, url.host_str().unwrap_or_default());
            // A bucket's name is part of a host name; others are refused by the service.
            let _ = url.set_host(Some(&host));
            url.set_path(&format!("{base}/{encoded}"));
        }
        if !query.is_empty() {
            let encode = |text: &str| utf8_percent_encode(text, IN_QUERIES).to_string();
            let pairs: Vec<String> =
                query.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
            url.set_query(Some(&pairs.join("&")));
        }
        url
    }

    fn request(&self, doing: &'static str, method: Method, key: &str) -> Request {
        let url = self.url(key, &[]);
        Request { doing, service: "s3", method, url, headers: Vec::new(), body: Bytes::new() }
    }

    fn customer_headers(&self) -> Vec<(String, String)> {
        let Encryption::Customer(key) = &self.settings.encryption else { return Vec::new() };
        let digest = STANDARD.decode(key).map(|bytes| STANDARD.encode(Md5::digest(bytes))).unwrap_or_default();
        [("algorithm", "AES256".to_owned()), ("key", key.clone()), ("key-md5", digest)]
            .map(|(name, value)| (format!("x-amz-server-side-encryption-customer-{name}"), value))
            .into()
    }

    fn write_headers(&self, content: &Bytes, kind: ObjectKind, when: &When) -> Vec<(String, String)> {
        let settings = &self.settings;
        let mut headers = vec![("content-type".to_owned(), JSON.to_owned())];
        let mut add = |name: &str, value: String| headers.push((name.to_owned(), value));
        match when {
            When::Always => {}
            When::Absent => add("if-none-match", "*".to_owned()),
            When::Is(version) => add("if-match", version.0.clone()),
        }
        if !settings.skip_checksum {
            let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, content);
            add("x-amz-checksum-sha256", STANDARD.encode(digest));
            add("x-amz-sdk-checksum-algorithm", "SHA256".to_owned());
        }
        match &settings.encryption {
            Encryption::OfBucket | Encryption::Customer(_) => {}
            Encryption::Aes256 => add("x-amz-server-side-encryption", "AES256".to_owned()),
            Encryption::Kms(key) => {
                add("x-amz-server-side-encryption", "aws:kms".to_owned());
                add("x-amz-server-side-encryption-aws-kms-key-id", key.clone());
            }
        }
        if let Some(acl) = &settings.acl {
            add("x-amz-acl", acl.clone());
        }
        let tags = &settings.tags[usize::from(kind == ObjectKind::Lock)];
        if !tags.is_empty() {
            add("x-amz-tagging", tags.clone());
        }
        headers.extend(self.customer_headers());
        headers
    }
}

/// The body of a request that deletes these objects.
fn deletion(keys: &[String]) -> String {
    let mut body = String::from("<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>");
    for key in keys {
        body.push_str("<Object><Key>");
        body.push_str(&quick_xml::escape::escape(key.as_str()));
        body.push_str("</Key></Object>");
    }
    body.push_str("</Delete>");
    body
}

#[async_trait]
impl Bucket for Client {
    fn place(&self, key: &str) -> String {
        format!("s3://{}/{key}", self.settings.bucket)
    }

    async fn get(&self, doing: &'static str, key: &str) -> Result<Option<Object>, BackendError> {
        let mut request = self.request(doing, Method::GET, key);
        request.headers = self.customer_headers();
        let answer = self.send(&request).await?;
        match answer.status {
            StatusCode::OK => {
                let version = answer.version.unwrap_or(Version(String::new()));
                Ok(Some(Object { content: answer.body, version }))
            }
            StatusCode::NOT_FOUND if xml::text(&answer.body, "Code").as_deref() != Some("NoSuchBucket") => Ok(None),
            status => Err(self.refused(&request, status, &answer.body)),
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
        let mut request = self.request(doing, Method::PUT, key);
        request.headers = self.write_headers(&content, kind, when);
        request.body = content.clone();
        let answer = self.send(&request).await?;
        match answer.status {
            StatusCode::OK => Ok(Written::Done(answer.version.unwrap_or(Version(String::new())))),
            StatusCode::PRECONDITION_FAILED | StatusCode::CONFLICT if *when != When::Always => {
                if answer.attempt == 1 {
                    return Ok(Written::Conflict);
                }
                match self.get(doing, key).await? {
                    Some(found) if found.content == content => Ok(Written::Done(found.version)),
                    _ => Ok(Written::Conflict),
                }
            }
            StatusCode::NOT_FOUND if matches!(when, When::Is(_)) => Ok(Written::Conflict),
            status => Err(self.refused(&request, status, &answer.body)),
        }
    }

    async fn delete(&self, doing: &'static str, key: &str) -> Result<(), BackendError> {
        let request = self.request(doing, Method::DELETE, key);
        let answer = self.send(&request).await?;
        match answer.status {
            status if status.is_success() || status == StatusCode::NOT_FOUND => Ok(()),
            status => Err(self.refused(&request, status, &answer.body)),
        }
    }

    async fn delete_all(&self, doing: &'static str, keys: &[String]) -> Result<(), BackendError> {
        if let [only] = keys {
            return self.delete(doing, only).await;
        }
        for keys in keys.chunks(DELETED_AT_ONCE) {
            let mut request = self.request(doing, Method::POST, "");
            request.url = self.url("", &[("delete", "")]);
            request.body = deletion(keys).into();
            let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &request.body);
            request.headers = vec![
                ("content-type".to_owned(), "application/xml".to_owned()),
                ("content-md5".to_owned(), STANDARD.encode(Md5::digest(&request.body))),
                ("x-amz-checksum-sha256".to_owned(), STANDARD.encode(digest)),
            ];
            let answer = self.send(&request).await?;
            // Each object may be refused on its own, in an answer that is a success.
            let refused = xml::text(&answer.body, "Code").is_some();
            if !answer.status.is_success() || refused {
                return Err(self.refused(&request, answer.status, &answer.body));
            }
        }
        Ok(())
    }

    async fn list(&self, doing: &'static str, prefix: &str) -> Result<Vec<String>, BackendError> {
        let mut keys = Vec::new();
        let mut next: Option<String> = None;
        loop {
            let mut request = self.request(doing, Method::GET, "");
            let mut query = vec![("list-type", "2"), ("prefix", prefix)];
            if let Some(next) = &next {
                query.insert(0, ("continuation-token", next));
            }
            request.url = self.url("", &query);
            let answer = self.send(&request).await?;
            if answer.status != StatusCode::OK {
                return Err(self.refused(&request, answer.status, &answer.body));
            }
            keys.extend(xml::texts(&answer.body, "Key"));
            next = xml::text(&answer.body, "NextContinuationToken");
            if next.is_none() {
                return Ok(keys);
            }
        }
    }
}
