//! The record of the holder of a lock: a small object beside the state, named after the lock. The holder rewrites the
//! record at intervals as long as it is alive.
//!
//! The record distinguishes a dead holder from a slow one. It only decides whether a lock may be taken over. The
//! journal makes sure that a slow holder does no harm afterwards.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;

use super::bridge::Bridge;
use super::objects::ObjectFiles;
use crate::error::StoreError;
use crate::process::process_exists;
use crate::remote::ObjectVersion;
use crate::run::Holder;

/// The start of a record's name. The id of the lock follows.
const PREFIX: &str = "holder/";
/// The start of the name of a note that a lock was taken over. The id of the lock follows.
const TAKEN: &str = "taken/";
/// The time between two writes of a record.
const BEAT: Duration = Duration::from_secs(10);
/// The time after which a record that has not changed belongs to a dead process.
const DEAD_AFTER: Duration = Duration::from_secs(35);
/// The age from which a record is watched for [`DEAD_AFTER`]. A more recent record belongs to a process that is alive.
const STALE_AFTER: jiff::SignedDuration = jiff::SignedDuration::from_secs(30);
/// The time between two reads of a watched record.
const WATCH_PAUSE: Duration = Duration::from_secs(3);

/// The holder of a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HolderRecord {
    /// The id of the lock.
    lock: String,
    /// The host name.
    machine: String,
    /// The process id.
    process: u32,
    /// The user.
    user: String,
    /// The boot, the process namespace and the start time of the process. They make the process id unique.
    scope: Option<Scope>,
    /// When the record was written, RFC 3339. Clocks of two machines may differ, so this time alone does not prove that
    /// a process is dead.
    at: String,
}

/// What makes a process id unique.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Scope {
    boot: String,
    namespace: String,
    started: u64,
}

impl Scope {
    /// The scope of a process that is visible to this process.
    fn of(process: u32) -> Option<Scope> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned();
        let namespace = fs::read_link("/proc/self/ns/pid").ok()?.to_string_lossy().into_owned();
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok();
        // The name of the program is in parentheses and may hold anything. The start time is the 20th field after it.
        let started = stat.and_then(|stat| stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok());
        Some(Scope { boot, namespace, started: started.unwrap_or_default() })
    }
}

impl HolderRecord {
    /// The record of this process.
    pub(super) fn new(lock: &str, holder: &Holder) -> HolderRecord {
        HolderRecord {
            lock: lock.to_owned(),
            machine: holder.machine.clone(),
            process: holder.process,
            user: holder.user.clone(),
            scope: Scope::of(holder.process),
            at: String::new(),
        }
    }

    fn bytes(&self) -> Bytes {
        let now = HolderRecord { at: jiff::Timestamp::now().to_string(), ..self.clone() };
        // Strings and numbers only: this cannot fail.
        serde_json::to_vec(&now).unwrap_or_default().into()
    }

    /// Whether the process is known to be dead: it ran on this machine and no longer exists.
    fn is_gone(&self) -> bool {
        let (Some(then), Some(now)) = (&self.scope, Scope::of(self.process)) else { return false };
        let here = (&then.boot, &then.namespace) == (&now.boot, &now.namespace);
        // Without a start time, the process has ended, or `/proc` hides it (`hidepid`) because it belongs to another
        // user.
        here && if now.started == 0 { !process_exists(self.process) } else { then.started != now.started }
    }

    /// Whether the record is old, as far as the clocks agree.
    fn is_stale(&self) -> bool {
        let Ok(at) = self.at.parse::<jiff::Timestamp>() else { return true };
        jiff::Timestamp::now().duration_since(at) > STALE_AFTER
    }
}

/// The task that rewrites the record, and notices that the lock was taken over.
pub(super) struct Beats(JoinHandle<()>);

impl Beats {
    /// Writes the record, and rewrites it until `end` is called or another process has taken over the lock.
    pub(super) fn start(files: &Arc<ObjectFiles>, bridge: &Bridge, record: HolderRecord) -> Result<Beats, StoreError> {
        let objects = Arc::clone(files.objects());
        let (name, taken) = (format!("{PREFIX}{}", record.lock), format!("{TAKEN}{}", record.lock));
        let (first, at, content) = (Arc::clone(&objects), name.clone(), record.bytes());
        bridge.wait(async move { first.put_trying(&at, content).await })??;
        let files = Arc::clone(files);
        Ok(Beats(bridge.handle().spawn(async move {
            let mut renewed = jiff::Timestamp::now();
            loop {
                tokio::time::sleep(BEAT).await;
                let now = jiff::Timestamp::now();
                let mut lost = matches!(objects.read(&name).await, Ok(None));
                // If one write of the record fails, the next write suffices. If all writes fail, another process may
                // take over the lock.
                if !lost && objects.put(&name, record.bytes()).await.is_err() {
                    continue;
                }
                // The record may exist only because an old request of this process wrote the record again after another
                // process had removed it. So after a long pause, the note about a takeover decides whether the lock is
                // lost.
                if !lost && jiff::Timestamp::now().duration_since(renewed) > STALE_AFTER {
                    let Ok(found) = objects.read(&taken).await else { continue };
                    lost = found.is_some();
                }
                if lost {
                    let _ = objects.remove(&[name, taken]).await;
                    return files.supersede();
                }
                renewed = now;
            }
        })))
    }

