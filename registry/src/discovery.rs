//! Discovery of a host's services, with `https://HOST/.well-known/terraform.json`. A `host` block of the CLI
//! configuration replaces that document.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use http::StatusCode;
use tokio::sync::OnceCell;
use url::Url;

use crate::cli_config::CliConfig;
use crate::credentials::{Credentials, CredentialsError};
use crate::host::Host;
use crate::http::{Http, HttpError, Request};
use crate::login::{LOGIN, LoginClient, LoginClientProblem};

/// The path of the discovery document.
const WELL_KNOWN: &str = "/.well-known/terraform.json";

/// The maximum size of the discovery document. Real ones have less than a kilobyte.
const MAX_DOCUMENT: u64 = 1 << 20;

/// The name of the service for provider registries.
pub const PROVIDERS: &str = "providers.v1";
/// The name of the service for module registries.
pub const MODULES: &str = "modules.v1";

/// Why a service was not found.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DiscoveryError {
    /// The request failed.
    #[error("could not connect to {host}: failed to request discovery document: {error}")]
    Unreachable {
        /// The host.
        host: Host,
        /// The reason.
        error: HttpError,
    },
    /// The response is not JSON. Most likely it is a web page.
    #[error("host {host} responded with a discovery document of the type {kind:?} instead of application/json")]
    Type {
        /// The host.
        host: Host,
        /// The content type of the response.
        kind: String,
    },
    /// The host does not offer this service.
    #[error("host {host} does not offer the service {service}")]
    NotOffered {
        /// The host.
        host: Host,
        /// The service.
        service: String,
    },
    /// The host offers only other versions of this service.
    #[error("host {host} does not offer the service {service}: it offers only {offered}")]
    OtherVersion {
        /// The host.
        host: Host,
        /// The service.
        service: String,
        /// The offered versions.
        offered: String,
    },
    /// The address of the service is not valid.
    #[error("host {host} returned an address for the service {service} that cannot be used")]
    Address {
        /// The host.
        host: Host,
        /// The service.
        service: String,
    },
    /// The description of the OAuth client for logins is not valid.
    #[error("the description of the OAuth client of host {host} is invalid: {problem}")]
    Login {
        /// The host.
        host: Host,
        /// The problem.
        problem: LoginClientProblem,
    },
    /// A credentials helper failed.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
}

/// Finds the services of hosts. Requests the document of each host once.
#[derive(Debug)]
pub struct Discovery {
    http: Http,
    credentials: Arc<Credentials>,
    forced: BTreeMap<Host, BTreeMap<String, String>>,
    found: Mutex<BTreeMap<Host, Discovered>>,
}

/// The services of a host, or a pending request for them.
type Discovered = Arc<OnceCell<Result<Services, DiscoveryError>>>;

/// The services of a host, and the base of relative addresses.
#[derive(Clone, Debug)]
struct Services {
    base: Url,
    services: BTreeMap<String, serde_json::Value>,
}

impl Discovery {
    /// Makes a discovery with this client and these credentials. No request is sent for a host that has a `host` block
    /// in the CLI configuration.
    pub fn new(http: Http, credentials: Arc<Credentials>, config: &CliConfig) -> Discovery {
        Discovery { http, credentials, forced: config.hosts.clone(), found: Mutex::default() }
    }

    /// The address of a service, such as [`PROVIDERS`], with a final slash.
    ///
    /// # Errors
    /// Returns an error if the host does not respond, or does not offer the service.
    pub async fn service(&self, host: &Host, service: &str) -> Result<Url, DiscoveryError> {
        let services = self.services(host).await?;
        services.address(host, service)
    }

    /// The OAuth client for logins at a host.
    ///
    /// # Errors
    /// Returns an error if the host does not respond, has no logins, or describes them in an unusable way.
    pub async fn login(&self, host: &Host) -> Result<LoginClient, DiscoveryError> {
        let services = self.services(host).await?;
        let Some(document) = services.services.get(LOGIN) else { return Err(services.missing(host, LOGIN)) };
        LoginClient::of(document, &services.base)
            .map_err(|problem| DiscoveryError::Login { host: host.clone(), problem })
    }

