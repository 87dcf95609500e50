//! Buckets of services that support only one condition for a write: that the object does not exist. The services ignore
//! this condition if the bucket has versioning. In such a bucket, the oldest version of the object shows which writer
//! was first.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use quick_xml::Reader;
use quick_xml::events::Event;
use reqwest::{Method, StatusCode};
use url::Url;
use weft_state::remote::{BackendError, Object, ObjectVersion, Written};

use crate::bucket::{Bucket, ObjectKind, When};
use crate::digests::md5_hex;
use crate::exchange::{Call, Headers, HttpReply, HttpService};
use crate::xml;

/// The media type of states and locks.
const JSON: &str = "application/json";
/// The error code of a write that would have overwritten an object.
const EXISTS: &str = "FileAlreadyExists";
/// The error code of a bucket that does not exist.
const NO_BUCKET: &str = "NoSuchBucket";
/// The maximum number of keys in a page.
const PAGE: &str = "1000";

/// The properties in which the services differ.
#[async_trait]
pub trait Dialect: Send + Sync + fmt::Debug {
    /// The header that forbids overwriting.
    const FORBID: &'static str;
    /// The header with the id of the version that was written.
    const VERSION: &'static str;

    /// The location of an object, for display.
    fn place(&self, key: &str) -> String;

    /// The URL of an object. With an empty key, the URL of the bucket.
    async fn url(&self, key: &str, query: &[(&str, &str)]) -> Result<Url, BackendError>;

    /// The headers of a write, except the media type and the condition.
    fn write_headers(&self, content: &[u8]) -> Headers;

    /// The problem of an object that was read. `None` if the object is not damaged.
    fn damage(&self, reply: &HttpReply) -> Option<String>;

    /// Advice for an error with this code.
    fn advice(&self, code: &str) -> String;
}

/// A bucket whose writes can only be guarded against overwriting.
#[derive(Debug)]
pub struct GuardedBucket<D> {
    /// The properties of the service that differ from other services.
    pub dialect: D,
    /// The connection.
    pub service: HttpService,
}

/// The error for a response with an error in XML.
pub fn refusal(reply: &HttpReply, place: String, doing: &'static str, advice: impl Fn(&str) -> String) -> BackendError {
    let code = xml::text(&reply.body, "Code").unwrap_or_default();
    let message = xml::text(&reply.body, "Message").filter(|message| !message.is_empty());
    let error = match (code.is_empty(), message) {
        (true, message) => message,
        (false, None) => Some(code.clone()),
        (false, Some(message)) => Some(format!("{code}: {message}")),
    };
    reply.refusal(place, doing, error, &advice(&code))
}

impl<D: Dialect> GuardedBucket<D> {
    async fn call(
        &self,
        doing: &'static str,
        method: Method,
        key: &str,
        query: &[(&str, &str)],
    ) -> Result<Call, BackendError> {
        Ok(Call::new(doing, method, self.dialect.url(key, query).await?))
    }

    fn refused(&self, key: &str, doing: &'static str, reply: &HttpReply) -> BackendError {
        refusal(reply, self.place(key), doing, |code| self.dialect.advice(code))
    }

    /// Whether the object has this content.
    async fn has(&self, doing: &'static str, key: &str, content: &Bytes) -> Result<bool, BackendError> {
        Ok(self.get(doing, key).await?.is_some_and(|found| found.content == *content))
    }

    /// Deletes an object, or one version of it.
    async fn remove(&self, doing: &'static str, key: &str, query: &[(&str, &str)]) -> Result<(), BackendError> {
        let reply = self.service.send(&self.call(doing, Method::DELETE, key, query).await?).await?;
        match reply.status {
            status if status.is_success() || status == StatusCode::NOT_FOUND => Ok(()),
            _ => Err(self.refused(key, doing, &reply)),
        }
    }

    /// Whether a version that was just written is the first version of its object. Removes the version if it is not the
    /// first.
    async fn is_first(&self, doing: &'static str, key: &str, version: &str) -> Result<bool, BackendError> {
        let query = [("versions", ""), ("max-keys", PAGE), ("prefix", key)];
        let reply = self.service.send(&self.call(doing, Method::GET, "", &query).await?).await?;
        // If the versions cannot be listed, the code assumes that the object did not exist before the write.
        if reply.status != StatusCode::OK || first_version(&reply.body, key).is_none_or(|first| first == version) {
            return Ok(true);
        }
        self.remove(doing, key, &[("versionId", version)]).await?;
        Ok(false)
    }
}

#[async_trait]
impl<D: Dialect> Bucket for GuardedBucket<D> {
    fn place(&self, key: &str) -> String {
        self.dialect.place(key)
    }

