//! The state: one value. If the state is too large for one value, the value names chunks of the state, which are stored
//! under other keys.
//!
//! The chunks are at `PATH/tfstate.MD5/NUMBER`, with the MD5 digest of the uncompressed state. The value that names the
//! chunks is `{"chunks": [paths], "current-hash": MD5}`. The value is written after the chunks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use md5::{Digest as _, Md5};
use serde_json::{Value as Json, json};
use weft_state::remote::{BackendError, Expected, Object, ObjectVersion, Written};

use super::refusals::{self, ConsulDamage};
use super::requests::{Client, Pair, Transacted};
use crate::gzip;

const READING: &str = "reading the state";
const WRITING: &str = "writing the state";
/// The size of a chunk: the largest value that an agent allows by default.
const CHUNK: usize = 524_288;
/// The maximum size of a state in one value. The limit for values also applies to a whole transaction, which contains
/// the key, and the value in base64.
const LARGEST_WHOLE: usize = 380_000;
/// The maximum number of reads of a state that changes while it is read.
const READS: u32 = 5;

/// The chunks of a state.
struct Manifest {
    /// The MD5 digest of the uncompressed state.
    hash: String,
    /// The keys of the chunks.
    chunks: Vec<String>,
}

impl Manifest {
    fn of(value: &[u8]) -> Option<Manifest> {
        let json: Json = serde_json::from_slice(value).ok()?;
        let hash = json.get("current-hash")?.as_str()?.to_owned();
        let chunks = json.get("chunks")?.as_array()?.iter().filter_map(|chunk| Some(chunk.as_str()?.to_owned()));
        Some(Manifest { hash, chunks: chunks.collect() })
    }
}

/// The prefix of the keys of chunks.
fn chunks_of(key: &str, hash: &str) -> String {
    format!("{}/tfstate.{hash}/", key.trim_end_matches('/'))
}

