//! Fetches packages, each only once.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft_graph_format::module_source::{RegistryModule, decode, split_subdir};
use weft_graph_format::version::Version;

use super::address::shown;
use super::protocol::{Listed, PackageLocation, Registry, RegistryError};
use super::web::{self, Archive, FetchOutcome};
use super::{FetchError, PackageAddress, artifact, directory, expand, git};
use crate::credentials::Credentials;
use crate::discovery::Discovery;
use crate::host::Host;
use crate::http::Http;
use crate::oci::OciClient;
use crate::sources::Network;

/// The maximum number of addresses that lead to another address.
const MAX_HOPS: usize = 10;

/// Fetches packages, and queries registries about modules. A fetcher serves one installation, and caches the results.
#[derive(Debug)]
pub struct ModuleFetcher {
    http: Http,
    discovery: Arc<Discovery>,
    credentials: Arc<Credentials>,
    oci: OciClient,
    /// The directories of packages that were fetched before, by address.
    fetched: BTreeMap<String, PathBuf>,
    listed: BTreeMap<String, Arc<Listed>>,
    locations: BTreeMap<(String, Version), PackageLocation>,
}

impl ModuleFetcher {
    /// Makes a fetcher that uses this network.
    pub fn new(network: &Network) -> ModuleFetcher {
        ModuleFetcher {
            http: network.http.clone(),
            discovery: network.discovery.clone(),
            credentials: network.credentials.clone(),
            oci: network.oci.client().clone(),
            fetched: BTreeMap::new(),
            listed: BTreeMap::new(),
            locations: BTreeMap::new(),
        }
    }

