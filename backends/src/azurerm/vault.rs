//! The key provider `azure_vault`: keys that Azure Key Vault encrypts, with the credentials of the backend `azurerm`.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::header::WWW_AUTHENTICATE;
use reqwest::{Method as Verb, StatusCode};
use serde_json::{Map, Value as Json};
use tokio::sync::Mutex;
use url::Url;
use weft_graph_format::schema::Block;
use weft_graph_format::types::Type;
use weft_sealing::Secret;
use weft_state::remote::BackendError;

use super::cloud::{CloudName, Clouds};
use super::methods::{Method, choose};
use super::problems;
use super::problems::reasons::VaultProblem;
use super::sources::vault_tokens;
use crate::arguments::{self, Arguments, BackendSettings, Environment};
use crate::client::{ClientSettings, client};
use crate::exchange::{Authorize, Call, Constant, HttpReply, HttpService, RETRY};
use crate::keeper::{Blocking, Keeper, Keeping, Metadata, damaged, random_key};
use crate::problems::{key_data, key_length, key_setting_empty, key_settings_incomplete, no_client};

/// The version of the API.
const VERSION: &str = "7.6";
/// The name of the encrypted key in the metadata.
const FIELD: &str = "ciphertext";
/// The algorithm for asymmetric keys.
const RSA: &str = "RSA-OAEP-256";
/// The algorithms for symmetric keys, by the size of the key in bits.
const SYMMETRIC: [(u64, &str); 3] = [(128, "A128GCM"), (192, "A192GCM"), (256, "A256GCM")];
/// The maximum length of a new key. Azure allows less, depending on the algorithm.
const LONGEST: u64 = 1024;
/// The fields of the metadata in addition to the key, with their names in requests and responses.
const PARTS: [(&str, &str); 3] =
    [("iv", "iv"), ("authentication_tag", "tag"), ("additional_authenticated_data", "aad")];
/// Variables of the backend `azurerm` that do not apply to this key provider.
const OTHERS: [&str; 5] = [
    "ARM_USE_AKS_WORKLOAD_IDENTITY",
    "ARM_USE_CLI",
    "ARM_USE_MSI",
    "ARM_USE_OIDC",
    "ARM_ADO_PIPELINE_SERVICE_CONNECTION_ID",
];

/// The schema of the arguments.
pub(crate) fn schema() -> Block {
    const TEXTS: [&str; 18] = [
        "client_certificate",
        "client_certificate_password",
        "client_certificate_path",
        "client_id",
        "client_id_file_path",
        "client_secret",
        "client_secret_file_path",
        "environment",
        "metadata_host",
        "msi_endpoint",
        "oidc_request_token",
        "oidc_request_url",
        "oidc_token",
        "oidc_token_file_path",
        "subscription_id",
        "tenant_id",
        "vault_key_name",
        "vault_uri",
    ];
    let mut all = TEXTS.map(|name| (name, Type::String)).to_vec();
    let flags = ["symmetric", "use_aks_workload_identity", "use_cli", "use_msi", "use_oidc"];
    all.extend(flags.map(|name| (name, Type::Bool)));
    all.extend(["key_length", "symmetric_key_size"].map(|name| (name, Type::Number)));
    arguments::schema(&all, &["vault_uri", "vault_key_name", "key_length"], &[])
}

