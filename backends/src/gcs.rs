//! The backend `gcs`: states and locks as objects in a bucket of Google Cloud Storage.

mod credentials;
pub(crate) mod kms;
mod problems;
mod refusals;
mod requests;
mod settings;
mod sources;

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use weft_state::remote::{
    Backend, BackendError, Expected, LockAnswer, LockInfo, Object, ObjectVersion, Objects, RemoteState, Written,
};

use crate::arguments::{BackendSettings, Environment};
use crate::bucket::{Beside, Bucket, ObjectKind, When};
use crate::connected::{Connected, Connecting};
use crate::problems::locked_by;
use requests::Client;
use settings::GcsSettings;
pub use settings::schema;

/// The workspace that always exists.
const DEFAULT: &str = "default";
/// The suffix of the key of a state, after the name of its workspace.
const STATE: &str = ".tfstate";
/// The suffix of the key of a lock, after the name of its workspace.
const LOCK: &str = ".tflock";
const TAKING: &str = "taking the lock";
const RELEASING: &str = "releasing the lock";

/// Makes the backend from its settings.
///
/// # Errors
/// Returns an error if the settings are not valid.
pub fn connect(settings: &BackendSettings, environment: Environment<'_>) -> Connecting {
    let (settings, warnings) = GcsSettings::read(settings, environment)?;
    let client = Client::new(settings).map_err(|problem| vec![problem])?;
    Ok(Connected { backend: Arc::new(Gcs { client: Arc::new(client) }), warnings })
}

/// The backend.
#[derive(Debug)]
struct Gcs {
    client: Arc<Client>,
}

#[async_trait]
impl Backend for Gcs {
    async fn workspaces(&self) -> Result<Vec<String>, BackendError> {
        let prefix = &self.client.settings.prefix;
        let keys = self.client.list_level("listing the workspaces", prefix).await?;
        let mut names: Vec<String> = keys
            .iter()
            .filter_map(|key| key.strip_prefix(prefix.as_str())?.strip_suffix(STATE))
            .filter(|name| *name != DEFAULT)
            .map(str::to_owned)
            .collect();
        names.sort();
        names.insert(0, DEFAULT.to_owned());
        Ok(names)
    }

    async fn delete_workspace(&self, workspace: &str) -> Result<(), BackendError> {
        const DOING: &str = "deleting the workspace";
        if workspace == DEFAULT {
            return Err(BackendError::DefaultStays("cowardly refusing to delete the \"default\" state"));
        }
        let state = self.of(workspace);
        Beside::new(&self.client, &state.key).remove_all(DOING).await?;
        self.client.delete(DOING, &state.key).await
    }

    fn state(&self, workspace: &str) -> Result<Arc<dyn RemoteState>, BackendError> {
        Ok(Arc::new(self.of(workspace)))
    }
}

impl Gcs {
    fn of(&self, workspace: &str) -> GcsState {
        let start = format!("{}{workspace}", self.client.settings.prefix);
        GcsState { client: Arc::clone(&self.client), key: format!("{start}{STATE}"), lock: format!("{start}{LOCK}") }
    }
}

/// The state of a workspace.
#[derive(Debug)]
struct GcsState {
    client: Arc<Client>,
    key: String,
    lock: String,
}

impl GcsState {
    /// The holder of the lock. The id of the lock is the generation of the lock object. The content of that object has
    /// another id, chosen by the holder. This id is replaced by the generation.
    async fn holder(&self, doing: &'static str) -> Result<Option<LockInfo>, BackendError> {
        let found = self.client.get(doing, &self.lock).await?;
        Ok(found.map(|object| {
            let info: LockInfo = serde_json::from_slice(&object.content).unwrap_or_default();
            info.named(object.version.0)
        }))
    }

    async fn create(&self, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        let info = LockInfo { path: self.client.place(&self.lock), ..info.clone() };
        let body = info.to_json().into();
        match self.client.put(TAKING, &self.lock, body, ObjectKind::Lock, &When::Absent).await? {
            Written::Done(version) => Ok(LockAnswer::Locked(info.named(version.0))),
            Written::Conflict => {
                let holder = self.holder(TAKING).await?.unwrap_or_default();
                let message = locked_by(&holder.who);
                Ok(LockAnswer::Held { holder, message })
            }
        }
    }
}

#[async_trait]
impl RemoteState for GcsState {
    fn place(&self) -> String {
        self.client.place(&self.key)
    }

    async fn read(&self) -> Result<Option<Object>, BackendError> {
        let found = self.client.get("reading the state", &self.key).await?;
        Ok(found.filter(|object| !object.content.is_empty()))
    }

    async fn write(&self, content: Bytes, expected: &Expected, _lock: Option<&str>) -> Result<Written, BackendError> {
        self.client.put("writing the state", &self.key, content, ObjectKind::State, &expected.into()).await
    }

    async fn lock(&self, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        self.create(info).await
    }

    async fn take_over(&self, dead: &LockInfo, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        // If another process was faster, the lock object has a different generation, and this call has no effect.
        self.client.delete_version(TAKING, &self.lock, &ObjectVersion(dead.id.clone())).await?;
        self.create(info).await
    }

    async fn unlock(&self, id: &str) -> Result<(), BackendError> {
        if id.parse::<i64>().is_err() {
            return Err(refusals::not_a_generation(self.client.place(&self.lock), id));
        }
        match self.client.delete_version(RELEASING, &self.lock, &ObjectVersion(id.to_owned())).await? {
            Written::Done(_) => Ok(()),
            Written::Conflict => Err(refusals::other_lock(self.client.place(&self.lock), id)),
        }
    }

    fn locks(&self) -> bool {
        true
    }

    fn objects(&self) -> Option<Arc<dyn Objects>> {
        Some(Arc::new(Beside::new(&self.client, &self.key)))
    }
}
