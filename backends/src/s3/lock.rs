//! Locks: an object beside the state, an item of a DynamoDB table, or both. If both are used, the object is locked
//! first.

use weft_state::remote::{BackendError, LockAnswer, LockInfo, ObjectVersion, Written};

use super::requests::Client;
use super::{LOCK, refusals};
use crate::bucket::{Bucket as _, ObjectKind, When};
use crate::problems::{locked_by, locked_without_holder};

const TAKING: &str = "taking the lock";
const RELEASING: &str = "releasing the lock";

/// The information in the lock object, with its version.
async fn stored(
    client: &Client,
    doing: &'static str,
    key: &str,
) -> Result<Option<(LockInfo, ObjectVersion)>, BackendError> {
    let found = client.get(doing, &format!("{key}{LOCK}")).await?;
    Ok(found.map(|object| (serde_json::from_slice(&object.content).unwrap_or_default(), object.version)))
}

fn held(holder: LockInfo) -> LockAnswer {
    let message = match holder.who.as_str() {
        "" => locked_without_holder(),
        who => locked_by(who),
    };
    LockAnswer::Held { holder, message }
}

/// Releases the first lock. Called if the second lock could not be taken.
async fn give_back(client: &Client, key: &str, id: &str, why: &str) -> Result<(), BackendError> {
    let deleted = client.delete(RELEASING, &format!("{key}{LOCK}")).await;
    deleted.map_err(|error| refusals::left_lock(client.place(key), id, why, &error))
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
                let why = match &failed {
                    Ok(holder) => {
                        let who = holder.as_ref().map(|holder| holder.who.as_str()).unwrap_or_default();
                        refusals::table_locked(who)
                    }
                    Err(error) => error.to_string(),
                };
                give_back(client, key, &info.id, &why).await?;
            }
            failed.map(|holder| held(holder.unwrap_or_default()))
        }
    }
}

/// Takes over the locks that a dead holder still has.
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
        if let Some(item) = client.item(key).await?.filter(|item| item.holder.id == dead.id) {
            client.remove_item(key, &item).await?;
        }
        if let Some(holder) = client.take_item(key, &info).await? {
            return Ok(held(holder));
        }
    }
    Ok(LockAnswer::Locked(info))
}

/// Releases the locks with this id. Even if the first lock cannot be released, tries to release the second lock.
pub(super) async fn release(client: &Client, key: &str, id: &str) -> Result<(), BackendError> {
    let settings = &client.settings;
    match (settings.use_lockfile, settings.dynamodb_table.is_some()) {
        (false, false) => Ok(()),
        (true, false) => release_object(client, key, id).await,
        (false, true) => release_item(client, key, id).await,
        (true, true) => {
            let place = || client.place(key);
            match (release_object(client, key, id).await, release_item(client, key, id).await) {
                (Ok(()), Ok(())) => Ok(()),
                (Err(error), Ok(())) => Err(refusals::half_released(place(), "dynamoDB", "s3", &error)),
                (Ok(()), Err(error)) => Err(refusals::half_released(place(), "s3", "dynamoDB", &error)),
                (Err(object), Err(item)) => Err(refusals::not_released(place(), &object, &item)),
            }
        }
    }
}

async fn release_object(client: &Client, key: &str, id: &str) -> Result<(), BackendError> {
    let found = stored(client, RELEASING, key).await?;
    if found.is_none_or(|(holder, _)| holder.id != id) {
        return Err(refusals::other_lock(client.place(key), id));
    }
    client.delete(RELEASING, &format!("{key}{LOCK}")).await
}

async fn release_item(client: &Client, key: &str, id: &str) -> Result<(), BackendError> {
    match client.item(key).await? {
        Some(item) if item.holder.id == id => client.remove_item(key, &item).await,
        _ => Err(refusals::other_lock(client.place(key), id)),
    }
}
