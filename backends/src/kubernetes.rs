//! The backend `kubernetes`: states as secrets in a cluster, locks as leases.

mod beside;
mod cluster;
mod document;
mod exec;
mod kubeconfig;
mod lock;
mod names;
mod problems;
mod refusals;
mod requests;
mod settings;
mod yaml;

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::Value as Json;
use weft_state::remote::{
    Backend, BackendError, Expected, LockAnswer, LockInfo, Object, Objects, RemoteState, Written,
};

use crate::arguments::{BackendSettings, Environment};
use crate::bucket::Beside;
use crate::connected::{Connected, Connecting};
use names::{STATE, SUFFIX, WORKSPACE};
use requests::{Client, Resource};
use settings::KubernetesSettings;
pub use settings::schema;

/// The workspace that always exists.
const DEFAULT: &str = "default";

/// Makes the backend from its settings.
///
/// # Errors
/// Returns an error if the settings are not valid.
pub fn connect(settings: &BackendSettings, environment: Environment<'_>) -> Connecting {
    let (settings, warnings) = KubernetesSettings::read(settings, environment)?;
    let client = Client::new(settings).map_err(|problem| vec![problem])?;
    Ok(Connected { backend: Arc::new(Kubernetes { client: Arc::new(client) }), warnings })
}

/// The backend.
#[derive(Debug)]
struct Kubernetes {
    client: Arc<Client>,
}

impl Kubernetes {
    fn of(&self, workspace: &str) -> Result<KubernetesState, BackendError> {
        let settings = &self.client.settings;
        let secret = names::secret(workspace, &settings.suffix)?;
        let labels = names::labels(workspace, &settings.suffix, &settings.labels);
        Ok(KubernetesState { client: Arc::clone(&self.client), lease: names::lease(&secret), secret, labels })
    }
}

#[async_trait]
impl Backend for Kubernetes {
    async fn workspaces(&self) -> Result<Vec<String>, BackendError> {
        let found = self.client.list("listing the workspaces", &format!("{STATE}=true")).await?;
        let names = found.iter().filter_map(|metadata| {
            let label = |name: &str| metadata.get("labels")?.get(name)?.as_str();
            (label(SUFFIX)? == self.client.settings.suffix).then(|| label(WORKSPACE)).flatten()
        });
        let mut names: Vec<String> = names.filter(|name| *name != DEFAULT).map(str::to_owned).collect();
        names.sort();
        names.dedup();
        names.insert(0, DEFAULT.to_owned());
        Ok(names)
    }

    async fn delete_workspace(&self, workspace: &str) -> Result<(), BackendError> {
        const DOING: &str = "deleting the workspace";
        if workspace == DEFAULT || workspace.is_empty() {
            return Err(BackendError::DefaultStays("can't delete default state"));
        }
        let state = self.of(workspace)?;
        self.client.remove_beside(DOING, &state.secret).await?;
        document::delete(&self.client, DOING, Resource::Secret, &state.secret).await?;
        document::delete(&self.client, DOING, Resource::Lease, &state.lease).await
    }

    fn state(&self, workspace: &str) -> Result<Arc<dyn RemoteState>, BackendError> {
        Ok(Arc::new(self.of(workspace)?))
    }
}

/// The state of a workspace.
#[derive(Debug)]
struct KubernetesState {
    client: Arc<Client>,
    secret: String,
    lease: String,
    labels: Json,
}

#[async_trait]
impl RemoteState for KubernetesState {
    fn place(&self) -> String {
        self.client.place(&self.secret)
    }

    async fn read(&self) -> Result<Option<Object>, BackendError> {
        document::read(&self.client, &self.secret).await
    }

    async fn write(&self, content: Bytes, expected: &Expected, _lock: Option<&str>) -> Result<Written, BackendError> {
        document::write(&self.client, &self.secret, self.labels.clone(), &content, expected).await
    }

    async fn lock(&self, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        lock::take(&self.client, &self.lease, &self.labels, info, None).await
    }

    async fn take_over(&self, dead: &LockInfo, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        lock::take(&self.client, &self.lease, &self.labels, info, Some(&dead.id)).await
    }

    async fn unlock(&self, id: &str) -> Result<(), BackendError> {
        lock::release(&self.client, &self.lease, id).await
    }

    fn locks(&self) -> bool {
        true
    }

    fn objects(&self) -> Option<Arc<dyn Objects>> {
        Some(Arc::new(Beside::new(&self.client, &self.secret)))
    }
}
