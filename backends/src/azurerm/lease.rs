//! The lock of a state: an infinite lease of its blob. The metadata of the blob contains the information about the
//! holder.
//!
//! The id of the lease is the id of the lock. Weft writes the information before it takes the lease. Conditions ensure
//! that no other process becomes the holder between these steps. A process that dies between the steps leaves no lease.
//! OpenTofu writes the information after taking the lease. An OpenTofu process that dies between the steps leaves a
//! lock without information, which no user can release.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use weft_state::remote::{BackendError, LockAnswer, LockInfo};

use super::refusals;
use super::requests::{Client, LOCK, Lease, Properties};
use crate::bucket::Bucket as _;

/// The maximum number of attempts while other processes take or release the lock.
const ROUNDS: u32 = 10;
/// The first pause between two attempts. It grows with each attempt.
const PAUSE: Duration = Duration::from_millis(50);
const TAKING: &str = "taking the lock";
const RELEASING: &str = "releasing the lock";

/// The holder of the lock, as the metadata names it.
fn holder(found: &Properties) -> Option<LockInfo> {
    let (_, text) = found.metadata.iter().find(|(name, _)| name == LOCK)?;
    serde_json::from_slice(&STANDARD.decode(text).ok()?).ok()
}

/// The metadata of a blob, with this holder in place of the current one, or without a holder.
fn metadata(found: &Properties, holder: Option<&LockInfo>) -> Vec<(String, String)> {
    let others = found.metadata.iter().filter(|(name, _)| name != LOCK).cloned();
    others.chain(holder.map(|info| (LOCK.to_owned(), STANDARD.encode(info.to_json())))).collect()
}

/// Takes the lock of the state with this key.
pub(super) async fn take(client: &Client, key: &str, info: &LockInfo) -> Result<LockAnswer, BackendError> {
    let info = LockInfo { path: client.shown(key).await?, ..info.clone() };
    for round in 0..ROUNDS {
        tokio::time::sleep(PAUSE * round).await;
        let found = match client.properties(TAKING, key).await? {
            Some(found) => found,
            None => {
                client.create_empty(TAKING, key).await?;
                continue;
            }
        };
        if found.leased {
            match holder(&found).filter(|holder| holder.id != info.id) {
                Some(holder) => return Ok(LockAnswer::Held { holder, message: refusals::already_locked() }),
                // The holder of the lease has not written its information: an OpenTofu process is taking the lock at
                // this moment, or died while taking it.
                None => continue,
            }
        }
        let named = metadata(&found, Some(&info));
        let Some(etag) = client.set_metadata(TAKING, key, &found.etag, &named).await? else { continue };
        if client.lease(TAKING, key, Lease::Acquire { id: &info.id, etag: &etag }).await? {
            return Ok(LockAnswer::Locked(info));
        }
    }
    let holder = LockInfo { path: info.path, ..LockInfo::default() };
    let message = refusals::locked_without_holder();
    Ok(LockAnswer::Held { holder, message })
}

/// Takes the lock from a dead holder, if that holder still has the lock.
pub(super) async fn take_over(
    client: &Client,
    key: &str,
    dead: &LockInfo,
    info: &LockInfo,
) -> Result<LockAnswer, BackendError> {
    // If another process was faster, the lease has a different id, and this call has no effect.
    client.lease(TAKING, key, Lease::Release { id: &dead.id }).await?;
    take(client, key, info).await
}

/// Releases the lock with this id.
pub(super) async fn release(client: &Client, key: &str, id: &str) -> Result<(), BackendError> {
    let other = || refusals::other_lock(client.place(key), id);
    let found = client.properties(RELEASING, key).await?.ok_or_else(other)?;
    if !client.lease(RELEASING, key, Lease::Release { id }).await? {
        return Err(other());
    }
    // The lock is free now. If the metadata already names a new holder, the metadata is not changed.
    if holder(&found).is_some_and(|holder| holder.id == id) {
        client.set_metadata(RELEASING, key, &found.etag, &metadata(&found, None)).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metadata_names_the_holder() {
        let mut found = Properties {
            etag: "\"0x1\"".to_owned(),
            digest: None,
            leased: true,
            empty: false,
            metadata: vec![("team".to_owned(), "a".to_owned()), (LOCK.to_owned(), "e30=".to_owned())],
        };
        assert_eq!(holder(&found), Some(LockInfo::default()));
        let info = LockInfo { id: "1".to_owned(), who: "ann@host".to_owned(), ..LockInfo::default() };
        found.metadata = metadata(&found, Some(&info));
        assert_eq!((holder(&found), found.metadata.len()), (Some(info), 2));
        found.metadata = metadata(&found, None);
        assert_eq!((holder(&found), found.metadata.len()), (None, 1));
    }
}
