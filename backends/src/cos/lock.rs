//! Locks: a lock is an object beside the state. While a process writes that object, a tag of the account excludes other
//! processes. The id of a lock is the MD5 digest of its object.

use std::time::Duration;

use tokio::time::sleep;
use weft_state::remote::{BackendError, LockAnswer, LockInfo};

use super::requests::Client;
use super::{LOCK, refusals, tags};
use crate::bucket::{Bucket as _, ObjectKind, When};
use crate::digests::md5_hex;
use crate::problems::locked_by;

const TAKING: &str = "taking the lock";
const RELEASING: &str = "releasing the lock";
/// The maximum number of attempts to create the tag, and the pause after each attempt. Other processes need the tag
/// only for a few requests.
const ENTERING: (u32, Duration) = (6, Duration::from_secs(1));

/// The holder of the lock, from the object of the lock.
async fn holder(client: &Client, doing: &'static str, lock: &str) -> Result<Option<LockInfo>, BackendError> {
    let found = client.bucket.get(doing, lock).await?;
    Ok(found.map(|object| {
        let info: LockInfo = serde_json::from_slice(&object.content).unwrap_or_default();
        info.named(object.version.0)
    }))
}

fn held(holder: LockInfo) -> LockAnswer {
    let message = locked_by(&holder.who);
    LockAnswer::Held { holder, message }
}

/// The value of the tag for a lock.
fn tag(client: &Client, lock: &str) -> String {
    md5_hex(format!("{}:{lock}", client.settings.bucket).as_bytes())
}

/// Takes the lock. If `from` is set, takes it even from a holder with that id.
pub(super) async fn take(
    client: &Client,
    key: &str,
    from: Option<&str>,
    info: &LockInfo,
) -> Result<LockAnswer, BackendError> {
    let lock = format!("{key}{LOCK}");
    let tag = tag(client, &lock);
    let mut left = ENTERING.0;
    while !client.tags.create(TAKING, &tag).await? {
        left -= 1;
        match holder(client, TAKING, &lock).await? {
            Some(found) if left == 0 || Some(found.id.as_str()) != from => return Ok(held(found)),
            None if left == 0 => return Err(refusals::mutex(client.bucket.place(&lock), tags::KEY, &tag)),
            _ => sleep(ENTERING.1).await,
        }
    }
    let taken = write(client, &lock, from, info).await;
    let freed = client.tags.remove(RELEASING, &tag).await;
    match (taken, freed) {
        (Ok(LockAnswer::Locked(_)), Err(error)) => {
            // The caller gets an error and not the id of the lock, so the lock must be removed.
            client.bucket.delete(RELEASING, &lock).await?;
            Err(error)
        }
        (taken, _) => taken,
    }
}

/// Writes the object of the lock, unless another process holds the lock.
async fn write(client: &Client, lock: &str, from: Option<&str>, info: &LockInfo) -> Result<LockAnswer, BackendError> {
    match holder(client, TAKING, lock).await? {
        Some(found) if Some(found.id.as_str()) != from => return Ok(held(found)),
        _ => {}
    }
    let info = LockInfo { path: lock.to_owned(), ..info.clone() };
    let content = info.to_json();
    let id = md5_hex(&content);
    client.bucket.put(TAKING, lock, content.into(), ObjectKind::Lock, &When::Always).await?;
    Ok(LockAnswer::Locked(info.named(id)))
}

/// Releases the lock with this id. Also removes the tag, which still exists if a process died while it took the lock.
pub(super) async fn release(client: &Client, key: &str, id: &str) -> Result<(), BackendError> {
    let lock = format!("{key}{LOCK}");
    match holder(client, RELEASING, &lock).await? {
        None => return Err(refusals::no_lock(client.bucket.place(&lock), &lock)),
        Some(found) if found.id != id => return Err(refusals::other_lock(client.bucket.place(&lock), &found.id, id)),
        Some(_) => {}
    }
    client.bucket.delete(RELEASING, &lock).await?;
    client.tags.remove(RELEASING, &tag(client, &lock)).await
}