/// Makes the client from its settings.
pub(crate) fn connect(settings: &BackendSettings, environment: Environment<'_>) -> Keeping {
    // The argument sets the endpoint of managed identities. A variable of the environment takes precedence over the
    // argument.
    let endpoint = settings.get("msi_endpoint").and_then(Json::as_str).filter(|text| !text.is_empty());
    let environment = |name: &str| match name {
        name if OTHERS.contains(&name) => None,
        "MSI_ENDPOINT" => environment(name).or_else(|| endpoint.map(str::to_owned)),
        name => environment(name),
    };
    let mut arguments = Arguments::new(settings, &environment);
    let algorithm = algorithm(&mut arguments);
    let key = arguments.filled("vault_key_name", &[]).unwrap_or_default();
    let uri = arguments.filled("vault_uri", &[]).unwrap_or_default();
    let url = match (key.as_str(), uri.as_str()) {
        ("", _) => Err(key_setting_empty("vault_key_name")),
        (_, "") => Err(key_setting_empty("vault_uri")),
        (key, uri) => names(key, uri).map_err(|problem| key_data(&problem)),
    };
    let url = url.map_err(|problem| arguments.problems.push(problem)).ok();
    let length = arguments.number("key_length", &[]).unwrap_or_default();
    if !(1..=LONGEST).contains(&length) {
        arguments.problems.push(key_length(length, LONGEST));
    }
    let cloud = cloud(&mut arguments);
    let subscription = arguments.filled("subscription_id", &["ARM_SUBSCRIPTION_ID"]);
    let method = match arguments.problems.is_empty() {
        true => choose(&mut arguments, subscription),
        false => None,
    };
    let (_, _) = arguments.finish(())?;
    // If there are no problems, all of these values exist.
    let (Some(url), Some(cloud), Some(method)) = (url, cloud, method) else {
        return Err(vec![key_settings_incomplete()]);
    };
    let http = client(&ClientSettings::of_environment(&environment)).map_err(|error| vec![no_client(&error)])?;
    let clouds = Arc::new(Clouds::new(cloud, http.clone()));
    let place = format!("the key {key:?} of Key Vault at {}", url.host_str().unwrap_or_default());
    let authentication = VaultAuthentication { method: Arc::new(method), clouds, http };
    Ok(Blocking::client(Vault { authentication, place, url, key, length, algorithm, known: Mutex::default() }))
}

fn algorithm(arguments: &mut Arguments<'_>) -> &'static str {
    if !arguments.flag("symmetric", &[]).unwrap_or_default() {
        return RSA;
    }
    let size = arguments.number("symmetric_key_size", &[]).unwrap_or_default();
    let found = SYMMETRIC.iter().find(|(known, _)| *known == size);
    found.map_or_else(
        || {
            arguments.problems.push(key_data(&VaultProblem::KeySize));
            RSA
        },
        |(_, algorithm)| algorithm,
    )
}

fn cloud(arguments: &mut Arguments<'_>) -> Option<CloudName> {
    if let Some(host) = arguments.filled("metadata_host", &["ARM_METADATA_HOST"]) {
        return Some(CloudName::Described(host));
    }
    let name = arguments.filled("environment", &["ARM_ENVIRONMENT"]).unwrap_or_default();
    let known = CloudName::of(&name);
    if known.is_none() {
        arguments.problems.push(problems::unknown_environment(&name));
    }
    known
}

/// Checks the names of a key and of its vault, as Azure does.
fn names(key: &str, uri: &str) -> Result<Url, VaultProblem> {
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if !(1..=127).contains(&key.len()) || !plain(key) {
        return Err(VaultProblem::KeyName(key.to_owned()));
    }
    let url = Url::parse(uri)?;
    let host = url.host_str().unwrap_or_default();
    let vault = host.split('.').next().unwrap_or_default();
    let form = (3..=24).contains(&vault.len())
        && plain(vault)
        && vault.starts_with(|first: char| first.is_ascii_alphabetic())
        && !vault.ends_with('-');
    if !form {
        return Err(VaultProblem::VaultName(vault.to_owned()));
    }
    if vault.contains("--") {
        return Err(VaultProblem::TwoHyphens(vault.to_owned()));
    }
    // A token is never sent unencrypted, except to this machine.
    if url.scheme() != "https" && host != "localhost" {
        return Err(VaultProblem::NotEncrypted);
    }
    Ok(url)
}

/// The method of authentication, with the connections for requesting tokens.
struct VaultAuthentication {
    method: Arc<Method>,
    clouds: Arc<Clouds>,
    http: reqwest::Client,
}

/// A key of the service.
struct Vault {
    authentication: VaultAuthentication,
    place: String,
    url: Url,
    key: String,
    length: u64,
    algorithm: &'static str,
    /// The connection. `None` until the vault has named the audience of tokens.
    known: Mutex<Option<Arc<HttpService>>>,
}

impl fmt::Debug for Vault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Vault({})", self.place)
    }
}