    fn registry(&self) -> Registry<'_> {
        Registry { http: &self.http, discovery: &self.discovery, credentials: &self.credentials }
    }

    /// The versions of a module.
    ///
    /// # Errors
    /// Returns an error if the registry fails.
    pub async fn versions(&mut self, module: &RegistryModule) -> Result<Arc<Listed>, RegistryError> {
        let package = module.package();
        if let Some(listed) = self.listed.get(&package) {
            return Ok(listed.clone());
        }
        let listed = Arc::new(self.registry().versions(module).await?);
        self.listed.insert(package, listed.clone());
        Ok(listed)
    }

    /// The location of the package of a module's version.
    ///
    /// # Errors
    /// Returns an error if the registry fails.
    pub async fn location(
        &mut self,
        module: &RegistryModule,
        version: &Version,
    ) -> Result<PackageLocation, RegistryError> {
        // The key has the whole address, because modules of one package have different directories.
        let known = (module.to_string(), version.clone());
        if let Some(location) = self.locations.get(&known) {
            return Ok(location.clone());
        }
        let location = self.registry().location(module, version).await?;
        self.locations.insert(known, location.clone());
        Ok(location)
    }

    /// Fetches a package into a new directory. `location` comes from a registry.
    ///
    /// # Errors
    /// Returns an error if the package cannot be fetched.
    pub async fn fetch_location(
        &mut self,
        module: &RegistryModule,
        location: &PackageLocation,
        to: &Path,
    ) -> Result<(), FetchError> {
        let (url, with_credentials) = match location {
            PackageLocation::Remote(remote) => {
                // A registry is remote, so its answer must not be an address on this machine.
                refuse_inward(&PackageAddress::parse(&remote.package)?, &remote.package)?;
                return self.fetch(&remote.package, to).await;
            }
            PackageLocation::Direct { url, with_credentials, .. } => (url, *with_credentials),
        };
        if let Some(before) = self.fetched.get(url.as_str()) {
            return directory::copy(before, to);
        }
        let token = match module.host.parse::<Host>() {
            Ok(host) if with_credentials => self.credentials.token(&host).await.ok().flatten(),
            _ => None,
        };
        web::fetch_direct(&self.http, url.clone(), token.as_ref().map(|token| token.expose()), to).await?;
        self.fetched.insert(url.to_string(), to.to_owned());
        Ok(())
    }

    /// Fetches a package into a new directory. The address `package` does not name a directory within the package.
    ///
    /// # Errors
    /// Returns an error if the package cannot be fetched.
    pub async fn fetch(&mut self, package: &str, to: &Path) -> Result<(), FetchError> {
        if let Some(before) = self.fetched.get(package) {
            return directory::copy(before, to);
        }
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(FetchError::io(parent))?;
        }
        let mut next = package.to_owned();
        for hop in 0..=MAX_HOPS {
            let (address, subdir) = split_subdir(&next);
            let parsed = PackageAddress::parse(&address)?;
            if hop > 0 {
                refuse_inward(&parsed, &next)?;
            }
            let outcome = if subdir.is_empty() {
                self.go(parsed, to).await?
            } else {
                self.go_inside(parsed, &subdir, to).await?
            };
            match outcome {
                FetchOutcome::Elsewhere(address) => next = address,
                FetchOutcome::Done => {
                    self.fetched.insert(package.to_owned(), to.to_owned());
                    return Ok(());
                }
            }
        }
        Err(FetchError::TooManyHops(MAX_HOPS))
    }

    /// Fetches with the method that an address names.
    async fn go(&self, mut address: PackageAddress, to: &Path) -> Result<FetchOutcome, FetchError> {
        match address.way.as_str() {
            "git" => {
                // A repository needs no arguments for archives, so they are dropped.
                let _ = Archive::of(&mut address);
                git::fetch(address, to).await?;
            }
            "http" | "https" => return web::fetch(&self.http, address, to).await,
            "file" => {
                let archive = Archive::of(&mut address);
                let path = address.base.strip_prefix("file://").unwrap_or_default();
                let path = PathBuf::from(decode(path).unwrap_or_else(|| path.to_owned()));
                if archive.packing.is_some() && path.is_file() {
                    web::local(&address, &archive, &path, to)?;
                } else {
                    directory::link(&address, to)?;
                }
            }
            "oci" => artifact::fetch(&self.http, &self.oci, address, to).await?,
            "hg" => return Err(FetchError::Unsupported("Mercurial repositories")),
            "s3" => return Err(FetchError::Unsupported("S3")),
            "gcs" => return Err(FetchError::Unsupported("Google Cloud Storage")),
            way => return Err(FetchError::Way(way.to_owned())),
        }
        Ok(FetchOutcome::Done)
    }

    /// Fetches one directory of a package. The rest is removed.
    async fn go_inside(&self, address: PackageAddress, subdir: &str, to: &Path) -> Result<FetchOutcome, FetchError> {
        let parent = to.parent().unwrap_or(Path::new("."));
        let folder =
            tempfile::Builder::new().prefix(".fetching-").tempdir_in(parent).map_err(FetchError::io(parent))?;
        let package = folder.path().join("package");
        let text = address.text();
        match self.go(address, &package).await? {
            FetchOutcome::Elsewhere(next) => {
                // The next address may also name a directory. In that case, the paths of the two directories are
                // joined.
                let (address, inner) = split_subdir(&next);
                let subdir = weft_graph_format::module_source::join(&inner, subdir);
                return Ok(FetchOutcome::Elsewhere(match address.split_once('?') {
                    Some((base, query)) => format!("{base}//{subdir}?{query}"),
                    None => format!("{address}//{subdir}"),
                }));
            }
            FetchOutcome::Done => {}
        }
        let inside = |path: PathBuf| {
            let (package, path) = (fs::canonicalize(&package).ok()?, fs::canonicalize(path).ok()?);
            (path.is_dir() && path.starts_with(package)).then_some(path)
        };
        let none = || FetchError::NoDirectory(PathBuf::from(format!("{}//{subdir}", shown(&text))));
        let found = expand(&package, subdir).ok().and_then(inside).ok_or_else(none)?;
        fs::rename(&found, to).map_err(FetchError::io(to))?;
        Ok(FetchOutcome::Done)
    }
}

/// Refuses addresses of local directories in remote sources.
fn refuse_inward(address: &PackageAddress, text: &str) -> Result<(), FetchError> {
    let scheme = address.base.split(':').next().unwrap_or_default();
    if address.way == "file" || scheme.eq_ignore_ascii_case("file") {
        return Err(FetchError::Inward(shown(text)));
    }
    Ok(())
}
