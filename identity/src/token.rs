//! OpenID Connect tokens of pipelines: their issuer, audience and claims.
//!
//! A token is a JWT (RFC 7519) with a signature of its issuer. The keys of an issuer are at the `jwks_uri` of
//! `URL/.well-known/openid-configuration` (OpenID Connect Discovery 1.0), or in a file.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use parking_lot::Mutex;
use serde::Deserialize;
use tracing::warn;

use crate::claims::Claims;
use crate::tls::{self, TlsError};

/// The accepted signature algorithms. All are asymmetric.
const ALGORITHMS: &[Algorithm] = &[
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];
/// The maximum length of a token in bytes. A token is sent in a header.
const MAX_TOKEN: usize = 16 * 1024;
/// The maximum size of a document of an issuer in bytes.
const MAX_DOCUMENT: usize = 1 << 20;
/// The maximum accepted difference between the clock of an issuer and the clock of this machine.
const LEEWAY: Duration = Duration::from_secs(60);
/// The time after which the keys of an issuer are fetched again.
const KEYS_LAST: Duration = Duration::from_secs(3600);
/// The minimum age of an issuer's keys at which a token with an unknown key causes a new request.
const PAUSE: Duration = Duration::from_secs(10);
/// The time limit for a request to an issuer.
const ISSUER_TIMEOUT: Duration = Duration::from_secs(10);

/// An issuer whose tokens are accepted.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenIssuer {
    /// The `iss` of the issuer's tokens. The issuer's keys are found through a document below this URL.
    pub url: String,
    /// The `aud` that tokens must have.
    pub audience: String,
    /// A file with the issuer's keys (JWKS). With this file, no requests are made.
    pub keys_file: Option<PathBuf>,
}

/// Why a token is refused. Never contains the token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The token is not a JWT.
    #[error("the token is not a JSON web token")]
    Form,
    /// No policy describes the issuer of the token.
    #[error("the token's issuer {0:?} is not in the policy of the coordinator")]
    Issuer(String),
    /// The token is for another audience.
    #[error("the token is not for the audience {0:?}")]
    Audience(String),
    /// The token has expired.
    #[error("the token has expired")]
    Expired,
    /// The token is not valid yet.
    #[error("the token is not valid yet: compare the clocks of both machines")]
    NotYetValid,
    /// The signature is wrong, or its algorithm is not accepted.
    #[error("the signature of the token is not valid")]
    Signature,
    /// The keys of the issuer cannot be read.
    #[error("the keys of the issuer {issuer} cannot be read: {error}")]
    Keys {
        /// The issuer.
        issuer: String,
        /// The reason.
        error: IssuerKeysError,
    },
}

/// Why the keys of an issuer cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum IssuerKeysError {
    /// The file with the keys cannot be read.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason of the operating system.
        error: std::io::Error,
    },
    /// The keys have no valid form.
    #[error("{0}")]
    Keys(#[source] serde_json::Error),
    /// The description of the issuer has no valid form.
    #[error("{url}: {error}")]
    Description {
        /// The address of the description.
        url: String,
        /// The reason.
        error: serde_json::Error,
    },
    /// The description is that of another issuer.
    #[error("{url} describes the issuer {found:?}")]
    OtherIssuer {
        /// The address of the description.
        url: String,
        /// The issuer in the description.
        found: String,
    },
    /// An address is not a URL.
    #[error("{url}: {error}")]
    Address {
        /// The address.
        url: String,
        /// The reason.
        error: url::ParseError,
    },
    /// An address is not secure.
    #[error("{0} is not an https address")]
    NotHttps(String),
    /// A request failed.
    #[error("{url}: {error}")]
    Request {
        /// The address.
        url: String,
        /// The reason.
        error: reqwest::Error,
    },
    /// A document is too large.
    #[error("{0} is larger than {MAX_DOCUMENT} bytes")]
    TooLarge(String),
}

/// Verifies tokens, and caches the keys of issuers.
#[derive(Debug)]
pub struct Tokens {
    issuers: Vec<TokenIssuer>,
    keys: Mutex<HashMap<String, Fetched>>,
    client: reqwest::Client,
}

#[derive(Clone, Debug)]
struct Fetched {
    keys: Arc<JwkSet>,
    at: Instant,
}

#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

/// The parts of a token that are read before its signature is known to be valid.
#[derive(Deserialize)]
struct Unverified {
    iss: String,
}

impl Tokens {
    /// Creates a verifier for the tokens of these issuers.
    ///
    /// # Errors
    /// Returns an error if the certificates of this system cannot be used.
    pub fn new(issuers: Vec<TokenIssuer>) -> Result<Tokens, TlsError> {
        let client = reqwest::Client::builder().tls_backend_preconfigured(tls::public_client()?).build();
        let client = client.map_err(|error| TlsError::Client(error.to_string()))?;
        Ok(Tokens { issuers, keys: Mutex::default(), client })
    }

