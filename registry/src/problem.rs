//! Why a package cannot be had from where it should come from.

use url::Url;
use weft_graph_format::address::ProviderSource;
use weft_graph_format::version::Version;
use weft_providers::mirror::SearchError;

use crate::credentials::CredentialsError;
use crate::discovery::DiscoveryError;
use crate::host::HostError;
use crate::http::HttpError;

/// Why a package cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The registry does not have it.
    #[error("provider registry {registry} does not have a provider named {provider}")]
    UnknownProvider {
        /// Its name.
        registry: String,
        /// The provider.
        provider: ProviderSource,
    },
    /// The host is no registry, or does not answer.
    #[error("{error}")]
    Discovery {
        /// The provider.
        provider: ProviderSource,
        /// Why.
        error: DiscoveryError,
    },
    /// The name of the host is none.
    #[error(transparent)]
    Host(HostError),
    /// There is no token where one was to be had.
    #[error(transparent)]
    Credentials(CredentialsError),
    /// No answer, or not the one expected.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// An answer that contradicts the question.
    #[error("{place} gives an unusable answer: {problem}")]
    Answer {
        /// The address.
        place: String,
        /// What is wrong.
        problem: String,
    },
    /// It speaks no protocol that we do.
    #[error(
        "provider {provider} {version} speaks the plugin protocols {}, and Weft speaks 5 and 6", protocols.join(", ")
    )]
    Protocols {
        /// The provider.
        provider: ProviderSource,
        /// The version.
        version: Version,
        /// The protocols that it speaks.
        protocols: Vec<String>,
    },
    /// Nobody vouches for it.
    #[error("cannot trust {provider} {version}: {problem}")]
    Untrusted {
        /// The provider.
        provider: ProviderSource,
        /// The version.
        version: Version,
        /// What is wrong.
        problem: String,
    },
    /// A directory cannot be read.
    #[error(transparent)]
    Search(#[from] SearchError),
}

/// An address below another one; parts are escaped as far as needed.
pub(crate) fn path_of(base: &Url, parts: &[&str]) -> Url {
    let mut url = base.clone();
    // Only addresses that cannot be a base (such as mailto:) have no segments; these never get here.
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(parts);
    }
    url
}
