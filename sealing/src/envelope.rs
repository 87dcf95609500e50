//! The JSON form of OpenTofu's encrypted states and plans: metadata of key providers, the payload and, for a state, its
//! serial and lineage.
//!
//! Only the payload is authenticated. The envelope also has the serial and lineage in plain text, for backends. When a
//! state is opened, they are compared with the values in the payload. The metadata only determines the key. With
//! tampered metadata, the key is wrong, and opening fails.
//!
//! Source: a recorded state (`conformance/cases/workflow/encryption-recorded-state`), including its indentation.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use zeroize::Zeroizing;

use crate::json::JsonProblem;
use crate::keyring::Metadata;
use crate::limits::{LARGEST_ENVELOPE, LONGEST_METADATA, LONGEST_METADATA_KEY};

/// The maximum size of a state, plan or record, in bytes. It equals the maximum size of a plan file.
pub const LARGEST_PLAIN: u64 = 4 << 30;

/// The maximum number of metadata entries in an envelope. There is one entry for each key provider of a chain, and
/// OpenTofu adds entries for fallbacks.
pub const MOST_METADATA: usize = 256;

const _: () = assert!(LARGEST_PLAIN / 3 * 4 + 2 * (MOST_METADATA * LONGEST_METADATA) as u64 <= LARGEST_ENVELOPE);
// Records store these lengths in two bytes.
const _: () = assert!(LONGEST_METADATA <= u16::MAX as usize);
const _: () = assert!(LONGEST_METADATA_KEY <= u16::MAX as usize);

/// The only supported version of envelopes.
const VERSION: &str = "v0";

/// The envelope version of a state while a run of Weft is open. This version prevents OpenTofu from changing the state,
/// because OpenTofu accepts only the version `v0`. The rest of the envelope has the usual format.
const GUARDED: &str = "v9";

/// Why an envelope cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// The file is larger than the maximum size of an envelope.
    #[error("it has {size} bytes, but at most {LARGEST_ENVELOPE} are accepted")]
    TooLarge {
        /// The size of the file.
        size: u64,
    },
    /// The file is not the JSON of an envelope.
    #[error("it is {0}")]
    Json(#[from] JsonProblem),
    /// The envelope has a later version.
    #[error("its encryption_version is {version:?}, but only \"v0\" is supported: it was written by a newer tool")]
    Version {
        /// The version, truncated.
        version: String,
    },
    /// The envelope has too many metadata entries.
    #[error("it has metadata of {count} key providers, but at most {MOST_METADATA} are accepted")]
    ManyMetadata {
        /// The number of entries.
        count: usize,
    },
    /// Metadata, or its key, is too long.
    #[error("the metadata under {key:?} is too long")]
    LongMetadata {
        /// The key, truncated.
        key: String,
    },
    /// A part is not base64.
    #[error("its {place} is not base64")]
    Base64 {
        /// The name of the part.
        place: String,
    },
}

/// The identity of a state.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Identity {
    /// Increases with each change.
    pub(crate) serial: Option<u64>,
    /// Created with the state.
    pub(crate) lineage: Option<String>,
}

/// The contents of an envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Envelope {
    /// The serial and lineage of the state. Empty for plans, and for states from the first versions of OpenTofu with
    /// encryption.
    pub(crate) identity: Identity,
    pub(crate) metadata: Metadata,
    pub(crate) payload: Vec<u8>,
}

/// The JSON of an envelope, with the fields in OpenTofu's order.
#[derive(Serialize)]
struct WrittenEnvelope<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    serial: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lineage: Option<&'a str>,
    meta: BTreeMap<&'a str, String>,
    encrypted_data: String,
    encryption_version: &'a str,
}

#[derive(Deserialize)]
struct Read<'a> {
    serial: Option<u64>,
    lineage: Option<String>,
    #[serde(borrow, default)]
    meta: Meta<'a>,
    #[serde(borrow)]
    encrypted_data: Cow<'a, str>,
    #[serde(borrow)]
    encryption_version: Cow<'a, str>,
}

