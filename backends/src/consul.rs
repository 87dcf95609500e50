//! The backend `consul`: states as values in Consul's key-value store, locks as keys that a session holds.

mod beside;
mod document;
mod lock;
mod problems;
mod refusals;
mod requests;
mod settings;

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::Mutex;
use weft_state::remote::{
    Backend, BackendError, Expected, LockAnswer, LockInfo, Object, Objects, RemoteState, Written,
};

use crate::arguments::{BackendSettings, Environment};
use crate::bucket::{BESIDE, Beside};
use crate::connected::{Connected, Connecting};
use lock::{Held, Lock};
use requests::Client;
use settings::ConsulSettings;
pub use settings::schema;

/// The workspace that always exists.
const DEFAULT: &str = "default";
/// The text between the path and the name of a workspace other than the default one.
const WORKSPACE: &str = "-env:";

/// Makes the backend from its settings.
///
/// # Errors
/// Returns an error if the settings are not valid.
pub fn connect(settings: &BackendSettings, environment: Environment<'_>) -> Connecting {
    let (settings, warnings) = ConsulSettings::read(settings, environment)?;
    let client = Client::new(settings).map_err(|problem| vec![problem])?;
    Ok(Connected { backend: Arc::new(Consul { client: Arc::new(client) }), warnings })
}

/// The backend.
#[derive(Debug)]
struct Consul {
    client: Arc<Client>,
}

impl Consul {
    /// The key of a state.
    fn key(&self, workspace: &str) -> String {
        let path = &self.client.settings.path;
        if workspace == DEFAULT { path.clone() } else { format!("{path}{WORKSPACE}{workspace}") }
    }
}

#[async_trait]
impl Backend for Consul {
    async fn workspaces(&self) -> Result<Vec<String>, BackendError> {
        let prefix = self.key("");
        let keys = self.client.keys("listing the workspaces", &prefix, Some("/")).await?;
        // The keys of objects beside a state have a slash after the name of its workspace.
        let names = keys.iter().filter_map(|key| key.strip_prefix(&prefix)).filter(|name| !name.contains('/'));
        let mut names: Vec<String> = names.filter(|name| *name != DEFAULT).map(str::to_owned).collect();
        names.sort();
        names.insert(0, DEFAULT.to_owned());
        Ok(names)
    }

    async fn delete_workspace(&self, workspace: &str) -> Result<(), BackendError> {
        const DOING: &str = "deleting the workspace";
        if workspace == DEFAULT || workspace.is_empty() {
            return Err(BackendError::DefaultStays("can't delete default state"));
        }
        let key = self.key(workspace);
        self.client.delete(DOING, &format!("{key}{BESIDE}"), &[("recurse", "")]).await?;
        document::delete(&self.client, DOING, &key).await
    }

    fn state(&self, workspace: &str) -> Result<Arc<dyn RemoteState>, BackendError> {
        let (client, state) = (Arc::clone(&self.client), self.key(workspace));
        Ok(Arc::new(ConsulState { lock: Lock { client, state }, held: Mutex::default() }))
    }
}

/// The state of a workspace.
#[derive(Debug)]
struct ConsulState {
    lock: Lock,
    held: Mutex<Option<Held>>,
}

#[async_trait]
impl RemoteState for ConsulState {
    fn place(&self) -> String {
        self.lock.client.settings.place(&self.lock.state)
    }

    async fn read(&self) -> Result<Option<Object>, BackendError> {
        document::read(&self.lock.client, &self.lock.state).await
    }

    async fn write(&self, content: Bytes, expected: &Expected, _lock: Option<&str>) -> Result<Written, BackendError> {
        document::write(&self.lock.client, &self.lock.state, content, expected).await
    }

    async fn lock(&self, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        let mut held = self.held.lock().await;
        let (answer, taken) = self.lock.take(info).await?;
        *held = taken.or(held.take());
        Ok(answer)
    }

    async fn take_over(&self, dead: &LockInfo, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        // If another process was faster, the session of the dead holder no longer has the lock. In that case, this call
        // only ends the session.
        self.lock.release_session(&dead.id).await?;
        self.lock(info).await
    }

    async fn unlock(&self, id: &str) -> Result<(), BackendError> {
        let mut held = self.held.lock().await;
        let session = match held.as_ref() {
            Some(held) => held.session(id).await,
            None => None,
        };
        let Some(session) = session else {
            return self.lock.release_other(id).await;
        };
        // Dropping the `Held` stops the task that renews the session and takes a lost lock again.
        *held = None;
        self.lock.release(&session).await
    }

    fn locks(&self) -> bool {
        self.lock.client.settings.lock
    }

    fn objects(&self) -> Option<Arc<dyn Objects>> {
        Some(Arc::new(Beside::new(&self.lock.client, &self.lock.state)))
    }
}
