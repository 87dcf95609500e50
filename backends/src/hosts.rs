//! Services and tokens of hosts, which backends get from the CLI configuration.

use async_trait::async_trait;
use url::Url;

/// Why the address of a service is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoService {
    /// The name is not a valid host.
    Name(String),
    /// The host cannot be reached. The text is the reason.
    Network(String),
    /// The host does not offer the service.
    NotOffered,
    /// The host offers only other versions of the service. The text lists them.
    OtherVersion(String),
    /// The response of the host cannot be used. The text is the reason.
    Answer(String),
}

/// The services of hosts, and the tokens for them.
#[async_trait]
pub trait Hosts: Send + Sync + std::fmt::Debug {
    /// The address of a service such as `tfe.v2`, with a final slash.
    ///
    /// # Errors
    /// Returns the reason why the address is not known.
    async fn service(&self, host: &str, service: &str) -> Result<Url, NoService>;

    /// The token for a host. `None` if there is no token, or if the credentials helper fails.
    async fn token(&self, host: &str) -> Option<String>;
}

/// An implementation without any hosts, for backends that need no hosts.
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
