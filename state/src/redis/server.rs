//! A Redis server with everything that is needed to log in to it.

use std::fmt;
use std::sync::Arc;

use weft_sealing::Sealing;

use super::RedisStore;
use super::address::{Address, shown};
use super::settings::RedisSettings;
use crate::error::StoreError;

/// The address of a store in Redis, with the settings for connections to it.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisServer {
    url: String,
    settings: RedisSettings,
}

impl RedisServer {
    /// A server at `redis://HOST/DB?state=NAME`, or at an address of another form.
    pub fn new(url: impl Into<String>, settings: RedisSettings) -> RedisServer {
        RedisServer { url: url.into(), settings }
    }

    /// The address without user and password, for display and for plans. The address may be invalid.
    pub fn shown(&self) -> String {
        shown(&self.url)
    }

    /// The name of the state in the address, or `None` if the address is invalid.
    pub fn state_name(&self) -> Option<String> {
        Address::parse(&self.url).ok().map(|address| address.state)
    }

    /// The address without secrets, as stores show it.
    ///
    /// # Errors
    /// [`StoreError::Address`]. [`StoreError::Unfit`] if the connection would not be protected.
    pub(crate) fn place(&self) -> Result<String, StoreError> {
        Ok(self.parsed()?.0.place())
    }

    /// Whether the address contains a password.
    pub fn has_password(url: &str) -> bool {
        Address::parse(url).is_ok_and(|address| address.password.is_some())
    }

    /// Opens the store of a workspace in order to check it. Does not replay lost records, and does not write a copy of
    /// the state.
    ///
    /// # Errors
    /// See [`RedisStore::connect`].
    pub async fn open(&self, workspace: &str, sealing: Arc<Sealing>) -> Result<RedisStore, StoreError> {
        RedisStore::connect(self, workspace, false, sealing).await
    }

    /// The parsed address and the settings.
    ///
    /// # Errors
    /// [`StoreError::Address`]. [`StoreError::Unfit`] if the connection would not be protected.
    pub(super) fn parsed(&self) -> Result<(Address, RedisSettings), StoreError> {
        let address = Address::parse(&self.url)?;
        address.check_protection(&self.settings)?;
        Ok((address, self.settings.clone()))
    }
}

impl fmt::Debug for RedisServer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "RedisServer({})", self.shown())
    }
}

impl From<&str> for RedisServer {
    fn from(url: &str) -> RedisServer {
        RedisServer::new(url, RedisSettings::default())
    }
}

impl From<&String> for RedisServer {
    fn from(url: &String) -> RedisServer {
        RedisServer::from(url.as_str())
    }
}

impl From<String> for RedisServer {
    fn from(url: String) -> RedisServer {
        RedisServer::new(url, RedisSettings::default())
    }
}

impl From<&RedisServer> for RedisServer {
    fn from(server: &RedisServer) -> RedisServer {
        server.clone()
    }
}
