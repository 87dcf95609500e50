//! Locks: an object beside the state, an item of a DynamoDB table, or both. The object comes first.

use weft_state::remote::{BackendError, LockAnswer, LockInfo, Version, Written};

use super::requests::Client;
use super::{LOCK, refusals};
use crate::bucket::{Bucket as _, ObjectKind, When};

const TAKING: &str = "taking the lock";
const RELEASING: &str = "releasing the lock";

/// The information in the lock object, with its version.
async fn stored(client: &Client, doing: &'static str, key: &str) -> Result<Option<(LockInfo, Version)>, BackendError> {
    let found = client.get(doing, &format!("{key}{LOCK}")).await?;
    Ok(found.map(|object| (serde_json::from_slice(&object.content).unwrap_or_default(), object.version)))
}

fn held(holder: LockInfo) -> LockAnswer {
    let message = format!("the state is locked by {}", holder.who);
    LockAnswer::Held { holder, message }
}

/// Takes all locks that the settings name.
pub(super) async fn take(client: &Client, key: &str, info: &LockInfo) -> Result<LockAnswer, BackendError> {
    let info = LockInfo { path: format!("{}/{key}", client.settings.bucket), ..info.clone() };
    if client.settings.use_lockfile {
        let (name, body) = (format!("{key}{LOCK}"), info.to_json().into());
        if client.put(TAKING, &name, body, ObjectKind::Lock, &When::Absent).await? == Written::Conflict {
            let holder = stored(client, TAKING, key).await?.map(|(holder, _)| holder).unwrap_or_default();
            return Ok(held(holder));
        }
    }
    match client.take_item(key, &info).await {
        Ok(None) => Ok(LockAnswer::Locked(info)),
        failed => {
            if client.settings.use_lockfile {
                client.delete(RELEASING, &format!("{key}{LOCK}")).await?;
            }
            failed.map(|holder| held(holder.unwrap_or_default()))
        }
    }
}

/// Takes the locks of a dead holder, as far as it still has them.
pub(super) async fn take_over(
    client: &Client,
    key: &str,
    dead: &LockInfo,
    info: &LockInfo,
) -> Result<LockAnswer, BackendError> {
    let info = LockInfo { path: format!("{}/{key}", client.settings.bucket), ..info.clone() };
    if client.settings.use_lockfile {
        let when = match stored(client, TAKING, key).await? {
            Some((holder, version)) if holder.id == dead.id => When::Is(version),
            Some((holder, _)) => return Ok(held(holder)),
            None => When::Absent,
        };
        let (name, body) = (format!("{key}{LOCK}"), info.to_json().into());
        if client.put(TAKING, &name, body, ObjectKind::Lock, &when).await? == Written::Conflict {
            let holder = stored(client, TAKING, key).await?.map(|(holder, _)| holder).unwrap_or_default();
            return Ok(held(holder));
        }
    }
    if client.settings.dynamodb_table.is_some() {
        if let Some(holder) = client.item(key).await?.filter(|holder| holder.id == dead.id) {
            client.remove_item(key, &holder).await?;
        }
        if let Some(holder) = client.take_item(key, &info).await? {
            return Ok(held(holder));
        }
    }
    Ok(LockAnswer::Locked(info))
}

/// Releases the locks with this id.
pub(super) async fn release(client: &Client, key: &str, id: &str) -> Result<(), BackendError> {
    if client.settings.use_lockfile {
        let found = stored(client, RELEASING, key).await?;
        if found.is_none_or(|(holder, _)| holder.id != id) {
            return Err(refusals::other_lock(client.place(key), id));
        }
        client.delete(RELEASING, &format!("{key}{LOCK}")).await?;
    }
    if client.settings.dynamodb_table.is_some() {
        match client.item(key).await? {
            Some(holder) if holder.id == id => client.remove_item(key, &holder).await?,
            _ => return Err(refusals::other_lock(client.place(key), id)),
        }
    }
    Ok(())
}
