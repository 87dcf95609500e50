//! The backend `oss`: states as objects in a bucket of Alibaba Cloud. Locks and digests are rows of a TableStore table.

mod addresses;
mod credentials;
mod messages;
mod plainbuffer;
mod profile;
mod refusals;
mod requests;
mod rows;
mod rpc;
mod settings;
mod signing;
mod tablestore;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::time::{Instant, sleep};
use weft_state::remote::{
    Backend, BackendError, Expected, LockAnswer, LockInfo, Object, Objects, RemoteState, Written,
};

use crate::arguments::{BackendSettings, Environment};
use crate::bucket::{Beside, Bucket as _, ObjectKind, joined};
use crate::connected::{Connected, Connecting};
use crate::digests::md5_hex;
use requests::Client;
use settings::OssSettings;
pub use settings::schema;

/// The workspace that always exists.
const DEFAULT: &str = "default";
/// The time limit and the pause for reading a state again while its digest differs from the digest in the table.
const STALE_READS: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(2));

/// Makes the backend from its settings.
///
/// # Errors
/// Returns an error if the settings are not valid.
pub fn connect(settings: &BackendSettings, environment: Environment<'_>) -> Connecting {
    let (settings, warnings) = OssSettings::read(settings, environment)?;
    let client = Client::new(settings, environment).map_err(|problem| vec![problem])?;
    Ok(Connected { backend: Arc::new(Oss { client: Arc::new(client) }), warnings })
}

/// The backend.
#[derive(Debug)]
struct Oss {
    client: Arc<Client>,
}

impl Oss {
    fn key(&self, workspace: &str) -> String {
        let settings = &self.client.settings;
        match workspace {
            DEFAULT => joined(&[&settings.prefix, &settings.key]),
            name => joined(&[&settings.prefix, name, &settings.key]),
        }
    }
}

#[async_trait]
impl Backend for Oss {
    async fn workspaces(&self) -> Result<Vec<String>, BackendError> {
        let settings = &self.client.settings;
        let start = match settings.prefix.is_empty() {
            true => String::new(),
            false => format!("{}/", settings.prefix),
        };
        let keys = self.client.bucket.list("listing the workspaces", &start).await?;
        let ending = format!("/{}", settings.key);
        let mut names: Vec<String> = keys
            .iter()
            .filter_map(|key| key.strip_prefix(&start)?.strip_suffix(&ending))
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
        Beside::apart(&self.client.bucket, &key).remove_all(DOING).await?;
        self.client.bucket.delete(DOING, &key).await?;
        match self.client.rows(&key) {
            Some(rows) => rows.remove_digest().await,
            None => Ok(()),
        }
    }

    fn state(&self, workspace: &str) -> Result<Arc<dyn RemoteState>, BackendError> {
        Ok(Arc::new(OssState { client: Arc::clone(&self.client), key: self.key(workspace) }))
    }
}

/// The state of a workspace.
#[derive(Debug)]
struct OssState {
    client: Arc<Client>,
    key: String,
}

#[async_trait]
impl RemoteState for OssState {
    fn place(&self) -> String {
        self.client.bucket.place(&self.key)
    }

    async fn read(&self) -> Result<Option<Object>, BackendError> {
        let start = Instant::now();
        loop {
            let found = self.client.bucket.get("reading the state", &self.key).await?;
            let found = found.filter(|object| !object.content.is_empty());
            let Some(rows) = self.client.rows(&self.key) else { return Ok(found) };
            let want = rows.stored_digests().await?;
            let have = found.as_ref().map(|object| md5_hex(&object.content)).unwrap_or_default();
            if want.fit(&have) {
                return Ok(found);
            }
            if start.elapsed() >= STALE_READS.0 {
                return Err(refusals::other_digest(self.place(), &have));
            }
            sleep(STALE_READS.1).await;
        }
    }

    async fn write(&self, content: Bytes, expected: &Expected, _lock: Option<&str>) -> Result<Written, BackendError> {
        const DOING: &str = "writing the state";
        let digest = md5_hex(&content);
        let rows = self.client.rows(&self.key);
        if let Some(rows) = &rows {
            rows.announce_digest(&digest).await?;
        }
        let written = self.client.bucket.put(DOING, &self.key, content, ObjectKind::State, &expected.into()).await?;
        if let (Written::Done(_), Some(rows)) = (&written, rows) {
            rows.store_digest(&digest).await?;
        }
        Ok(written)
    }

    async fn lock(&self, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        match self.client.rows(&self.key) {
            Some(rows) => rows.take(info).await,
            None => Ok(LockAnswer::Locked(info.clone())),
        }
    }

    async fn take_over(&self, dead: &LockInfo, info: &LockInfo) -> Result<LockAnswer, BackendError> {
        match self.client.rows(&self.key) {
            Some(rows) => rows.take_over(dead, info).await,
            None => Ok(LockAnswer::Locked(info.clone())),
        }
    }

    async fn unlock(&self, id: &str) -> Result<(), BackendError> {
        match self.client.rows(&self.key) {
            Some(rows) => rows.release(id).await,
            None => Ok(()),
        }
    }

    fn locks(&self) -> bool {
        self.client.table.is_some()
    }

    fn objects(&self) -> Option<Arc<dyn Objects>> {
        Some(Arc::new(Beside::apart(&self.client.bucket, &self.key)))
    }
}
