//! Converts text to and from other character encodings, by IANA name.

use base64::Engine;
use encoding_rs::{EncoderResult, Encoding};
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::arguments::text;
use super::encoding::{BASE64, base64_bytes};
use super::{CallContext, Function, FunctionError, Parameter, Symbolic, problems};

pub(super) fn functions() -> Vec<Function> {
    let encoding = || Parameter::new("encoding", Type::String, "An IANA name of a character encoding.");
    vec![
        Function::new("textencodebase64", "The text in another character encoding, in base64.", Symbolic::Opaque)
            .parameter(Parameter::new("string", Type::String, "The text."))
            .parameter(encoding())
            .returns(Type::String)
            .not_null()
            .calls(textencodebase64),
        Function::new(
            "textdecodebase64",
            "The text decoded from base64 and from another character encoding.",
            Symbolic::Opaque,
        )
        .parameter(Parameter::new("source", Type::String, "The encoded text in base64."))
        .parameter(encoding())
        .returns(Type::String)
        .not_null()
        .calls(textdecodebase64),
    ]
}

/// How bytes map to characters.
#[derive(Clone, Copy)]
enum Charset {
    Utf8,
    /// UTF-16, in the byte order of the byte order mark. Without such a mark, it is big-endian.
    Utf16,
    Utf16Le,
    Utf16Be,
    Ascii,
    Latin1,
    /// Latin 1, except that these bytes are other characters.
    Latin1But(&'static [(u8, char)]),
    /// ASCII in the lower half, and these characters in the upper half.
    Upper(&'static str),
    Whatwg(&'static Encoding),
    /// An encoding of the web standard, without its control characters from 0x80 on.
    WithoutControls(&'static Encoding),
}

/// The upper half of code page 437.
const CODE_PAGE_437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
     └┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// The upper half of code page 850.
const CODE_PAGE_850: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐\
     └┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}";

const LATIN_5: &[(u8, char)] = &[(0xd0, 'Ğ'), (0xdd, 'İ'), (0xde, 'Ş'), (0xf0, 'ğ'), (0xfd, 'ı'), (0xfe, 'ş')];

/// The encoding with this name, in any case.
fn charset(name: &str) -> Option<Charset> {
    let name = name.to_ascii_lowercase();
    let by_label = |label: &str| Encoding::for_label(label.as_bytes());
    Some(match name.as_str() {
        "utf-8" | "csutf8" => Charset::Utf8,
        "utf-16" | "csutf16" => Charset::Utf16,
        "utf-16le" | "csutf16le" => Charset::Utf16Le,
        "utf-16be" | "csutf16be" => Charset::Utf16Be,
        "us-ascii" | "iso-ir-6" | "ansi_x3.4-1968" | "ansi_x3.4-1986" | "iso_646.irv:1991" | "iso646-us" | "us"
        | "ibm367" | "cp367" | "csascii" | "ascii" => Charset::Ascii,
        "iso_8859-1:1987" | "iso-ir-100" | "iso_8859-1" | "iso-8859-1" | "latin1" | "l1" | "ibm819" | "cp819"
        | "csisolatin1" => Charset::Latin1,
        "iso_8859-9:1989" | "iso-ir-148" | "iso_8859-9" | "iso-8859-9" | "latin5" | "l5" | "csisolatin5" => {
            Charset::Latin1But(LATIN_5)
        }
        "ibm437" | "cp437" | "437" | "cspc8codepage437" => Charset::Upper(CODE_PAGE_437),
        "ibm850" | "cp850" | "850" | "cspc850multilingual" => Charset::Upper(CODE_PAGE_850),
        "ibm866" | "cp866" | "866" | "csibm866" => Charset::Whatwg(encoding_rs::IBM866),
        "koi8-r" | "cskoi8r" => Charset::Whatwg(encoding_rs::KOI8_R),
        "koi8-u" | "cskoi8u" => Charset::Whatwg(encoding_rs::KOI8_U),
        "macintosh" | "mac" | "csmacintosh" => Charset::Whatwg(encoding_rs::MACINTOSH),
        "windows-874" | "cswindows874" => Charset::Whatwg(encoding_rs::WINDOWS_874),
        "shift_jis" | "ms_kanji" | "csshiftjis" => Charset::Whatwg(encoding_rs::SHIFT_JIS),
        "euc-jp" | "extended_unix_code_packed_format_for_japanese" | "cseucpkdfmtjapanese" => {
            Charset::Whatwg(encoding_rs::EUC_JP)
        }
        "iso-2022-jp" | "csiso2022jp" => Charset::Whatwg(encoding_rs::ISO_2022_JP),
        "gbk" | "cp936" | "ms936" | "windows-936" | "csgbk" => Charset::Whatwg(encoding_rs::GBK),
        "gb18030" | "csgb18030" => Charset::Whatwg(encoding_rs::GB18030),
        "big5" | "csbig5" => Charset::Whatwg(encoding_rs::BIG5),
        "euc-kr" | "cseuckr" => Charset::Whatwg(encoding_rs::EUC_KR),
        name if name.starts_with("windows-125") => Charset::Whatwg(by_label(name)?),
        name if name.starts_with("cswindows125") => Charset::Whatwg(by_label(&name.replace("cswindows", "windows-"))?),
        "latin2" | "l2" | "latin3" | "l3" | "latin4" | "l4" | "latin6" | "l6" | "latin-9" | "cyrillic" | "arabic"
        | "greek" | "greek8" | "hebrew" | "ecma-114" | "ecma-118" | "elot_928" | "asmo-708" | "l10" | "latin10"
        | "latin8" | "l8" => Charset::WithoutControls(by_label(match name.as_str() {
            "latin-9" => "iso-8859-15",
            "l10" | "latin10" => "iso-8859-16",
            "latin8" | "l8" => "iso-8859-14",
            other => other,
        })?),
        name => {
            let part = name.strip_prefix("iso-8859-").or_else(|| name.strip_prefix("iso_8859-"))?;
            let part = part.split(':').next().unwrap_or_default();
            let known = ["2", "3", "4", "5", "6", "7", "8", "10", "13", "14", "15", "16"];
            if !known.contains(&part) {
                return None;
            }
            Charset::WithoutControls(by_label(&format!("iso-8859-{part}"))?)
        }
    })
}

fn charset_argument(arguments: &[Value]) -> Result<(Charset, &str), FunctionError> {
    let name = text(arguments, 1)?;
    match charset(name) {
        Some(found) => Ok((found, name)),
        None => Err(problems::encoding::unknown_charset(1, name)),
    }
}

fn textencodebase64(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let (charset, name) = charset_argument(arguments)?;
    match encode(charset, text(arguments, 0)?) {
        Some(bytes) => Ok(Value::string(BASE64.encode(bytes))),
        None => Err(problems::encoding::cannot_represent(name)),
    }
}

fn textdecodebase64(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let (charset, name) = charset_argument(arguments)?;
    let bytes = base64_bytes(text(arguments, 0)?).map_err(problems::encoding::not_base64)?;
    match decode(charset, &bytes) {
        Some(text) => Ok(Value::string(text)),
        None => Err(problems::encoding::cannot_decode(name)),
    }
}

fn upper_half(byte: u8, upper: &str) -> Option<char> {
    match byte.checked_sub(0x80) {
        None => Some(char::from(byte)),
        Some(place) => upper.chars().nth(usize::from(place)),
    }
}

fn encode(charset: Charset, text: &str) -> Option<Vec<u8>> {
    let single =
        |below: u32| text.chars().map(|c| u8::try_from(c as u32).ok().filter(|_| (c as u32) < below)).collect();
    match charset {
        Charset::Utf8 => Some(text.as_bytes().to_vec()),
        Charset::Utf16Le => Some(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        Charset::Utf16Be => Some(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
        Charset::Utf16 => Some(std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect()),
        Charset::Ascii => single(0x80),
        Charset::Latin1 => single(0x100),
        Charset::Latin1But(other) => text
            .chars()
            .map(|c| match other.iter().find(|(_, special)| *special == c) {
                Some((byte, _)) => Some(*byte),
                None => u8::try_from(c as u32).ok().filter(|b| other.iter().all(|(place, _)| place != b)),
            })
            .collect(),
        Charset::Upper(upper) => text
            .chars()
            .map(|c| match c.is_ascii() {
                true => u8::try_from(c as u32).ok(),
                false => upper.chars().position(|u| u == c).and_then(|place| u8::try_from(place + 0x80).ok()),
            })
            .collect(),
        Charset::Whatwg(encoding) | Charset::WithoutControls(encoding) => {
            if matches!(charset, Charset::WithoutControls(_)) && text.contains(|c| ('\u{80}'..'\u{a0}').contains(&c)) {
                return None;
            }
            let mut encoder = encoding.new_encoder();
            let room = encoder.max_buffer_length_from_utf8_without_replacement(text.len())?;
            let mut out = Vec::with_capacity(room);
            match encoder.encode_from_utf8_to_vec_without_replacement(text, &mut out, true) {
                (EncoderResult::InputEmpty, _) => Some(out),
                _ => None,
            }
        }
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).collect::<Result<String, _>>().ok()
}

fn decode(charset: Charset, bytes: &[u8]) -> Option<String> {
    match charset {
        Charset::Utf8 => String::from_utf8(bytes.to_vec()).ok(),
        Charset::Utf16Le => utf16(bytes, u16::from_le_bytes),
        Charset::Utf16Be => utf16(bytes, u16::from_be_bytes),
        Charset::Utf16 => match bytes {
            [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
            [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
            _ => utf16(bytes, u16::from_be_bytes),
        },
        Charset::Ascii => bytes.iter().map(|b| b.is_ascii().then_some(char::from(*b))).collect(),
        Charset::Latin1 => Some(bytes.iter().map(|b| char::from(*b)).collect()),
        Charset::Latin1But(other) => {
            let special = |b: u8| other.iter().find(|(place, _)| *place == b).map(|(_, c)| *c);
            Some(bytes.iter().map(|b| special(*b).unwrap_or(char::from(*b))).collect())
        }
        Charset::Upper(upper) => bytes.iter().map(|b| upper_half(*b, upper)).collect(),
        Charset::WithoutControls(_) if bytes.iter().any(|b| (0x80..0xa0).contains(b)) => None,
        Charset::Whatwg(encoding) | Charset::WithoutControls(encoding) => {
            encoding.decode_without_bom_handling_and_without_replacement(bytes).map(std::borrow::Cow::into_owned)
        }
    }
}
