//! The backend `inmem`: states and locks in the memory of this process, for tests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use weft_graph_format::schema::Block;
use weft_graph_format::types::Type;
use weft_state::remote::{
    Backend, BackendError, Expected, LockAnswer, LockInfo, Object, ObjectVersion, Objects, RemoteState, Written,
};
use weft_state::run::Holder;

use crate::arguments::{self, Arguments, BackendSettings, Environment};
use crate::bucket::{Beside, Bucket, ObjectKind, When};
use crate::connected::{Connected, Connecting};

/// The workspace that always exists.
const DEFAULT: &str = "default";
/// The suffix of the keys of states.
const STATE: &str = ".tfstate";

/// All backends of a process share the states and the locks.
static SHARED: Mutex<Memory> = Mutex::new(Memory { objects: BTreeMap::new(), locks: BTreeMap::new(), last: 0 });

/// States, the objects beside them, and locks.
struct Memory {
    /// The contents and their versions, by key.
    objects: BTreeMap<String, (Bytes, u64)>,
    /// The holders of locks, by workspace.
    locks: BTreeMap<String, LockInfo>,
    /// The version of the last write.
    last: u64,
}

fn memory() -> MutexGuard<'static, Memory> {
    // The lock is never poisoned: no code panics while it holds the lock.
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The schema of the arguments.
pub fn schema() -> Block {
    arguments::schema(&[("lock_id", Type::String)], &[], &[])
}

/// Makes the backend from its settings.
///
/// # Errors
/// Returns an error if the settings are not valid.
pub fn connect(settings: &BackendSettings, environment: Environment<'_>) -> Connecting {
    let mut arguments = Arguments::new(settings, environment);
    let lock = arguments.text("lock_id", &[]).filter(|id| !id.is_empty());
    let (lock, warnings) = arguments.finish(lock)?;
    if let Some(id) = lock {
        let holder = Holder { machine: "localhost".to_owned(), process: std::process::id(), user: String::new() };
        let info = LockInfo { id, info: "test config".to_owned(), ..LockInfo::new("test", &holder) };
        memory().locks.entry(DEFAULT.to_owned()).or_insert(info);
    }
    Ok(Connected { backend: Arc::new(InMemory), warnings })
}

/// The backend.
#[derive(Debug)]
struct InMemory;

#[async_trait]
impl Backend for InMemory {
    async fn workspaces(&self) -> Result<Vec<String>, BackendError> {
        let memory = memory();
        let names = memory.objects.keys().filter_map(|key| key.strip_suffix(STATE)).filter(|name| *name != DEFAULT);
        Ok([DEFAULT].into_iter().chain(names).map(str::to_owned).collect())
    }

    async fn delete_workspace(&self, workspace: &str) -> Result<(), BackendError> {
        const DOING: &str = "deleting the workspace";
        if workspace == DEFAULT || workspace.is_empty() {
            return Err(BackendError::DefaultStays("can't delete default state"));
        }
        let key = format!("{workspace}{STATE}");
        Beside::new(&Arc::new(InMemory), &key).remove_all(DOING).await?;
        self.delete(DOING, &key).await
    }

    fn state(&self, workspace: &str) -> Result<Arc<dyn RemoteState>, BackendError> {
        Ok(Arc::new(InMemoryState { workspace: workspace.to_owned(), key: format!("{workspace}{STATE}") }))
    }
}

#[async_trait]
impl Bucket for InMemory {
    fn place(&self, key: &str) -> String {
        format!("inmem://{key}")
    }

    async fn get(&self, _doing: &'static str, key: &str) -> Result<Option<Object>, BackendError> {
        let found = memory().objects.get(key).cloned();
        Ok(found.map(|(content, version)| Object { content, version: ObjectVersion(version.to_string()) }))
    }

    async fn put(
        &self,
        _doing: &'static str,
        key: &str,
        content: Bytes,
        _kind: ObjectKind,
        when: &When,
    ) -> Result<Written, BackendError> {
        let mut memory = memory();
        let there = memory.objects.get(key).map(|(_, version)| ObjectVersion(version.to_string()));
        let fits = match when {
            When::Always => true,
            When::Absent => there.is_none(),
            When::Is(version) => there.as_ref() == Some(version),
        };
        if !fits {
            return Ok(Written::Conflict);
        }
        memory.last += 1;
        let version = memory.last;
        memory.objects.insert(key.to_owned(), (content, version));
        Ok(Written::Done(ObjectVersion(version.to_string())))
    }

