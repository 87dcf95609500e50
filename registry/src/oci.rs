//! Provider packages in OCI registries: a repository for each provider, a tag for each version, a manifest for each
//! platform.

mod client;
mod credentials;
mod repository;

use serde::Deserialize;
use weft_graph_format::version::Version;
use weft_providers::checksum::Checksum;
use weft_providers::platform::Platform;

pub use client::{Descriptor, ImageManifest, OciClient};
pub use repository::Repository;

use crate::cli_config::{CliConfig, ProcessEnvironment};
use crate::http::Http;
use crate::offer::{Authentication, Offer};
use crate::package_error::PackageError;

/// The types of an index of packages, of its manifests, and of the packages.
const PROVIDER: &str = "application/vnd.opentofu.provider";
const PROVIDER_TARGET: &str = "application/vnd.opentofu.provider-target";
const ARCHIVE: &str = "archive/zip";

/// A source of provider packages in OCI registries.
#[derive(Clone, Debug)]
pub struct OciMirror {
    client: OciClient,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Index {
    #[serde(default)]
    artifact_type: Option<String>,
    #[serde(default)]
    manifests: Vec<Target>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Target {
    #[serde(default)]
    artifact_type: Option<String>,
    #[serde(default)]
    platform: Option<TargetPlatform>,
    digest: String,
}

#[derive(Deserialize)]
struct TargetPlatform {
    os: String,
    architecture: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PackageManifest {
    #[serde(default)]
    artifact_type: Option<String>,
    #[serde(default)]
    layers: Vec<Descriptor>,
}

impl OciMirror {
    /// Makes a source that uses this HTTP client, with the credentials from the configuration and the environment.
    pub fn new(http: Http, config: &CliConfig, environment: &ProcessEnvironment) -> OciMirror {
        OciMirror { client: OciClient::new(http, config, environment) }
    }

    /// The client of OCI registries, for other artifacts.
    pub fn client(&self) -> &OciClient {
        &self.client
    }

    /// All versions of a provider. `None` if the repository does not exist. Tags that are not versions are ignored.
    ///
    /// # Errors
    /// Returns an error if the registry does not respond, or if its response is not valid.
    pub async fn versions(&self, repository: &str) -> Result<Option<Vec<Version>>, PackageError> {
        let repository = Repository::parse(repository)?;
        let tags = self.client.tags(&repository).await?;
        Ok(tags.map(|tags| tags.iter().filter_map(|tag| tag.replace('_', "+").parse().ok()).collect()))
    }

    /// The package of a version for a platform, if there is one.
    ///
    /// # Errors
    /// Returns an error if the registry does not respond, or if its response is not valid.
    pub async fn package(
        &self,
        repository: &str,
        version: &Version,
        platform: &Platform,
        retries: u32,
    ) -> Result<Option<Offer>, PackageError> {
        let place = repository;
        let repository = Repository::parse(repository)?;
        let unusable = |problem: String| PackageError::Answer { place: format!("oci://{place}"), problem };
        let tag = version.to_string().replace('+', "_");
        let Some(manifest) = self.client.manifest(&repository, &tag).await? else { return Ok(None) };
        let index: Index = manifest.parse(&repository)?;
        if index.artifact_type.as_deref() != Some(PROVIDER) {
            return Err(unusable(format!("the tag {tag} is not an index of provider packages ({PROVIDER})")));
        }
        let target = index.manifests.into_iter().find(|target| {
            let is_package = target.artifact_type.as_deref() == Some(PROVIDER_TARGET);
            let same = |p: &TargetPlatform| p.os == platform.os && p.architecture == platform.arch;
            is_package && target.platform.as_ref().is_some_and(same)
        });
        let Some(target) = target else { return Ok(None) };
        let manifest = self.client.manifest(&repository, &target.digest).await?;
        let manifest = manifest.ok_or_else(|| unusable(format!("the manifest {} is missing", target.digest)))?;
        let package: PackageManifest = manifest.parse(&repository)?;
        if package.artifact_type.as_deref().is_some_and(|kind| kind != PROVIDER_TARGET) {
            return Err(unusable(format!("the manifest {} is not a provider package", target.digest)));
        }
        let mut archives = package.layers.iter().filter(|layer| layer.media_type == ARCHIVE);
        let (Some(layer), None) = (archives.next(), archives.next()) else {
            return Err(unusable(format!("a package must have one layer of the type {ARCHIVE}")));
        };
        let digest = layer.digest.strip_prefix("sha256:").and_then(Checksum::of_archive_digest);
        let expected = digest.ok_or_else(|| unusable(format!("{:?} is not a SHA-256 digest", layer.digest)))?;
        Ok(Some(Offer {
            url: self.client.blob_url(&repository, &layer.digest)?,
            authorization: self.client.authorization(&repository).await?,
            expected: [expected].into(),
            trusted: Default::default(),
            authentication: Authentication::Checksum,
            retries,
        }))
    }
}
