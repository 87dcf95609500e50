//! The backend `azurerm`: states as blobs in a container of Azure Storage, and locks as leases of these blobs.

mod certificate;
mod cloud;
mod lease;
mod machine;
mod methods;
mod problems;
mod refusals;
mod requests;
mod settings;
mod signing;
mod sources;
pub(crate) mod vault;

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use weft_state::remote::{
    Backend, BackendError, Expected, LockAnswer, LockInfo, Object, Objects, RemoteState, Written,
};

use crate::arguments::{BackendSettings, Environment};
use crate::bucket::{Beside, Bucket as _};
use crate::connected::{Connected, Connecting};
use requests::Client;
use settings::AzureSettings;
pub use settings::schema;

/// The workspace that always exists.
const DEFAULT: &str = "default";
/// The text between the key in the settings and the name of a workspace.
const WORKSPACE: &str = "env:";

/// Makes the backend from its settings.
///
/// # Errors
/// Returns an error if the settings are not valid.
pub fn connect(settings: &BackendSettings, environment: Environment<'_>) -> Connecting {
    let (settings, warnings) = AzureSettings::read(settings, environment)?;
    let client = Client::new(settings).map_err(|problem| vec![problem])?;
    Ok(Connected { backend: Arc::new(Azure { client: Arc::new(client) }), warnings })
}

/// The backend.
#[derive(Debug)]
struct Azure {
    client: Arc<Client>,
}

#[async_trait]
impl Backend for Azure {
    async fn workspaces(&self) -> Result<Vec<String>, BackendError> {
        let prefix = format!("{}{WORKSPACE}", self.client.settings.key);
        let keys = self.client.list_level("listing the workspaces", &prefix).await?;
        let mut names: Vec<String> =
            keys.iter().filter_map(|key| key.strip_prefix(&prefix)).map(str::to_owned).collect();
        names.sort();
        names.insert(0, DEFAULT.to_owned());
        Ok(names)
    }

    async fn delete_workspace(&self, workspace: &str) -> Result<(), BackendError> {
        const DOING: &str = "deleting the workspace";
        if workspace == DEFAULT || workspace.is_empty() {
            return Err(BackendError::DefaultStays("can't delete default state"));
        }
        let state = self.of(workspace);
        // The service refuses to delete a state that has a lock or snapshots. In that case, this call fails before the
        // journals are deleted.
        self.client.delete(DOING, &state.key).await?;
        Beside::new(&self.client, &state.key).remove_all(DOING).await
    }

    fn state(&self, workspace: &str) -> Result<Arc<dyn RemoteState>, BackendError> {
        Ok(Arc::new(self.of(workspace)))
    }
}

impl Azure {
    fn of(&self, workspace: &str) -> AzureState {
        let key = match workspace {
            DEFAULT => self.client.settings.key.clone(),
            other => format!("{}{WORKSPACE}{other}", self.client.settings.key),
        };
        AzureState { client: Arc::clone(&self.client), key }
    }
}

/// The state of a workspace.
#[derive(Debug)]
struct AzureState {
    client: Arc<Client>,
    key: String,
}

#[async_trait]
impl RemoteState for AzureState {
    fn place(&self) -> String {
        self.client.place(&self.key)
    }

    async fn read(&self) -> Result<Option<Object>, BackendError> {
        let found = self.client.get("reading the state", &self.key).await?;
        Ok(found.filter(|object| !object.content.is_empty()))
    }

    async fn write(&self, content: Bytes, expected: &Expected, lock: Option<&str>) -> Result<Written, BackendError> {
        self.client.write(&self.key, content, &expected.into(), lock).await
    }

    async fn lock(&self, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        lease::take(&self.client, &self.key, info).await
    }

    async fn take_over(&self, dead: &LockInfo, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        lease::take_over(&self.client, &self.key, dead, info).await
    }

    async fn unlock(&self, id: &str) -> Result<(), BackendError> {
        lease::release(&self.client, &self.key, id).await
    }

    fn locks(&self) -> bool {
        true
    }

    fn objects(&self) -> Option<Arc<dyn Objects>> {
        Some(Arc::new(Beside::new(&self.client, &self.key)))
    }
}