fn hash_of(content: &[u8]) -> String {
    Md5::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn version(index: u64) -> ObjectVersion {
    ObjectVersion(index.to_string())
}

/// Reads the state with this key.
pub(super) async fn read(client: &Client, key: &str) -> Result<Option<Object>, BackendError> {
    let mut before = None;
    for _ in 0..READS {
        let Some(pair) = client.pair(READING, key).await? else { return Ok(None) };
        let index = pair.index;
        let failed = match content(client, key, pair).await {
            Ok(content) if content.is_empty() => return Ok(None),
            Ok(content) => return Ok(Some(Object { content, version: version(index) })),
            Err(failed) => failed,
        };
        // The state may have been replaced: the writer of a new state removes the chunks of the previous state. If the
        // index has not changed, the chunks are really missing.
        if before.replace(index) == Some(index) {
            return Err(failed);
        }
    }
    Err(refusals::damaged(client.place(key), READING, &ConsulDamage::RestlessState))
}

async fn content(client: &Client, key: &str, pair: Pair) -> Result<Bytes, BackendError> {
    let damaged = |damage: ConsulDamage| refusals::damaged(client.place(key), READING, &damage);
    let manifest = Manifest::of(&pair.value);
    let stored = match &manifest {
        None => pair.value,
        Some(manifest) => {
            let mut joined = Vec::new();
            for chunk in &manifest.chunks {
                let found = client.pair(READING, chunk).await?;
                let found = found.ok_or_else(|| damaged(ConsulDamage::NoChunk(chunk.clone())))?;
                joined.extend_from_slice(&found.value);
            }
            joined.into()
        }
    };
    let plain = match stored.first() {
        Some(&gzip::FIRST_BYTE) => gzip::decompressed(&stored).map_err(|problem| damaged(problem.into()))?.into(),
        _ => stored,
    };
    if manifest.is_some_and(|manifest| manifest.hash != hash_of(&plain)) {
        return Err(damaged(ConsulDamage::OtherHash));
    }
    Ok(plain)
}

/// Writes the state with this key if the current version is the expected version. Removes the chunks of the previous
/// state.
pub(super) async fn write(
    client: &Client,
    key: &str,
    content: Bytes,
    expected: &Expected,
) -> Result<Written, BackendError> {
    let now = client.pair(WRITING, key).await?;
    let index = now.as_ref().map_or(0, |pair| pair.index);
    let as_expected = match expected {
        Expected::Absent => now.is_none(),
        Expected::Version(wanted) => now.is_some() && *wanted == version(index),
    };
    if !as_expected {
        return Ok(Written::Conflict);
    }
    let old = now.and_then(|pair| Manifest::of(&pair.value)).map(|manifest| manifest.hash);
    let stored: Bytes = match client.settings.gzip {
        true => gzip::compressed(&content)
            .map_err(|error| refusals::damaged(client.place(key), WRITING, &ConsulDamage::NotCompressed(error)))?
            .into(),
        false => content.clone(),
    };
    let mut written = match stored.len() <= LARGEST_WHOLE {
        true => store(client, key, &stored, index).await?,
        false => None,
    };
    let mut new = None;
    if written.is_none() {
        let hash = hash_of(&content);
        let manifest = write_chunks(client, key, &hash, &stored).await?;
        written = store(client, key, &manifest, index).await?;
        new = Some(hash);
    }
    let written = match written {
        Some(written) => written,
        None => return Err(refusals::damaged(client.place(key), WRITING, &ConsulDamage::LongList)),
    };
    // No value refers to these chunks. They belong to the previous state or, if the write failed with a conflict, to
    // the state that was not written.
    let unused = if written == Written::Conflict { new } else { old.filter(|old| Some(old) != new.as_ref()) };
    if let Some(hash) = unused {
        // A failure is ignored, because unused chunks are harmless.
        let _ = remove_chunks(client, key, &hash).await;
    }
    Ok(written)
}

/// Writes the value of the key of the state. `None` if the value is too large.
async fn store(client: &Client, key: &str, value: &Bytes, index: u64) -> Result<Option<Written>, BackendError> {
    let operation = json!({"Verb": "cas", "Key": key, "Value": STANDARD.encode(value), "Index": index});
    match client.transact(WRITING, key, &[operation]).await? {
        Transacted::Done(index) => Ok(Some(Written::Done(version(index)))),
        Transacted::TooLarge => Ok(None),
        Transacted::Stale(false) => Ok(Some(Written::Conflict)),
        // The response to an earlier attempt may have been lost.
        Transacted::Stale(true) => match client.pair(WRITING, key).await? {
            Some(pair) if pair.value == *value => Ok(Some(Written::Done(version(pair.index)))),
            _ => Ok(Some(Written::Conflict)),
        },
    }
}

/// Writes the chunks of a state. Returns the value that names them.
async fn write_chunks(client: &Client, key: &str, hash: &str, stored: &Bytes) -> Result<Bytes, BackendError> {
    let start = chunks_of(key, hash);
    let mut names = Vec::new();
    for from in (0..stored.len()).step_by(CHUNK) {
        let name = format!("{start}{}", names.len());
        let chunk = stored.slice(from..stored.len().min(from + CHUNK));
        client.put(WRITING, &name, chunk, &[]).await?;
        names.push(name);
    }
    Ok(json!({"chunks": names, "current-hash": hash}).to_string().into())
}

async fn remove_chunks(client: &Client, key: &str, hash: &str) -> Result<(), BackendError> {
    // The hash may come from a document of unknown origin, so it is checked.
    if hash.is_empty() || !hash.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Ok(());
    }
    client.delete(WRITING, &chunks_of(key, hash), &[("recurse", "")]).await
}

/// Deletes the state with this key, and its chunks.
pub(super) async fn delete(client: &Client, doing: &'static str, key: &str) -> Result<(), BackendError> {
    let manifest = client.pair(doing, key).await?.and_then(|pair| Manifest::of(&pair.value));
    client.delete(doing, key, &[]).await?;
    match manifest {
        Some(manifest) => remove_chunks(client, key, &manifest.hash).await,
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_named() {
        assert_eq!(chunks_of("team/app", "ab"), "team/app/tfstate.ab/");
        assert_eq!(chunks_of("team/app/", "ab"), "team/app/tfstate.ab/");
        let manifest = Manifest::of(br#"{"chunks":["a/0","a/1"],"current-hash":"ab"}"#).unwrap();
        assert_eq!((manifest.hash.as_str(), manifest.chunks.len()), ("ab", 2));
        for other in [&b"{}"[..], b"{\"version\":4}", b"\x1f\x8b", b""] {
            assert!(Manifest::of(other).is_none());
        }
    }
}
