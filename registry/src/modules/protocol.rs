//! Module registries: the versions of a module, and the addresses of their packages (the service `modules.v1`).

use http::StatusCode;
use serde::Deserialize;
use url::Url;
use weft_graph_format::module_source::{ModuleSource, ModuleSourceError, RegistryModule, RemoteModule};
use weft_graph_format::version::{Version, parse_abbreviated};

use super::web::{LEADS_TO, resolved};
use crate::credentials::{Credentials, CredentialsError};
use crate::discovery::{Discovery, DiscoveryError, MODULES};
use crate::host::{Host, HostError};
use crate::http::{Http, HttpError, Request, Response};

/// Why a registry failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RegistryError {
    /// The registry does not have the module.
    #[error("the registry does not have this module")]
    NotFound,
    /// The registry listed this version, but does not have it.
    #[error("the registry lists version {0} of this module, but does not have it")]
    VersionNotFound(Version),
    /// The response lists no module.
    #[error("the registry's list of versions is empty")]
    NoModule,
    /// The host offers no modules.
    #[error("{0}")]
    Discovery(#[from] DiscoveryError),
    /// The credentials helper failed.
    #[error("{0}")]
    Credentials(#[from] CredentialsError),
    /// The host of the module is not valid.
    #[error("{0}")]
    Host(#[from] HostError),
    /// The request failed.
    #[error("{0}")]
    Http(#[from] HttpError),
    /// The response has no address.
    #[error("the registry did not return the address of this version")]
    NoLocation,
    /// The response is not the address of a package.
    #[error(
        "the registry returned the address {text:?} for this version, which is not the address of a package: {error}"
    )]
    Location {
        /// The response.
        text: String,
        /// The problem.
        error: ModuleSourceError,
    },
    /// The address is local, or belongs to another registry.
    #[error("the registry returned the address {0:?} for this version, which is not the address of a remote package")]
    NotRemote(String),
}

/// The versions of a module in a registry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// The valid versions.
    pub versions: Vec<Version>,
    /// Listed strings that are not versions.
    pub unreadable: Vec<String>,
}

/// The location of the package of a module's version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PackageLocation {
    /// An address that could also be in a configuration.
    Remote(RemoteModule),
    /// An archive that the registry offers itself.
    Direct {
        /// The address of the archive.
        url: Url,
        /// Whether to send the registry's own credentials.
        with_credentials: bool,
        /// The directory of the module in the archive.
        subdir: String,
    },
}

impl PackageLocation {
    /// The directory of the module in the package.
    pub fn subdir(&self) -> &str {
        match self {
            PackageLocation::Remote(module) => &module.subdir,
            PackageLocation::Direct { subdir, .. } => subdir,
        }
    }
}

#[derive(Deserialize)]
struct VersionsDocument {
    #[serde(default)]
    modules: Vec<ModuleDocument>,
}

#[derive(Deserialize)]
struct ModuleDocument {
    #[serde(default)]
    versions: Vec<VersionDocument>,
}

#[derive(Deserialize)]
struct VersionDocument {
    version: String,
}

#[derive(Deserialize)]
struct LocationDocument {
    #[serde(default)]
    location: String,
    #[serde(default)]
    use_registry_credentials: Option<bool>,
}

/// A registry, with the network to reach it.
pub(super) struct Registry<'a> {
    pub(super) http: &'a Http,
    pub(super) discovery: &'a Discovery,
    pub(super) credentials: &'a Credentials,
}

impl Registry<'_> {
    /// The versions of a module.
    pub(super) async fn versions(&self, module: &RegistryModule) -> Result<Listed, RegistryError> {
        let answer = self.get(module, "versions").await?;
        if answer.status == StatusCode::NOT_FOUND {
            return Err(RegistryError::NotFound);
        }
        let document: VersionsDocument = answer.sound()?.json()?;
        // The first entry is the module. Modules that it calls may be listed after it.
        let first = document.modules.into_iter().next().ok_or(RegistryError::NoModule)?;
        let mut listed = Listed::default();
        for VersionDocument { version } in first.versions {
            match parse_abbreviated(&version) {
                Some(version) => listed.versions.push(version),
                None => listed.unreadable.push(version),
            }
        }
        Ok(listed)
    }

    /// The location of the package of a module's version.
    pub(super) async fn location(
        &self,
        module: &RegistryModule,
        version: &Version,
    ) -> Result<PackageLocation, RegistryError> {
        let answer = self.get(module, &format!("{version}/download")).await?;
        match answer.status {
            StatusCode::OK | StatusCode::NO_CONTENT => read_location(&answer, module),
            StatusCode::NOT_FOUND => Err(RegistryError::VersionNotFound(version.clone())),
            _ => Err(answer.sound().err().map_or(RegistryError::NoLocation, RegistryError::Http)),
        }
    }

    async fn get(&self, module: &RegistryModule, rest: &str) -> Result<Response, RegistryError> {
        let host: Host = module.host.parse()?;
        let base = self.discovery.service(&host, MODULES).await?;
        let path = format!("{}/{rest}", module.path());
        let url = base.join(&path).map_err(|error| HttpError::Request { url: path, problem: error.to_string() })?;
        let token = self.credentials.token(&host).await?;
        let settings = self.http.settings();
        let request = Request::get(url)
            .accept("application/json")
            .bearer(token.as_ref().map(|token| token.expose()))
            .with_retries(settings.registry_retries)
            .with_timeout(settings.registry_timeout);
        Ok(self.http.send(&request).await?)
    }
}

fn read_location(answer: &Response, module: &RegistryModule) -> Result<PackageLocation, RegistryError> {
    let header = answer.header(LEADS_TO).filter(|text| !text.is_empty());
    let document = match answer.json::<LocationDocument>() {
        Ok(document) => document,
        // A response without a document has a header with the address, as in older versions of the protocol.
        Err(_) if header.is_some() || answer.status == StatusCode::NO_CONTENT => {
            LocationDocument { location: String::new(), use_registry_credentials: None }
        }
        Err(error) => return Err(error.into()),
    };
    if let Some(with_credentials) = document.use_registry_credentials {
        let not_remote = || RegistryError::NotRemote(document.location.clone());
        let url = answer.url.join(&document.location).map_err(|_| not_remote())?;
        if !matches!(url.scheme(), "http" | "https") || url.fragment().is_some() {
            return Err(not_remote());
        }
        return Ok(PackageLocation::Direct { url, with_credentials, subdir: module.subdir.clone() });
    }
    let text = if document.location.is_empty() { header.unwrap_or_default() } else { &document.location };
    if text.is_empty() {
        return Err(RegistryError::NoLocation);
    }
    let text = resolved(text, &answer.url);
    match ModuleSource::parse(&text) {
        Ok(ModuleSource::Remote(remote)) => Ok(PackageLocation::Remote(remote.inner(&module.subdir))),
        Ok(_) => Err(RegistryError::NotRemote(text)),
        Err(error) => Err(RegistryError::Location { text, error }),
    }
}
