//! Requests to S3.

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use md5::{Digest as _, Md5};
use percent_encoding::utf8_percent_encode;
use reqwest::{Method, StatusCode};
use tokio::sync::{Mutex, OnceCell};
use url::Url;
use weft_graph_format::diagnostic::Diagnostic;
use weft_state::remote::{BackendError, Object, ObjectVersion, Written};

use super::arns::BucketName;
use super::credentials::Provider;
use super::expiring::Expiring;
use super::refusals::{self, About};
use super::settings::{Encryption, S3Settings};
use super::signing::{self, Regions};
use crate::bucket::{Bucket, ObjectKind, When};
use crate::client::{client, reason};
use crate::exchange::{EXPIRED, IN_PATHS, IN_QUERIES};
use crate::problems::no_client;
use crate::retry::AttemptResult;
use crate::xml;

/// The name of the service in signatures and endpoints.
const S3: &str = "s3";
/// The host of multi-region access points, between their name and the domain.
const MANY_REGIONS: &str = "accesspoint.s3-global";
/// The header with the name of an operation of DynamoDB.
pub(super) const TARGET_HEADER: &str = "x-amz-target";
/// The error codes of temporary errors, except the codes for too many requests.
const PASSING: [&str; 3] = ["RequestTimeout", "InternalError", "InternalServerError"];
/// The error codes that may mean that a session has expired. The session has expired if the source of the credentials
/// now has different keys.
const UNKNOWN: [&str; 5] =
    ["InvalidAccessKeyId", "InvalidClientTokenId", "InvalidToken", "UnrecognizedClientException", "RequestExpired"];
/// The maximum number of objects that one request can delete, from the documentation of the service.
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

/// The response of a service.
#[derive(Debug)]
pub(super) struct Answer {
    /// The number of the attempt that led to this response, counted from 1.
    attempt: u32,
    pub(super) status: StatusCode,
    pub(super) version: Option<ObjectVersion>,
    /// The region of the bucket, if the service returned it.
    region: Option<String>,
    pub(super) body: Bytes,
}

impl Answer {
    /// Whether another attempt may succeed.
    fn may_pass(&self) -> bool {
        let passing = |code: String| PASSING.contains(&code.as_str()) || refusals::is_busy(&code);
        match self.status {
            StatusCode::NOT_IMPLEMENTED => false,
            StatusCode::TOO_MANY_REQUESTS => true,
            status if status.is_client_error() => refusals::code(&self.body).is_some_and(passing),
            status => status.is_server_error(),
        }
    }

    /// Whether this is the response to the first attempt.
    pub(super) fn is_first(&self) -> bool {
        self.attempt == 1
    }
}

/// The connection to the services.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) settings: S3Settings,
    http: reqwest::Client,
    provider: Provider,
    credentials: Mutex<Option<Expiring>>,
    /// The result of the check of conditional writes: the header of a condition that the service ignores, if any.
    pub(super) ignored: OnceCell<Option<&'static str>>,
}

impl Client {
    /// A client with these settings.
    pub(super) fn new(settings: S3Settings) -> Result<Client, Diagnostic> {
        let http = client(&settings.client).map_err(|error| no_client(&error))?;
        let provider = Provider::new(settings.login.clone(), http.clone(), settings.endpoint("sts").clone());
        Ok(Client { settings, http, provider, credentials: Mutex::default(), ignored: OnceCell::new() })
    }

    /// The credentials. They are obtained again shortly before they expire.
    async fn credentials(&self) -> Result<Expiring, BackendError> {
        let mut known = self.credentials.lock().await;
        self.provider.current(&self.place(&self.settings.key), &mut known).await
    }

    /// Signs and sends a request. Retries it if it fails for a reason that may be temporary.
    pub(super) async fn send(&self, request: &Request) -> Result<Answer, BackendError> {
        let place = self.place(&self.settings.key);
        self.settings.retry.run(|number| self.attempt(request, &place, number)).await
    }

