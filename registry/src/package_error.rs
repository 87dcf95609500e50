//! Why a package is not available from its source.

use url::Url;
use weft_graph_format::address::ProviderSource;
use weft_graph_format::version::Version;
use weft_providers::mirror::SearchError;

use crate::credentials::CredentialsError;
use crate::discovery::DiscoveryError;
use crate::host::HostError;
use crate::http::HttpError;
use crate::signature::SignatureError;

/// Why a package is not available.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// The registry does not have the provider.
    #[error("provider registry {registry} does not have a provider named {provider}")]
    UnknownProvider {
        /// The name of the registry.
        registry: String,
        /// The provider.
        provider: ProviderSource,
    },
    /// The host is not a registry, or does not respond.
    #[error("{error}")]
    Discovery {
        /// The provider.
        provider: ProviderSource,
        /// The reason.
        error: DiscoveryError,
    },
    /// The name of the host is not valid.
    #[error(transparent)]
    Host(HostError),
    /// The credentials helper failed.
    #[error(transparent)]
    Credentials(CredentialsError),
    /// The request failed.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// A response is not valid.
    #[error("{place} returned an invalid response: {problem}")]
    Answer {
        /// The address.
        place: String,
        /// The problem.
        problem: String,
    },
    /// Weft supports none of the provider's protocols.
    #[error(
        "provider {provider} {version} supports the plugin protocols {}, but Weft supports only 5 and \
         6", protocols.join(", ")
    )]
    Protocols {
        /// The provider.
        provider: ProviderSource,
        /// The version.
        version: Version,
        /// The protocols of the provider.
        protocols: Vec<String>,
    },
    /// The package cannot be authenticated.
    #[error("cannot trust {provider} {version}: {problem}")]
    Untrusted {
        /// The provider.
        provider: ProviderSource,
        /// The version.
        version: Version,
        /// The problem.
        problem: TrustProblem,
    },
    /// A directory cannot be read.
    #[error(transparent)]
    Search(#[from] SearchError),
}

/// Appends path segments to a URL. The segments are escaped.
pub(crate) fn path_of(base: &Url, parts: &[&str]) -> Url {
    let mut url = base.clone();
    // Only URLs that cannot be a base (such as mailto:) have no segments, and callers never pass them.
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(parts);
    }
    url
}

/// Why a package cannot be authenticated.
#[derive(Debug, thiserror::Error)]
pub enum TrustProblem {
    /// The registry returned something in place of a checksum.
    #[error("the registry returned an invalid checksum: {0:?}")]
    Checksum(String),
    /// A signature is required, but the registry has none.
    #[error("the registry returned no list of checksums, so there is no signature")]
    NoList,
    /// The list of checksums is not UTF-8.
    #[error("the list of checksums is not text")]
    NotText,
    /// The list and the registry disagree about a file.
    #[error("the list of checksums has a different checksum for {0}")]
    OtherChecksum(String),
    /// The list does not have a file.
    #[error("the list of checksums has no checksum for {0}")]
    NoChecksum(String),
    /// The signature of the list is not valid.
    #[error("{0}")]
    Signature(#[from] SignatureError),
}
