//! Objects beside the state: secrets whose names are digests. An annotation of a secret has the name of the object.
//!
//! A secret can contain at most one megabyte. The parts of a larger object are in separate secrets, and the secret of
//! the object names these parts. The secret of the object is written after the parts, so an object exists either
//! completely or not at all.

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value as Json, json};
use weft_state::remote::{BackendError, Object, ObjectVersion, Written};

use super::names::MANAGER;
use super::refusals::{self, SecretDamage};
use super::requests::{Client, Resource, Stored, version_of};
use crate::bucket::{BESIDE, Bucket, ObjectKind, When};

/// The label with the state to which an object belongs.
const OF_STATE: &str = "weftState";
/// The label of secrets that are parts of an object.
const PART: &str = "weftPart";
/// The annotation with the name of the object.
const NAME: &str = "weftObject";
/// The maximum size of an object in one secret, and of a part. A secret may have 1048576 bytes.
const PART_SIZE: usize = 1_000_000;
/// The maximum number of attempts while other processes change the same object.
const TRIES: u32 = 5;

/// A digest of a string, as a part of a name or label. Digests are used because labels have at most 63 characters, and
/// names have no capital letters.
fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..40].to_owned()
}

fn secret_name(key: &str) -> String {
    format!("weft-{}", digest(key))
}

/// The state to which an object belongs, from the object's key.
fn state_of(key: &str) -> &str {
    key.split_once(BESIDE).map_or(key, |(state, _)| state)
}

/// The names of the secrets with the parts of an object. Empty if this secret contains the object itself.
fn parts_of(secret: &Json) -> Vec<String> {
    let parts = secret.pointer("/data/parts").and_then(Json::as_str).and_then(|text| STANDARD.decode(text).ok());
    parts.and_then(|parts| serde_json::from_slice(&parts).ok()).unwrap_or_default()
}

fn content_of(secret: &Json) -> Option<Vec<u8>> {
    match secret.pointer("/data/content") {
        Some(Json::String(text)) => STANDARD.decode(text).ok(),
        // An empty value may be null.
        Some(Json::Null) => Some(Vec::new()),
        _ => None,
    }
}

impl Client {
    async fn content(&self, doing: &'static str, key: &str, secret: &Json) -> Result<Bytes, BackendError> {
        let damaged = |damage: SecretDamage| refusals::damaged(Bucket::place(self, key), doing, &damage);
        let parts = parts_of(secret);
        if parts.is_empty() {
            return content_of(secret).map(Bytes::from).ok_or_else(|| damaged(SecretDamage::Empty));
        }
        let mut joined = Vec::new();
        for part in &parts {
            let found = Client::get(self, doing, Resource::Secret, part).await?;
            let content = found.as_ref().and_then(content_of);
            joined.extend(content.ok_or_else(|| damaged(SecretDamage::NoPart))?);
        }
        Ok(joined.into())
    }

    /// The secret for an object. If the object is large, writes its parts.
    async fn secret(&self, doing: &'static str, key: &str, content: &Bytes) -> Result<Json, BackendError> {
        let state = digest(state_of(key));
        let labels = json!({OF_STATE: state, MANAGER: "weft"});
        let mut secret = json!({"metadata": {"labels": labels, "annotations": {NAME: key}}});
        if content.len() <= PART_SIZE {
            secret["data"] = json!({"content": STANDARD.encode(content)});
            return Ok(secret);
        }
        let mut random = [0; 16];
        let failed = |error| refusals::damaged(Bucket::place(self, key), doing, &SecretDamage::Random(error));
        getrandom::fill(&mut random).map_err(failed)?;
        let mut names = Vec::new();
        for from in (0..content.len()).step_by(PART_SIZE) {
            let name = format!("{}-{:032x}-{}", secret_name(key), u128::from_le_bytes(random), names.len());
            let part = content.slice(from..content.len().min(from + PART_SIZE));
            let labels = json!({OF_STATE: state, PART: "true", MANAGER: "weft"});
            let part = json!({"metadata": {"labels": labels}, "data": {"content": STANDARD.encode(part)}});
            // The name is random. So if the secret already exists, an earlier attempt of this request has created it.
            self.create(doing, Resource::Secret, &name, part).await?;
            names.push(name);
        }
        secret["data"] = json!({"parts": STANDARD.encode(json!(names).to_string())});
        Ok(secret)
    }

