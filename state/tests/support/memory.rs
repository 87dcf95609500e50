//! A backend in memory, with faults.

#![allow(dead_code)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use weft_state::remote::*;
use weft_state::{Holder, RemoteOptions};

/// One state with its objects. Clones share the content.
#[derive(Clone, Debug, Default)]
pub struct Memory(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    held: Mutex<Held>,
    requests: AtomicU64,
}

/// The content of the backend. The state is the object with the empty name.
#[derive(Debug, Default)]
pub struct Held {
    pub objects: BTreeMap<String, (Bytes, u64)>,
    pub lock: Option<LockInfo>,
    /// Whether the next creations succeed but their responses are lost.
    pub failing: bool,
    /// Whether writes of the state fail.
    pub refusing: bool,
    /// Whether there are no objects beside the state.
    pub bare: bool,
    /// Whether locks cannot be released.
    pub stuck: bool,
    /// The number of changes that still succeed. All later ones fail, as if the process had ended.
    pub changes_left: Option<u64>,
    /// The locks that a store could not release.
    pub unreleased: UnreleasedLocks,
    versions: u64,
}

impl Memory {
    /// The options for opening the state. The process of the test is the holder of the lock, so that no other process
    /// considers the holder dead.
    pub fn options(&self, folder: impl Into<PathBuf>) -> RemoteOptions {
        RemoteOptions {
            state: Arc::new(self.clone()),
            locks: true,
            lock_timeout: Duration::ZERO,
            operation: "OperationTypeApply".to_owned(),
            holder: Holder { process: std::process::id(), ..crate::support::holder() },
            sealing: Arc::default(),
            folder: folder.into(),
            unreleased: self.held().unreleased.clone(),
            save_interval: None,
        }
    }

    pub fn held(&self) -> MutexGuard<'_, Held> {
        self.0.held.lock().unwrap()
    }

    pub fn text(&self) -> String {
        let held = self.held();
        held.objects.get("").map(|(content, _)| String::from_utf8(content.to_vec()).unwrap()).unwrap_or_default()
    }

    pub fn requests(&self) -> u64 {
        self.0.requests.load(Ordering::Relaxed)
    }

    pub fn names(&self, part: &str) -> Vec<String> {
        self.held().objects.keys().filter(|name| name.contains(part)).cloned().collect()
    }

    /// Counts a change. Fails if no changes are left.
    fn change(&self) -> Result<(), BackendError> {
        let mut held = self.held();
        match &mut held.changes_left {
            Some(0) => {
                let (place, error) = ("memory".to_owned(), "the process has ended".to_owned());
                Err(BackendError::Unreachable { place, doing: "writing", error })
            }
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn get(&self, name: &str) -> Option<Object> {
        self.0.requests.fetch_add(1, Ordering::Relaxed);
        let held = self.held();
        let (content, version) = held.objects.get(name)?;
        Some(Object { content: content.clone(), version: ObjectVersion(version.to_string()) })
    }

    fn set(&self, name: &str, content: Bytes, fits: impl FnOnce(Option<u64>) -> bool) -> Result<Written, BackendError> {
        self.0.requests.fetch_add(1, Ordering::Relaxed);
        self.change()?;
        let mut held = self.held();
        if !fits(held.objects.get(name).map(|(_, version)| *version)) {
            return Ok(Written::Conflict);
        }
        held.versions += 1;
        let version = held.versions;
        held.objects.insert(name.to_owned(), (content, version));
        if held.failing {
            return Err(BackendError::Unreachable {
                place: "memory".to_owned(),
                doing: "writing",
                error: "the answer was lost".to_owned(),
            });
        }
        Ok(Written::Done(ObjectVersion(version.to_string())))
    }
}

#[async_trait]
impl RemoteState for Memory {
    fn place(&self) -> String {
        "memory://state".to_owned()
    }

    async fn read(&self) -> Result<Option<Object>, BackendError> {
        Ok(self.get(""))
    }

    async fn write(&self, content: Bytes, expected: &Expected, _lock: Option<&str>) -> Result<Written, BackendError> {
        if self.held().refusing {
            let (place, error) = ("memory".to_owned(), "connection refused".to_owned());
            return Err(BackendError::Unreachable { place, doing: "writing the state", error });
        }
        self.set("", content, |now| match expected {
            Expected::Absent => now.is_none(),
            Expected::Version(version) => now.is_some_and(|now| now.to_string() == version.0),
        })
    }

    async fn lock(&self, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        self.change()?;
        let mut held = self.held();
        if let Some(holder) = &held.lock {
            return Ok(LockAnswer::Held { holder: holder.clone(), message: "locked".to_owned() });
        }
        held.lock = Some(info.clone());
        Ok(LockAnswer::Locked(info.clone()))
    }

    async fn take_over(&self, dead: &LockInfo, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        let mut held = self.held();
        match &held.lock {
            Some(holder) if holder.id != dead.id => {
                Ok(LockAnswer::Held { holder: holder.clone(), message: "locked".to_owned() })
            }
            _ => {
                held.lock = Some(info.clone());
                Ok(LockAnswer::Locked(info.clone()))
            }
        }
    }

    async fn unlock(&self, id: &str) -> Result<(), BackendError> {
        self.change()?;
        let mut held = self.held();
        if held.stuck {
            let (place, error) = ("memory".to_owned(), "the answer was lost".to_owned());
            return Err(BackendError::Unreachable { place, doing: "releasing the lock", error });
        }
        if held.lock.as_ref().is_some_and(|holder| holder.id == id) {
            held.lock = None;
        }
        Ok(())
    }

    fn locks(&self) -> bool {
        true
    }

    fn objects(&self) -> Option<Arc<dyn Objects>> {
        (!self.held().bare).then(|| Arc::new(self.clone()) as Arc<dyn Objects>)
    }
}

#[async_trait]
impl Objects for Memory {
    async fn read(&self, name: &str) -> Result<Option<Object>, BackendError> {
        Ok(self.get(name))
    }

    async fn create(&self, name: &str, content: Bytes) -> Result<Written, BackendError> {
        self.set(name, content, |now| now.is_none())
    }

    async fn put(&self, name: &str, content: Bytes) -> Result<ObjectVersion, BackendError> {
        match self.set(name, content, |_| true)? {
            Written::Done(version) => Ok(version),
            Written::Conflict => unreachable!("any version fits"),
        }
    }

    async fn list(&self, prefix: &str) -> Result<Vec<String>, BackendError> {
        self.0.requests.fetch_add(1, Ordering::Relaxed);
        let held = self.held();
        Ok(held.objects.keys().filter(|name| !name.is_empty() && name.starts_with(prefix)).cloned().collect())
    }

    async fn remove(&self, names: &[String]) -> Result<(), BackendError> {
        self.change()?;
        let mut held = self.held();
        names.iter().for_each(|name| drop(held.objects.remove(name)));
        Ok(())
    }
}
