//! Base64, gzip and the escapes of URLs.

use std::fmt::Write as _;
use std::io::{Read, Write as _};

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use flate2::read::MultiGzDecoder;
use flate2::{Compression, GzBuilder};
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::arguments::text;
use super::string::LONGEST_TEXT_BYTES;
use super::{CallContext, Function, FunctionError, problems, text_function};

/// Standard base64 with padding. Trailing bits are ignored, as in Go.
pub(super) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical)
        .with_decode_allow_trailing_bits(true),
);

pub(super) fn functions() -> Vec<Function> {
    vec![
        text_function("base64encode", "The text in base64.", |_, a, _| Ok(Value::string(BASE64.encode(text(a, 0)?)))),
        text_function("base64decode", "Decodes base64 text.", base64decode),
        text_function("base64gzip", "The text compressed with gzip, in base64.", base64gzip),
        text_function("base64gunzip", "The text decoded from base64 and decompressed with gzip.", base64gunzip),
        text_function("urlencode", "The text with the reserved characters of URLs escaped.", urlencode),
        text_function("urldecode", "The text with the escape sequences of a URL decoded.", urldecode),
    ]
}

/// Decodes base64. Line ends are ignored.
pub(super) fn base64_bytes(text: &str) -> Result<Vec<u8>, base64::DecodeError> {
    if text.contains(['\r', '\n']) {
        return BASE64.decode(text.replace(['\r', '\n'], ""));
    }
    BASE64.decode(text)
}

/// The bytes as text. Invalid UTF-8 is replaced by U+FFFD.
pub(super) fn lossy(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    out
}

fn decoded(arguments: &[Value]) -> Result<Vec<u8>, FunctionError> {
    let text = text(arguments, 0)?;
    base64_bytes(text).map_err(|_| problems::encoding::invalid_base64())
}

fn base64decode(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    match String::from_utf8(decoded(arguments)?) {
        Ok(text) => Ok(Value::string(text)),
        Err(_) => Err(problems::encoding::decoded_not_utf8()),
    }
}

/// The value for an unknown operating system in a gzip header. It is the same on every machine.
const UNKNOWN_SYSTEM: u8 = 255;

fn base64gzip(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let mut writer =
        GzBuilder::new().mtime(0).operating_system(UNKNOWN_SYSTEM).write(Vec::new(), Compression::default());
    writer.write_all(text(arguments, 0)?.as_bytes()).map_err(problems::encoding::cannot_compress)?;
    Ok(Value::string(BASE64.encode(writer.finish().map_err(problems::encoding::cannot_compress)?)))
}

fn base64gunzip(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let bytes = decoded(arguments)?;
    let mut plain = Vec::new();
    MultiGzDecoder::new(bytes.as_slice())
        .take(LONGEST_TEXT_BYTES as u64 + 1)
        .read_to_end(&mut plain)
        .map_err(problems::encoding::cannot_uncompress)?;
    if plain.len() > LONGEST_TEXT_BYTES {
        return Err(problems::encoding::uncompressed_too_long());
    }
    Ok(Value::string(lossy(&plain)))
}

fn urlencode(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let mut out = String::new();
    for byte in text(arguments, 0)?.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            b' ' => out.push('+'),
            other => {
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    Ok(Value::string(out))
}

fn urldecode(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let mut rest = text(arguments, 0)?.as_bytes();
    let mut out = Vec::with_capacity(rest.len());
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|d| u8::try_from(d).ok());
    loop {
        rest = match rest {
            [] => return Ok(Value::string(lossy(&out))),
            [b'+', rest @ ..] => {
                out.push(b' ');
                rest
            }
            [b'%', tail @ ..] => {
                let (Some(high), Some(low)) =
                    (tail.first().and_then(|b| digit(*b)), tail.get(1).and_then(|b| digit(*b)))
                else {
                    let shown = lossy(rest.get(..3).unwrap_or(rest));
                    return Err(problems::encoding::invalid_url_escape(&shown));
                };
                out.push(high * 16 + low);
                &tail[2..]
            }
            [byte, rest @ ..] => {
                out.push(*byte);
                rest
            }
        };
    }
}
