//! Requests to the APIs of Alibaba Cloud, with signed parameters ("RPC").

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::StatusCode;
use serde_json::Value as Json;
use weft_state::remote::BackendError;

use super::refusals;
use crate::client::reason;
use crate::digests::{hex, hmac_sha1};
use crate::exchange::in_query;
use crate::expiring::{KeyRing, Keys};
use crate::retry::{AttemptResult, RequestRetries};

/// An API of Alibaba Cloud.
pub(super) struct AlibabaApi {
    pub(super) http: reqwest::Client,
    pub(super) retry: RequestRetries,
    /// The URL, without a slash at the end.
    pub(super) address: String,
    pub(super) keys: Arc<KeyRing>,
    /// The location of the state, for messages.
    pub(super) place: String,
}

impl AlibabaApi {
    /// Sends parameters. Returns the response.
    ///
    /// # Errors
    /// Returns an error if the API does not respond, or refuses the request. If the API refuses the request, the error
    /// contains `advice`.
    pub(super) async fn ask(
        &self,
        doing: &'static str,
        parameters: &[(&str, &str)],
        advice: &str,
    ) -> Result<Json, BackendError> {
        self.retry.run(|_| self.attempt(doing, parameters, advice)).await
    }

    async fn attempt(
        &self,
        doing: &'static str,
        parameters: &[(&str, &str)],
        advice: &str,
    ) -> AttemptResult<Json, BackendError> {
        let keys = match self.keys.current().await {
            Ok(keys) => keys,
            Err(error) => return AttemptResult::Final(Err(error)),
        };
        let place = || self.place.clone();
        let failed = |error: reqwest::Error| BackendError::Unreachable { place: place(), doing, error: reason(&error) };
        let Some(nonce) = nonce() else {
            return AttemptResult::Final(Err(refusals::no_random_number(place(), doing)));
        };
        let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let mut all = parameters.to_vec();
        all.extend([
            ("AccessKeyId", keys.id.as_str()),
            ("Format", "JSON"),
            ("SignatureMethod", "HMAC-SHA1"),
            ("SignatureNonce", &nonce),
            ("SignatureType", ""),
            ("SignatureVersion", "1.0"),
            ("Timestamp", &time),
        ]);
        all.extend(keys.token.as_deref().map(|token| ("SecurityToken", token)));
        let request = self.http.post(format!("{}/?{}", self.address, signed("POST", all, &keys)));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let answer = match request.send().await {
            Ok(answer) => answer,
            Err(error) => return AttemptResult::Again(failed(error), None),
        };
        let status = answer.status();
        let json: Json = match answer.bytes().await {
            Ok(body) => serde_json::from_slice(&body).unwrap_or_default(),
            Err(error) => return AttemptResult::Again(failed(error), None),
        };
        if status.is_success() {
            return AttemptResult::Final(Ok(json));
        }
        let text = |name: &str| json.get(name).and_then(Json::as_str);
        let error = match (text("Code"), text("Message")) {
            (Some(code), Some(message)) => format!("{code}: {}", message.trim_end_matches('.')),
            (Some(code), None) => code.to_owned(),
            _ => format!("HTTP {}", status.as_u16()),
        };
        let refused = BackendError::Refused { place: place(), doing, error, advice: advice.to_owned() };
        match status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            true => AttemptResult::Again(refused, None),
            false => AttemptResult::Final(Err(refused)),
        }
    }
}

/// A random string that is unique for each request.
fn nonce() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(hex(&bytes))
}

/// The query of a request, with its signature.
fn signed(method: &str, parameters: Vec<(&str, &str)>, keys: &Keys) -> String {
    let mut pairs: Vec<(&str, String)> = parameters.into_iter().map(|(name, value)| (name, in_query(value))).collect();
    pairs.sort();
    let query: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let query = query.join("&");
    let code = hmac_sha1(format!("{}&", keys.secret).as_bytes(), &format!("{method}&%2F&{}", in_query(&query)));
    format!("{query}&Signature={}", in_query(&STANDARD.encode(code)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the documentation ("Sign RPC APIs").
    #[test]
    fn the_example_of_the_documentation() {
        let keys = Keys { id: "testid".to_owned(), secret: "testsecret".to_owned(), token: None, expires: None };
        let parameters = vec![
            ("Timestamp", "2016-02-23T12:46:24Z"),
            ("Format", "XML"),
            ("AccessKeyId", "testid"),
            ("Action", "DescribeRegions"),
            ("SignatureMethod", "HMAC-SHA1"),
            ("SignatureNonce", "3ee8c1b8-83d3-44af-a94f-4e0ad82fd6cf"),
            ("Version", "2014-05-26"),
            ("SignatureVersion", "1.0"),
        ];
        let query = signed("GET", parameters, &keys);
        assert!(query.ends_with("&Signature=OLeaidS1JvxuMvnyHOwuJ%2BuX5qY%3D"), "{query}");
    }
}
