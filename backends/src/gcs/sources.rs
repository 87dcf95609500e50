//! Gets tokens from Google.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value as Json, json};
use weft_state::remote::BackendError;

use super::credentials::{AccountKey, ExternalIdentity, Impersonation, Source, SubjectPlace};
use super::problems::GoogleTokenProblem;
use crate::jwt::{self, Algorithm};
use crate::tokens::{AccessToken, TokenSource, ask, with_form};

/// The scope for reading and writing objects.
pub(super) const OBJECTS: &str = "https://www.googleapis.com/auth/devstorage.read_write";
/// The scope for all permissions of an account. It is needed to impersonate another account.
pub(super) const EVERYTHING: &str = "https://www.googleapis.com/auth/cloud-platform";
/// The requested lifetime of a token.
const LIFETIME: Duration = Duration::from_secs(3600);
/// The grant type for a service account.
const ASSERTION: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/// The grant type for the token of another provider.
const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
/// The type of Google's tokens.
const ACCESS: &str = "urn:ietf:params:oauth:token-type:access_token";

/// A source with the connections that it uses.
pub(super) struct GoogleTokens {
    pub(super) source: Source,
    pub(super) http: reqwest::Client,
    /// The scope of the tokens.
    pub(super) scope: &'static str,
    /// The location of the state, for messages.
    pub(super) place: String,
}

#[async_trait]
impl TokenSource for GoogleTokens {
    async fn token(&self) -> Result<AccessToken, BackendError> {
        let found = get(&self.http, &self.source, self.scope).await;
        found.map_err(|error| BackendError::Credentials { place: self.place.clone(), error: error.to_string() })
    }
}

/// Requests a token with this scope.
async fn get(http: &reqwest::Client, source: &Source, scope: &str) -> Result<AccessToken, GoogleTokenProblem> {
    let answer = match source {
        Source::None => return Ok(AccessToken::lasting("")),
        Source::Token(token) => return Ok(AccessToken::lasting(token)),
        Source::Account(account) => {
            let assertion = assertion(account, scope)?;
            let form = [("grant_type", ASSERTION), ("assertion", &assertion)];
            ask(with_form(http.post(&account.tokens), &form)).await?
        }
        Source::User(user) => {
            let form = [
                ("grant_type", "refresh_token"),
                ("client_id", &user.client),
                ("client_secret", &user.secret),
                ("refresh_token", &user.refresh),
            ];
            ask(with_form(http.post(&user.tokens), &form)).await?
        }
        Source::External(identity) => exchange(http, identity, scope).await?,
        Source::Machine(host) => {
            let url =
                format!("http://{host}/computeMetadata/v1/instance/service-accounts/default/token?scopes={scope}");
            let answer = ask(http.get(url).header("Metadata-Flavor", "Google")).await;
            answer.map_err(GoogleTokenProblem::Machine)?
        }
        Source::Impersonated(acting) => return impersonate(http, acting, scope).await,
    };
    AccessToken::of_answer(&answer).ok_or(GoogleTokenProblem::NoToken)
}

/// Requests a token of the account that a source impersonates.
async fn impersonate(
    http: &reqwest::Client,
    acting: &Impersonation,
    scope: &str,
) -> Result<AccessToken, GoogleTokenProblem> {
    // The recursion ends, because the number of nested impersonations is limited.
    let token = Box::pin(get(http, &acting.source, EVERYTHING)).await?;
    let full = |name: &String| match name.starts_with("projects/") {
        true => name.clone(),
        false => format!("projects/-/serviceAccounts/{name}"),
    };
    let delegates: Vec<String> = acting.delegates.iter().map(full).collect();
    let wanted = json!({ "scope": [scope], "lifetime": format!("{}s", LIFETIME.as_secs()), "delegates": delegates });
    let request = http.post(&acting.url).bearer_auth(&token.text).header("content-type", "application/json");
    let answer = ask(request.body(wanted.to_string())).await;
    let answer = answer.map_err(GoogleTokenProblem::Impersonation)?;
    let text = answer.get("accessToken").and_then(Json::as_str).ok_or(GoogleTokenProblem::NoToken)?;
    let expires = answer.get("expireTime").and_then(|time| time.as_str()?.parse::<jiff::Timestamp>().ok());
    Ok(AccessToken::until(text, expires.map_or_else(|| SystemTime::now() + LIFETIME, SystemTime::from)))
}

/// Exchanges the token of another provider for a token of Google.
async fn exchange(
    http: &reqwest::Client,
    identity: &ExternalIdentity,
    scope: &str,
) -> Result<Json, GoogleTokenProblem> {
    let text = match &identity.subject.place {
        SubjectPlace::File(path) => {
            let text = std::fs::read_to_string(path);
            text.map_err(|error| GoogleTokenProblem::SubjectFile { path: path.clone(), error })?
        }
        SubjectPlace::Address(url, headers) => {
            let mut request = http.get(url);
            for (name, value) in headers {
                request = request.header(name, value);
            }
            let answer = request.send().await.map_err(GoogleTokenProblem::SubjectRequest)?;
            if !answer.status().is_success() {
                return Err(GoogleTokenProblem::SubjectStatus(answer.status()));
            }
            answer.text().await.map_err(GoogleTokenProblem::SubjectRequest)?
        }
    };
    let subject = match &identity.subject.field {
        None => text.trim().to_owned(),
        Some(field) => {
            let document: Json = serde_json::from_str(&text).unwrap_or_default();
            let found = document.get(field).and_then(Json::as_str).map(str::to_owned);
            found.ok_or_else(|| GoogleTokenProblem::SubjectField(field.clone()))?
        }
    };
    let form = [
        ("grant_type", EXCHANGE),
        ("audience", &identity.audience),
        ("scope", scope),
        ("requested_token_type", ACCESS),
        ("subject_token_type", &identity.token_type),
        ("subject_token", &subject),
    ];
    Ok(ask(with_form(http.post(&identity.tokens), &form)).await?)
}

/// The signed assertion with which a service account requests a token (RFC 7523).
fn assertion(account: &AccountKey, scope: &str) -> Result<String, GoogleTokenProblem> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let header = json!({ "alg": "RS256", "typ": "JWT", "kid": account.key_id });
    let claims = json!({
        "iss": account.email,
        "scope": scope,
        "aud": account.tokens,
        "iat": now,
        "exp": now + LIFETIME.as_secs(),
    });
    let key = PrivateKeyDer::from_pem_slice(account.key.as_bytes()).map_err(|_| GoogleTokenProblem::NotPem)?;
    Ok(jwt::signed(&header, &claims, &key, Algorithm::Rs256)?)
}
