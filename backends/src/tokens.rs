//! Bearer tokens that expire.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use reqwest::{RequestBuilder, StatusCode};
use serde_json::Value as Json;
use tokio::sync::Mutex;
use weft_state::remote::BackendError;

use crate::client::reason;
use crate::exchange::{Authorize, Call};

/// A new token is requested this time before the current token expires.
const MARGIN: Duration = Duration::from_secs(225);
/// The time limit of a request for a token.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// The time for which a token is used if the response has no expiry.
const LIFETIME: Duration = Duration::from_secs(600);

/// Parts of the messages of Google and Microsoft about assertions (JWT) that are not valid yet or have expired. A
/// common cause is a wrong clock.
const SKEWED: [&str; 2] = ["must be a short-lived token", "AADSTS700024"];

/// A token.
#[derive(Clone)]
pub struct AccessToken {
    /// The text after `Bearer`.
    pub text: String,
    expires: Option<SystemTime>,
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("AccessToken")
    }
}

impl AccessToken {
    /// A token that does not expire during the life of the process.
    pub fn lasting(text: impl Into<String>) -> AccessToken {
        AccessToken { text: text.into(), expires: None }
    }

    /// A token that expires.
    pub fn until(text: impl Into<String>, expires: SystemTime) -> AccessToken {
        AccessToken { text: text.into(), expires: Some(expires) }
    }

    /// The token in the response of a token endpoint (RFC 6749, section 5.1). Some services return `expires_in`, the
    /// lifetime in seconds, as a string. Others return the time of the expiry as `expires_on`, in seconds since 1970.
    pub fn of_answer(answer: &Json) -> Option<AccessToken> {
        let text = answer.get("access_token")?.as_str()?;
        let number = |value: &Json| match value {
            Json::String(text) => text.parse().ok(),
            value => value.as_u64(),
        };
        let seconds = answer.get("expires_in").and_then(number);
        let expires = match (seconds, answer.get("expires_on").and_then(number)) {
            (Some(seconds), _) => SystemTime::now().checked_add(Duration::from_secs(seconds)),
            (None, Some(moment)) => UNIX_EPOCH.checked_add(Duration::from_secs(moment)),
            (None, None) => None,
        };
        Some(AccessToken::until(text, expires.unwrap_or_else(|| SystemTime::now() + LIFETIME)))
    }

    fn expires_soon(&self) -> bool {
        self.expires.is_some_and(|expires| expires <= SystemTime::now() + MARGIN)
    }
}

/// A source of tokens.
#[async_trait]
pub trait TokenSource: Send + Sync {
    /// Obtains a new token.
    async fn token(&self) -> Result<AccessToken, BackendError>;
}

/// Authorizes requests with bearer tokens.
pub struct Bearer<S> {
    /// The source of the tokens.
    pub source: S,
    known: Mutex<Option<AccessToken>>,
}

impl<S: TokenSource> Bearer<S> {
    /// Authorizes requests with the tokens of this source.
    pub fn new(source: S) -> Bearer<S> {
        Bearer { source, known: Mutex::default() }
    }

    /// The current token.
    ///
    /// # Errors
    /// Returns an error if the source has no token.
    pub async fn current(&self) -> Result<AccessToken, BackendError> {
        let mut known = self.known.lock().await;
        if let Some(found) = known.as_ref().filter(|found| !found.expires_soon()) {
            return Ok(found.clone());
        }
        let found = self.source.token().await?;
        *known = Some(found.clone());
        Ok(found)
    }
}

#[async_trait]
impl<S: TokenSource> Authorize for Bearer<S> {
    async fn authorize(&self, _call: &Call) -> Result<Vec<(String, String)>, BackendError> {
        Ok(vec![("authorization".to_owned(), format!("Bearer {}", self.current().await?.text))])
    }

    async fn rejected(&self) -> bool {
        self.known.lock().await.take().is_none_or(|token| token.expires.is_some())
    }
}

/// Sets the body of a request to a form with these pairs.
pub fn with_form(request: RequestBuilder, pairs: &[(&str, &str)]) -> RequestBuilder {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    request.header("content-type", "application/x-www-form-urlencoded").body(body)
}

/// Why a token service gave no answer. The messages contain no secrets.
#[derive(Debug, thiserror::Error)]
pub enum TokenProblem {
    /// The request failed.
    #[error("{}", reason(.0))]
    Request(#[source] reqwest::Error),
    /// The service refused the request.
    #[error("{}", refusal(.status, .words.as_deref(), *.skewed))]
    Refused {
        /// The status of the response.
        status: StatusCode,
        /// The message of the service.
        words: Option<String>,
        /// Whether the cause may be a wrong clock.
        skewed: bool,
    },
}

fn refusal(status: &StatusCode, words: Option<&str>, skewed: bool) -> String {
    let advice = if skewed { " (compare the clock of this machine with the real time)" } else { "" };
    match words {
        Some(words) => format!("it answered {status}: {words}{advice}"),
        None => format!("it answered {status}"),
    }
}

/// Sends a request to a token service. Returns the JSON of the response.
///
/// # Errors
/// Returns an error if the request fails or is refused.
pub async fn ask(request: RequestBuilder) -> Result<Json, TokenProblem> {
    let answer = request.timeout(TIME_LIMIT).send().await.map_err(TokenProblem::Request)?;
    let status = answer.status();
    let body = answer.bytes().await.map_err(TokenProblem::Request)?;
    let json: Json = serde_json::from_slice(&body).unwrap_or_default();
    if status.is_success() {
        return Ok(json);
    }
    let field = |name: &str| match json.get(name) {
        Some(Json::String(text)) => Some(text.clone()),
        Some(Json::Object(error)) => error.get("message").and_then(Json::as_str).map(str::to_owned),
        _ => None,
    };
    let words = field("error_description").or_else(|| field("error"));
    let skewed = words.as_ref().is_some_and(|words| SKEWED.iter().any(|part| words.contains(part)));
    Err(TokenProblem::Refused { status, words, skewed })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tokens_expire() {
        let token = |answer: Json| AccessToken::of_answer(&answer);
        assert!(!token(json!({"access_token": "a", "expires_in": 3600})).unwrap().expires_soon());
        assert!(!token(json!({"access_token": "a", "expires_in": "3600"})).unwrap().expires_soon());
        assert!(token(json!({"access_token": "a", "expires_in": 60})).unwrap().expires_soon());
        assert!(token(json!({"access_token": "a", "expires_on": "60"})).unwrap().expires_soon());
        assert!(!token(json!({"access_token": "a", "expires_on": 4_000_000_000_u64})).unwrap().expires_soon());
        assert!(!token(json!({"access_token": "a"})).unwrap().expires_soon());
        assert!(token(json!({"error": "x"})).is_none());
        assert!(!AccessToken::lasting("a").expires_soon());
    }
}
