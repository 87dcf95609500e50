//! The arguments of the backend `gcs`.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use url::Url;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::schema::Block;
use weft_graph_format::types::Type;

use super::credentials::Source;
use super::problems::CredentialProblem;
use crate::arguments::{self, Arguments, BackendSettings, Environment};
use crate::problems;

/// The default URL of the service.
const SERVICE: &str = "https://storage.googleapis.com/storage/v1/";
/// The default domain of the service. Other clouds have other domains.
pub(super) const DOMAIN: &str = "googleapis.com";
/// The length of a customer key, in bytes.
const KEY: usize = 32;

/// The schema of the arguments.
pub fn schema() -> Block {
    let attributes = [
        ("access_token", Type::String),
        ("bucket", Type::String),
        ("credentials", Type::String),
        ("encryption_key", Type::String),
        ("impersonate_service_account", Type::String),
        ("impersonate_service_account_delegates", Type::list(Type::String)),
        ("kms_encryption_key", Type::String),
        ("prefix", Type::String),
        ("storage_custom_endpoint", Type::String),
        ("universe_domain", Type::String),
    ];
    arguments::schema(&attributes, &["bucket"], &["access_token", "credentials", "encryption_key"])
}

/// The encryption of the state.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Encryption {
    /// The encryption that the bucket is configured for.
    OfBucket,
    /// A named key of Cloud KMS.
    Kms(String),
    /// A customer key.
    Customer(Vec<u8>),
}

/// The settings.
pub(super) struct GcsSettings {
    pub(super) bucket: String,
    /// The prefix of all keys: empty, or with `/` at the end.
    pub(super) prefix: String,
    pub(super) encryption: Encryption,
    /// The address of the service, with `/` at the end.
    pub(super) endpoint: Url,
    /// The source of tokens.
    pub(super) source: Source,
}

impl fmt::Debug for GcsSettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "GcsSettings(gs://{})", self.bucket)
    }
}

impl GcsSettings {
    /// Reads the settings.
    ///
    /// # Errors
    /// Returns an error if the settings are not valid.
    pub(super) fn read(
        settings: &BackendSettings,
        environment: Environment<'_>,
    ) -> Result<(GcsSettings, Vec<Diagnostic>), Vec<Diagnostic>> {
        let mut arguments = Arguments::new(settings, environment);
        let bucket = arguments.required("bucket", &[]);
        let prefix = arguments.text("prefix", &[]).unwrap_or_default();
        let prefix = match prefix.trim_start_matches('/') {
            "" => String::new(),
            prefix => format!("{}/", prefix.trim_end_matches('/')),
        };
        let encryption = encryption(&mut arguments);
        let domain =
            arguments.text("universe_domain", &["GOOGLE_BACKEND_UNIVERSE_DOMAIN", "GOOGLE_CLOUD_UNIVERSE_DOMAIN"]);
        let (endpoint, emulated) = endpoint(&mut arguments, domain.as_deref());
        let source = source(&mut arguments, domain.as_deref(), emulated);
        let (Some(endpoint), Some(source)) = (endpoint, source) else { return Err(arguments.problems) };
        arguments.finish(GcsSettings { bucket, prefix, encryption, endpoint, source })
    }
}

fn encryption(arguments: &mut Arguments<'_>) -> Encryption {
    let customer = arguments.text("encryption_key", &["GOOGLE_ENCRYPTION_KEY"]).filter(|key| !key.is_empty());
    let kms = arguments.text("kms_encryption_key", &["GOOGLE_KMS_ENCRYPTION_KEY"]).filter(|key| !key.is_empty());
    match (customer, kms) {
        (None, None) => Encryption::OfBucket,
        (None, Some(kms)) => Encryption::Kms(kms),
        (Some(_), Some(_)) => {
            arguments.problems.push(problems::conflicts("encryption_key", "kms_encryption_key"));
            Encryption::OfBucket
        }
        (Some(key), None) => {
            // The argument is the key, or the path of a file with the key.
            let text = std::fs::read_to_string(arguments::expanded(&key)).unwrap_or(key);
            match STANDARD.decode(text.trim()) {
                Ok(key) if key.len() == KEY => Encryption::Customer(key),
                _ => {
                    arguments.problems.push(problems::customer_key("encryption_key", KEY));
                    Encryption::OfBucket
                }
            }
        }
    }
}

/// The URL of the service, and whether the service is an emulator that needs no credentials.
fn endpoint(arguments: &mut Arguments<'_>, domain: Option<&str>) -> (Option<Url>, bool) {
    const VARIABLES: [&str; 2] = ["GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT", "GOOGLE_STORAGE_CUSTOM_ENDPOINT"];
    let written = arguments.text("storage_custom_endpoint", &VARIABLES);
    let emulator = arguments.variable(&["STORAGE_EMULATOR_HOST"]);
    let emulated = written.is_none() && emulator.is_some();
    let text = written.or_else(|| {
        let host = emulator?;
        let host = if host.contains("://") { host } else { format!("http://{host}") };
        Some(format!("{}/storage/v1/", host.trim_end_matches('/')))
    });
    let text = text.unwrap_or_else(|| match domain {
        Some(domain) => SERVICE.replace(DOMAIN, domain),
        None => SERVICE.to_owned(),
    });
    let text = if text.ends_with('/') { text } else { text + "/" };
    match Url::parse(&text) {
        Ok(url) if url.host().is_some() => (Some(url), emulated),
        Ok(_) => {
            arguments.problems.push(problems::not_a_web_address("storage_custom_endpoint"));
            (None, emulated)
        }
        Err(error) => {
            arguments.problems.push(problems::invalid_address("storage_custom_endpoint", &error));
            (None, emulated)
        }
    }
}

/// The source of tokens.
pub(super) fn source(arguments: &mut Arguments<'_>, domain: Option<&str>, emulated: bool) -> Option<Source> {
    let token = arguments.text("access_token", &["GOOGLE_OAUTH_ACCESS_TOKEN"]).filter(|text| !text.is_empty());
    let credentials = arguments.text("credentials", &["GOOGLE_BACKEND_CREDENTIALS", "GOOGLE_CREDENTIALS"]);
    let credentials = credentials.filter(|text| !text.is_empty());
    let account = arguments.text(
        "impersonate_service_account",
        &["GOOGLE_BACKEND_IMPERSONATE_SERVICE_ACCOUNT", "GOOGLE_IMPERSONATE_SERVICE_ACCOUNT"],
    );
    let account = account.filter(|text| !text.is_empty());
    let delegates = match arguments.written("impersonate_service_account_delegates") {
        Some(Json::Array(delegates)) => delegates.iter().filter_map(|name| Some(name.as_str()?.to_owned())).collect(),
        _ => Vec::new(),
    };
    let found = match (token, credentials) {
        (Some(token), _) => Ok(Source::Token(token)),
        (None, Some(credentials)) => {
            let text = std::fs::read_to_string(arguments::expanded(&credentials)).unwrap_or(credentials);
            serde_json::from_str(&text)
                .map_err(|_| CredentialProblem::NeitherFileNorJson)
                .and_then(|document| Ok(Source::of_document(&document)?))
        }
        (None, None) if emulated => Ok(Source::None),
        (None, None) => Source::of_environment(&|name| arguments.variable(&[name])),
    };
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            arguments.problems.push(problems::credentials(&error));
            return None;
        }
    };
    Some(match account {
        Some(account) => found.impersonating(&account, delegates, domain.unwrap_or(DOMAIN)),
        None => found,
    })
}
