//! The location of the states of all workspaces.

use weft_graph_format::diagnostic::Diagnostic;
use weft_state::{RedisServer, RedisStore, StoreError};

use super::{Access, StoreLocation, problem};
use crate::backend::StateBackend;
use crate::context::DEFAULT_WORKSPACE;
use crate::runtime::block_on;

/// The location of the states of all workspaces.
#[derive(Clone, Debug)]
pub enum Workspaces {
    /// The states are in a backend.
    Backend(StateBackend),
    /// The states are in Redis.
    Store {
        /// The server, as `redis://HOST/DB?state=NAME`, and how to log in to it.
        server: RedisServer,
        /// The backend with the second copies of the states, if there is one.
        behind: Option<StateBackend>,
    },
}

impl Workspaces {
    /// The names of all workspaces, the default one first. This includes workspaces that exist only in the backend with
    /// the second copies.
    ///
    /// # Errors
    /// Returns errors of the services.
    pub fn names(&self) -> Result<Vec<String>, Diagnostic> {
        let (server, behind) = match self {
            Workspaces::Backend(backend) => return backend.workspaces(),
            Workspaces::Store { server, behind } => (server.clone(), behind),
        };
        let found = block_on(async move { RedisStore::workspaces(&server).await })?;
        let mut names = found.map_err(|error| problem(&error))?;
        if let Some(backend) = behind {
            names.extend(backend.all_states()?);
        }
        names.retain(|name| name != DEFAULT_WORKSPACE);
        names.sort();
        names.dedup();
        names.insert(0, DEFAULT_WORKSPACE.to_owned());
        Ok(names)
    }

    /// Deletes the state of a workspace. A state in Redis is deleted only if it has this serial. With `force`, a
    /// backend deletes its state even if the service would otherwise refuse.
    ///
    /// # Errors
    /// Returns errors of the services or of the file system. Returns an error if a run in the workspace has not ended.
    pub fn delete(&self, place: &StoreLocation, workspace: &str, serial: u64, force: bool) -> Result<(), Diagnostic> {
        let behind = match self {
            Workspaces::Backend(backend) => return backend.delete(workspace, force),
            Workspaces::Store { behind, .. } => behind,
        };
        let removed = block_on(async {
            match place.open_redis(Access::Change).await {
                Ok(store) => store.remove(serial).await,
                Err(StoreError::NoState(_)) => Ok(()),
                Err(error) => Err(error),
            }
        });
        removed?.map_err(|error| problem(&error))?;
        match behind {
            Some(backend) if backend.all_states()?.iter().any(|name| name == workspace) => {
                backend.delete(workspace, force)
            }
            _ => Ok(()),
        }
    }
}
