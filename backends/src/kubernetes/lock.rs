//! The lock: a lease with a holder. Releasing the lock removes only the holder, not the lease.

use serde_json::{Value as Json, json};
use weft_state::remote::{BackendError, LockAnswer, LockInfo};

use super::refusals;
use super::requests::{Client, Resource, Stored};

const TAKING: &str = "taking the lock";
const RELEASING: &str = "releasing the lock";
/// The annotation with the information about the lock.
const INFO: &str = "app.terraform.io/lock-info";
/// The maximum number of attempts while other processes change the lease.
const TRIES: u32 = 5;

fn holder_of(lease: &Json) -> Option<&str> {
    lease.pointer("/spec/holderIdentity")?.as_str().filter(|holder| !holder.is_empty())
}

fn held(lease: &Json, holder: &str) -> LockAnswer {
    let info = lease.get("metadata").and_then(|metadata| metadata.get("annotations")?.get(INFO)?.as_str());
    let info: LockInfo = info.and_then(|info| serde_json::from_str(info).ok()).unwrap_or_default();
    let message = refusals::already_locked();
    LockAnswer::Held { holder: LockInfo { id: holder.to_owned(), ..info }, message }
}

/// Sets the holder of the lease, or removes the holder.
fn with_holder(mut lease: Json, info: Option<&LockInfo>) -> Json {
    if !lease.get("spec").is_some_and(Json::is_object) {
        lease["spec"] = json!({});
    }
    if !lease.pointer("/metadata/annotations").is_some_and(Json::is_object) {
        lease["metadata"]["annotations"] = json!({});
    }
    if let Some(info) = info {
        lease["spec"]["holderIdentity"] = json!(info.id);
        lease["metadata"]["annotations"][INFO] = json!(String::from_utf8_lossy(&info.to_json()));
        return lease;
    }
    if let Some(spec) = lease.get_mut("spec").and_then(Json::as_object_mut) {
        spec.remove("holderIdentity");
    }
    if let Some(annotations) = lease.pointer_mut("/metadata/annotations").and_then(Json::as_object_mut) {
        annotations.remove(INFO);
    }
    lease
}

/// Takes the lock with this lease. If `dead` is set, takes it even from a holder with that id.
pub(super) async fn take(
    client: &Client,
    name: &str,
    labels: &Json,
    info: &LockInfo,
    dead: Option<&str>,
) -> Result<LockAnswer, BackendError> {
    for _ in 0..TRIES {
        let answer = match client.get(TAKING, Resource::Lease, name).await? {
            None => {
                let lease = with_holder(json!({"metadata": {"labels": labels}}), Some(info));
                client.create(TAKING, Resource::Lease, name, lease).await?
            }
            Some(lease) => match holder_of(&lease) {
                Some(holder) if holder == info.id => return Ok(LockAnswer::Locked(info.clone())),
                Some(holder) if Some(holder) != dead => return Ok(held(&lease, holder)),
                _ => client.replace(TAKING, Resource::Lease, name, &with_holder(lease, Some(info))).await?,
            },
        };
        if let Stored::Done(_) = answer {
            return Ok(LockAnswer::Locked(info.clone()));
        }
        // Another process was faster, or the response to an earlier attempt was lost. The next round reads the lease,
        // which shows the cause.
    }
    Err(refusals::busy(client.place(name), TAKING))
}

/// Releases the lock with this lease.
pub(super) async fn release(client: &Client, name: &str, id: &str) -> Result<(), BackendError> {
    let mut repeated = false;
    for _ in 0..TRIES {
        let lease = client.get(RELEASING, Resource::Lease, name).await?;
        let Some((lease, holder)) = lease.and_then(|lease| Some((lease.clone(), holder_of(&lease)?.to_owned()))) else {
            // An earlier attempt may have released the lock, although its response was lost.
            return if repeated { Ok(()) } else { Err(refusals::not_locked(client.place(name))) };
        };
        if holder != id {
            return if repeated { Ok(()) } else { Err(refusals::other_lock(client.place(name), id)) };
        }
        match client.replace(RELEASING, Resource::Lease, name, &with_holder(lease, None)).await? {
            Stored::Done(_) => return Ok(()),
            Stored::Conflict(again) => repeated |= again,
        }
    }
    Err(refusals::busy(client.place(name), RELEASING))
}
