//! The format digit: one byte of the state file. A run overwrites it so that OpenTofu refuses the file.

use super::StateFileError;
use super::problems::{self, Malformation};
use crate::json::{JsonToken, Tokens, decode};

/// The format version of a state file that any tool may use.
pub const FORMAT: u8 = b'4';

/// The format version while a run is open. As tests have shown, OpenTofu 1.12.6 and Terraform 1.11.4 refuse a file with
/// this version, even with `-lock=false`, and leave the file unchanged.
pub const GUARDED_FORMAT: u8 = b'9';

/// The format version of an encrypted state file that any tool may use: "v0" of OpenTofu's envelope.
const SEALED_FORMAT: u8 = b'0';

/// The position of the digit and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatDigit {
    /// Offset in bytes.
    pub offset: usize,
    /// The current digit.
    pub digit: u8,
    /// Whether the file is encrypted. If so, the digit is part of the envelope.
    pub sealed: bool,
}

impl FormatDigit {
    /// Whether the digit says that a run guards the file.
    pub fn is_guarded(self) -> bool {
        self.digit == GUARDED_FORMAT
    }

    /// The digit with which every tool accepts the file.
    pub fn unguarded(self) -> u8 {
        if self.sealed { SEALED_FORMAT } else { FORMAT }
    }
}

/// Finds the value of the top-level `version` key, or the digit in the `encryption_version` of an encrypted state.
///
/// # Errors
/// Returns an error if the text is not a JSON object, has no `version` or several of them, or has a version other than
/// the usual one and [`GUARDED_FORMAT`]. Several keys are an error because readers would disagree on which key counts.
pub fn find_format_digit(text: &[u8], place: &str) -> Result<FormatDigit, StateFileError> {
    let malformed = problems::malformed::<Malformation>(place);
    let text = std::str::from_utf8(text).map_err(|error| malformed(Malformation::NotUtf8(error)))?;
    let mut tokens = Tokens::of(text);
    let mut depth = 0usize;
    let mut key_next = false;
    let mut version_next = false;
    let mut found: Option<FormatDigit> = None;
    let mut encrypted = false;
    let mut envelope_next = false;
    let mut envelope: Option<FormatDigit> = None;
    while let Some((offset, token)) = tokens.next().map_err(|error| malformed(error.into()))? {
        match token {
            JsonToken::ObjectStart | JsonToken::ListStart => {
                depth += 1;
                key_next = depth == 1;
                if depth == 1 && token == JsonToken::ListStart {
                    return Err(malformed(Malformation::NotAnObject));
                }
            }
            JsonToken::ObjectEnd | JsonToken::ListEnd => depth = depth.saturating_sub(1),
            JsonToken::Comma => key_next = depth == 1,
            JsonToken::Colon => {}
            JsonToken::String(name) if depth == 1 && key_next => {
                key_next = false;
                // Go's decoder ignores case in names, so every spelling counts.
                let name = decode(name).unwrap_or_default();
                version_next = name.eq_ignore_ascii_case("version");
                envelope_next = name == "encryption_version";
                encrypted |= name == "encrypted_data";
                continue;
            }
            JsonToken::Word(word) if version_next && depth == 1 => {
                if found.is_some() {
                    return Err(malformed(Malformation::TwoVersions));
                }
                let [digit] = word.as_bytes() else {
                    let not_a_number = |_| malformed(Malformation::VersionNotANumber(word.to_owned()));
                    let version = word.parse().map_err(not_a_number)?;
                    return Err(StateFileError::Version { place: place.to_owned(), version });
                };
                found = Some(FormatDigit { offset, digit: *digit, sealed: false });
            }
            JsonToken::String(text) if envelope_next && depth == 1 => {
                // The position after the quote and the letter.
                if let [b'"', b'v', digit @ (SEALED_FORMAT | GUARDED_FORMAT), b'"'] = text.as_bytes() {
                    envelope = Some(FormatDigit { offset: offset + 2, digit: *digit, sealed: true });
                }
            }
            JsonToken::String(_) | JsonToken::Word(_) => {}
        }
        if token != JsonToken::Colon {
            (version_next, envelope_next) = (false, false);
        }
    }
    if let (None, Some(envelope), true) = (found, envelope, encrypted) {
        return Ok(envelope);
    }
    match found {
        Some(found) if matches!(found.digit, FORMAT | GUARDED_FORMAT) => Ok(found),
        Some(found) if found.digit.is_ascii_digit() => {
            Err(StateFileError::Version { place: place.to_owned(), version: u64::from(found.digit - b'0') })
        }
        _ if encrypted => Err(StateFileError::Encrypted { place: place.to_owned() }),
        _ => Err(malformed(Malformation::NoVersion)),
    }
}
