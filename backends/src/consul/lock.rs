//! The lock: a key that a session holds, and a second key with the information about the lock.
//!
//! A session ends unless its process renews it, so the lock of a dead process expires. As in OpenTofu, a process that
//! loses its lock while it is alive takes the lock again as soon as possible. If another process wrote the state in the
//! meantime, the next write of the living process reports a conflict.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::json;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use weft_state::remote::{BackendError, LockAnswer, LockInfo, creation_time};

use super::refusals;
use super::requests::{Client, Pair};

const TAKING: &str = "taking the lock";
const RELEASING: &str = "releasing the lock";
/// The number with which Consul's library marks the keys of locks.
const LOCK_FLAG: &str = "3304740253564472344";
/// The lifetime of a session that is not renewed. Consul may extend it to twice this time.
const LIFE: Duration = Duration::from_secs(15);
/// The time after the end of a session in which other sessions cannot take its lock.
const DELAY: Duration = Duration::from_secs(5);
/// The time for trying to take a lock that another session holds, as in OpenTofu.
const TRIES: Duration = Duration::from_secs(1);
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(250);
/// The pause between two attempts to take a lost lock again, or to renew a session.
const AGAIN: Duration = Duration::from_secs(2);

/// The keys of the lock of a state.
#[derive(Clone, Debug)]
pub(super) struct Lock {
    pub(super) client: Arc<Client>,
    /// The key of the state.
    pub(super) state: String,
}

/// A lock that this process holds.
#[derive(Debug)]
pub(super) struct Held {
    /// The id of the lock: the first session.
    id: String,
    /// The session that has the lock now. The task that renews the session locks this field while it replaces the
    /// session.
    session: Arc<Mutex<String>>,
    keeper: JoinHandle<()>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

impl Held {
    /// The session that has the lock with this id.
    pub(super) async fn session(&self, id: &str) -> Option<String> {
        let session = self.session.lock().await.clone();
        (self.id == id || session == id).then_some(session)
    }
}

/// The outcome of an attempt to take the lock.
enum SessionAnswer {
    Taken,
    /// Another session has the lock.
    Held(Pair, String),
    /// The session that had the lock has ended, but Consul does not allow other sessions to take the lock yet.
    Delayed,
}

impl Lock {
    fn key(&self) -> String {
        format!("{}/.lock", self.state.trim_end_matches('/'))
    }

    fn info_key(&self) -> String {
        format!("{}/.lockinfo", self.state.trim_end_matches('/'))
    }

    /// Takes the lock. Until the returned [`Held`] is dropped, a task renews the session.
    pub(super) async fn take(&self, info: &LockInfo) -> Result<(LockAnswer, Option<Held>), BackendError> {
        let session = self.begin().await?;
        match self.take_with(&session, info).await {
            Ok(LockAnswer::Locked(locked)) => {
                let id = session.clone();
                let session = Arc::new(Mutex::new(session));
                let keeper = tokio::spawn(self.clone().keep(Arc::clone(&session), info.clone()));
                Ok((LockAnswer::Locked(locked), Some(Held { id, session, keeper })))
            }
            answer => {
                // A failure is ignored, because the session expires.
                let _ = self.client.end_session(TAKING, &session).await;
                Ok((answer?, None))
            }
        }
    }

    async fn begin(&self) -> Result<String, BackendError> {
        let rules = json!({
            "Name": "Consul API Lock",
            "TTL": format!("{}s", LIFE.as_secs()),
            "LockDelay": format!("{}ms", DELAY.as_millis()),
        });
        self.client.begin_session(TAKING, &rules).await
    }

