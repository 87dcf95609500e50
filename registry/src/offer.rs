//! Packages that are available from a source, and how they are authenticated.

use std::collections::BTreeSet;
use std::fmt;

use http::HeaderName;
use url::Url;
use weft_graph_format::version::Version;
use weft_providers::checksum::Checksum;

use crate::http::Request;
use crate::secret::SecretString;

/// The maximum size of a package. The largest provider has less than 300 MiB.
pub(crate) const MAX_PACKAGE: u64 = 4 << 30;

/// How a package was authenticated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// Not authenticated: there is no checksum to compare with.
    None,
    /// The package has the checksum that its source lists.
    Checksum,
    /// The package's checksum is in a list that a key of the registry signed.
    Signed {
        /// The key's id.
        key: String,
    },
    /// The package's checksum is in a list of the registry, but the registry has no key to verify the list with.
    SigningSkipped,
}

impl fmt::Display for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Authentication::None => f.write_str("unauthenticated"),
            Authentication::Checksum => f.write_str("verified checksum"),
            Authentication::Signed { key } => write!(f, "signed, key ID {key}"),
            Authentication::SigningSkipped => f.write_str("signing skipped"),
        }
    }
}

/// A package that a source offers.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The location of the package.
    pub url: Url,
    /// The credentials for `url`.
    pub authorization: Authorization,
    /// The accepted checksums of this package. Empty if the source lists none.
    pub expected: BTreeSet<Checksum>,
    /// Checksums of the packages of this version for all platforms, for the lock file.
    pub trusted: BTreeSet<Checksum>,
    /// How the accepted checksums are authenticated.
    pub authentication: Authentication,
    /// The number of retries of the download.
    pub retries: u32,
}

/// Credentials for a location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authorization {
    /// No credentials are needed.
    None,
    /// A token.
    Bearer(SecretString),
    /// A user name and a password.
    Basic {
        /// The user name.
        user: String,
        /// The password.
        password: SecretString,
    },
}

impl Authorization {
    /// Adds the credentials to a request.
    #[must_use]
    pub fn on(&self, request: Request) -> Request {
        match self {
            Authorization::None => request,
            Authorization::Bearer(token) => request.bearer(Some(token.expose())),
            Authorization::Basic { user, password } => request.basic(user, password.expose()),
        }
    }
}

impl From<Option<SecretString>> for Authorization {
    fn from(token: Option<SecretString>) -> Authorization {
        token.map_or(Authorization::None, Authorization::Bearer)
    }
}

impl Offer {
    pub(crate) fn request(&self) -> Request {
        let request = Request::get(self.url.clone()).with_retries(self.retries).with_limit(MAX_PACKAGE);
        self.authorization.on(request)
    }
}

/// The name of the protocol header that registries expect from clients.
pub(crate) fn protocol_header() -> HeaderName {
    HeaderName::from_static("x-terraform-version")
}

/// The client version that registries see. A registry may omit packages that older clients cannot use.
pub(crate) const PROTOCOL_VERSION: &str = "1.12.6";

/// An offered version, with its protocols if they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// The version.
    pub version: Version,
    /// The plugin protocols, such as `5.0`. Empty if the source does not list them.
    pub protocols: Vec<String>,
}

/// Whether Weft supports one of these protocols.
pub(crate) fn speaks(protocols: &[String]) -> bool {
    protocols.is_empty() || protocols.iter().any(|p| matches!(p.split('.').next(), Some("5" | "6")))
}
