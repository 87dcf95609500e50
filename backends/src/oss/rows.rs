//! The rows of a state in the table: its lock, and the digest of its content.

use weft_state::remote::{BackendError, LockAnswer, LockInfo};

use super::refusals;
use super::tablestore::{Changed, Condition, Table};
use crate::problems::locked_by;
use crate::stored_digests::{NEXT, StoredDigests};

const TAKING: &str = "taking the lock";
const RELEASING: &str = "releasing the lock";
/// The suffix of the name of a digest, after the name of its state.
const DIGEST: &str = "-md5";
/// The names of the columns.
const INFO: &str = "Info";
const MD5: &str = "Digest";

/// The rows of a state.
pub(super) struct Rows<'a> {
    pub(super) table: &'a Table,
    /// The name of the state in the table: the bucket and the key.
    pub(super) name: String,
    /// The location of the state, for messages.
    pub(super) place: String,
}

fn held(holder: LockInfo) -> LockAnswer {
    let message = locked_by(&holder.who);
    LockAnswer::Held { holder, message }
}

impl Rows<'_> {
    /// The information about the lock: as stored, and parsed.
    async fn holder(&self, doing: &'static str) -> Result<Option<(String, LockInfo)>, BackendError> {
        let [found] = self.table.get(doing, &self.name, [INFO]).await?;
        Ok(found.map(|text| {
            let info = serde_json::from_str(&text).unwrap_or_default();
            (text, info)
        }))
    }

    /// Takes the lock.
    pub(super) async fn take(&self, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        let info = LockInfo { path: self.name.clone(), ..info.clone() };
        let text = String::from_utf8_lossy(&info.to_json()).into_owned();
        match self.table.put(TAKING, &self.name, &[(INFO, &text)], Condition::Absent).await? {
            Changed::Done => Ok(LockAnswer::Locked(info)),
            Changed::Conflict => {
                let holder = self.holder(TAKING).await?.map(|(_, holder)| holder).unwrap_or_default();
                // If the response was lost, the retry finds that the row already has this id.
                if holder.id == info.id { Ok(LockAnswer::Locked(info)) } else { Ok(held(holder)) }
            }
        }
    }

    /// Takes the lock of a dead holder, if that holder still has the lock.
    pub(super) async fn take_over(&self, dead: &LockInfo, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        match self.holder(TAKING).await? {
            Some((text, holder)) if holder.id == dead.id => {
                // If another process was faster, the row has a different content, and this call has no effect.
                self.table.delete(TAKING, &self.name, Condition::Column(INFO, &text)).await?;
            }
            Some((_, holder)) => return Ok(held(holder)),
            None => {}
        }
        self.take(info).await
    }

    /// Releases the lock with this id.
    pub(super) async fn release(&self, id: &str) -> Result<(), BackendError> {
        match self.holder(RELEASING).await? {
            Some((_, holder)) if holder.id == id => {
                self.table.delete(RELEASING, &self.name, Condition::Any).await.map(|_| ())
            }
            _ => Err(refusals::other_lock(self.place.clone(), id)),
        }
    }

    /// The digests of the state. There are none if the service refuses the request, for example because a permission is
    /// missing. As in OpenTofu, the state can still be read in that case.
    pub(super) async fn stored_digests(&self) -> Result<StoredDigests, BackendError> {
        let [digest, next] = match self.table.get("reading the digest", &self.digest_name(), [MD5, NEXT]).await {
            Err(BackendError::Refused { .. }) => return Ok(StoredDigests::default()),
            found => found?,
        };
        let valid = |text: &String| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let lower = |found: Option<String>| found.filter(valid).map(|text| text.to_lowercase());
        Ok(StoredDigests { digest: lower(digest), next: lower(next) })
    }

    /// Stores the digest of a state that is about to be written, in addition to the digest of the current state. Does
    /// nothing if the current state has no digest, because without a digest, readers accept any content.
    pub(super) async fn announce_digest(&self, next: &str) -> Result<(), BackendError> {
        match self.stored_digests().await?.digest {
            Some(digest) => self.put_digests(&[(MD5, &digest), (NEXT, next)]).await,
            None => Ok(()),
        }
    }

    /// Stores the digest of the state.
    pub(super) async fn store_digest(&self, digest: &str) -> Result<(), BackendError> {
        self.put_digests(&[(MD5, digest)]).await
    }

    async fn put_digests(&self, columns: &[(&str, &str)]) -> Result<(), BackendError> {
        self.table.put("writing the digest", &self.digest_name(), columns, Condition::Any).await.map(|_| ())
    }

    fn digest_name(&self) -> String {
        format!("{}{DIGEST}", self.name)
    }

    /// Removes the digest of the state.
    pub(super) async fn remove_digest(&self) -> Result<(), BackendError> {
        self.table.delete("deleting the workspace", &self.digest_name(), Condition::Any).await.map(|_| ())
    }
}
