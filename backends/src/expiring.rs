//! Access keys with a secret, which may expire.

use std::fmt;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use tokio::sync::Mutex;
use weft_state::remote::BackendError;

/// The time before the expiry of keys at which new ones are requested.
const MARGIN: Duration = Duration::from_secs(60);

/// The keys of an account or of a session.
#[derive(Clone)]
pub struct Keys {
    /// The id, which requests have.
    pub id: String,
    /// The secret that signs requests.
    pub secret: String,
    /// The token of a session.
    pub token: Option<String>,
    /// When the session ends.
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

/// Where keys come from.
#[async_trait]
pub trait CredentialSource: Send + Sync {
    /// The keys to use now.
    async fn keys(&self) -> Result<Keys, BackendError>;
}

/// Keys that are given, or why there are none.
pub struct GivenKeys(pub Result<Keys, BackendError>);

#[async_trait]
impl CredentialSource for GivenKeys {
    async fn keys(&self) -> Result<Keys, BackendError> {
        self.0.clone()
    }
}

/// The keys of a source until they expire.
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
    /// The keys of this source.
    pub fn new(source: impl CredentialSource + 'static) -> KeyRing {
        KeyRing { source: Box::new(source), known: Mutex::default() }
    }

    /// The keys to use now.
    ///
    /// # Errors
    /// The source has no keys.
    pub async fn current(&self) -> Result<Keys, BackendError> {
        let mut known = self.known.lock().await;
        if let Some(keys) = known.as_ref().filter(|keys| !keys.expire_soon()) {
            return Ok(keys.clone());
        }
        let keys = self.source.keys().await?;
        *known = Some(keys.clone());
        Ok(keys)
    }

    /// Asks for other keys next time, because the service did not accept these. Returns whether there may be others.
    pub async fn forget(&self) -> bool {
        self.known.lock().await.take().is_none_or(|keys| keys.expires.is_some())
    }
}
