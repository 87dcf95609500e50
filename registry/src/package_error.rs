//! Why a package is not available from its source.

use url::Url;
use weft_graph_format::address::ProviderSource;
use weft_graph_format::version::Version;
use weft_providers::mirror::SearchError;

use crate::credentials::CredentialsError;
use crate::discovery::DiscoveryError;
use crate::host::HostError;
use crate::http::HttpError;

/// Why a package is not available.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// The registry does not have it.
    #[error("provider registry {registry} does not have a provider named {provider}")]
    UnknownProvider {
        /// Its name.
        registry: String,
        /// The provider.
        provider: ProviderSource,
    },
    /// The host is not a registry, or does not answer.
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
    /// An invalid answer.
    #[error("{place} gives an unusable answer: {problem}")]
    Answer {
        /// The address.
        place: String,
        /// The problem.
        problem: String,
    },
    /// It supports none of our protocols.
    #[error(
        "provider {provider} {version} speaks the plugin protocols {}, and Weft speaks 5 and 6", protocols.join(", ")
    )]
    Protocols {
        /// The provider.
        provider: ProviderSource,
        /// The version.
        version: Version,
        /// Its protocols.
        protocols: Vec<String>,
    },
    /// It cannot be authenticated.
    #[error("cannot trust {provider} {version}: {problem}")]
    Untrusted {
        /// The provider.
        provider: ProviderSource,
        /// The version.
        version: Version,
        /// The problem.
        problem: String,
    },
    /// A directory cannot be read.
    #[error(transparent)]
    Search(#[from] SearchError),
}

/// An address below another one. Parts are escaped.
pub(crate) fn path_of(base: &Url, parts: &[&str]) -> Url {
    let mut url = base.clone();
    // Only addresses that cannot be a base (such as mailto:) have no segments, and they never get here.
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(parts);
    }
    url
}
