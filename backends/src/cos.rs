//! The backend `cos`: states and locks as objects in a bucket of Tencent Cloud. A tag of the account is the mutex for
//! changes of locks.

mod lock;
mod refusals;
mod requests;
mod settings;
mod signing;
mod tags;
mod tencent;

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use weft_state::remote::{
    Backend, BackendError, Expected, LockAnswer, LockInfo, Object, Objects, RemoteState, Written,
};

use crate::arguments::{BackendSettings, Environment};
use crate::bucket::{Beside, Bucket as _, ObjectKind, joined};
use crate::connected::{Connected, Connecting};
use requests::Client;
use settings::CosSettings;
pub use settings::schema;

/// The workspace that always exists.
const DEFAULT: &str = "default";
/// The suffix of the key of a lock, after the key of its state.
const LOCK: &str = ".tflock";
/// The suffix of the keys of states.
const STATE: &str = ".tfstate";

/// Makes the backend from its settings.
///
/// # Errors
/// Returns an error if the settings are not valid.
pub fn connect(settings: &BackendSettings, environment: Environment<'_>) -> Connecting {
    let (settings, warnings) = CosSettings::read(settings, environment)?;
    let client = Client::new(settings, environment).map_err(|problem| vec![problem])?;
    Ok(Connected { backend: Arc::new(Cos { client: Arc::new(client) }), warnings })
}

/// The backend.
#[derive(Debug)]
struct Cos {
    client: Arc<Client>,
}

impl Cos {
    fn key(&self, workspace: &str) -> String {
        let settings = &self.client.settings;
        match workspace {
            DEFAULT => joined(&[&settings.prefix, &settings.key]),
            name => joined(&[&settings.prefix, name, &settings.key]),
        }
    }

    fn of(&self, workspace: &str) -> CosState {
        CosState { client: Arc::clone(&self.client), key: self.key(workspace) }
    }
}

#[async_trait]
impl Backend for Cos {
    async fn workspaces(&self) -> Result<Vec<String>, BackendError> {
        let settings = &self.client.settings;
        let keys = self.client.bucket.list("listing the workspaces", &settings.prefix).await?;
        // Without a prefix, the key of a state begins with its workspace.
        let start = format!("{}/", settings.prefix.trim_end_matches('/'));
        let default = self.key(DEFAULT);
        let mut names: Vec<String> = keys
            .iter()
            .filter(|key| key.ends_with(STATE) && **key != default)
            .filter_map(|key| key.strip_prefix(&start).unwrap_or(key).split('/').next())
            .filter(|name| !name.is_empty() && *name != DEFAULT)
            .map(str::to_owned)
            .collect();
        names.sort();
        names.dedup();
        names.insert(0, DEFAULT.to_owned());
        Ok(names)
    }

    async fn delete_workspace(&self, workspace: &str) -> Result<(), BackendError> {
        const DOING: &str = "deleting the workspace";
        if workspace == DEFAULT || workspace.is_empty() {
            return Err(BackendError::DefaultStays("default state is not allow to delete"));
        }
        let key = self.key(workspace);
        Beside::apart(&self.client.bucket, &key).remove_all(DOING).await?;
        self.client.bucket.delete(DOING, &key).await
    }

    fn state(&self, workspace: &str) -> Result<Arc<dyn RemoteState>, BackendError> {
        Ok(Arc::new(self.of(workspace)))
    }
}

/// The state of a workspace.
#[derive(Debug)]
struct CosState {
    client: Arc<Client>,
    key: String,
}

#[async_trait]
impl RemoteState for CosState {
    fn place(&self) -> String {
        self.client.bucket.place(&self.key)
    }

    async fn read(&self) -> Result<Option<Object>, BackendError> {
        let found = self.client.bucket.get("reading the state", &self.key).await?;
        Ok(found.filter(|object| !object.content.is_empty()))
    }

    async fn write(&self, content: Bytes, expected: &Expected, _lock: Option<&str>) -> Result<Written, BackendError> {
        self.client.bucket.put("writing the state", &self.key, content, ObjectKind::State, &expected.into()).await
    }

    async fn lock(&self, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        lock::take(&self.client, &self.key, None, info).await
    }

    async fn take_over(&self, dead: &LockInfo, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        lock::take(&self.client, &self.key, Some(&dead.id), info).await
    }

    async fn unlock(&self, id: &str) -> Result<(), BackendError> {
        lock::release(&self.client, &self.key, id).await
    }

    fn locks(&self) -> bool {
        true
    }

    fn objects(&self) -> Option<Arc<dyn Objects>> {
        Some(Arc::new(Beside::apart(&self.client.bucket, &self.key)))
    }
}