    async fn attempt(&self, request: &Request, place: &str, number: u32) -> AttemptResult<Answer, BackendError> {
        let credentials = match self.credentials().await {
            Ok(found) => found,
            Err(error) => return AttemptResult::Final(Err(error)),
        };
        let answer = match self.exchange(request, place, &credentials, number).await {
            Ok(answer) => answer,
            Err(failed) => return failed,
        };
        // Credentials that are no longer valid are replaced, but only once per attempt.
        let answer = match self.renewed(&credentials, &answer).await {
            Ok(Some(renewed)) => match self.exchange(request, place, &renewed, number).await {
                Ok(answer) => answer,
                Err(failed) => return failed,
            },
            Ok(None) => answer,
            // The source of the credentials may respond to the next attempt.
            Err(why) => {
                return AttemptResult::Again(refusals::not_renewed(self.refused(request, &answer), &why), None);
            }
        };
        match answer.may_pass() {
            true => AttemptResult::Again(self.refused(request, &answer), None),
            false => AttemptResult::Final(Ok(answer)),
        }
    }

    /// Signs and sends a request once.
    async fn exchange(
        &self,
        request: &Request,
        place: &str,
        credentials: &Expiring,
        number: u32,
    ) -> Result<Answer, AttemptResult<Answer, BackendError>> {
        let Request { doing, service, method, url, headers, body } = request;
        let failed = |error: String| refusals::unreachable(place.to_owned(), doing, error);
        let regions = match (BucketName::parse(&self.settings.bucket), *service) {
            (BucketName::ManyRegions(_), S3) => Regions::All,
            _ => Regions::One(&self.settings.region),
        };
        let signed = signing::headers(&credentials.keys, regions, service, method, url, headers, body);
        let signed = signed.map_err(|error| AttemptResult::Final(Err(failed(error.to_string()))))?;
        let mut sent = self.http.request(method.clone(), url.clone()).body(body.clone());
        for (name, value) in headers.iter().chain(&signed) {
            sent = sent.header(name, value);
        }
        let again = |error: reqwest::Error| AttemptResult::Again(failed(reason(&error)), None);
        let answer = sent.send().await.map_err(again)?;
        let status = answer.status();
        let header = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (version, region) = (header("etag").map(ObjectVersion), header("x-amz-bucket-region"));
        let body = answer.bytes().await.map_err(again)?;
        Ok(Answer { attempt: number, status, version, region, body })
    }

    /// New credentials, if the response says that the `old` ones are no longer valid. `None` if the old ones are still
    /// valid, or if the source has no new ones.
    ///
    /// # Errors
    /// Returns an error if the source of the credentials fails.
    async fn renewed(&self, old: &Expiring, answer: &Answer) -> Result<Option<Expiring>, BackendError> {
        let code = if answer.status.is_client_error() { refusals::code(&answer.body) } else { None };
        if !code.is_some_and(|code| EXPIRED.contains(&code.as_str()) || UNKNOWN.contains(&code.as_str())) {
            return Ok(None);
        }
        let mut known = self.credentials.lock().await;
        // A concurrent request may have obtained new credentials already.
        if let Some(found) = known.as_ref().filter(|found| !found.is(old)) {
            return Ok(Some(found.clone()));
        }
        let found = self.provider.find(&self.place(&self.settings.key), Some(old)).await?;
        if found.is(old) {
            return Ok(None);
        }
        *known = Some(found.clone());
        Ok(Some(found))
    }

