//! The errors of the functions that encode and decode.

use std::fmt::Display;

use crate::functions::FunctionError;

/// A character set is not supported.
pub(in crate::functions) fn unknown_charset(argument: usize, name: &str) -> FunctionError {
    FunctionError::argument(argument, format!("{name:?} is not a supported IANA encoding name or alias"))
}

/// A character set lacks a character of the text.
pub(in crate::functions) fn cannot_represent(charset: &str) -> FunctionError {
    FunctionError::argument(0, format!("the given string contains characters that cannot be represented in {charset}"))
}

/// The argument that should be decoded is not base64.
pub(in crate::functions) fn not_base64(why: impl Display) -> FunctionError {
    FunctionError::argument(0, format!("the given value is not valid base64: {why}"))
}

/// Bytes contain a code that the character set does not have.
pub(in crate::functions) fn cannot_decode(charset: &str) -> FunctionError {
    FunctionError::argument(0, format!("the given string contains symbols that are not defined for {charset}"))
}

/// The text is not base64. The error concerns the whole call.
pub(in crate::functions) fn invalid_base64() -> FunctionError {
    FunctionError::new("failed to decode base64 data")
}

/// The decoded bytes are not text.
pub(in crate::functions) fn decoded_not_utf8() -> FunctionError {
    FunctionError::new("the result of decoding the provided string is not valid UTF-8")
}

/// The compression fails.
pub(in crate::functions) fn cannot_compress(why: impl Display) -> FunctionError {
    FunctionError::new(format!("failed to write gzip data: {why}"))
}

/// The bytes are not gzip data.
pub(in crate::functions) fn cannot_uncompress(why: impl Display) -> FunctionError {
    FunctionError::new(format!("failed to read gzip data: {why}"))
}

/// The uncompressed data exceeds the limit.
pub(in crate::functions) fn uncompressed_too_long() -> FunctionError {
    FunctionError::new("the uncompressed data would be too long")
}

/// A percent sign is not followed by two hexadecimal digits.
pub(in crate::functions) fn invalid_url_escape(escape: &str) -> FunctionError {
    FunctionError::new(format!("failed to decode URL: invalid URL escape {escape:?}"))
}

/// The argument that should be encoded as `format` contains a provider configuration.
pub(in crate::functions) fn cannot_encode_provider(format: &str) -> FunctionError {
    FunctionError::argument(0, format!("a provider configuration cannot be encoded as {format}"))
}

/// No JSON document begins with the known prefix of an unknown text.
pub(in crate::functions) fn invalid_json_start(first: char) -> FunctionError {
    FunctionError::argument(0, format!("a JSON document cannot begin with the character {first:?}"))
}

/// A CSV text is empty.
pub(in crate::functions) fn no_csv_header() -> FunctionError {
    FunctionError::new("missing header line")
}

/// Two columns of a CSV text have the same name.
pub(in crate::functions) fn duplicate_csv_column(name: &str) -> FunctionError {
    FunctionError::new(format!("duplicate column name {name:?}"))
}

/// A record of a CSV text has a different number of fields than the header.
pub(in crate::functions) fn wrong_csv_fields(line: usize) -> FunctionError {
    invalid_csv(line, "wrong number of fields")
}

/// A quoted field of a CSV text has an unexpected or missing quote.
pub(in crate::functions) fn csv_quote_in_quoted_field(line: usize) -> FunctionError {
    invalid_csv(line, "extraneous or missing \" in quoted-field")
}

/// A field of a CSV text without quotes contains a quote.
pub(in crate::functions) fn csv_quote_in_plain_field(line: usize) -> FunctionError {
    invalid_csv(line, "bare \" in non-quoted-field")
}

fn invalid_csv(line: usize, why: &str) -> FunctionError {
    FunctionError::new(format!("CSV parse error on line {line}: {why}"))
}