    /// Stops rewriting the record.
    pub(super) fn end(self) {
        self.0.abort();
    }
}

/// Removes the record of a lock, and the notes about locks that this process took over.
pub(super) fn forget(files: &ObjectFiles, bridge: &Bridge, lock: &str) -> Result<(), StoreError> {
    let mut names = files.noted();
    names.push(format!("{PREFIX}{lock}"));
    let objects = Arc::clone(files.objects());
    Ok(bridge.wait(async move { objects.remove(&names).await })??)
}

/// Removes the record of a lock that this process took over. Leaves a note for the old holder, in case it is still
/// alive.
pub(super) fn replace(files: &ObjectFiles, bridge: &Bridge, lock: &str) -> Result<(), StoreError> {
    let (objects, name, note) = (Arc::clone(files.objects()), format!("{PREFIX}{lock}"), format!("{TAKEN}{lock}"));
    files.note(note.clone());
    Ok(bridge.wait(async move {
        objects.put(&note, Bytes::from_static(b"taken over")).await?;
        objects.remove(&[name]).await
    })??)
}

/// Whether this lock belongs to a process of Weft that is dead. If the record of the lock is stale, but may belong to a
/// process on another machine, watches the record. The process is dead if the record does not change for
/// [`DEAD_AFTER`].
pub(super) fn is_dead(files: &ObjectFiles, bridge: &Bridge, lock: &str) -> Result<bool, StoreError> {
    let start = Instant::now();
    let mut first: Option<ObjectVersion> = None;
    loop {
        let (objects, name) = (Arc::clone(files.objects()), format!("{PREFIX}{lock}"));
        let Some(found) = bridge.wait(async move { objects.read(&name).await })?? else { return Ok(false) };
        let Ok(record) = serde_json::from_slice::<HolderRecord>(&found.content) else { return Ok(false) };
        if record.lock != lock {
            return Ok(false);
        }
        if record.is_gone() {
            return Ok(true);
        }
        if !record.is_stale() || first.as_ref().is_some_and(|first| *first != found.version) {
            return Ok(false);
        }
        if start.elapsed() >= DEAD_AFTER {
            return Ok(true);
        }
        first.get_or_insert(found.version);
        std::thread::sleep(WATCH_PAUSE);
    }
}

/// Whether any record belongs to a process that seems to be alive. For display only.
pub(super) fn any_alive(files: &ObjectFiles, bridge: &Bridge) -> Result<bool, StoreError> {
    let objects = Arc::clone(files.objects());
    let found = bridge.wait(async move {
        let mut found = Vec::new();
        for name in objects.list(PREFIX).await? {
            found.extend(objects.read(&name).await?);
        }
        Ok::<_, crate::remote::BackendError>(found)
    })??;
    let records = found.iter().filter_map(|found| serde_json::from_slice::<HolderRecord>(&found.content).ok());
    Ok(records.into_iter().any(|record| !record.is_gone() && !record.is_stale()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(process: u32) -> HolderRecord {
        let holder = Holder { machine: "host".to_owned(), process, user: "ann".to_owned() };
        HolderRecord::new("lock", &holder)
    }

    #[test]
    fn a_process_is_gone_only_where_its_number_means_something() {
        let alive = record(std::process::id());
        assert!(!alive.is_gone());
        let mut other = alive.clone();
        other.scope.as_mut().unwrap().started += 1;
        assert!(other.is_gone(), "the number belongs to a later process");
        other.scope.as_mut().unwrap().boot = "another machine".to_owned();
        assert!(!other.is_gone());
        other.scope = None;
        assert!(!other.is_gone());
    }

    #[test]
    fn records_become_stale() {
        let fresh: HolderRecord = serde_json::from_slice(&record(1).bytes()).unwrap();
        assert!(!fresh.is_stale());
        assert!(HolderRecord { at: "2020-01-01T00:00:00Z".to_owned(), ..fresh }.is_stale());
    }
}
