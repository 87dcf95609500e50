//! The backend `s3`: states as objects in a bucket. A lock is an object, an item of a DynamoDB table, or both.

mod arns;
mod conditions;
mod credentials;
mod durations;
mod dynamodb;
mod expiring;
pub(crate) mod kms;
mod lock;
mod login;
mod problems;
mod refusals;
mod requests;
mod schema;
mod settings;
mod signing;
mod sts;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::time::{Instant, sleep};
use weft_state::remote::{
    Backend, BackendError, Expected, LockAnswer, LockInfo, Object, Objects, RemoteState, Written,
};

use crate::arguments::{BackendSettings, Environment};
use crate::bucket::{Beside, Bucket as _, ObjectKind};
use crate::connected::{Connected, Connecting};
use crate::digests::md5_hex as digest;
use requests::Client;
pub use schema::schema;
use settings::S3Settings;

/// The workspace that always exists.
const DEFAULT: &str = "default";
/// The suffix of the key of a lock, after the key of its state.
const LOCK: &str = ".tflock";
/// The time limit and the pause for reading a state again while its digest differs from the digest in DynamoDB.
const STALE_READS: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(2));

/// Makes the backend from its settings.
///
/// # Errors
/// Returns an error if the settings are not valid.
pub fn connect(settings: &BackendSettings, environment: Environment<'_>) -> Connecting {
    let (settings, warnings) = S3Settings::read(settings, environment)?;
    let client = Client::new(settings).map_err(|problem| vec![problem])?;
    Ok(Connected { backend: Arc::new(S3 { client: Arc::new(client) }), warnings })
}

/// The backend.
#[derive(Debug)]
struct S3 {
    client: Arc<Client>,
}

impl S3 {
    fn key(&self, workspace: &str) -> String {
        let settings = &self.client.settings;
        match (workspace == DEFAULT, settings.workspace_key_prefix.is_empty()) {
            (true, _) => settings.key.clone(),
            (false, true) => format!("{workspace}/{}", settings.key),
            (false, false) => format!("{}/{workspace}/{}", settings.workspace_key_prefix, settings.key),
        }
    }
}

#[async_trait]
impl Backend for S3 {
    async fn workspaces(&self) -> Result<Vec<String>, BackendError> {
        let settings = &self.client.settings;
        let prefix = match settings.workspace_key_prefix.is_empty() {
            true => String::new(),
            false => format!("{}/", settings.workspace_key_prefix),
        };
        let keys = match self.client.list("listing the workspaces", &prefix).await {
            Ok(keys) => keys,
            // Without permission to list objects, only the default workspace is listed.
            Err(error) if refusals::is_denied(&error) => Vec::new(),
            Err(error) => return Err(error),
        };
        let ending = format!("/{}", settings.key);
        let mut names: Vec<String> = keys
            .iter()
            .filter_map(|key| key.strip_prefix(&prefix)?.strip_suffix(&ending))
            .filter(|name| !name.is_empty() && !name.contains('/') && *name != DEFAULT)
            .map(str::to_owned)
            .collect();
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
        Beside::new(&self.client, &key).remove_all(DOING).await?;
        self.client.delete(DOING, &key).await?;
        self.client.remove_digest(&key).await
    }

    fn state(&self, workspace: &str) -> Result<Arc<dyn RemoteState>, BackendError> {
        Ok(Arc::new(S3State { client: Arc::clone(&self.client), key: self.key(workspace) }))
    }
}

/// The state of a workspace, and the objects beside the state.
#[derive(Debug)]
struct S3State {
    client: Arc<Client>,
    key: String,
}

#[async_trait]
impl RemoteState for S3State {
    fn place(&self) -> String {
        self.client.place(&self.key)
    }

    async fn read(&self) -> Result<Option<Object>, BackendError> {
        const DOING: &str = "reading the state";
        let S3State { client, key } = self;
        let start = Instant::now();
        loop {
            let found = client.get(DOING, key).await?;
            let want = client.stored_digests(key).await?;
            let have = found.as_ref().map(|object| digest(&object.content)).unwrap_or_default();
            if want.fit(&have) {
                return Ok(found);
            }
            if start.elapsed() >= STALE_READS.0 {
                return Err(refusals::other_digest(client.place(key), &have));
            }
            sleep(STALE_READS.1).await;
        }
    }

    async fn write(&self, content: Bytes, expected: &Expected, _lock: Option<&str>) -> Result<Written, BackendError> {
        const DOING: &str = "writing the state";
        let S3State { client, key } = self;
        let digest = digest(&content);
        client.announce_digest(key, &digest).await?;
        let written = client.put(DOING, key, content, ObjectKind::State, &expected.into()).await?;
        if let Written::Done(_) = &written {
            client.store_digest(key, &digest).await?;
        }
        Ok(written)
    }

    async fn lock(&self, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        lock::take(&self.client, &self.key, info).await
    }

    async fn take_over(&self, dead: &LockInfo, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        lock::take_over(&self.client, &self.key, dead, info).await
    }

    async fn unlock(&self, id: &str) -> Result<(), BackendError> {
        lock::release(&self.client, &self.key, id).await
    }

    fn locks(&self) -> bool {
        let settings = &self.client.settings;
        settings.use_lockfile || settings.dynamodb_table.is_some()
    }

    fn objects(&self) -> Option<Arc<dyn Objects>> {
        Some(Arc::new(Beside::new(&self.client, &self.key)))
    }
}
