//! Keys with an expiry.

use std::fmt;
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;

/// New credentials are requested this time before the current ones expire.
const MARGIN: Duration = Duration::from_secs(300);

/// Keys with their expiry.
#[derive(Clone)]
pub(super) struct Expiring {
    /// The keys.
    pub(super) keys: Credentials,
    expires: Option<SystemTime>,
}

impl fmt::Debug for Expiring {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Expiring")
    }
}

impl Expiring {
    /// Makes keys with an expiry in the format of RFC 3339.
    pub(super) fn new(id: &str, secret: &str, token: Option<&str>, expires: Option<&str>) -> Expiring {
        let expires = expires.and_then(|text| text.parse::<jiff::Timestamp>().ok()).map(SystemTime::from);
        Expiring::until(id, secret, token, expires)
    }

    /// Keys with an expiry.
    pub(super) fn until(id: &str, secret: &str, token: Option<&str>, expires: Option<SystemTime>) -> Expiring {
        let token = token.filter(|token| !token.is_empty()).map(str::to_owned);
        Expiring { keys: Credentials::new(id, secret, token, None, "weft"), expires }
    }

    /// Whether both values have the same keys.
    pub(super) fn is(&self, other: &Expiring) -> bool {
        let parts = |keys: &Expiring| {
            let keys = &keys.keys;
            (keys.access_key_id().to_owned(), keys.session_token().map(str::to_owned))
        };
        parts(self) == parts(other) && self.keys.secret_access_key() == other.keys.secret_access_key()
    }

    /// Whether the keys are still valid.
    pub(super) fn lasts(&self) -> bool {
        self.expires.is_none_or(|expires| expires > SystemTime::now())
    }

    /// Whether the keys expire soon.
    pub(super) fn expires_soon(&self) -> bool {
        self.expires.is_some_and(|expires| expires <= SystemTime::now() + MARGIN)
    }
}
