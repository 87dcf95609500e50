//! Opens the stores of locations.

use std::sync::Arc;

use weft_graph_format::diagnostic::Diagnostic;
use weft_state::second_copy::COPY_INTERVAL;
use weft_state::{
    Backup, EmbeddedStore, RedisServer, RunHeader, RunStore, SecondCopyOptions, SecondCopyStore, Snapshot, StoreError,
};

use super::{Access, StoreLocation, problem, problems};

impl StoreLocation {
    /// Opens the store, with errors as diagnostics.
    ///
    /// # Errors
    /// Returns an error if the store cannot be opened.
    pub async fn open(&self, access: Access) -> Result<Arc<dyn RunStore>, Diagnostic> {
        if access == Access::Change {
            self.can_back_up()?;
        }
        self.open_store(access).await.map_err(|error| problem(&error))
    }

    /// Checks that the backup can be written. This happens before anything is changed.
    fn can_back_up(&self) -> Result<(), Diagnostic> {
        let StoreLocation::Embedded(options) = self else { return Ok(()) };
        let Backup::At(path) = &options.backup else { return Ok(()) };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        match folder {
            Some(folder) if options.state.exists() && !folder.is_dir() => {
                Err(problems::backup_without_directory(path, folder))
            }
            _ => Ok(()),
        }
    }

    /// Opens the store for reading. `None` if the store has no state.
    ///
    /// # Errors
    /// Returns an error if the store cannot be opened.
    pub async fn open_existing(&self) -> Result<Option<Arc<dyn RunStore>>, Diagnostic> {
        match self.open_store(Access::Read).await {
            Ok(store) => Ok(Some(store)),
            Err(StoreError::NoState(_)) => Ok(None),
            Err(error) => Err(problem(&error)),
        }
    }

    /// Opens the store.
    ///
    /// # Errors
    /// Returns an error if the store cannot be opened.
    pub async fn open_store(&self, access: Access) -> Result<Arc<dyn RunStore>, StoreError> {
        match self {
            StoreLocation::Embedded(options) => {
                let options = (**options).clone();
                opened(move || match access {
                    Access::Read => EmbeddedStore::open_read_only(options),
                    Access::Change => EmbeddedStore::open(options),
                })
                .await
            }
            StoreLocation::Remote(remote) => {
                let options = remote.options.clone();
                opened(move || match access {
                    Access::Read => EmbeddedStore::read_remote(options),
                    Access::Change => EmbeddedStore::open_remote(options),
                })
                .await
            }
            StoreLocation::Redis { .. } => Ok(Arc::new(self.open_redis(access).await?)),
        }
    }

    /// Opens the store in Redis.
    ///
    /// # Errors
    /// Returns an error if the store cannot be opened; [`StoreError::ReadOnly`] if the location is not in Redis.
    pub(super) async fn open_redis(&self, access: Access) -> Result<SecondCopyStore, StoreError> {
        SecondCopyStore::connect(self.redis_options(access).ok_or(StoreError::ReadOnly)?).await
    }

    /// The options for opening the store in Redis. `None` if the location is not in Redis.
    pub fn redis_options(&self, access: Access) -> Option<SecondCopyOptions> {
        let StoreLocation::Redis { server, workspace, sealing, folder, notices, copy } = self else {
            return None;
        };
        Some(SecondCopyOptions {
            server: RedisServer::clone(server),
            workspace: workspace.to_string(),
            sealing: sealing.clone(),
            copy: copy.as_ref().map(|copy| copy.options.clone()),
            folder: folder.clone(),
            interval: COPY_INTERVAL,
            change: access == Access::Change,
            declared_lost: false,
            notices: notices.clone(),
        })
    }

    /// Reads the whole state without a lock. The snapshot is empty if there is no state.
    ///
    /// # Errors
    /// Returns an error if the state cannot be read.
    pub async fn snapshot(&self) -> Result<Snapshot, Diagnostic> {
        Ok(self.overview().await?.0)
    }

    /// Like [`StoreLocation::snapshot`], with the headers of all runs, newest first.
    ///
    /// # Errors
    /// Returns an error if the state or the runs cannot be read.
    pub async fn overview(&self) -> Result<(Snapshot, Vec<RunHeader>), Diagnostic> {
        if let StoreLocation::Embedded(options) = self
            && let Some(parent) = options.state.parent()
            && !parent.as_os_str().is_empty()
            && !parent.exists()
        {
            return Ok(Default::default());
        }
        let store = match self {
            StoreLocation::Embedded(_) | StoreLocation::Remote(_) => self.open(Access::Read).await?,
            StoreLocation::Redis { .. } => match self.open_existing().await? {
                Some(store) => store,
                None => return Ok(Default::default()),
            },
        };
        match store.overview().await {
            Err(StoreError::NoState(_)) => Ok(Default::default()),
            answer => answer.map_err(|error| problem(&error)),
        }
    }
}

/// Opens a store on a thread that may block.
async fn opened(
    open: impl FnOnce() -> Result<EmbeddedStore, StoreError> + Send + 'static,
) -> Result<Arc<dyn RunStore>, StoreError> {
    match tokio::task::spawn_blocking(open).await {
        Ok(Ok(store)) => Ok(Arc::new(store)),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(StoreError::Closed("the process is ending".to_owned())),
    }
}
