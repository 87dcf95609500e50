//! The metadata of keys, in OpenTofu's format: JSON with binary data in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json};
use weft_sealing::{JsonProblem, ServiceError};

/// The metadata of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Metadata {
    /// The encrypted key.
    pub(crate) key: Vec<u8>,
    /// The other fields, which only some services have.
    pub(crate) more: Map<String, Json>,
    field: &'static str,
}

/// The field names that services use for the encrypted key.
const FIELDS: [&str; 2] = ["ciphertext", "ciphertext_blob"];

impl Metadata {
    /// The metadata of an encrypted key. `field` is the service's name for the key.
    pub(crate) fn new(field: &'static str, key: Vec<u8>) -> Metadata {
        Metadata { key, more: Map::new(), field }
    }

    /// Parses metadata, which may come from an untrusted file.
    ///
    /// # Errors
    /// Returns an error if the text is not metadata of a service, or has no key.
    pub(crate) fn read(text: &[u8]) -> Result<Metadata, ServiceError> {
        let parsed: Map<String, Json> =
            serde_json::from_slice(text).map_err(|error| ServiceError::Metadata(JsonProblem::from(error)))?;
        let mut more = parsed;
        let field = FIELDS.into_iter().find(|field| more.contains_key(*field)).unwrap_or(FIELDS[0]);
        let key = match more.remove(field) {
            Some(Json::String(text)) => STANDARD.decode(text).map_err(|_| ServiceError::Base64(field))?,
            Some(Json::Null) | None => Vec::new(),
            Some(_) => return Err(ServiceError::Base64(field)),
        };
        if key.is_empty() { Err(ServiceError::NoKey(field)) } else { Ok(Metadata { key, more, field }) }
    }

    /// The metadata as JSON, with the key first.
    pub(crate) fn written(&self) -> Vec<u8> {
        let mut all = Map::from_iter([(self.field.to_owned(), STANDARD.encode(&self.key).into())]);
        all.extend(self.more.clone());
        Json::Object(all).to_string().into_bytes()
    }

    /// The bytes of a field in `more`. `None` if the field is missing or has no bytes.
    pub(crate) fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        STANDARD.decode(self.more.get(name)?.as_str()?).ok().filter(|bytes| !bytes.is_empty())
    }

    /// Sets the bytes of a field in `more`. `None` sets the field to null.
    pub(crate) fn set_bytes(&mut self, name: &str, bytes: Option<&[u8]>) {
        self.more.insert(name.to_owned(), bytes.map_or(Json::Null, |bytes| STANDARD.encode(bytes).into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_written_as_read() {
        for text in [r#"{"ciphertext_blob":"AQI="}"#, r#"{"ciphertext":"AQI="}"#] {
            let read = Metadata::read(text.as_bytes()).unwrap();
            assert_eq!((read.key.as_slice(), read.written().as_slice()), (&[1, 2][..], text.as_bytes()));
        }
        let vault = Metadata::read(br#"{"algo":"RSA-OAEP-256","ciphertext":"AQI=","iv":null}"#).unwrap();
        assert_eq!((vault.more["algo"].as_str(), vault.bytes("iv")), (Some("RSA-OAEP-256"), None));
    }

    #[test]
    fn other_metadata_is_refused() {
        for (text, want) in [
            ("[]", "it is JSON of an unexpected form, at line 1, column 0"),
            ("{", "it is not valid JSON, at line 1, column 1"),
            (r#"{"ciphertext":"%"}"#, "its ciphertext is not base64"),
            (r#"{"ciphertext_blob":1}"#, "its ciphertext_blob is not base64"),
            (r#"{"ciphertext":""}"#, "it has no ciphertext"),
            ("{}", "it has no ciphertext"),
        ] {
            assert_eq!(Metadata::read(text.as_bytes()).unwrap_err().to_string(), want, "{text}");
        }
    }
}
