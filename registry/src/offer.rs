//! Packages that can be had from somewhere else, and what their being whole rests on.

use std::collections::BTreeSet;
use std::fmt;

use http::HeaderName;
use url::Url;
use weft_graph_format::version::Version;
use weft_providers::checksum::Checksum;

use crate::credentials::Secret;
use crate::http::Request;

/// Most bytes of a package. The largest provider has less than 300 MiB.
pub(crate) const MAX_PACKAGE: u64 = 4 << 30;

/// How far a package is known to be what its author made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// Not at all: nobody said what it should be.
    None,
    /// It has the checksum that its source gave.
    Checksum,
    /// Its checksum is in a list that a key of the registry signed.
    Signed {
        /// The key's id.
        key: String,
    },
    /// Its checksum is in a list, and the registry has no key for it.
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

/// A package as its source offers it.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Where it is.
    pub url: Url,
    /// Opens the place, if it needs to be opened.
    pub authorization: Authorization,
    /// What it must have one of, if there is any: checksums of this very package.
    pub expected: BTreeSet<Checksum>,
    /// Checksums of packages of this version for all platforms that the lock file may take over.
    pub trusted: BTreeSet<Checksum>,
    /// How far the expected checksum is to be believed.
    pub authentication: Authentication,
    /// Attempts beyond the first to download it.
    pub retries: u32,
}

/// What opens a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authorization {
    /// It is open.
    None,
    /// A token.
    Bearer(Secret),
    /// A name and a password.
    Basic {
        /// Who.
        user: String,
        /// The password.
        password: Secret,
    },
}

impl Authorization {
    /// A request with it.
    #[must_use]
    pub fn on(&self, request: Request) -> Request {
        match self {
            Authorization::None => request,
            Authorization::Bearer(token) => request.bearer(Some(token.expose())),
            Authorization::Basic { user, password } => request.basic(user, password.expose()),
        }
    }
}

impl From<Option<Secret>> for Authorization {
    fn from(token: Option<Secret>) -> Authorization {
        token.map_or(Authorization::None, Authorization::Bearer)
    }
}

impl Offer {
    pub(crate) fn request(&self) -> Request {
        let request = Request::get(self.url.clone()).with_retries(self.retries).with_limit(MAX_PACKAGE);
        self.authorization.on(request)
    }
}

/// Says that we understand the protocol, as registries expect it of their clients.
pub(crate) fn protocol_header() -> HeaderName {
    HeaderName::from_static("x-terraform-version")
}

/// The version that registries take us for: they may leave out what older ones cannot use.
pub(crate) const PROTOCOL_VERSION: &str = "1.12.6";

/// A version that is offered, with the protocols that it speaks when that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// The version.
    pub version: Version,
    /// Such as `5.0`; empty when the source does not say.
    pub protocols: Vec<String>,
}

/// Whether one of the protocols is one that we speak.
pub(crate) fn speaks(protocols: &[String]) -> bool {
    protocols.is_empty() || protocols.iter().any(|p| matches!(p.split('.').next(), Some("5" | "6")))
}
