//! The network mirror protocol: packages of any registry from one server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use http::StatusCode;
use serde::Deserialize;
use url::Url;
use weft_graph_format::address::ProviderSource;
use weft_graph_format::version::Version;
use weft_providers::checksum::Checksum;
use weft_providers::platform::Platform;

use crate::credentials::Credentials;
use crate::host::Host;
use crate::http::{Http, Request, Response, shown};
use crate::offer::{Authentication, Offer};
use crate::package_error::{PackageError, path_of};
use crate::secret::SecretString;

/// A client of network mirrors.
#[derive(Clone, Debug)]
pub struct NetworkMirror {
    http: Http,
    credentials: Arc<Credentials>,
}

#[derive(Deserialize)]
struct VersionIndex {
    versions: BTreeMap<String, serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Archives {
    archives: BTreeMap<String, MirrorArchive>,
}

#[derive(Deserialize)]
struct MirrorArchive {
    url: String,
    #[serde(default)]
    hashes: Option<Vec<String>>,
}

impl NetworkMirror {
    /// Makes a client that uses this HTTP client.
    pub fn new(http: Http, credentials: Arc<Credentials>) -> NetworkMirror {
        NetworkMirror { http, credentials }
    }

    /// All versions of a provider on a mirror. `None` if the mirror does not have the provider.
    ///
    /// # Errors
    /// Returns an error if the mirror does not respond, or if its response is not valid.
    pub async fn versions(&self, base: &Url, source: &ProviderSource) -> Result<Option<Vec<Version>>, PackageError> {
        let (answer, _) = self.ask(base, source, "index.json").await?;
        if answer.status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let index: VersionIndex = answer.sound()?.json()?;
        // Names that are not versions are ignored.
        Ok(Some(index.versions.keys().filter_map(|version| version.parse().ok()).collect()))
    }

    /// The package of a version for a platform, if the mirror has it.
    ///
    /// # Errors
    /// Returns an error if the mirror does not respond, or if its response is not valid.
    pub async fn package(
        &self,
        base: &Url,
        source: &ProviderSource,
        version: &Version,
        platform: &Platform,
        trust_all: bool,
        retries: u32,
    ) -> Result<Option<Offer>, PackageError> {
        let (answer, token) = self.ask(base, source, &format!("{version}.json")).await?;
        if answer.status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let answer = answer.sound()?;
        let archives: Archives = answer.json()?;
        let unusable = |problem: String| PackageError::Answer { place: shown(&answer.url), problem };
        let mut trusted = BTreeSet::new();
        let mut found = None;
        for (name, archive) in archives.archives {
            let sums = archive.hashes.unwrap_or_default().iter().map(|sum| sum.parse()).collect::<Result<_, _>>();
            let sums: BTreeSet<Checksum> =
                sums.map_err(|e: weft_providers::checksum::ChecksumFormatError| unusable(e.to_string()))?;
            trusted.extend(sums.iter().cloned());
            if name == platform.to_string() {
                found = Some((archive.url, sums));
            }
        }
        let Some((address, sums)) = found else { return Ok(None) };
        let url = answer.url.join(&address).ok().filter(|url| matches!(url.scheme(), "https" | "http"));
        let url = url.ok_or_else(|| unusable(format!("{address:?} is not an address")))?;
        let expected: BTreeSet<Checksum> = sums.into_iter().filter(Checksum::is_known).collect();
        let authentication = if expected.is_empty() { Authentication::None } else { Authentication::Checksum };
        // The token of the mirror is sent only to the mirror itself.
        let same = url.scheme() == "https" && Host::of_url(&url) == Host::of_url(base);
        let authorization = token.filter(|_| same).into();
        let trusted = if trust_all { trusted } else { BTreeSet::new() };
        Ok(Some(Offer { url, authorization, expected, trusted, authentication, retries }))
    }

    async fn ask(
        &self,
        base: &Url,
        source: &ProviderSource,
        name: &str,
    ) -> Result<(Response, Option<SecretString>), PackageError> {
        let token = match Host::of_url(base) {
            Some(host) => self.credentials.token(&host).await.map_err(PackageError::Credentials)?,
            None => None,
        };
        let settings = self.http.settings();
        let request = Request::get(path_of(base, &[&source.host, &source.namespace, &source.type_name, name]))
            .accept("application/json")
            .bearer(token.as_ref().map(SecretString::expose))
            .with_retries(settings.registry_retries)
            .with_timeout(settings.registry_timeout);
        Ok((self.http.send(&request).await?, token))
    }
}
