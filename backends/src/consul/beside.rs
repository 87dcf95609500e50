//! Objects beside the state. The size of a value is limited to half a megabyte. The value of a larger object only names
//! the parts of the object. This value is written after the parts, so an object exists either completely or not at all.

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::json;
use weft_state::remote::{BackendError, Object, ObjectVersion, Written};

use super::refusals::{self, ConsulDamage};
use super::requests::{Client, Pair, Transacted};
use crate::bucket::{Bucket, ObjectKind, When};

/// The flag of values that name the parts of an object: "Weft" in ASCII.
const PARTS: u64 = 0x5765_6674;
/// The infix between the key of an object and the number of a part. The names of objects do not contain it.
const PART: &str = "/.parts/";
/// The size of a part: the largest value that an agent allows by default.
const PART_SIZE: usize = 524_288;
/// The maximum size of an object in one value. The limit for values also applies to a whole transaction, which contains
/// the key, and the value in base64.
const LARGEST_WHOLE: usize = 380_000;
/// The maximum number of reads of an object that changes while it is read.
const READS: u32 = 5;

impl Client {
    /// The content of an object: its value, or the concatenation of its parts.
    async fn content(&self, doing: &'static str, key: &str, pair: &Pair) -> Result<Bytes, BackendError> {
        if pair.flags != PARTS {
            return Ok(pair.value.clone());
        }
        let damaged = |damage: ConsulDamage| refusals::damaged(self.place(key), doing, &damage);
        let parts: Vec<String> = serde_json::from_slice(&pair.value).map_err(|_| damaged(ConsulDamage::NoList))?;
        let mut content = Vec::new();
        for part in parts {
            let found = self.pair(doing, &part).await?.ok_or_else(|| damaged(ConsulDamage::NoPart))?;
            content.extend_from_slice(&found.value);
        }
        Ok(content.into())
    }

    /// Writes the parts of a large object. Returns the value that names them.
    async fn write_parts(&self, doing: &'static str, key: &str, content: &Bytes) -> Result<Bytes, BackendError> {
        let mut random = [0; 8];
        let failed = |error| refusals::damaged(self.place(key), doing, &ConsulDamage::Random(error));
        getrandom::fill(&mut random).map_err(failed)?;
        let start = format!("{key}{PART}{:016x}", u64::from_le_bytes(random));
        let mut names = Vec::new();
        for from in (0..content.len()).step_by(PART_SIZE) {
            let name = format!("{start}/{}", names.len());
            self.put(doing, &name, content.slice(from..content.len().min(from + PART_SIZE)), &[]).await?;
            names.push(name);
        }
        Ok(json!(names).to_string().into())
    }
}

#[async_trait]
impl Bucket for Client {
    fn place(&self, key: &str) -> String {
        self.settings.place(key)
    }

    async fn get(&self, doing: &'static str, key: &str) -> Result<Option<Object>, BackendError> {
        let mut before = None;
        for _ in 0..READS {
            let Some(pair) = self.pair(doing, key).await? else { return Ok(None) };
            match self.content(doing, key, &pair).await {
                Ok(content) => return Ok(Some(Object { content, version: ObjectVersion(pair.index.to_string()) })),
                Err(failed) if before.replace(pair.index) == Some(pair.index) => return Err(failed),
                Err(_) => {}
            }
        }
        Err(refusals::damaged(self.settings.place(key), doing, &ConsulDamage::RestlessValue))
    }

    async fn put(
        &self,
        doing: &'static str,
        key: &str,
        content: Bytes,
        _kind: ObjectKind,
        when: &When,
    ) -> Result<Written, BackendError> {
        let (value, flags) = match content.len() <= LARGEST_WHOLE {
            true => (content.clone(), 0),
            false => (self.write_parts(doing, key, &content).await?, PARTS),
        };
        let mut operation = json!({"Verb": "set", "Key": key, "Value": STANDARD.encode(&value), "Flags": flags});
        let index = match when {
            When::Always => None,
            When::Absent => Some(0),
            // A version that is not a number belongs to no object. No object has the largest index either.
            When::Is(version) => Some(version.0.parse().unwrap_or(u64::MAX)),
        };
        if let Some(index) = index {
            operation["Verb"] = json!("cas");
            operation["Index"] = json!(index);
        }
        match self.transact(doing, key, &[operation]).await? {
            Transacted::Done(index) => Ok(Written::Done(ObjectVersion(index.to_string()))),
            Transacted::TooLarge => Err(refusals::damaged(self.settings.place(key), doing, &ConsulDamage::TooLarge)),
            // The response to an earlier attempt may have been lost.
            Transacted::Stale(true) => match self.pair(doing, key).await? {
                Some(pair) if pair.value == value && pair.flags == flags => {
                    Ok(Written::Done(ObjectVersion(pair.index.to_string())))
                }
                _ => Ok(Written::Conflict),
            },
            Transacted::Stale(false) => Ok(Written::Conflict),
        }
    }

    async fn delete(&self, doing: &'static str, key: &str) -> Result<(), BackendError> {
        let operations =
            [json!({"Verb": "delete", "Key": key}), json!({"Verb": "delete-tree", "Key": format!("{key}{PART}")})];
        self.transact(doing, key, &operations).await?;
        Ok(())
    }

    async fn list(&self, doing: &'static str, prefix: &str) -> Result<Vec<String>, BackendError> {
        let mut keys = self.keys(doing, prefix, None).await?;
        keys.retain(|key| !key.contains(PART));
        Ok(keys)
    }
}