    /// The error of a response.
    pub(super) fn refused(&self, request: &Request, answer: &Answer) -> BackendError {
        let settings = &self.settings;
        let target = request.headers.iter().find(|(name, _)| name == TARGET_HEADER);
        let target = target.and_then(|(_, target)| target.rsplit('.').next());
        let (name, action) = match (target, &request.method) {
            (Some(operation), _) => {
                (settings.dynamodb_table.as_deref().unwrap_or_default(), format!("dynamodb:{operation}"))
            }
            (_, &Method::PUT) => (settings.bucket.as_str(), "s3:PutObject".to_owned()),
            (_, &Method::DELETE | &Method::POST) => (settings.bucket.as_str(), "s3:DeleteObject".to_owned()),
            (_, _) if request.url.query().is_some() => (settings.bucket.as_str(), "s3:ListBucket".to_owned()),
            _ => (settings.bucket.as_str(), "s3:GetObject".to_owned()),
        };
        let about = About { name, region: &settings.region, action: &action, header: answer.region.as_deref() };
        refusals::refused(self.place(&settings.key), request.doing, answer.status, &answer.body, about)
    }

    /// The URL of an object. With an empty key, the URL of the bucket.
    fn url(&self, key: &str, query: &[(&str, &str)]) -> Url {
        let settings = &self.settings;
        let mut url = settings.endpoint("s3").clone();
        let encoded = utf8_percent_encode(key, IN_PATHS).to_string();
        let base = url.path().trim_end_matches('/').to_owned();
        let host = url.host_str().unwrap_or_default().to_owned();
        let (bucket, host) = match BucketName::parse(&settings.bucket) {
            // An access point has its own host. The endpoint of a service that is compatible with S3 is not changed.
            BucketName::AccessPoint([name, account, _]) => {
                let own = match host.strip_prefix("s3") {
                    Some(rest) if is_of_aws(&url) => format!("s3-accesspoint{rest}"),
                    _ => host,
                };
                (format!("{name}-{account}"), own)
            }
            BucketName::ManyRegions(name) => {
                if is_of_aws(&url) {
                    let domain = if host.ends_with(".cn") { "amazonaws.com.cn" } else { "amazonaws.com" };
                    // The name is valid as a part of a host name.
                    let _ = url.set_host(Some(&format!("{name}.{MANY_REGIONS}.{domain}")));
                    url.set_path(&format!("/{encoded}"));
                    set_query(&mut url, query);
                    return url;
                }
                (name.to_owned(), host)
            }
            _ => (settings.bucket.clone(), host),
        };
        let path_style = settings.path_style
            || bucket.contains('.')
            || host.is_empty()
            || host.parse::<std::net::IpAddr>().is_ok()
            || host.starts_with('[');
        if path_style {
            url.set_path(&format!("{base}/{bucket}/{encoded}"));
        } else {
            // The name of a bucket is valid as a part of a host name. The service refuses other names.
            let _ = url.set_host(Some(&format!("{bucket}.{host}")));
            url.set_path(&format!("{base}/{encoded}"));
        }
        set_query(&mut url, query);
        url
    }

    pub(super) fn request(&self, doing: &'static str, method: Method, key: &str) -> Request {
        let url = self.url(key, &[]);
        Request { doing, service: S3, method, url, headers: Vec::new(), body: Bytes::new() }
    }

    fn customer_headers(&self) -> Vec<(String, String)> {
        let Encryption::Customer(key) = &self.settings.encryption else { return Vec::new() };
        let digest = STANDARD.decode(key).map(|bytes| STANDARD.encode(Md5::digest(bytes))).unwrap_or_default();
        [("algorithm", "AES256".to_owned()), ("key", key.clone()), ("key-md5", digest)]
            .map(|(name, value)| (format!("x-amz-server-side-encryption-customer-{name}"), value))
            .into()
    }