impl Envelope {
    /// The bytes of the file.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let written = WrittenEnvelope {
            serial: self.identity.serial,
            lineage: self.identity.lineage.as_deref(),
            meta: self.metadata.iter().map(|(key, own)| (key.as_str(), BASE64_STANDARD.encode(own))).collect(),
            encrypted_data: BASE64_STANDARD.encode(&self.payload),
            encryption_version: VERSION,
        };
        // Text and numbers can always be encoded as JSON.
        let mut bytes = serde_json::to_vec_pretty(&written).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// Parses a file. [`is_sealed`] must be true for it.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Envelope, EnvelopeError> {
        let size = bytes.len() as u64;
        if size > LARGEST_ENVELOPE {
            return Err(EnvelopeError::TooLarge { size });
        }
        let read: Read<'_> = serde_json::from_slice(bytes).map_err(JsonProblem::from)?;
        if read.encryption_version != VERSION && read.encryption_version != GUARDED {
            return Err(EnvelopeError::Version { version: shortened(&read.encryption_version) });
        }
        if read.meta.count > MOST_METADATA {
            return Err(EnvelopeError::ManyMetadata { count: read.meta.count });
        }
        let mut metadata = Metadata::new();
        for (key, own) in read.meta.entries {
            if key.len() > LONGEST_METADATA_KEY || own.len() > LONGEST_METADATA.div_ceil(3) * 4 {
                return Err(EnvelopeError::LongMetadata { key: shortened(&key) });
            }
            let decoded = BASE64_STANDARD.decode(own.as_bytes());
            let own = decoded
                .map_err(|_| EnvelopeError::Base64 { place: format!("metadata under {:?}", shortened(&key)) })?;
            if own.len() > LONGEST_METADATA {
                return Err(EnvelopeError::LongMetadata { key: shortened(&key) });
            }
            metadata.insert(key.into_owned(), own);
        }
        let payload = BASE64_STANDARD
            .decode(read.encrypted_data.as_bytes())
            .map_err(|_| EnvelopeError::Base64 { place: "encrypted_data".to_owned() })?;
        Ok(Envelope { identity: Identity { serial: read.serial, lineage: read.lineage }, metadata, payload })
    }
}

/// The beginning of an untrusted text, for an error message.
fn shortened(text: &str) -> String {
    const MOST: usize = 80;
    text.chars().take(MOST).collect()
}

/// Metadata whose values are not decoded yet. Entries beyond the limit are only counted.
#[derive(Default)]
struct Meta<'a> {
    entries: BTreeMap<Cow<'a, str>, Cow<'a, str>>,
    count: usize,
}

/// A string that is borrowed from the input if it has no escapes. Serde always copies a plain `Cow` that is a key or
/// value of a map, but it borrows this type there, too.
#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Meta<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Meta<'a>, D::Error> {
        struct Entries<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Entries<'a> {
            type Value = Meta<'a>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("metadata")
            }

            /// Go writes an empty map as `null`.
            fn visit_unit<E>(self) -> Result<Meta<'a>, E> {
                Ok(Meta::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Meta<'a>, A::Error> {
                let mut meta = Meta::default();
                while let Some(Text(key)) = map.next_key()? {
                    meta.count += 1;
                    if meta.count > MOST_METADATA {
                        map.next_value::<IgnoredAny>()?;
                    } else {
                        let Text(own) = map.next_value()?;
                        meta.entries.insert(key, own);
                    }
                }
                Ok(meta)
            }
        }
        deserializer.deserialize_any(Entries(std::marker::PhantomData))
    }
}

/// Whether a file is an envelope, of any version. An envelope is one JSON object with the strings `encryption_version`
/// and `encrypted_data`, and without the keys of an ordinary state (`version`, `terraform_version`, `resources`). The
/// parser stops at such a key, usually at `version`, which is the first key of an ordinary state. A plan file does not
/// begin as JSON, so it is not parsed.
pub fn is_sealed(bytes: &[u8]) -> bool {
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return false;
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let marks = json.deserialize_map(Marks::default());
    marks.is_ok_and(|marks| marks.version && marks.data) && json.end().is_ok()
}

/// Whether these bytes are an envelope with the serial or lineage of its state in plain text. Envelopes of plans have
/// neither.
pub fn is_sealed_state(bytes: &[u8]) -> bool {
    is_sealed(bytes) && Envelope::parse(bytes).is_ok_and(|envelope| envelope.identity != Identity::default())
}