    async fn remove_parts(&self, doing: &'static str, secret: &Json) -> Result<(), BackendError> {
        for part in parts_of(secret) {
            Client::delete(self, doing, Resource::Secret, &part).await?;
        }
        Ok(())
    }

    /// Removes all objects beside a state, including parts of objects that were never completed.
    pub(super) async fn remove_beside(&self, doing: &'static str, state: &str) -> Result<(), BackendError> {
        for metadata in self.list(doing, &format!("{OF_STATE}={}", digest(state))).await? {
            if let Some(name) = metadata.get("name").and_then(Json::as_str) {
                Client::delete(self, doing, Resource::Secret, name).await?;
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Bucket for Client {
    fn place(&self, key: &str) -> String {
        Client::place(self, key)
    }

    async fn get(&self, doing: &'static str, key: &str) -> Result<Option<Object>, BackendError> {
        let name = secret_name(key);
        let mut before = String::new();
        for _ in 0..TRIES {
            let Some(secret) = Client::get(self, doing, Resource::Secret, &name).await? else { return Ok(None) };
            let version = version_of(&secret).to_owned();
            match self.content(doing, key, &secret).await {
                Ok(content) => return Ok(Some(Object { content, version: ObjectVersion(version) })),
                Err(failed) if before == version => return Err(failed),
                Err(_) => before = version,
            }
        }
        Err(refusals::busy(Bucket::place(self, key), doing))
    }

    async fn put(
        &self,
        doing: &'static str,
        key: &str,
        content: Bytes,
        _kind: ObjectKind,
        when: &When,
    ) -> Result<Written, BackendError> {
        let name = secret_name(key);
        let mut wanted = self.secret(doing, key, &content).await?;
        for _ in 0..TRIES {
            let now = match when {
                When::Absent => None,
                _ => Client::get(self, doing, Resource::Secret, &name).await?,
            };
            if matches!(when, When::Is(version) if now.as_ref().is_none_or(|now| version_of(now) != version.0)) {
                break;
            }
            let answer = match &now {
                None => self.create(doing, Resource::Secret, &name, wanted.clone()).await?,
                Some(now) => {
                    wanted["metadata"]["name"] = json!(name);
                    wanted["metadata"]["resourceVersion"] = json!(version_of(now));
                    self.replace(doing, Resource::Secret, &name, &wanted).await?
                }
            };
            match answer {
                Stored::Done(done) => {
                    if let Some(now) = now {
                        // A failure is ignored, because the object has been written.
                        let _ = self.remove_parts(doing, &now).await;
                    }
                    return Ok(Written::Done(ObjectVersion(version_of(&done).to_owned())));
                }
                // The response to an earlier attempt may have been lost.
                Stored::Conflict(true) => match Client::get(self, doing, Resource::Secret, &name).await? {
                    Some(found) if found.get("data") == wanted.get("data") => {
                        return Ok(Written::Done(ObjectVersion(version_of(&found).to_owned())));
                    }
                    _ if *when == When::Always => {}
                    _ => break,
                },
                Stored::Conflict(false) if *when == When::Always => {}
                Stored::Conflict(false) => break,
            }
        }
        self.remove_parts(doing, &wanted).await?;
        match when {
            When::Always => Err(refusals::busy(Bucket::place(self, key), doing)),
            _ => Ok(Written::Conflict),
        }
    }

    async fn delete(&self, doing: &'static str, key: &str) -> Result<(), BackendError> {
        let name = secret_name(key);
        let Some(secret) = Client::get(self, doing, Resource::Secret, &name).await? else { return Ok(()) };
        Client::delete(self, doing, Resource::Secret, &name).await?;
        self.remove_parts(doing, &secret).await
    }

    async fn list(&self, doing: &'static str, prefix: &str) -> Result<Vec<String>, BackendError> {
        let labels = format!("{OF_STATE}={},!{PART}", digest(state_of(prefix)));
        let found = Client::list(self, doing, &labels).await?;
        let names = found.iter().filter_map(|metadata| metadata.get("annotations")?.get(NAME)?.as_str());
        Ok(names.filter(|name| name.starts_with(prefix)).map(str::to_owned).collect())
    }
}
