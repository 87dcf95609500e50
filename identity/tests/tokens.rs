//! Tokens with real signatures.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use tempfile::TempDir;
use weft_identity::token::{TokenError, TokenIssuer, Tokens};

const ISSUER: &str = "https://ci.example.org";

struct Signer {
    key: EncodingKey,
    kid: &'static str,
}

impl Signer {
    fn new(kid: &'static str) -> Signer {
        let pair = rcgen::KeyPair::generate().unwrap();
        Signer { key: EncodingKey::from_ec_der(&pair.serialize_der()), kid }
    }

    fn public(&self) -> Value {
        let mut key = Jwk::from_encoding_key(&self.key, Algorithm::ES256).unwrap();
        key.common.key_id = Some(self.kid.to_owned());
        serde_json::to_value(key).unwrap()
    }

    fn sign(&self, claims: &Value) -> String {
        let header = Header { kid: Some(self.kid.to_owned()), ..Header::new(Algorithm::ES256) };
        jsonwebtoken::encode(&header, claims, &self.key).unwrap()
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn claims() -> Value {
    json!({"iss": ISSUER, "sub": "repo:acme/infra", "aud": "weft", "exp": now() + 600, "repository": "acme/infra"})
}

fn with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[name] = value;
    claims
}

fn tokens(directory: &Path, keys: &[Value]) -> Tokens {
    let file = directory.join("keys.json");
    std::fs::write(&file, json!({"keys": keys}).to_string()).unwrap();
    let issuer = TokenIssuer { url: ISSUER.to_owned(), audience: "weft".to_owned(), keys_file: Some(file) };
    Tokens::new(vec![issuer]).unwrap()
}

#[tokio::test]
async fn a_token_of_a_known_issuer_is_accepted() {
    let (directory, signer) = (TempDir::new().unwrap(), Signer::new("a"));
    let tokens = tokens(directory.path(), &[signer.public(), Signer::new("b").public()]);
    let found = tokens.verify(&signer.sign(&claims())).await.unwrap();
    assert_eq!((found.issuer.as_str(), found.subject.as_str()), (ISSUER, "repo:acme/infra"));
    assert_eq!(found.texts("repository"), ["acme/infra"]);
    let listed = signer.sign(&with("aud", json!(["other", "weft"])));
    assert!(tokens.verify(&listed).await.is_ok());
}

#[tokio::test]
async fn every_other_token_is_refused_with_the_reason() {
    let (directory, signer) = (TempDir::new().unwrap(), Signer::new("a"));
    let tokens = tokens(directory.path(), &[signer.public()]);
    let signed = |claims: Value| signer.sign(&claims);
    let foreign = Signer::new("a");
    let unknown = Signer::new("z");
    let secret = EncodingKey::from_secret(signer.public().to_string().as_bytes());
    let header = Header { kid: Some("a".to_owned()), ..Header::new(Algorithm::HS256) };
    let shared = jsonwebtoken::encode(&header, &claims(), &secret).unwrap();
    let good = signed(claims());
    let (head, rest) = good.split_once('.').unwrap();
    let unsigned = format!("eyJhbGciOiJub25lIn0.{}.", rest.split('.').next().unwrap());
    let changed = format!("{head}.{}.{}", signed(with("sub", json!("x"))).split('.').nth(1).unwrap(), {
        rest.split('.').nth(1).unwrap()
    });
    let mut without = claims();
    without.as_object_mut().unwrap().remove("exp");
    for (token, error) in [
        (signed(with("iss", json!("https://other"))), TokenError::Issuer("https://other".to_owned())),
        (signed(with("aud", json!("other"))), TokenError::Audience("weft".to_owned())),
        (signed(with("exp", json!(now() - 120))), TokenError::Expired),
        (signed(with("nbf", json!(now() + 120))), TokenError::NotYetValid),
        (signed(without), TokenError::Form),
        (foreign.sign(&claims()), TokenError::Signature),
        (unknown.sign(&claims()), TokenError::Signature),
        (shared, TokenError::Signature),
        (changed, TokenError::Signature),
        ("x".to_owned(), TokenError::Form),
        (String::new(), TokenError::Form),
        ("a.".repeat(20_000), TokenError::Form),
    ] {
        let found = tokens.verify(&token).await.unwrap_err();
        assert_eq!(found.to_string(), error.to_string(), "{}", &token[..token.len().min(40)]);
    }
    assert!(matches!(tokens.verify(&unsigned).await, Err(TokenError::Form)), "no method is not a method");
}

#[tokio::test]
async fn missing_keys_are_reported() {
    let signer = Signer::new("a");
    let issuer =
        TokenIssuer { url: ISSUER.to_owned(), audience: "weft".to_owned(), keys_file: Some("/no/such/keys".into()) };
    let tokens = Tokens::new(vec![issuer]).unwrap();
    let error = tokens.verify(&signer.sign(&claims())).await.unwrap_err();
    assert!(error.to_string().contains("/no/such/keys"), "{error}");
}