#[derive(Default)]
struct Marks {
    version: bool,
    data: bool,
}

impl<'de> Visitor<'de> for Marks {
    type Value = Marks;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an envelope")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Marks, A::Error> {
        while let Some(Text(key)) = map.next_key()? {
            match &*key {
                "version" | "terraform_version" | "resources" => return Err(A::Error::custom("an ordinary state")),
                "encryption_version" => {
                    map.next_value::<Text<'_>>()?;
                    self.version = true;
                }
                "encrypted_data" => {
                    map.next_value::<Text<'_>>()?;
                    self.data = true;
                }
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(self)
    }
}

/// The serial and lineage of a plain state.
pub(crate) fn identity_of(state: &[u8]) -> Result<Identity, JsonProblem> {
    #[derive(Deserialize)]
    struct State {
        serial: u64,
        lineage: String,
    }
    let State { serial, lineage } = serde_json::from_slice(state)?;
    Ok(Identity { serial: Some(serial), lineage: Some(lineage) })
}

/// A copy of bytes that is wiped when dropped.
pub(crate) fn copied(bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_envelopes_are_recognized() {
        for (text, sealed) in [
            (r#"{"meta":{},"encrypted_data":"","encryption_version":"v0"}"#, true),
            (" \n{\"encryption_version\":\"v7\",\"encrypted_data\":\"\",\"more\":[[{}]]}\n", true),
            (r#"{"encrypted_data":"","encryption_version":"v0"} x"#, false),
            (r#"{"encrypted_data":"","encryption_version":"v0""#, false),
            (r#"{"encrypted_data":"","encryption_version":0}"#, false),
            (r#"{"encrypted_data":{},"encryption_version":"v0"}"#, false),
            (r#"{"encrypted_data":"","encryption_version":"v0","version":4}"#, false),
            (r#"{"version":4,"encrypted_data":"","encryption_version":"v0"}"#, false),
            (r#"{"outputs":{"x":{"encrypted_data":"","encryption_version":"v0"}}}"#, false),
            (r#"["encrypted_data","encryption_version"]"#, false),
            ("{}", false),
            ("", false),
            ("PK\u{3}\u{4}", false),
        ] {
            assert_eq!(is_sealed(text.as_bytes()), sealed, "{text}");
        }
        assert!(!is_sealed(b"{\"\xff\":1,\"encrypted_data\":\"\",\"encryption_version\":\"v0\"}"));
    }

    #[test]
    fn an_ordinary_state_is_read_up_to_its_version() {
        let mut state = br#"{"version": 4, "#.to_vec();
        state.resize(1 << 20, b'x');
        assert!(!is_sealed(&state));
    }

    #[test]
    fn metadata_has_limits() {
        let with = |meta: &str| {
            let text = format!("{{\"meta\":{meta},\"encrypted_data\":\"\",\"encryption_version\":\"v0\"}}");
            Envelope::parse(text.as_bytes())
        };
        assert_eq!(with("null").unwrap().metadata, Metadata::new());
        let many: Vec<String> = (0..=MOST_METADATA).map(|index| format!("\"{index}\":\"\"")).collect();
        let error = with(&format!("{{{}}}", many.join(","))).unwrap_err();
        assert_eq!(error, EnvelopeError::ManyMetadata { count: MOST_METADATA + 1 });
        let longest = BASE64_STANDARD.encode(vec![0; LONGEST_METADATA]);
        assert!(with(&format!("{{\"a\":\"{longest}\"}}")).is_ok());
        let longer = BASE64_STANDARD.encode(vec![0; LONGEST_METADATA + 1]);
        let error = with(&format!("{{\"a\":\"{longer}\"}}")).unwrap_err();
        assert!(matches!(error, EnvelopeError::LongMetadata { .. }));
        let error = with(&format!("{{\"{}\":\"\"}}", "k".repeat(LONGEST_METADATA_KEY + 1))).unwrap_err();
        assert!(matches!(error, EnvelopeError::LongMetadata { key } if key.len() == 80));
        assert!(matches!(with("{\"a\":\"?\"}").unwrap_err(), EnvelopeError::Base64 { .. }));
        assert!(matches!(with("[]").unwrap_err(), EnvelopeError::Json(JsonProblem { shape: true, .. })));
    }
}
