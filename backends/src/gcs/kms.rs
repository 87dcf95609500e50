//! The key provider `gcp_kms`: keys that Cloud KMS encrypts, with the credentials of the backend `gcs`.

use std::fmt;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::{Method, StatusCode};
use serde_json::{Value as Json, json};
use url::Url;
use weft_graph_format::schema::Block;
use weft_graph_format::types::Type;
use weft_sealing::Secret;
use weft_state::remote::BackendError;

use super::credentials::Source;
use super::settings::{DOMAIN, source};
use super::sources::{EVERYTHING, GoogleTokens};
use crate::arguments::{self, Arguments, BackendSettings, Environment};
use crate::client::{ClientSettings, client};
use crate::exchange::{Call, HttpReply, HttpService, RETRY};
use crate::keeper::{Blocking, Keeper, Keeping, Metadata, damaged, random_key};
use crate::problems::{key_length, key_setting_empty, key_settings_incomplete, no_client};
use crate::tokens::Bearer;

/// The scope of tokens that allows the use of keys. It is requested for impersonated accounts.
const KEYS: &str = "https://www.googleapis.com/auth/cloudkms";
/// The maximum length of a key. The service does not encrypt more bytes.
const LONGEST: u64 = 1024;
/// The name of the encrypted key in the metadata.
const FIELD: &str = "ciphertext";
/// The header with the project that pays for a request.
const QUOTA: &str = "x-goog-user-project";
/// Variables of the backend `gcs` that do not apply to this key provider.
const OTHERS: [&str; 2] = ["GOOGLE_BACKEND_CREDENTIALS", "GOOGLE_BACKEND_UNIVERSE_DOMAIN"];

/// The schema of the arguments.
pub(crate) fn schema() -> Block {
    let attributes = [
        ("access_token", Type::String),
        ("credentials", Type::String),
        ("impersonate_service_account", Type::String),
        ("impersonate_service_account_delegates", Type::list(Type::String)),
        ("key_length", Type::Number),
        ("kms_encryption_key", Type::String),
    ];
    arguments::schema(&attributes, &["kms_encryption_key", "key_length"], &[])
}

/// Makes the client from its settings.
pub(crate) fn connect(settings: &BackendSettings, environment: Environment<'_>) -> Keeping {
    let environment = |name: &str| if OTHERS.contains(&name) { None } else { environment(name) };
    let mut arguments = Arguments::new(settings, &environment);
    let key = arguments.text("kms_encryption_key", &[]).unwrap_or_default();
    if key.is_empty() {
        arguments.problems.push(key_setting_empty("kms_encryption_key"));
    }
    let length = arguments.number("key_length", &[]).unwrap_or_default();
    if !(1..=LONGEST).contains(&length) {
        arguments.problems.push(key_length(length, LONGEST));
    }
    let domain = arguments.variable(&["GOOGLE_CLOUD_UNIVERSE_DOMAIN"]);
    let source = source(&mut arguments, domain.as_deref(), false);
    let quota = arguments.variable(&["GOOGLE_CLOUD_QUOTA_PROJECT"]);
    let (_, _) = arguments.finish(())?;
    let base = format!("https://cloudkms.{}/v1/", domain.as_deref().unwrap_or(DOMAIN));
    // If there are no problems, the source exists and the URL is valid.
    let (Some(source), Ok(base)) = (source, Url::parse(&base)) else {
        return Err(vec![key_settings_incomplete()]);
    };
    let connections = ClientSettings::of_environment(&environment);
    let http = client(&connections).map_err(|error| vec![no_client(&error)])?;
    Ok(Blocking::client(Kms::new(http, base, source, Words { key, length, quota })))
}

/// The settings, except the credentials.
struct Words {
    key: String,
    length: u64,
    quota: Option<String>,
}

/// A key of the service.
struct Kms {
    service: HttpService,
    /// The address of the service, with `/` at the end.
    base: Url,
    words: Words,
}

impl fmt::Debug for Kms {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Kms({})", self.service.place)
    }
}

impl Kms {
    fn new(http: reqwest::Client, base: Url, source: Source, mut words: Words) -> Kms {
        let place = format!("the key {:?} of Cloud KMS", words.key);
        if let Source::User(user) = &source {
            words.quota = words.quota.or_else(|| user.quota.clone());
        }
        let scope = if matches!(source, Source::Impersonated(_)) { KEYS } else { EVERYTHING };
        let tokens = GoogleTokens { source, http: http.clone(), scope, place: place.clone() };
        let service = HttpService { http, retry: RETRY, place, authorize: Box::new(Bearer::new(tokens)) };
        Kms { service, base, words }
    }

    /// Sends a request with the bytes of a field. Returns the bytes of another field of the response.
    async fn ask(
        &self,
        doing: &'static str,
        operation: &'static str,
        [field, wanted]: [&str; 2],
        bytes: &[u8],
    ) -> Result<Vec<u8>, BackendError> {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            let (parents, name) = self.words.key.rsplit_once('/').unwrap_or(("", &self.words.key));
            path.pop_if_empty().extend(parents.split('/').filter(|part| !part.is_empty()));
            path.push(&format!("{name}:{operation}"));
        }
        let body = json!({ field: STANDARD.encode(bytes) });
        let mut call = Call::new(doing, Method::POST, url).body("application/json", body.to_string());
        if let Some(quota) = &self.words.quota {
            call = call.header(QUOTA, quota.clone());
        }
        let reply = self.service.send(&call).await?;
        if reply.status != StatusCode::OK {
            return Err(self.refused(doing, operation, &reply));
        }
        let answer = reply.json();
        let decoded = answer.get(wanted).and_then(Json::as_str).and_then(|text| STANDARD.decode(text).ok());
        decoded.filter(|bytes| !bytes.is_empty()).ok_or_else(|| damaged(&self.service.place, doing, wanted))
    }

    fn refused(&self, doing: &'static str, operation: &str, reply: &HttpReply) -> BackendError {
        let json = reply.json();
        let message = json.pointer("/error/message").and_then(Json::as_str).map(str::to_owned);
        let advice = match (reply.status, operation) {
            (StatusCode::FORBIDDEN, "encrypt") => {
                "Grant the caller the permission cloudkms.cryptoKeyVersions.useToEncrypt on the key"
            }
            (StatusCode::FORBIDDEN, _) => {
                "Grant the caller the permission cloudkms.cryptoKeyVersions.useToDecrypt on the key"
            }
            (StatusCode::NOT_FOUND, _) => {
                "The name of a key has the form projects/P/locations/L/keyRings/R/cryptoKeys/K"
            }
            (StatusCode::UNAUTHORIZED, _) => {
                "Get new credentials, for example with: gcloud auth application-default login"
            }
            _ => "",
        };
        reply.refusal(self.service.place.clone(), doing, message, advice)
    }
}

#[async_trait]
impl Keeper for Kms {
    fn length(&self) -> u64 {
        self.words.length
    }

    async fn make(&self) -> Result<(Secret, Metadata), BackendError> {
        let key = random_key(&self.service.place, self.words.length)?;
        let sealed = self.ask("encrypting a key", "encrypt", ["plaintext", "ciphertext"], key.expose()).await?;
        Ok((key, Metadata::new(FIELD, sealed)))
    }

    async fn find(&self, metadata: &Metadata) -> Result<Secret, BackendError> {
        let found = self.ask("decrypting a key", "decrypt", ["ciphertext", "plaintext"], &metadata.key).await?;
        Ok(Secret::new(found))
    }
}