    /// Verifies a token. Returns its claims.
    ///
    /// # Errors
    /// Returns an error if the token is not valid, or if the keys of its issuer cannot be read.
    pub async fn verify(&self, token: &str) -> Result<Claims, TokenError> {
        if token.len() > MAX_TOKEN {
            return Err(TokenError::Form);
        }
        let header = jsonwebtoken::decode_header(token).map_err(|_| TokenError::Form)?;
        let unverified = jsonwebtoken::dangerous::insecure_decode::<Unverified>(token);
        let named = unverified.map_err(|_| TokenError::Form)?.claims.iss;
        let Some(issuer) = self.issuers.iter().find(|issuer| issuer.url == named) else {
            return Err(TokenError::Issuer(named));
        };
        if !ALGORITHMS.contains(&header.alg) {
            return Err(TokenError::Signature);
        }
        let kid = header.kid.as_deref();
        let mut keys = self.keys(issuer, KEYS_LAST).await?;
        if find(&keys, kid).is_none() {
            // The issuer may have begun to use a new key.
            keys = self.keys(issuer, PAUSE).await?;
        }
        let key = find(&keys, kid).ok_or(TokenError::Signature)?;
        verify_with(token, header.alg, key, issuer)
    }

    /// The keys of an issuer. Keys that are older than `at_most` are fetched again. If the request fails, the old keys
    /// are used.
    async fn keys(&self, issuer: &TokenIssuer, at_most: Duration) -> Result<Arc<JwkSet>, TokenError> {
        let known = self.keys.lock().get(&issuer.url).cloned();
        if let Some(known) = known.as_ref().filter(|known| known.at.elapsed() < at_most) {
            return Ok(Arc::clone(&known.keys));
        }
        match (self.read_keys(issuer).await, known) {
            (Ok(keys), _) => {
                let keys = Arc::new(keys);
                let fetched = Fetched { keys: Arc::clone(&keys), at: Instant::now() };
                self.keys.lock().insert(issuer.url.clone(), fetched);
                Ok(keys)
            }
            (Err(error), Some(known)) => {
                warn!("the keys of {} are not fetched again: {error}", issuer.url);
                Ok(known.keys)
            }
            (Err(error), None) => Err(TokenError::Keys { issuer: issuer.url.clone(), error }),
        }
    }

    async fn read_keys(&self, issuer: &TokenIssuer) -> Result<JwkSet, IssuerKeysError> {
        let document = match &issuer.keys_file {
            Some(file) => {
                let keys = tokio::fs::read(file).await;
                keys.map_err(|error| IssuerKeysError::File { path: file.clone(), error })?
            }
            None => {
                let url = format!("{}/.well-known/openid-configuration", issuer.url.trim_end_matches('/'));
                let found = self.get(&url).await?;
                let found: Discovery = match serde_json::from_slice(&found) {
                    Ok(found) => found,
                    Err(error) => return Err(IssuerKeysError::Description { url, error }),
                };
                if found.issuer != issuer.url {
                    return Err(IssuerKeysError::OtherIssuer { url, found: found.issuer });
                }
                self.get(&found.jwks_uri).await?
            }
        };
        serde_json::from_slice(&document).map_err(IssuerKeysError::Keys)
    }

    async fn get(&self, url: &str) -> Result<Vec<u8>, IssuerKeysError> {
        let failed =
            |error: reqwest::Error| IssuerKeysError::Request { url: url.to_owned(), error: error.without_url() };
        let parsed = url::Url::parse(url);
        let parsed = parsed.map_err(|error| IssuerKeysError::Address { url: url.to_owned(), error })?;
        if parsed.scheme() != "https" {
            return Err(IssuerKeysError::NotHttps(url.to_owned()));
        }
        let response = self.client.get(parsed).timeout(ISSUER_TIMEOUT).send().await.map_err(failed)?;
        let mut response = response.error_for_status().map_err(failed)?;
        let mut document = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if document.len() + chunk.len() > MAX_DOCUMENT {
                return Err(IssuerKeysError::TooLarge(url.to_owned()));
            }
            document.extend_from_slice(&chunk);
        }
        Ok(document)
    }
}

/// The key with the id `kid`. A token without the id of a key is accepted only if the issuer has exactly one key.
fn find<'k>(keys: &'k JwkSet, kid: Option<&str>) -> Option<&'k Jwk> {
    match kid {
        Some(kid) => keys.find(kid),
        None => keys.keys.first().filter(|_| keys.keys.len() == 1),
    }
}

fn verify_with(token: &str, algorithm: Algorithm, key: &Jwk, issuer: &TokenIssuer) -> Result<Claims, TokenError> {
    use jsonwebtoken::errors::ErrorKind;
    let key = DecodingKey::from_jwk(key).map_err(|_| TokenError::Signature)?;
    let mut rules = Validation::new(algorithm);
    rules.set_audience(&[&issuer.audience]);
    rules.set_issuer(&[&issuer.url]);
    rules.set_required_spec_claims(&["exp", "iss", "aud"]);
    rules.validate_nbf = true;
    rules.leeway = LEEWAY.as_secs();
    let decoded = jsonwebtoken::decode::<Claims>(token, &key, &rules);
    decoded.map(|decoded| decoded.claims).map_err(|error| match error.kind() {
        ErrorKind::ExpiredSignature => TokenError::Expired,
        ErrorKind::ImmatureSignature => TokenError::NotYetValid,
        ErrorKind::InvalidAudience => TokenError::Audience(issuer.audience.clone()),
        ErrorKind::InvalidIssuer => TokenError::Issuer(issuer.url.clone()),
        ErrorKind::MissingRequiredClaim(_) | ErrorKind::Json(_) | ErrorKind::Utf8(_) | ErrorKind::Base64(_) => {
            TokenError::Form
        }
        _ => TokenError::Signature,
    })
}