    pub(super) fn write_headers(&self, content: &Bytes, kind: ObjectKind, when: &When) -> Vec<(String, String)> {
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

fn set_query(url: &mut Url, query: &[(&str, &str)]) {
    if !query.is_empty() {
        let encode = |text: &str| utf8_percent_encode(text, IN_QUERIES).to_string();
        let pairs: Vec<String> =
            query.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
        url.set_query(Some(&pairs.join("&")));
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
                let version = answer.version.unwrap_or(ObjectVersion(String::new()));
                Ok(Some(Object { content: answer.body, version }))
            }
            StatusCode::NOT_FOUND if xml::text(&answer.body, "Code").as_deref() != Some("NoSuchBucket") => Ok(None),
            _ => Err(self.refused(&request, &answer)),
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
        if *when != When::Always {
            self.check_conditions().await?;
        }
        let mut request = self.request(doing, Method::PUT, key);
        request.headers = self.write_headers(&content, kind, when);
        request.body = content.clone();
        let answer = self.send(&request).await?;
        match answer.status {
            StatusCode::OK => Ok(Written::Done(answer.version.unwrap_or(ObjectVersion(String::new())))),
            StatusCode::PRECONDITION_FAILED | StatusCode::CONFLICT if *when != When::Always => {
                if answer.is_first() {
                    return Ok(Written::Conflict);
                }
                match self.get(doing, key).await? {
                    Some(found) if found.content == content => Ok(Written::Done(found.version)),
                    _ => Ok(Written::Conflict),
                }
            }
            StatusCode::NOT_FOUND if matches!(when, When::Is(_)) => Ok(Written::Conflict),
            _ => Err(self.refused(&request, &answer)),
        }
    }

    async fn put_trying(&self, doing: &'static str, key: &str, content: Bytes) -> Result<(), BackendError> {
        if !self.write_trying(doing, key, content.clone()).await? {
            self.put(doing, key, content, ObjectKind::State, &When::Always).await?;
        }
        Ok(())
    }

    fn are_conditions_tried(&self) -> bool {
        self.ignored.initialized()
    }

    async fn delete(&self, doing: &'static str, key: &str) -> Result<(), BackendError> {
        let request = self.request(doing, Method::DELETE, key);
        let answer = self.send(&request).await?;
        match answer.status {
            status if status.is_success() || status == StatusCode::NOT_FOUND => Ok(()),
            _ => Err(self.refused(&request, &answer)),
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
            // A successful response may refuse single objects.
            let refused = xml::text(&answer.body, "Code").is_some();
            if !answer.status.is_success() || refused {
                return Err(self.refused(&request, &answer));
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
                return Err(self.refused(&request, &answer));
            }
            keys.extend(xml::texts(&answer.body, "Key"));
            next = xml::text(&answer.body, "NextContinuationToken");
            if next.is_none() {
                return Ok(keys);
            }
        }
    }
}

/// Whether a URL belongs to AWS, whose services support conditional writes.
pub(super) fn is_of_aws(url: &Url) -> bool {
    const DOMAINS: [&str; 3] = [".amazonaws.com", ".amazonaws.com.cn", ".api.aws"];
    url.host_str().is_some_and(|host| DOMAINS.iter().any(|domain| host.ends_with(domain)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn address(bucket: &str, more: &serde_json::Value) -> String {
        let mut settings = json!({"bucket": bucket, "key": "dir/k", "region": "eu-west-1"});
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (settings, _) = S3Settings::read(settings.as_object().unwrap(), &|_| None).unwrap();
        Client::new(settings).unwrap().url("dir/a b", &[("list-type", "2")]).to_string()
    }

    #[test]
    fn addresses_of_buckets_and_access_points() {
        let many = "arn:aws:s3::123456789012:accesspoint/mfzwi23gnjvgw.mrap";
        let own = json!({"endpoints": {"s3": "http://127.0.0.1:9000/base"}});
        for (bucket, more, want) in [
            ("states", json!({}), "https://states.s3.eu-west-1.amazonaws.com/dir/a%20b?list-type=2"),
            (
                "arn:aws:s3:eu-west-1:123456789012:accesspoint/p",
                json!({}),
                "https://p-123456789012.s3-accesspoint.eu-west-1.amazonaws.com/dir/a%20b?list-type=2",
            ),
            (many, json!({}), "https://mfzwi23gnjvgw.mrap.accesspoint.s3-global.amazonaws.com/dir/a%20b?list-type=2"),
            (many, own, "http://127.0.0.1:9000/base/mfzwi23gnjvgw.mrap/dir/a%20b?list-type=2"),
        ] {
            assert_eq!(address(bucket, &more), want);
        }
    }
}