/// The audience of tokens, which is a parameter of the challenge in a response.
fn resource(challenge: &str) -> Option<&str> {
    let rest = challenge.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("bearer "))?;
    let parameters = challenge[rest.len()..].split([',', ' ']).filter_map(|part| part.trim().split_once('='));
    let mut found: Vec<(&str, &str)> = parameters.map(|(name, value)| (name, value.trim_matches('"'))).collect();
    found.sort_by_key(|(name, _)| *name != "resource");
    let (_, value) = found.into_iter().find(|(name, _)| matches!(*name, "resource" | "scope"))?;
    Some(value.strip_suffix("/.default").unwrap_or(value).trim_end_matches('/'))
}

impl Vault {
    fn service(&self, authorize: Box<dyn Authorize>) -> HttpService {
        HttpService { http: self.authentication.http.clone(), retry: RETRY, place: self.place.clone(), authorize }
    }

    /// The connection. The first use of this method asks the vault for the audience of tokens, because the audience
    /// depends on the cloud.
    async fn connected(&self, doing: &'static str, url: &Url) -> Result<Arc<HttpService>, BackendError> {
        let mut known = self.known.lock().await;
        if let Some(found) = known.as_ref() {
            return Ok(Arc::clone(found));
        }
        let reply =
            self.service(Box::new(Constant(Vec::new()))).send(&Call::new(doing, Verb::POST, url.clone())).await?;
        let resource = reply.header(WWW_AUTHENTICATE.as_str()).and_then(resource).map(str::to_owned);
        let Some(resource) = resource else { return Err(damaged(&self.place, doing, WWW_AUTHENTICATE.as_str())) };
        let host = Url::parse(&resource).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
        let own = self.url.host_str().unwrap_or_default();
        if own != host && !own.ends_with(&format!(".{host}")) {
            let error = Some(format!("it requests a token for {host:?}, which is not the domain of the vault"));
            return Err(reply.refusal(self.place.clone(), doing, error, "Check vault_uri"));
        }
        let VaultAuthentication { method, clouds, http } = &self.authentication;
        let tokens = vault_tokens(method, clouds, http, resource, self.place.clone());
        let service = Arc::new(self.service(tokens));
        *known = Some(Arc::clone(&service));
        Ok(service)
    }

    async fn ask(
        &self,
        doing: &'static str,
        [version, operation]: [&str; 2],
        body: Map<String, Json>,
    ) -> Result<Map<String, Json>, BackendError> {
        let mut url = self.url.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            // Without a version, the vault uses the current one.
            path.pop_if_empty().extend(["keys", &self.key]);
            path.extend(Some(version).filter(|version| !version.is_empty())).push(operation);
        }
        url.set_query(Some(&format!("api-version={VERSION}")));
        let service = self.connected(doing, &url).await?;
        let call = Call::new(doing, Verb::POST, url).header("accept", "application/json");
        let reply = service.send(&call.body("application/json", Json::Object(body).to_string())).await?;
        match (reply.status, reply.json()) {
            (StatusCode::OK, Json::Object(answer)) => Ok(answer),
            _ => Err(self.refused(doing, operation, &reply)),
        }
    }

    fn refused(&self, doing: &'static str, operation: &str, reply: &HttpReply) -> BackendError {
        let json = reply.json();
        let part = |name: &str| json.pointer(name).and_then(Json::as_str);
        let error = part("/error/message").map(|message| match part("/error/code") {
            Some(code) => format!("{code}: {message}"),
            None => message.to_owned(),
        });
        let advice = match reply.status {
            StatusCode::FORBIDDEN => format!("Grant the caller the permission {operation} for keys of the vault"),
            StatusCode::NOT_FOUND => "Check vault_uri and vault_key_name".to_owned(),
            _ => String::new(),
        };
        reply.refusal(self.place.clone(), doing, error, &advice)
    }

    fn bytes(&self, doing: &'static str, answer: &Map<String, Json>, field: &str) -> Result<Vec<u8>, BackendError> {
        decoded(answer, field).ok_or_else(|| damaged(&self.place, doing, field))
    }
}