    /// Takes the lock with this session. If another session has the lock, retries for a short time.
    async fn take_with(&self, session: &str, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        let start = Instant::now();
        loop {
            match self.attempt(session, info.asked()).await? {
                SessionAnswer::Taken => return Ok(LockAnswer::Locked(self.tell(session, info).await?)),
                SessionAnswer::Held(pair, holder) if start.elapsed() > TRIES => return self.held(&pair, holder).await,
                SessionAnswer::Delayed if start.elapsed() > DELAY + TRIES => {
                    let message = refusals::lock_delayed();
                    return Ok(LockAnswer::Held { holder: LockInfo::default(), message });
                }
                _ => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// Makes one attempt to take the lock. Sets the value of the key to `asked`, the id from the caller's request.
    /// OpenTofu leaves the value empty.
    async fn attempt(&self, session: &str, asked: &str) -> Result<SessionAnswer, BackendError> {
        let key = self.key();
        let holder_of = |pair: Option<Pair>| pair.and_then(|pair| Some((pair.session.clone()?, pair)));
        let found = self.client.pair(TAKING, &key).await?;
        if found.as_ref().is_some_and(|pair| pair.flags.to_string() != LOCK_FLAG) {
            return Err(refusals::not_a_lock(self.client.settings.place(&key)));
        }
        match holder_of(found) {
            Some((holder, _)) if holder == session => return Ok(SessionAnswer::Taken),
            Some((holder, pair)) => return Ok(SessionAnswer::Held(pair, holder)),
            None => {}
        }
        let query = [("acquire", session), ("flags", LOCK_FLAG)];
        if self.client.put(TAKING, &key, Bytes::copy_from_slice(asked.as_bytes()), &query).await? {
            return Ok(SessionAnswer::Taken);
        }
        Ok(match holder_of(self.client.pair(TAKING, &key).await?) {
            Some((holder, _)) if holder == session => SessionAnswer::Taken,
            Some((holder, pair)) => SessionAnswer::Held(pair, holder),
            None => SessionAnswer::Delayed,
        })
    }

    /// Writes the information about the lock.
    async fn tell(&self, session: &str, info: &LockInfo) -> Result<LockInfo, BackendError> {
        let told = LockInfo {
            info: format!("consul session: {session}"),
            path: self.state.clone(),
            created: creation_time(jiff::Timestamp::now()),
            asked: None,
            id: info.asked().to_owned(),
            ..info.clone()
        };
        let told = told.named(session.to_owned());
        match self.client.put(TAKING, &self.info_key(), told.to_json().into(), &[]).await {
            Ok(_) => Ok(told),
            Err(error) => {
                let _ = self.release_session(session).await;
                Err(error)
            }
        }
    }

    async fn held(&self, pair: &Pair, holder: String) -> Result<LockAnswer, BackendError> {
        let info = self.client.pair(TAKING, &self.info_key()).await?;
        let info = info.and_then(|info| serde_json::from_slice::<LockInfo>(&info.value).ok());
        // A holder writes the information after taking the lock. So the information may belong to an earlier holder, or
        // be missing.
        let mut info = info.filter(|info| info.id == holder).unwrap_or_else(|| LockInfo {
            operation: "unknown operation".to_owned(),
            who: "an unknown process".to_owned(),
            created: "an unknown time".to_owned(),
            ..LockInfo::default()
        });
        let message = refusals::locked_by_session(&holder);
        info.id = holder;
        let asked = String::from_utf8(pair.value.to_vec()).ok().filter(|asked| !asked.is_empty());
        Ok(LockAnswer::Held { holder: LockInfo { asked, ..info }, message })
    }

    /// Renews the session. If the lock is lost, takes it again with a new session.
    async fn keep(self, session: Arc<Mutex<String>>, info: LockInfo) {
        loop {
            tokio::time::sleep(LIFE / 2).await;
            let current = session.lock().await.clone();
            while !self.is_kept(&current).await {
                {
                    // The mutex is locked during the whole attempt. Otherwise, a concurrent release could see the old
                    // session, although the new session already has the lock.
                    let mut session = session.lock().await;
                    if let Some(other) = self.take_again(&current, &info).await {
                        *session = other;
                        break;
                    }
                }
                tokio::time::sleep(AGAIN).await;
            }
        }
    }

    /// Whether the session is alive and has the lock. Retries until the agent responds.
    async fn is_kept(&self, session: &str) -> bool {
        loop {
            match self.client.renew_session(session).await {
                Ok(false) => return false,
                Ok(true) => {
                    if let Ok(pair) = self.client.pair(TAKING, &self.key()).await {
                        return pair.and_then(|pair| pair.session).as_deref() == Some(session);
                    }
                }
                Err(_) => {}
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Takes a lost lock again with a new session. Returns that session.
    async fn take_again(&self, lost: &str, info: &LockInfo) -> Option<String> {
        let _ = self.client.end_session(TAKING, lost).await;
        let session = self.begin().await.ok()?;
        match self.take_with(&session, info).await {
            Ok(LockAnswer::Locked(_)) => Some(session),
            _ => {
                let _ = self.client.end_session(TAKING, &session).await;
                None
            }
        }
    }

    /// Releases the lock of a session of this process.
    ///
    /// # Errors
    /// Returns an error if the session no longer has the lock.
    pub(super) async fn release(&self, session: &str) -> Result<(), BackendError> {
        match self.release_session(session).await? {
            true => Ok(()),
            false => Err(refusals::lost_lock(self.client.settings.place(&self.state))),
        }
    }

    /// Releases the lock of a session of any process.
    ///
    /// # Errors
    /// Returns an error if another session has the lock, or if no session has the lock.
    pub(super) async fn release_other(&self, session: &str) -> Result<(), BackendError> {
        let found = self.client.pair(RELEASING, &self.key()).await?.and_then(|pair| pair.session);
        let place = self.client.settings.place(&self.state);
        match found {
            None => Err(refusals::not_locked(place)),
            Some(holder) if holder != session => Err(refusals::other_lock(place, session)),
            Some(_) => self.release_session(session).await.map(drop),
        }
    }

    /// Ends a session. If the session has the lock, first removes the information about the lock and releases the lock:
    /// Consul delays the next holder if a session ends while it has the lock. Then removes the key of the lock. Returns
    /// whether the session had the lock.
    pub(super) async fn release_session(&self, session: &str) -> Result<bool, BackendError> {
        let (key, flags) = (self.key(), ("flags", LOCK_FLAG));
        let found = self.client.pair(RELEASING, &key).await?;
        let had = found.is_some_and(|pair| pair.session.as_deref() == Some(session));
        if had {
            self.client.delete(RELEASING, &self.info_key(), &[]).await?;
            self.client.put(RELEASING, &key, Bytes::new(), &[("release", session), flags]).await?;
        }
        self.client.end_session(RELEASING, session).await?;
        if had {
            // Another process may have taken the lock already. In that case, the key is not removed.
            let free = self.client.pair(RELEASING, &key).await?.filter(|pair| pair.session.is_none());
            if let Some(free) = free {
                self.client.delete(RELEASING, &key, &[("cas", &free.index.to_string())]).await?;
            }
        }
        Ok(had)
    }
}
