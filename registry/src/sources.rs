//! All installation methods combined: the versions of a provider, and the package of a version.
//!
//! If several methods have a version, the package comes from the first method that has a package for the platform.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_graph_format::address::ProviderSource;
use weft_graph_format::version::Version;
use weft_providers::mirror::{self, Location};
use weft_providers::platform::Platform;

use crate::cli_config::{CliConfig, InstallationMethod, MethodKind, ProcessEnvironment};
use crate::credentials::Credentials;
use crate::discovery::Discovery;
use crate::http::{Http, HttpSettings};
use crate::network_mirror::NetworkMirror;
use crate::oci::OciMirror;
use crate::offer::{Offer, speaks};
use crate::package_error::PackageError;
use crate::provider_registry::{ProviderRegistry, SignaturePolicy};

/// The network clients. A command makes them once. Clones share their caches.
#[derive(Clone, Debug)]
pub struct Network {
    /// The HTTP client.
    pub http: Http,
    /// Discovery of services.
    pub discovery: Arc<Discovery>,
    /// Tokens.
    pub credentials: Arc<Credentials>,
    /// Provider registries.
    pub registry: ProviderRegistry,
    /// Network mirrors.
    pub mirror: NetworkMirror,
    /// OCI registries.
    pub oci: OciMirror,
}

impl Network {
    /// Makes the clients from the configuration and the settings of this process's environment.
    pub fn new(config: &CliConfig, environment: &ProcessEnvironment) -> Network {
        Network::with(config, environment, HttpSettings::of_process())
    }

    /// Like [`Network::new`], but with these HTTP settings instead of those from the environment of this process.
    pub fn with(config: &CliConfig, environment: &ProcessEnvironment, mut settings: HttpSettings) -> Network {
        // Settings from environment variables take precedence over the CLI configuration. A setting with the default
        // value counts as unset.
        let usual = HttpSettings::default();
        if settings.registry_retries == usual.registry_retries {
            settings.registry_retries = config.registry.retries.unwrap_or(settings.registry_retries);
        }
        if settings.registry_timeout == usual.registry_timeout {
            settings.registry_timeout = config.registry.timeout.unwrap_or(settings.registry_timeout);
        }
        let http = Http::new(settings);
        let credentials = Arc::new(Credentials::new(config, environment));
        let discovery = Arc::new(Discovery::new(http.clone(), credentials.clone(), config));
        let policy = SignaturePolicy {
            required: environment.is_on("OPENTOFU_ENFORCE_GPG_VALIDATION"),
            unexpired: environment.is_on("OPENTOFU_ENFORCE_GPG_EXPIRATION"),
        };
        let registry = ProviderRegistry::new(http.clone(), discovery.clone(), credentials.clone(), policy);
        let mirror = NetworkMirror::new(http.clone(), credentials.clone());
        let oci = OciMirror::new(http.clone(), config, environment);
        Network { http, discovery, credentials, registry, mirror, oci }
    }
}

/// All installation methods.
#[derive(Clone, Debug)]
pub struct Sources {
    methods: Vec<InstallationMethod>,
    network: Network,
}

/// The versions of a provider.
#[derive(Clone, Debug, Default)]
pub(crate) struct Available {
    /// Each version with the indices of the methods that have it.
    pub(crate) versions: BTreeMap<Version, Vec<usize>>,
    /// Versions with only unsupported protocols, and these protocols.
    pub(crate) foreign: BTreeMap<Version, Vec<String>>,
    /// Warnings of registries for users.
    pub(crate) warnings: Vec<String>,
    /// The locations that were searched.
    pub(crate) searched: Vec<String>,
    /// A registry that does not have the provider.
    pub(crate) unknown: Option<String>,
}

/// The location of a package.
#[derive(Clone, Debug)]
pub(crate) enum Candidate {
    Local(Location),
    Remote(Box<Offer>),
}

impl Sources {
    /// Combines these methods. Earlier ones take precedence.
    pub fn new(methods: Vec<InstallationMethod>, network: Network) -> Sources {
        Sources { methods, network }
    }

    pub(crate) fn over(self, network: Network) -> Sources {
        Sources { network, ..self }
    }

    pub(crate) fn network(&self) -> &Network {
        &self.network
    }

    /// All versions of a provider that the methods offer.
    pub(crate) async fn available(&self, source: &ProviderSource) -> Result<Available, PackageError> {
        let mut all = Available::default();
        for (index, method) in self.methods.iter().enumerate().filter(|(_, method)| method.covers(source)) {
            let mut add = |version: Version| all.versions.entry(version).or_default().push(index);
            match &method.kind {
                MethodKind::FilesystemMirror(path) => {
                    mirror::search(path, source)?.into_keys().for_each(&mut add);
                    all.searched.push(path.display().to_string());
                }
                MethodKind::NetworkMirror { url, .. } => {
                    let found = self.network.mirror.versions(url, source).await?;
                    found.into_iter().flatten().for_each(&mut add);
                    all.searched.push(crate::http::shown(url));
                }
                MethodKind::OciMirror(template) => {
                    let repository = template.expand(source);
                    let found = self.network.oci.versions(&repository).await?;
                    found.into_iter().flatten().for_each(&mut add);
                    all.searched.push(format!("oci://{repository}"));
                }
                MethodKind::Direct => match self.network.registry.versions(source).await {
                    Ok(listing) => {
                        for offered in listing.versions {
                            if speaks(&offered.protocols) {
                                add(offered.version);
                            } else {
                                all.foreign.insert(offered.version, offered.protocols);
                            }
                        }
                        all.warnings.extend(listing.warnings);
                        all.searched.push(source.host.to_string());
                    }
                    Err(PackageError::UnknownProvider { registry, .. }) => {
                        all.searched.push(registry.clone());
                        all.unknown = Some(registry);
                    }
                    Err(problem) => return Err(problem),
                },
            }
        }
        Ok(all)
    }

    /// The package of a version for a platform, from the first of these methods that has it.
    pub(crate) async fn package(
        &self,
        source: &ProviderSource,
        version: &Version,
        platform: &Platform,
        methods: &[usize],
    ) -> Result<Option<Candidate>, PackageError> {
        let usual = self.network.http.settings().download_retries;
        for method in methods.iter().filter_map(|index| self.methods.get(*index)) {
            let retries = method.download_retries.unwrap_or(usual);
            let offer = match &method.kind {
                MethodKind::FilesystemMirror(path) => {
                    let platforms = mirror::search(path, source)?.remove(version);
                    match platforms.and_then(|mut platforms| platforms.remove(platform)) {
                        Some(location) => return Ok(Some(Candidate::Local(location))),
                        None => None,
                    }
                }
                MethodKind::NetworkMirror { url, trust_all_hashes } => {
                    let mirror = &self.network.mirror;
                    mirror.package(url, source, version, platform, *trust_all_hashes, retries).await?
                }
                MethodKind::OciMirror(template) => {
                    let repository = template.expand(source);
                    self.network.oci.package(&repository, version, platform, retries).await?
                }
                MethodKind::Direct => self.network.registry.package(source, version, platform, retries).await?,
            };
            if let Some(offer) = offer {
                return Ok(Some(Candidate::Remote(Box::new(offer))));
            }
        }
        Ok(None)
    }
}
