//! What backends ask of the CLI configuration about hosts: where their services are, and the tokens for them.

use async_trait::async_trait;
use url::Url;

/// Why the address of a service is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoService {
    /// The name is not one of a host.
    Name(String),
    /// The host cannot be asked. Holds the reason.
    Network(String),
    /// The host does not have it.
    NotOffered,
    /// The host has it in other versions only. Holds them.
    OtherVersion(String),
    /// The answer of the host cannot be used. Holds the reason.
    Answer(String),
}

/// The services of hosts, and the tokens for them.
#[async_trait]
pub trait Hosts: Send + Sync + std::fmt::Debug {
    /// The address of a service such as `tfe.v2`, with a final slash.
    ///
    /// # Errors
    /// When there is none.
    async fn service(&self, host: &str, service: &str) -> Result<Url, NoService>;

    /// The token for a host, or `None` if there is none, or if the helper that knows it fails.
    async fn token(&self, host: &str) -> Option<String>;
}

/// No hosts at all, for backends that need none.
#[derive(Debug)]
pub struct NoHosts;

#[async_trait]
impl Hosts for NoHosts {
    async fn service(&self, _host: &str, _service: &str) -> Result<Url, NoService> {
        Err(NoService::NotOffered)
    }

    async fn token(&self, _host: &str) -> Option<String> {
        None
    }
}
