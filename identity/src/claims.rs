//! The claims of a token.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The claims of a verified token.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Claims {
    /// The issuer of the token.
    #[serde(rename = "iss")]
    pub issuer: String,
    /// The subject: the identity that the token describes.
    #[serde(rename = "sub", default)]
    pub subject: String,
    /// All other claims.
    #[serde(flatten)]
    pub other: BTreeMap<String, serde_json::Value>,
}

impl Claims {
    /// The values of the claim `name`: its only value, or the elements of its list. Empty if the token does not have
    /// the claim.
    pub fn texts(&self, name: &str) -> Vec<String> {
        let text = |value: &serde_json::Value| match value {
            serde_json::Value::String(text) => Some(text.clone()),
            serde_json::Value::Bool(value) => Some(value.to_string()),
            serde_json::Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        match (name, self.other.get(name)) {
            ("sub", _) => vec![self.subject.clone()],
            (_, Some(serde_json::Value::Array(elements))) => elements.iter().filter_map(text).collect(),
            (_, Some(value)) => text(value).into_iter().collect(),
            (_, None) => Vec::new(),
        }
    }
}