    async fn services(&self, host: &Host) -> Result<Services, DiscoveryError> {
        let cell = {
            let mut found = self.found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            found.entry(host.clone()).or_default().clone()
        };
        cell.get_or_init(|| self.ask(host)).await.clone()
    }

    async fn ask(&self, host: &Host) -> Result<Services, DiscoveryError> {
        let unnamed = |error: HttpError| DiscoveryError::Unreachable { host: host.clone(), error };
        let base = Url::parse(&format!("https://{host}{WELL_KNOWN}"));
        let base =
            base.map_err(|error| unnamed(HttpError::Request { url: host.to_string(), problem: error.to_string() }))?;
        if let Some(forced) = self.forced.get(host) {
            let services = forced.iter().map(|(name, url)| (name.clone(), url.clone().into())).collect();
            return Ok(Services { base, services });
        }
        let token = self.credentials.token(host).await?;
        let settings = self.http.settings();
        let request = Request::get(base)
            .accept("application/json")
            .bearer(token.as_ref().map(|token| token.expose()))
            .with_retries(settings.registry_retries)
            .with_timeout(settings.registry_timeout)
            .with_limit(MAX_DOCUMENT);
        let answer = self.http.send(&request).await.map_err(unnamed)?;
        if answer.status == StatusCode::NOT_FOUND {
            // The host has no services at all.
            return Ok(Services { base: answer.url, services: BTreeMap::new() });
        }
        let answer = answer.sound().map_err(unnamed)?;
        let kind = answer.header("content-type").unwrap_or_default().to_owned();
        if kind.split(';').next().map(str::trim) != Some("application/json") {
            return Err(DiscoveryError::Type { host: host.clone(), kind });
        }
        let services = answer.json().map_err(unnamed)?;
        Ok(Services { base: answer.url, services })
    }
}

impl Services {
    /// The error for a service that the host does not have, or has in another version only.
    fn missing(&self, host: &Host, service: &str) -> DiscoveryError {
        let name = service.split('.').next().unwrap_or(service);
        let same = |other: &&String| other.split_once('.').is_some_and(|(n, v)| n == name && v.starts_with('v'));
        let offered: Vec<&str> = self.services.keys().filter(same).map(String::as_str).collect();
        let (host, service) = (host.clone(), service.to_owned());
        if offered.is_empty() {
            return DiscoveryError::NotOffered { host, service };
        }
        DiscoveryError::OtherVersion { host, service, offered: offered.join(", ") }
    }

    fn address(&self, host: &Host, service: &str) -> Result<Url, DiscoveryError> {
        let unusable = || DiscoveryError::Address { host: host.clone(), service: service.to_owned() };
        let Some(address) = self.services.get(service) else {
            return Err(self.missing(host, service));
        };
        let mut url = self.base.join(address.as_str().ok_or_else(unusable)?).map_err(|_| unusable())?;
        if !matches!(url.scheme(), "https" | "http") || url.host_str().is_none() {
            return Err(unusable());
        }
        url.set_fragment(None);
        if !url.path().ends_with('/') {
            let path = format!("{}/", url.path());
            url.set_path(&path);
        }
        Ok(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_services_are_resolved() {
        let services = Services {
            base: Url::parse("https://x.test/.well-known/terraform.json").unwrap(),
            services: serde_json::from_str(
                r#"{"providers.v1": "/v1/providers", "modules.v2": "/m", "a.v1": "https://y.test/a/", "b.v1": 3,
                    "c.v1": "ftp://x"}"#,
            )
            .unwrap(),
        };
        let host: Host = "x.test".parse().unwrap();
        let address = |service| services.address(&host, service).map(String::from);
        assert_eq!(address("providers.v1").unwrap(), "https://x.test/v1/providers/");
        assert_eq!(address("a.v1").unwrap(), "https://y.test/a/");
        assert!(matches!(address("modules.v1"), Err(DiscoveryError::OtherVersion { .. })));
        assert!(matches!(address("login.v1"), Err(DiscoveryError::NotOffered { .. })));
        assert!(address("b.v1").is_err() && address("c.v1").is_err());
    }
}