fn decoded(answer: &Map<String, Json>, field: &str) -> Option<Vec<u8>> {
    let text = answer.get(field)?.as_str()?;
    URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok().filter(|bytes| !bytes.is_empty())
}

fn encoded(bytes: &[u8]) -> Json {
    URL_SAFE_NO_PAD.encode(bytes).into()
}

#[async_trait]
impl Keeper for Vault {
    fn length(&self) -> u64 {
        self.length
    }

    async fn make(&self) -> Result<(Secret, Metadata), BackendError> {
        const DOING: &str = "encrypting a key";
        let key = random_key(&self.place, self.length)?;
        let body = [("alg", self.algorithm.into()), ("value", encoded(key.expose()))];
        let body = body.map(|(name, value): (&str, Json)| (name.to_owned(), value));
        let answer = self.ask(DOING, ["", "encrypt"], Map::from_iter(body)).await?;
        let mut metadata = Metadata::new(FIELD, self.bytes(DOING, &answer, "value")?);
        for (field, name) in PARTS {
            metadata.set_bytes(field, decoded(&answer, name).as_deref());
        }
        // The last part of the id of a key is its version.
        let id = answer.get("kid").and_then(Json::as_str).unwrap_or_default();
        let version = id.split("/keys/").nth(1).and_then(|rest| rest.split('/').nth(1)).unwrap_or_default();
        metadata.more.insert("key_version".to_owned(), version.into());
        metadata.more.insert("algo".to_owned(), self.algorithm.into());
        Ok((key, metadata))
    }

    async fn find(&self, metadata: &Metadata) -> Result<Secret, BackendError> {
        const DOING: &str = "decrypting a key";
        let text = |name: &str| metadata.more.get(name).and_then(Json::as_str).filter(|text| !text.is_empty());
        let mut body = Map::from_iter([
            ("alg".to_owned(), text("algo").unwrap_or(self.algorithm).into()),
            ("value".to_owned(), encoded(&metadata.key)),
        ]);
        for (field, name) in PARTS {
            body.extend(metadata.bytes(field).map(|bytes| (name.to_owned(), encoded(&bytes))));
        }
        let version = text("key_version").unwrap_or_default();
        let answer = self.ask(DOING, [version, "decrypt"], body).await?;
        self.bytes(DOING, &answer, "value").map(Secret::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        assert!(names("my-key", "https://my-vault.vault.azure.net/").is_ok());
        for (key, uri, want) in [
            ("a_b", "https://vault.x", "is not the name of a key:"),
            ("a", "https://ab.x", "3 to 24"),
            ("a", "https://abc-.x", "3 to 24"),
            ("a", "https://1abc.x", "3 to 24"),
            ("a", "https://a--b.x", "two hyphens"),
            ("a", "http://abc.x", "must begin with https://"),
            ("a", "abc", "cannot be read"),
        ] {
            let error = names(key, uri).unwrap_err().to_string();
            assert!(error.contains(want), "{uri}: {error}");
        }
    }

    #[test]
    fn challenges_name_a_resource() {
        let challenge = "Bearer authorization=\"https://login.example.com/t\", resource=\"https://vault.azure.net\"";
        for (challenge, want) in [
            (challenge, Some("https://vault.azure.net")),
            (
                "Bearer authorization=\"x\" scope=\"https://managedhsm.azure.net/.default\"",
                Some("https://managedhsm.azure.net"),
            ),
            ("Basic realm=\"x\"", None),
            ("Bearer", None),
        ] {
            assert_eq!(resource(challenge), want, "{challenge}");
        }
    }
}
