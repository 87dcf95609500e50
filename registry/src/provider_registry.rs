//! The provider registry protocol: versions, the addresses of packages, and their signed checksums.

use std::sync::Arc;
use std::time::SystemTime;

use http::StatusCode;
use serde::Deserialize;
use url::Url;
use weft_graph_format::address::{DEFAULT_REGISTRY, ProviderSource};
use weft_graph_format::version::Version;
use weft_providers::checksum::Checksum;
use weft_providers::platform::Platform;

use crate::credentials::Credentials;
use crate::discovery::{self, Discovery};
use crate::host::Host;
use crate::http::{Http, HttpError, Request, Response, shown};
use crate::offer::{Authentication, Offer, Offered, PROTOCOL_VERSION, protocol_header, speaks};
use crate::package_error::{PackageError, TrustProblem, path_of};
use crate::secret::SecretString;
use crate::signature;

/// The maximum size of a list of checksums and of its signature. A list for a hundred platforms has ten kilobytes.
const MAX_SUMS: u64 = 1 << 20;

/// The additional reasons to refuse a package. A package with a wrong signature is always refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignaturePolicy {
    /// Refuses packages for which the registry has no key (`OPENTOFU_ENFORCE_GPG_VALIDATION`). Registries other than
    /// the default one must always have a key.
    pub required: bool,
    /// Refuses packages whose key has expired (`OPENTOFU_ENFORCE_GPG_EXPIRATION`).
    pub unexpired: bool,
}

/// A client of provider registries.
#[derive(Clone, Debug)]
pub struct ProviderRegistry {
    http: Http,
    discovery: Arc<Discovery>,
    credentials: Arc<Credentials>,
    policy: SignaturePolicy,
}

/// The versions of a provider in a registry.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// All versions.
    pub versions: Vec<Offered>,
    /// Warnings of the registry for users.
    pub warnings: Vec<String>,
}