    async fn delete(&self, _doing: &'static str, key: &str) -> Result<(), BackendError> {
        memory().objects.remove(key);
        Ok(())
    }

    async fn list(&self, _doing: &'static str, prefix: &str) -> Result<Vec<String>, BackendError> {
        Ok(memory().objects.keys().filter(|key| key.starts_with(prefix)).cloned().collect())
    }
}

/// The state of a workspace.
#[derive(Debug)]
struct InMemoryState {
    workspace: String,
    key: String,
}

impl InMemoryState {
    /// Takes the lock. If `from` is set, takes it even from a holder with that id.
    fn take(&self, from: Option<&str>, info: &LockInfo) -> LockAnswer {
        let mut memory = memory();
        match memory.locks.get(&self.workspace) {
            Some(holder) if Some(holder.id.as_str()) != from => {
                LockAnswer::Held { holder: holder.clone(), message: "state locked".to_owned() }
            }
            _ => {
                memory.locks.insert(self.workspace.clone(), info.clone());
                LockAnswer::Locked(info.clone())
            }
        }
    }
}

#[async_trait]
impl RemoteState for InMemoryState {
    fn place(&self) -> String {
        InMemory.place(&self.key)
    }

    async fn read(&self) -> Result<Option<Object>, BackendError> {
        InMemory.get("reading the state", &self.key).await
    }

    async fn write(&self, content: Bytes, expected: &Expected, _lock: Option<&str>) -> Result<Written, BackendError> {
        InMemory.put("writing the state", &self.key, content, ObjectKind::State, &expected.into()).await
    }

    async fn lock(&self, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        Ok(self.take(None, info))
    }

    async fn take_over(&self, dead: &LockInfo, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        Ok(self.take(Some(&dead.id), info))
    }

    async fn unlock(&self, id: &str) -> Result<(), BackendError> {
        let mut memory = memory();
        let error = match memory.locks.get(&self.workspace) {
            Some(holder) if holder.id == id => {
                memory.locks.remove(&self.workspace);
                return Ok(());
            }
            Some(_) => "invalid lock id",
            None => "state not locked",
        };
        let (place, advice) = (self.place(), String::new());
        Err(BackendError::Refused { place, doing: "releasing the lock", error: error.to_owned(), advice })
    }

    fn locks(&self) -> bool {
        true
    }

    fn objects(&self) -> Option<Arc<dyn Objects>> {
        Some(Arc::new(Beside::new(&Arc::new(InMemory), &self.key)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// This is a single test, because all backends of the process share the same states and locks.
    #[tokio::test]
    async fn states_locks_and_workspaces_stay_in_the_process() {
        let settings = json!({ "lock_id": "first" });
        let connected = || connect(settings.as_object().unwrap(), &|_| None).unwrap().backend;
        let info = |id: &str| LockInfo { id: id.to_owned(), ..LockInfo::default() };
        let state = connected().state(DEFAULT).unwrap();
        let LockAnswer::Held { holder, message } = state.lock(&info("a")).await.unwrap() else { panic!("locked") };
        assert_eq!(
            (holder.id.as_str(), holder.operation.as_str(), message.as_str()),
            ("first", "test", "state locked")
        );
        assert!(state.unlock("a").await.unwrap_err().to_string().contains("invalid lock id"));
        assert_eq!(state.take_over(&info("first"), &info("a")).await.unwrap(), LockAnswer::Locked(info("a")));
        state.unlock("a").await.unwrap();
        assert!(state.unlock("a").await.unwrap_err().to_string().contains("state not locked"));

        let second = connected().state("second").unwrap();
        let Written::Done(version) = second.write("1".into(), &Expected::Absent, None).await.unwrap() else {
            panic!("conflict")
        };
        assert_eq!(second.write("2".into(), &Expected::Absent, None).await.unwrap(), Written::Conflict);
        let written = second.write("2".into(), &Expected::Version(version), None).await.unwrap();
        assert!(matches!(written, Written::Done(_)));
        let objects = second.objects().unwrap();
        objects.create("runs/1", "x".into()).await.unwrap();
        assert_eq!(objects.create("runs/1", "y".into()).await.unwrap(), Written::Conflict);
        assert_eq!(connected().workspaces().await.unwrap(), [DEFAULT, "second"]);
        connected().delete_workspace("second").await.unwrap();
        assert_eq!(connected().workspaces().await.unwrap(), [DEFAULT]);
        assert_eq!(objects.list("").await.unwrap(), Vec::<String>::new());
        assert!(connected().delete_workspace(DEFAULT).await.is_err());
    }
}
