//! The parts of the OCI distribution protocol that are needed for fetching: tags, manifests, blobs, and tokens.

use std::collections::BTreeMap;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::HEXLOWER;
use http::StatusCode;
use http::header::{HeaderName, LINK, WWW_AUTHENTICATE};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;
use url::Url;

use super::credentials::{OciKeys, OciLogin};
use super::repository::Repository;
use crate::cli_config::{CliConfig, ProcessEnvironment};
use crate::http::{Http, Request, Response, shown};
use crate::offer::Authorization;
use crate::package_error::PackageError;
use crate::secret::SecretString;

/// The maximum size of a manifest. Registries refuse larger ones.
const MAX_MANIFEST: u64 = 4 << 20;

/// The maximum number of pages of a list of tags. A page usually has a hundred tags or more.
const MAX_PAGES: usize = 1000;

/// The supported types of manifests.
const MANIFESTS: &str = "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json";

/// A reference to a manifest or a blob.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// The media type.
    #[serde(default)]
    pub media_type: String,
    /// The digest with its algorithm: `sha256:...`.
    pub digest: String,
    /// The length in bytes.
    #[serde(default)]
    pub size: u64,
}

/// A manifest as received. If it was requested by digest, the digest was checked.
#[derive(Clone, Debug)]
pub struct ImageManifest {
    /// The bytes, which are JSON.
    pub content: Vec<u8>,
}

/// A client of OCI registries. Clones share their tokens.
#[derive(Clone, Debug)]
pub struct OciClient {
    http: Http,
    keys: Arc<OciKeys>,
    opened: Arc<Mutex<BTreeMap<Repository, Authorization>>>,
}

#[derive(Deserialize)]
struct Tags {
    #[serde(default)]
    tags: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct RegistryToken {
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    access_token: Option<String>,
}

impl ImageManifest {
    /// Parses the content.
    ///
    /// # Errors
    /// Returns an error if the content does not match the type.
    pub fn parse<T: DeserializeOwned>(&self, repository: &Repository) -> Result<T, PackageError> {
        serde_json::from_slice(&self.content).map_err(|error| PackageError::Answer {
            place: format!("oci://{repository}"),
            problem: format!("a manifest cannot be read: {error}"),
        })
    }
}

impl OciClient {
    /// Makes a client that uses this HTTP client, with the credentials from the configuration and the environment.
    pub fn new(http: Http, config: &CliConfig, environment: &ProcessEnvironment) -> OciClient {
        OciClient { http, keys: Arc::new(OciKeys::new(config, environment)), opened: Arc::default() }
    }

    /// All tags of a repository. `None` if the repository does not exist.
    ///
    /// # Errors
    /// Returns an error if the registry does not respond, or if its response is not valid.
    pub async fn tags(&self, repository: &Repository) -> Result<Option<Vec<String>>, PackageError> {
        let mut url = repository.url(&["tags", "list"])?;
        let mut tags = Vec::new();
        for _ in 0..MAX_PAGES {
            let answer = self.ask(repository, Request::get(url.clone()).accept("application/json")).await?;
            if answer.status == StatusCode::NOT_FOUND {
                return Ok(None);
            }
            let answer = answer.sound()?;
            tags.extend(answer.json::<Tags>()?.tags.unwrap_or_default());
            let next = answer.headers.get(LINK).and_then(|link| next_page(link.to_str().ok()?));
            let Some(next) = next else { return Ok(Some(tags)) };
            let next = answer.url.join(&next).ok().filter(|next| next.origin() == url.origin());
            url = next.ok_or_else(|| PackageError::Answer {
                place: shown(&answer.url),
                problem: "the link to the next page of tags leads to another host".to_owned(),
            })?;
        }
        let problem = format!("there are more than {MAX_PAGES} pages of tags");
        Err(PackageError::Answer { place: format!("oci://{repository}"), problem })
    }

    /// A manifest by its tag or digest. `None` if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the registry does not respond, or if its response is not the requested manifest.
    pub async fn manifest(
        &self,
        repository: &Repository,
        reference: &str,
    ) -> Result<Option<ImageManifest>, PackageError> {
        let request =
            Request::get(repository.url(&["manifests", reference])?).accept(MANIFESTS).with_limit(MAX_MANIFEST);
        let answer = self.ask(repository, request).await?;
        if answer.status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let answer = answer.sound()?;
        if let Some(expected) = reference.strip_prefix("sha256:") {
            let found = HEXLOWER.encode(digest(&SHA256, &answer.body).as_ref());
            if found != expected {
                let problem = format!("the manifest should have the digest {expected}, but has {found}");
                return Err(PackageError::Answer { place: shown(&answer.url), problem });
            }
        }
        Ok(Some(ImageManifest { content: answer.body }))
    }

    /// The address of a blob.
    ///
    /// # Errors
    /// Returns an error if the repository's host is not valid.
    pub fn blob_url(&self, repository: &Repository, digest: &str) -> Result<Url, PackageError> {
        repository.url(&["blobs", digest])
    }