    async fn get(&self, doing: &'static str, key: &str) -> Result<Option<Object>, BackendError> {
        let reply = self.service.send(&self.call(doing, Method::GET, key, &[]).await?).await?;
        match reply.status {
            StatusCode::OK => match self.dialect.damage(&reply) {
                None => Ok(Some(Object { version: ObjectVersion(md5_hex(&reply.body)), content: reply.body })),
                Some(error) => Err(BackendError::Damaged { place: self.place(key), doing, error }),
            },
            StatusCode::NOT_FOUND if xml::text(&reply.body, "Code").as_deref() != Some(NO_BUCKET) => Ok(None),
            _ => Err(self.refused(key, doing, &reply)),
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
        let expected = match when {
            When::Always => true,
            When::Absent => self.get(doing, key).await?.is_none(),
            When::Is(version) => self.get(doing, key).await?.is_some_and(|found| found.version == *version),
        };
        if !expected {
            return Ok(Written::Conflict);
        }
        let guarded = *when == When::Absent;
        let mut call = self.call(doing, Method::PUT, key, &[]).await?.body(JSON, content.clone());
        call.headers.extend(self.dialect.write_headers(&content));
        if guarded {
            call = call.header(D::FORBID, "true");
        }
        let reply = self.service.send(&call).await?;
        let done = Written::Done(ObjectVersion(md5_hex(&content)));
        let created = match reply.status {
            StatusCode::OK => match reply.header(D::VERSION).filter(|_| guarded) {
                Some(version) => self.is_first(doing, key, version).await?,
                None => true,
            },
            StatusCode::CONFLICT if guarded && xml::text(&reply.body, "Code").as_deref() == Some(EXISTS) => false,
            _ => return Err(self.refused(key, doing, &reply)),
        };
        // An earlier attempt may have taken effect, although its response was lost.
        match created || reply.attempt > 1 && self.has(doing, key, &content).await? {
            true => Ok(done),
            false => Ok(Written::Conflict),
        }
    }

    async fn delete(&self, doing: &'static str, key: &str) -> Result<(), BackendError> {
        self.remove(doing, key, &[]).await
    }

    async fn list(&self, doing: &'static str, prefix: &str) -> Result<Vec<String>, BackendError> {
        let mut keys: Vec<String> = Vec::new();
        loop {
            let last = keys.last().cloned().unwrap_or_default();
            let mut query = vec![("max-keys", PAGE), ("prefix", prefix)];
            if !last.is_empty() {
                query.push(("marker", &last));
            }
            // Some services do not accept a parameter without a value.
            query.retain(|(_, value)| !value.is_empty());
            let reply = self.service.send(&self.call(doing, Method::GET, "", &query).await?).await?;
            if reply.status != StatusCode::OK {
                return Err(self.refused("", doing, &reply));
            }
            let found = xml::texts(&reply.body, "Key");
            let more = xml::text(&reply.body, "IsTruncated").as_deref() == Some("true") && !found.is_empty();
            keys.extend(found);
            if !more {
                return Ok(keys);
            }
        }
    }
}

/// The oldest version of an object since its last deletion. In a listing, the latest version of a key comes first.
fn first_version(body: &[u8], key: &str) -> Option<String> {
    let mut first = None;
    for entry in entries(body).into_iter().filter(|entry| entry.key == key) {
        if entry.deleted {
            break;
        }
        first = Some(entry.version);
    }
    first
}

/// A version or a deletion marker in a listing.
#[derive(Default)]
struct ListedVersion {
    deleted: bool,
    key: String,
    version: String,
}

/// The versions in a listing, in the order of the listing.
fn entries(body: &[u8]) -> Vec<ListedVersion> {
    let mut reader = Reader::from_reader(body);
    let mut found: Vec<ListedVersion> = Vec::new();
    let mut field = String::new();
    loop {
        let mut add = |text: &str| match (field.as_str(), found.last_mut()) {
            ("Key", Some(entry)) => entry.key.push_str(text),
            ("VersionId", Some(entry)) => entry.version.push_str(text),
            _ => {}
        };
        match reader.read_event() {
            Ok(Event::Start(start)) => {
                field = start.local_name().as_ref().to_owned();
                if field == "Version" || field == "DeleteMarker" {
                    found.push(ListedVersion { deleted: field == "DeleteMarker", ..ListedVersion::default() });
                }
            }
            Ok(Event::End(_)) => field.clear(),
            Ok(Event::Text(text)) => add(&text),
            Ok(Event::GeneralRef(reference)) => {
                if let Some(character) = xml::character(&reference) {
                    add(character.encode_utf8(&mut [0; 4]));
                }
            }
            Ok(Event::Eof) | Err(_) => return found,
            Ok(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_version_since_the_last_deletion() {
        let entry = |name: &str, key: &str, id: &str| {
            format!("<{name}>\n <Key>{key}</Key><VersionId>{id}</VersionId><IsLatest>false</IsLatest></{name}>")
        };
        let listing = |entries: &[String]| format!("<ListVersionsResult>{}</ListVersionsResult>", entries.concat());
        let [a3, a2, a1] = ["3", "2", "1"].map(|id| entry("Version", "a&amp;b", id));
        let gone = entry("DeleteMarker", "a&amp;b", "g");
        let other = entry("Version", "a&amp;bc", "o");
        for (entries, want) in [
            (vec![a3.clone(), a2.clone(), a1.clone(), other.clone()], Some("1")),
            (vec![a3.clone(), a2, gone.clone(), a1.clone()], Some("2")),
            (vec![gone, a1], None),
            (vec![other], None),
        ] {
            assert_eq!(first_version(listing(&entries).as_bytes(), "a&b").as_deref(), want, "{entries:?}");
        }
    }
}
