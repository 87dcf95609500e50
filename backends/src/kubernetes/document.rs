//! The state: a compressed document in a secret.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use md5::{Digest as _, Md5};
use serde_json::{Value as Json, json};
use weft_state::remote::{BackendError, Expected, Object, ObjectVersion, Written};

use super::names::STATE;
use super::refusals::{self, SecretDamage};
use super::requests::{Client, Resource, Stored};
use crate::gzip;

const READING: &str = "reading the state";
const WRITING: &str = "writing the state";

/// The version of a state is the digest of the stored bytes. Kubernetes' own version would also change with labels.
fn version(stored: &[u8]) -> ObjectVersion {
    ObjectVersion(Md5::digest(stored).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The bytes that a secret stores. `None` if the secret has no bytes.
fn stored(secret: &Json) -> Result<Option<Vec<u8>>, SecretDamage> {
    match secret.pointer("/data/tfstate").and_then(Json::as_str) {
        None | Some("") => Ok(None),
        Some(text) => STANDARD.decode(text).map(Some).map_err(SecretDamage::NotBase64),
    }
}

/// Reads the state in this secret.
pub(super) async fn read(client: &Client, name: &str) -> Result<Option<Object>, BackendError> {
    let damaged = |damage: SecretDamage| refusals::damaged(client.place(name), READING, &damage);
    let Some(secret) = client.get(READING, Resource::Secret, name).await? else { return Ok(None) };
    let Some(stored) = stored(&secret).map_err(damaged)? else { return Ok(None) };
    let content: Bytes = gzip::decompressed(&stored).map_err(|problem| damaged(problem.into()))?.into();
    Ok((!content.is_empty()).then(|| Object { content, version: version(&stored) }))
}

/// Writes the state to this secret if the current version is the expected version.
pub(super) async fn write(
    client: &Client,
    name: &str,
    labels: Json,
    content: &Bytes,
    expected: &Expected,
) -> Result<Written, BackendError> {
    let damaged = |damage: SecretDamage| refusals::damaged(client.place(name), WRITING, &damage);
    let compressed = gzip::compressed(content).map_err(|error| damaged(SecretDamage::NotCompressed(error)))?;
    let done = Written::Done(version(&compressed));
    let now = client.get(WRITING, Resource::Secret, name).await?;
    let before = now.as_ref().map(stored).transpose().map_err(damaged)?.flatten();
    let as_expected = match (expected, &before) {
        (Expected::Absent, None) => true,
        (Expected::Version(wanted), Some(before)) => *wanted == version(before),
        _ => false,
    };
    if !as_expected {
        return Ok(Written::Conflict);
    }
    let text = STANDARD.encode(&compressed);
    let answer = match now {
        None => {
            let metadata = json!({"labels": labels, "annotations": {"encoding": "gzip"}});
            let secret = json!({"metadata": metadata, "data": {STATE: text}});
            client.create(WRITING, Resource::Secret, name, secret).await?
        }
        Some(mut secret) => {
            secret["data"][STATE] = json!(text);
            client.replace(WRITING, Resource::Secret, name, &secret).await?
        }
    };
    match answer {
        Stored::Done(_) => Ok(done),
        Stored::Conflict(false) => Ok(Written::Conflict),
        // The response to an earlier attempt may have been lost.
        Stored::Conflict(true) => {
            let now = client.get(WRITING, Resource::Secret, name).await?;
            let now = now.as_ref().map(stored).transpose().map_err(damaged)?.flatten();
            Ok(if now.as_ref() == Some(&compressed) { done } else { Written::Conflict })
        }
    }
}

/// Deletes an object of the backend.
pub(super) async fn delete(
    client: &Client,
    doing: &'static str,
    resource: Resource,
    name: &str,
) -> Result<(), BackendError> {
    let Some(found) = client.get(doing, resource, name).await? else { return Ok(()) };
    if found.pointer("/metadata/labels/tfstate").and_then(Json::as_str) != Some("true") {
        return Err(refusals::foreign(client.place(name), doing, resource.head().1));
    }
    client.delete(doing, resource, name).await
}
