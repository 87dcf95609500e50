//! The services of hosts, and the tokens for these hosts, as backends need them. The CLI configuration contains both.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use url::Url;
use weft_backends::hosts::{Hosts, NoService};
use weft_registry::discovery::DiscoveryError;
use weft_registry::{CliConfig, Host, Network, ProcessEnvironment};

/// The CLI configuration of this process. It is read again when the first host is requested. Its problems are not
/// reported then, because they were reported when the command began.
#[derive(Debug, Default)]
pub struct CliHosts {
    network: OnceLock<Network>,
}

impl CliHosts {
    /// The hosts of this process. The services of each host are requested once.
    pub fn shared() -> Arc<dyn Hosts> {
        static SHARED: OnceLock<Arc<CliHosts>> = OnceLock::new();
        SHARED.get_or_init(Arc::default).clone()
    }

    fn network(&self) -> &Network {
        self.network.get_or_init(|| {
            let directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
            let environment = ProcessEnvironment::of_process(directory);
            let (config, _) = CliConfig::load(&environment);
            Network::new(&config, &environment)
        })
    }
}

fn host_of(name: &str) -> Result<Host, NoService> {
    name.parse().map_err(|error: weft_registry::host::HostError| NoService::Name(error.to_string()))
}

#[async_trait]
impl Hosts for CliHosts {
    async fn service(&self, host: &str, service: &str) -> Result<Url, NoService> {
        let (discovery, host, service) = (Arc::clone(&self.network().discovery), host_of(host)?, service.to_owned());
        // The request runs on a thread that may block, because its future cannot move between threads.
        let runtime = tokio::runtime::Handle::current();
        let asked =
            tokio::task::spawn_blocking(move || runtime.block_on(async { discovery.service(&host, &service).await }));
        let found = asked.await.map_err(|_| NoService::Network("the process is ending".to_owned()))?;
        found.map_err(|error| match error {
            DiscoveryError::Unreachable { error, .. } => NoService::Network(error.to_string()),
            DiscoveryError::NotOffered { .. } => NoService::NotOffered,
            DiscoveryError::OtherVersion { offered, .. } => NoService::OtherVersion(offered),
            error => NoService::Answer(error.to_string()),
        })
    }

    async fn token(&self, host: &str) -> Option<String> {
        let token = self.network().credentials.token(&host_of(host).ok()?).await;
        token.ok().flatten().map(|token| token.expose().to_owned())
    }
}
