//! The workspaces of a state in Redis. A workspace exists as long as it has a meta record.

use std::collections::BTreeSet;

use super::codec;
use super::connection::Connection;
use super::keys::Keys;
use super::problems::{self, Damage};
use super::scripts::Script;
use super::{FIELDS_AT_ONCE, RedisServer, RedisStore};
use crate::error::StoreError;

/// The workspace of the connection that lists workspaces. Nothing is written to it.
const ANY: &str = "default";

impl RedisStore {
    /// The names of all workspaces of the state at this address, sorted.
    ///
    /// # Errors
    /// [`StoreError::Address`]. Errors of the server.
    pub async fn workspaces(server: impl Into<RedisServer>) -> Result<Vec<String>, StoreError> {
        let (address, settings) = server.into().parsed()?;
        let state = address.state.clone();
        let connection = Connection::new(address, settings, Keys::new(&state, ANY));
        let (mut names, mut cursor) = (BTreeSet::new(), "0".to_owned());
        loop {
            let mut command = redis::cmd("SCAN");
            command.arg(&cursor).arg("MATCH").arg(Keys::pattern(&state)).arg("COUNT").arg(FIELDS_AT_ONCE);
            let words = connection.script(command).await?;
            let found = words.list(1);
            names.extend(found.iter().filter_map(|key| Keys::workspace(&state, key)).map(str::to_owned));
            cursor = words.text(0);
            if cursor == "0" {
                return Ok(names.into_iter().collect());
            }
        }
    }

    /// Removes the workspace with all its keys, if its state still has this serial and its runs have ended.
    ///
    /// # Errors
    /// [`StoreError::InUse`] if a run has not ended, or the state has changed. Errors of the server.
    pub async fn remove(&self, serial: u64, workspace: &str) -> Result<(), StoreError> {
        let core = self.core.as_ref();
        let in_use = || problems::workspace_in_use(core.place.clone(), workspace);
        let headers = core.headers().await?;
        if headers.iter().any(|header| !header.status.is_final()) {
            return Err(in_use());
        }
        let mut keys = core.keys.of_workspace();
        keys.extend(headers.iter().flat_map(|header| core.keys.all_of(&header.id)));
        let mut command = core.connection.scripts.call(Script::RemoveStore, &keys);
        command.arg(core.incarnation.to_string()).arg(serial).arg(headers.len());
        match codec::text(core.connection.script(command).await?.0.first().unwrap_or(&redis::Value::Nil)).as_str() {
            "REMOVED" => Ok(()),
            "CHANGED" => Err(in_use()),
            _ => Err(core.damaged(&core.keys.meta(), Damage::OtherStore)),
        }
    }
}
