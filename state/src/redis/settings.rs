//! A Redis server with what is needed to log in to it. Nothing here shows a secret in `Debug`.

use std::fmt;
use std::path::PathBuf;

use super::address::{Address, shown};
use crate::error::StoreError;

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a secret text.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The text, for the server alone.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("(secret)")
    }
}

/// Where a password comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PasswordSource {
    /// The password itself.
    Text(Secret),
    /// A file with the password. It is read at each connection, so the password can be changed while a program runs.
    File(PathBuf),
}

/// The settings for connections that are not part of the address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedisSettings {
    /// The certificates of the authorities that are trusted (PEM). By default those of the system.
    pub authorities: Option<PathBuf>,
    /// The certificate of this program, followed by intermediate ones (PEM).
    pub certificate: Option<PathBuf>,
    /// The key of this certificate (PEM).
    pub key: Option<PathBuf>,
    /// The name that the certificate of the server must have, if it is not the host of the address.
    pub server_name: Option<String>,
    /// The password of the user, unless the address has it.
    pub password: Option<PasswordSource>,
    /// The password of the Sentinels.
    pub sentinel_password: Option<PasswordSource>,
}

/// The address of a store in Redis, with the settings for connections to it.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisServer {
    url: String,
    settings: RedisSettings,
}

impl RedisServer {
    /// A server at `redis://HOST/DB?state=NAME` or one of the other forms.
    pub fn new(url: impl Into<String>, settings: RedisSettings) -> RedisServer {
        RedisServer { url: url.into(), settings }
    }

    /// The address without user and password, for people and for plans. It may be invalid.
    pub fn shown(&self) -> String {
        shown(&self.url)
    }

    /// The name of the state in the address; `None` if the address is invalid.
    pub fn state_name(&self) -> Option<String> {
        Address::parse(&self.url).ok().map(|address| address.state)
    }

    /// Whether the address contains a password.
    pub fn has_password(url: &str) -> bool {
        Address::parse(url).is_ok_and(|address| address.password.is_some())
    }

    /// The parsed address and the settings.
    ///
    /// # Errors
    /// [`StoreError::Address`]; [`StoreError::Unfit`] if the connection would not be protected.
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
