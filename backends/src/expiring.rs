//! Access keys, which may expire.

use std::fmt;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use tokio::sync::Mutex;
use weft_state::remote::BackendError;

/// New keys are requested this time before the current keys expire.
const MARGIN: Duration = Duration::from_secs(60);

/// The keys of an account or of a session.
#[derive(Clone)]
pub struct Keys {
    /// The id of the key. Requests contain the id.
    pub id: String,
    /// The secret with which requests are signed.
    pub secret: String,
    /// The token of a session.
    pub token: Option<String>,
    /// The end of the session.
    pub expires: Option<SystemTime>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Keys")
    }
}

impl Keys {
    fn expire_soon(&self) -> bool {
        self.expires.is_some_and(|expires| expires <= SystemTime::now() + MARGIN)
    }
}

/// A role to assume. The keys of its sessions expire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssumedRole {
    /// The name of the role (ARN).
    pub arn: String,
    /// The name of the session.
    pub session: String,
    /// The duration of the session, in seconds.
    pub seconds: i64,
    /// A policy that further restricts the session.
    pub policy: Option<String>,
}

/// A source of keys.
#[async_trait]
pub trait CredentialSource: Send + Sync {
    /// The keys to use now.
    async fn keys(&self) -> Result<Keys, BackendError>;
}

/// A source of fixed keys, or the reason why there are none.
pub struct GivenKeys(pub Result<Keys, BackendError>);

#[async_trait]
impl CredentialSource for GivenKeys {
    async fn keys(&self) -> Result<Keys, BackendError> {
        self.0.clone()
    }
}

/// Caches the keys of a source until they expire.
pub struct KeyRing {
    source: Box<dyn CredentialSource>,
    known: Mutex<Option<Keys>>,
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("KeyRing")
    }
}

impl KeyRing {
    /// Caches the keys of this source.
    pub fn new(source: impl CredentialSource + 'static) -> KeyRing {
        KeyRing { source: Box::new(source), known: Mutex::default() }
    }

    /// The keys to use now.
    ///
    /// # Errors
    /// Returns an error if the source has no keys.
    pub async fn current(&self) -> Result<Keys, BackendError> {
        let mut known = self.known.lock().await;
        if let Some(keys) = known.as_ref().filter(|keys| !keys.expire_soon()) {
            return Ok(keys.clone());
        }
        let keys = self.source.keys().await?;
        *known = Some(keys.clone());
        Ok(keys)
    }

    /// Drops the cached keys, because the service rejected them. Returns whether the source may have other keys.
    pub async fn forget(&self) -> bool {
        self.known.lock().await.take().is_none_or(|keys| keys.expires.is_some())
    }
}
