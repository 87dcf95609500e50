//! Module registries: which versions a module has, and where one of them is (the service `modules.v1`).

use http::StatusCode;
use serde::Deserialize;
use url::Url;
use weft_graph_format::module_source::{ModuleSource, ModuleSourceError, RegistryModule, RemoteModule};
use weft_graph_format::version::{Version, parse_abbreviated};

use super::web::{LEADS_TO, resolved};
use crate::credentials::{Credentials, CredentialsError};
use crate::discovery::{Discovery, DiscoveryError, MODULES};
use crate::host::{Host, HostError};
use crate::http::{Answer, Http, HttpError, Request};

/// Why a registry does not help.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RegistryError {
    /// It does not know the module.
    #[error("the registry does not know this module")]
    NotFound,
    /// It does not know this version although it listed it.
    #[error("the registry does not know version {0} of this module, which it listed before")]
    VersionNotFound(Version),
    /// Its answer lacks what it is about.
    #[error("the registry's list of versions has no module in it")]
    NoModule,
    /// The host offers no modules.
    #[error("{0}")]
    Discovery(#[from] DiscoveryError),
    /// No credentials, although there should be some.
    #[error("{0}")]
    Credentials(#[from] CredentialsError),
    /// No host.
    #[error("{0}")]
    Host(#[from] HostError),
    /// No answer, or one that does not serve.
    #[error("{0}")]
    Http(#[from] HttpError),
    /// It does not say where the package is.
    #[error("the registry does not say where this version is")]
    NoLocation,
    /// What it says is no address of a package.
    #[error("the registry says that this version is at {text:?}, which is no address of a package: {error}")]
    Location {
        /// What it says.
        text: String,
        /// What is wrong with it.
        error: ModuleSourceError,
    },
    /// A module on this machine or in another registry.
    #[error("the registry says that this version is at {0:?}, which is not the address of a package elsewhere")]
    NotRemote(String),
}

/// The versions of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// Those that can be read.
    pub versions: Vec<Version>,
    /// Texts that are no versions.
    pub unreadable: Vec<String>,
}

/// Where a version of a module is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PackageLocation {
    /// At an address that a configuration could name itself.
    Remote(RemoteModule),
    /// In an archive of the registry.
    Direct {
        /// Its address.
        url: Url,
        /// The registry's own credentials are to be sent.
        with_credentials: bool,
        /// The folder in it.
        subdir: String,
    },
}

impl PackageLocation {
    /// The folder in the package.
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

/// A registry, asked with what this process knows.
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
        // Modules that this one calls may be listed after it.
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

    /// Where a version of a module is.
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

    async fn get(&self, module: &RegistryModule, rest: &str) -> Result<Answer, RegistryError> {
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

fn read_location(answer: &Answer, module: &RegistryModule) -> Result<PackageLocation, RegistryError> {
    let header = answer.header(LEADS_TO).filter(|text| !text.is_empty());
    let document = match answer.json::<LocationDocument>() {
        Ok(document) => document,
        // Without a document the header says it, as it did before there were documents.
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