    /// The credentials that earlier requests to the repository have obtained.
    ///
    /// # Errors
    /// Returns no error at present: the function reads only what earlier requests have stored.
    pub async fn authorization(&self, repository: &Repository) -> Result<Authorization, PackageError> {
        Ok(self.opened.lock().await.get(repository).cloned().unwrap_or(Authorization::None))
    }

    /// Sends a request. If the registry requires credentials, repeats the request with them.
    async fn ask(&self, repository: &Repository, request: Request) -> Result<Response, PackageError> {
        let settings = self.http.settings();
        let request =
            request.with_retries(settings.registry_retries).with_timeout(settings.registry_timeout.saturating_mul(3));
        let known = self.authorization(repository).await?;
        let answer = self.http.send(&known.on(request.clone())).await?;
        if answer.status != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        let challenges: Vec<&str> =
            answer.headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok()).collect();
        let Some(authorization) = self.open(repository, &challenges).await? else { return Ok(answer) };
        self.opened.lock().await.insert(repository.clone(), authorization.clone());
        Ok(self.http.send(&authorization.on(request)).await?)
    }

    async fn open(&self, repository: &Repository, challenges: &[&str]) -> Result<Option<Authorization>, PackageError> {
        let login = self.keys.login(repository).await.map_err(PackageError::Credentials)?;
        if let Some(OciLogin::Access(token)) = &login {
            return Ok(Some(Authorization::Bearer(token.clone())));
        }
        for challenge in challenges {
            let (scheme, rest) = challenge.split_once(' ').unwrap_or((challenge, ""));
            if scheme.eq_ignore_ascii_case("bearer") {
                return self.exchange(repository, &parameters(rest), login.as_ref()).await.map(Some);
            }
            if scheme.eq_ignore_ascii_case("basic")
                && let Some(OciLogin::Password { user, password }) = &login
            {
                let (user, password) = (user.clone(), password.clone());
                return Ok(Some(Authorization::Basic { user, password }));
            }
        }
        Ok(None)
    }

    /// Requests a token at the address that the registry returned.
    async fn exchange(
        &self,
        repository: &Repository,
        said: &BTreeMap<String, String>,
        login: Option<&OciLogin>,
    ) -> Result<Authorization, PackageError> {
        let unusable =
            |problem: &str| PackageError::Answer { place: format!("oci://{repository}"), problem: problem.to_owned() };
        let realm = said.get("realm").and_then(|realm| Url::parse(realm).ok());
        let mut realm = realm
            .filter(|url| url.scheme() == "https")
            .ok_or_else(|| unusable("the registry did not return an https:// address for tokens"))?;
        let service = said.get("service").map(String::as_str).unwrap_or_default();
        let scope = format!("repository:{}:pull", repository.name);
        let request = if let Some(OciLogin::Refresh(token)) = login {
            let fields = [
                ("grant_type", "refresh_token"),
                ("service", service),
                ("scope", scope.as_str()),
                ("client_id", "weft"),
                ("refresh_token", token.expose()),
            ];
            Request::post_form(realm, &fields)
        } else {
            realm.query_pairs_mut().append_pair("service", service).append_pair("scope", &scope);
            match login {
                Some(OciLogin::Password { user, password }) => Request::get(realm).basic(user, password.expose()),
                _ => Request::get(realm),
            }
        };
        let settings = self.http.settings();
        let request = request.with_retries(settings.registry_retries).with_timeout(settings.registry_timeout);
        let token: RegistryToken =
            self.http.json(&request.header(HeaderName::from_static("accept"), "application/json")).await?;
        let token = token.token.or(token.access_token).ok_or_else(|| unusable("the response contains no token"))?;
        Ok(Authorization::Bearer(SecretString::new(token)))
    }
}

/// The parameters of a header such as `realm="https://x/token",service="x"`.
fn parameters(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut rest = text.trim();
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim_matches(|c: char| c == ',' || c.is_whitespace()).to_ascii_lowercase();
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(',').unwrap_or((after, "")),
        };
        found.insert(name, value.to_owned());
        rest = after;
    }
    found
}

/// The address in a `Link` header such as `</v2/x/tags/list?last=b>; rel="next"`.
fn next_page(link: &str) -> Option<String> {
    link.split(',').find_map(|link| {
        let (address, relation) = link.trim().strip_prefix('<')?.split_once('>')?;
        relation.replace(['"', ' '], "").contains("rel=next").then(|| address.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_and_links_to_pages_are_read() {
        let said = parameters(r#"realm="https://x.test/token?a=b",service="x.test", scope="repository:a:pull,push""#);
        assert_eq!(said["realm"], "https://x.test/token?a=b");
        assert_eq!((said["service"].as_str(), said["scope"].as_str()), ("x.test", "repository:a:pull,push"));
        assert!(parameters("nothing").is_empty());
        assert_eq!(next_page(r#"</v2/x?last=b>; rel="next""#).as_deref(), Some("/v2/x?last=b"));
        assert_eq!(next_page("<x>; rel=prev"), None);
    }
}
