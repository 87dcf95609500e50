//! The key provider `openbao`: data keys of the transit engine of OpenBao or Vault.
//!
//! Not supported, unlike in OpenBao's own client: SRV records, Unix sockets and rate limits.

mod problems;
mod refusals;
mod settings;

use std::fmt;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;
use serde_json::{Value as Json, json};
use url::Url;
use weft_sealing::Secret;
use weft_state::remote::BackendError;

use crate::arguments::{BackendSettings, Environment};
use crate::client::{ClientSettings, client};
use crate::exchange::{Call, Constant, HttpService};
use crate::keeper::{Blocking, Keeper, Keeping, Metadata, damaged};
use crate::problems::no_client;
use settings::BaoSettings;
pub(crate) use settings::schema;

/// The name of the encrypted key in the metadata.
const FIELD: &str = "ciphertext";
/// The characters that are escaped in the name of a key.
const IN_NAMES: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// Makes the client from its settings.
pub(crate) fn connect(settings: &BackendSettings, environment: Environment<'_>) -> Keeping {
    let settings = BaoSettings::read(settings, environment)?;
    let http = client(&ClientSettings { server_name: settings.server_name.clone(), ..settings.client.clone() });
    let http = http.map_err(|error| vec![no_client(&error)])?;
    let place = format!("the key {:?} of OpenBao at {}", settings.key, settings.address);
    let mut headers = vec![("x-vault-request".to_owned(), "true".to_owned())];
    headers.extend(settings.token.clone().map(|token| ("x-vault-token".to_owned(), token)));
    headers.extend(settings.namespace.clone().map(|namespace| ("x-vault-namespace".to_owned(), namespace)));
    let service = HttpService { http, retry: settings.retry, place, authorize: Box::new(Constant(headers)) };
    Ok(Blocking::client(OpenBao { service, settings }))
}

/// A key of the service.
struct OpenBao {
    service: HttpService,
    settings: BaoSettings,
}

impl fmt::Debug for OpenBao {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "OpenBao({})", self.service.place)
    }
}

/// The URL of an operation. Double slashes, `.` and `..` are normalized as in a file path.
fn address(settings: &BaoSettings, operation: &str) -> Url {
    let mut url = settings.address.clone();
    let name = utf8_percent_encode(&settings.key, IN_NAMES).to_string();
    let engine = format!("{}/{operation}/{name}", settings.engine);
    let mut parts: Vec<&str> = Vec::new();
    for part in engine.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().push("v1").extend(parts);
    }
    url
}

impl OpenBao {
    async fn ask(&self, doing: &'static str, operation: &str, body: Json) -> Result<Json, BackendError> {
        let call = |url: Url| Call::new(doing, Method::PUT, url).body("application/json", body.to_string());
        let url = address(&self.settings, operation);
        let mut reply = self.service.send(&call(url.clone())).await?;
        // A standby server redirects to the active server. One redirect is followed, but never from an encrypted to an
        // unencrypted connection.
        let moved = matches!(reply.status.as_u16(), 301 | 302 | 307) && self.settings.redirects;
        if let Some(next) = reply.header("location").filter(|_| moved).and_then(|location| url.join(location).ok()) {
            if url.scheme() == "https" && next.scheme() != "https" {
                return Err(refusals::unencrypted_redirect(self.service.place.clone(), doing, &reply));
            }
            reply = self.service.send(&call(next)).await?;
        }
        if !reply.status.is_success() {
            return Err(refusals::refused(self.service.place.clone(), doing, &reply));
        }
        Ok(reply.json().get("data").cloned().unwrap_or_default())
    }

    fn text<'a>(&self, doing: &'static str, answer: &'a Json, field: &str) -> Result<&'a str, BackendError> {
        let text = answer.get(field).and_then(Json::as_str).filter(|text| !text.is_empty());
        text.ok_or_else(|| damaged(&self.service.place, doing, field))
    }

    fn plain(&self, doing: &'static str, answer: &Json) -> Result<Secret, BackendError> {
        const PLAIN: &str = "plaintext";
        let decoded = STANDARD.decode(self.text(doing, answer, PLAIN)?);
        decoded.map(Secret::new).map_err(|_| damaged(&self.service.place, doing, PLAIN))
    }
}

#[async_trait]
impl Keeper for OpenBao {
    fn length(&self) -> u64 {
        self.settings.length
    }

    async fn make(&self) -> Result<(Secret, Metadata), BackendError> {
        const DOING: &str = "making a key";
        let bits = self.settings.length * 8;
        let answer = self.ask(DOING, "datakey/plaintext", json!({ "bits": bits })).await?;
        // The encrypted key is text. The metadata has the bytes of that text.
        let sealed = self.text(DOING, &answer, FIELD)?.as_bytes().to_vec();
        Ok((self.plain(DOING, &answer)?, Metadata::new(FIELD, sealed)))
    }

    async fn find(&self, metadata: &Metadata) -> Result<Secret, BackendError> {
        const DOING: &str = "decrypting a key";
        let sealed = String::from_utf8_lossy(&metadata.key);
        let answer = self.ask(DOING, "decrypt", json!({ "ciphertext": sealed })).await?;
        self.plain(DOING, &answer)
    }
}