#[derive(Deserialize)]
struct Versions {
    #[serde(default)]
    versions: Vec<VersionEntry>,
    #[serde(default)]
    warnings: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct VersionEntry {
    version: String,
    #[serde(default)]
    protocols: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct RegistryPackage {
    #[serde(default)]
    protocols: Option<Vec<String>>,
    os: String,
    arch: String,
    filename: String,
    download_url: String,
    shasum: String,
    #[serde(default)]
    shasums_url: String,
    #[serde(default)]
    shasums_signature_url: String,
    #[serde(default)]
    signing_keys: SigningKeys,
}

#[derive(Default, Deserialize)]
struct SigningKeys {
    #[serde(default)]
    gpg_public_keys: Vec<SigningKey>,
}

#[derive(Deserialize)]
struct SigningKey {
    ascii_armor: String,
}

/// The connection data of a registry: its address, and the token for requests.
struct Door {
    base: Url,
    token: Option<SecretString>,
}

impl ProviderRegistry {
    /// Makes a client that uses this HTTP client.
    pub fn new(
        http: Http,
        discovery: Arc<Discovery>,
        credentials: Arc<Credentials>,
        policy: SignaturePolicy,
    ) -> ProviderRegistry {
        ProviderRegistry { http, discovery, credentials, policy }
    }

    /// All versions of a provider.
    ///
    /// # Errors
    /// Returns an error if the registry does not respond, if its response is not valid, or if it does not have the
    /// provider.
    pub async fn versions(&self, source: &ProviderSource) -> Result<Listing, PackageError> {
        let door = self.door(source).await?;
        let answer = self.ask(&door, source, &["versions"]).await?;
        if answer.status == StatusCode::NOT_FOUND {
            return Err(PackageError::UnknownProvider { registry: source.host.to_string(), provider: source.clone() });
        }
        let found: Versions = sound(answer)?.json()?;
        let offered = |entry: VersionEntry| {
            let version = entry.version.parse().ok()?;
            Some(Offered { version, protocols: entry.protocols.unwrap_or_default() })
        };
        // Names that are not versions are ignored.
        let versions = found.versions.into_iter().filter_map(offered).collect();
        Ok(Listing { versions, warnings: found.warnings.unwrap_or_default() })
    }

    /// The package of a version for a platform. `None` if the registry has no package for the platform. A package that
    /// the [`SignaturePolicy`] does not allow is an error.
    ///
    /// # Errors
    /// Returns an error if the registry does not respond, or if its response cannot be trusted.
    pub async fn package(
        &self,
        source: &ProviderSource,
        version: &Version,
        platform: &Platform,
        retries: u32,
    ) -> Result<Option<Offer>, PackageError> {
        let door = self.door(source).await?;
        let version_text = version.to_string();
        let answer =
            self.ask(&door, source, &[version_text.as_str(), "download", &platform.os, &platform.arch]).await?;
        if answer.status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let answer = sound(answer)?;
        let package: RegistryPackage = answer.json()?;
        if package.os != platform.os || package.arch != platform.arch {
            let said = format!("{}_{}", package.os, package.arch);
            return Err(PackageError::Answer {
                place: shown(&answer.url),
                problem: format!("the package is for {said}"),
            });
        }
        let protocols = package.protocols.clone().unwrap_or_default();
        if !speaks(&protocols) {
            return Err(PackageError::Protocols { provider: source.clone(), version: version.clone(), protocols });
        }
        let address = |text: &str| {
            let url = answer.url.join(text).ok().filter(|url| matches!(url.scheme(), "https" | "http"));
            url.ok_or_else(|| PackageError::Answer {
                place: shown(&answer.url),
                problem: format!("{text:?} is not an address"),
            })
        };
        let url = address(&package.download_url)?;
        let refused = |problem| PackageError::Untrusted { provider: source.clone(), version: version.clone(), problem };
        let expected = Checksum::of_archive_digest(&package.shasum)
            .ok_or_else(|| refused(TrustProblem::Checksum(package.shasum.clone())))?;
        let (trusted, authentication) = if package.shasums_url.is_empty() {
            if source.host != DEFAULT_REGISTRY || self.policy.required {
                return Err(refused(TrustProblem::NoList));
            }
            ([expected.clone()].into(), Authentication::Checksum)
        } else {
            let list = self.document(&door, address(&package.shasums_url)?).await?;
            let sums = sums(&list).map_err(refused)?;
            match sums.iter().find(|(name, _)| *name == package.filename) {
                Some((_, sum)) if *sum == expected => {}
                Some(_) => {
                    return Err(refused(TrustProblem::OtherChecksum(package.filename)));
                }
                None => return Err(refused(TrustProblem::NoChecksum(package.filename))),
            }
            let keys: Vec<String> =
                package.signing_keys.gpg_public_keys.into_iter().map(|key| key.ascii_armor).collect();
            let optional = source.host == DEFAULT_REGISTRY && !self.policy.required;
            let authentication = if keys.is_empty() && optional {
                Authentication::SigningSkipped
            } else {
                let signature = self.document(&door, address(&package.shasums_signature_url)?).await?;
                let now = self.policy.unexpired.then(SystemTime::now);
                let key = signature::verify(&list, &signature, &keys, now).map_err(|error| refused(error.into()))?;
                Authentication::Signed { key }
            };
            (sums.into_iter().map(|(_, sum)| sum).collect(), authentication)
        };
        let authorization = door.token_for(&url).into();
        Ok(Some(Offer { url, authorization, expected: [expected].into(), trusted, authentication, retries }))
    }

    async fn door(&self, source: &ProviderSource) -> Result<Door, PackageError> {
        let host: Host = source.host.parse().map_err(PackageError::Host)?;
        let base = self.discovery.service(&host, discovery::PROVIDERS).await;
        let base = base.map_err(|error| PackageError::Discovery { provider: source.clone(), error })?;
        let token = self.credentials.token(&host).await.map_err(PackageError::Credentials)?;
        Ok(Door { base, token })
    }

    async fn ask(&self, door: &Door, source: &ProviderSource, path: &[&str]) -> Result<Response, PackageError> {
        let mut parts = vec![source.namespace.as_str(), source.type_name.as_str()];
        parts.extend(path);
        let settings = self.http.settings();
        let url = path_of(&door.base, &parts);
        let request = Request::get(url.clone())
            .accept("application/json")
            .header(protocol_header(), PROTOCOL_VERSION)
            .bearer(door.token_for(&url).as_ref().map(SecretString::expose))
            .with_retries(settings.registry_retries)
            .with_timeout(settings.registry_timeout);
        Ok(self.http.send(&request).await?)
    }

    async fn document(&self, door: &Door, url: Url) -> Result<Vec<u8>, PackageError> {
        let settings = self.http.settings();
        let request = Request::get(url.clone())
            .bearer(door.token_for(&url).as_ref().map(SecretString::expose))
            .with_retries(settings.registry_retries)
            .with_timeout(settings.registry_timeout)
            .with_limit(MAX_SUMS);
        Ok(self.http.send(&request).await?.sound()?.body)
    }
}

impl Door {
    /// The registry's token for a request to this URL. `None` if the URL is not secure, or is on another host. A
    /// registry may store its packages on another host, which must not receive the token.
    fn token_for(&self, url: &Url) -> Option<SecretString> {
        let same = url.scheme() == "https" && Host::of_url(url) == Host::of_url(&self.base);
        self.token.clone().filter(|_| same)
    }
}

fn sound(answer: Response) -> Result<Response, HttpError> {
    answer.sound()
}

/// Parses a SHA256SUMS file. A line has a checksum, white space and a name. A star before the name marks a binary file.
/// Other lines are ignored.
fn sums(list: &[u8]) -> Result<Vec<(String, Checksum)>, TrustProblem> {
    let text = std::str::from_utf8(list).map_err(|_| TrustProblem::NotText)?;
    let sum = |line: &str| {
        let (sum, name) = line.trim().split_once(char::is_whitespace)?;
        let name = name.trim_start();
        Some((name.strip_prefix('*').unwrap_or(name).to_owned(), Checksum::of_archive_digest(sum)?))
    };
    Ok(text.lines().filter_map(sum).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_checksums_are_read() {
        let sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let list = format!("{sum}  terraform-provider-x_1.0.0_linux_amd64.zip\n{sum} *b.zip\r\n\n");
        let found = sums(list.as_bytes()).unwrap();
        assert_eq!(found[0].1.as_str(), format!("zh:{sum}"));
        assert_eq!((found[0].0.as_str(), found[1].0.as_str()), ("terraform-provider-x_1.0.0_linux_amd64.zip", "b.zip"));
        for none in [&b"short  x.zip"[..], b"# a remark\n\n", sum.as_bytes()] {
            assert!(sums(none).unwrap().is_empty());
        }
        assert!(sums(b"\xff\xfe").is_err());
    }
}
