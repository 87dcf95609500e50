//! The hash that tells `init` whether a backend block has changed. The hash is equal to OpenTofu's, so both tools can
//! be used in the same directory.

use serde_json::Value as Json;
use weft_backends::catalog::BackendSettings;
use weft_graph_format::quoting::write_quoted;
use weft_graph_format::schema::Block;
use weft_graph_format::types::Type;

/// The number of significant digits, as in Go's `%.10g`.
const DIGITS: i32 = 10;

/// The CRC-32 (IEEE) of a backend's type, arguments and blocks. The arguments and blocks are in the order of their
/// names. Missing arguments are null. Settings of `-backend-config` are not part of the hash.
pub fn block_hash(kind: &str, schema: &Block, settings: &BackendSettings) -> u32 {
    let mut text = String::from("<");
    write_quoted(kind, &mut text);
    text.push(';');
    write(&Json::Object(settings.clone()), &schema.implied_type(), &mut text);
    text.push_str(";>");
    crc32fast::hash(text.as_bytes())
}

fn write(value: &Json, ty: &Type, text: &mut String) {
    match (value, ty) {
        (Json::Null, _) => text.push('~'),
        (Json::Bool(flag), _) => text.push(if *flag { 'T' } else { 'F' }),
        (Json::String(part), _) => write_quoted(part, text),
        (Json::Number(number), _) => text.push_str(&number_words(number.as_f64().unwrap_or_default())),
        (Json::Array(parts), Type::List(element) | Type::Set(element)) => {
            text.push('[');
            for part in parts {
                write(part, element, text);
                text.push(';');
            }
            text.push(']');
        }
        (Json::Object(entries), Type::Object(object)) => {
            text.push('<');
            for (name, ty) in &object.attributes {
                write(entries.get(name.as_str()).unwrap_or(&Json::Null), ty, text);
                text.push(';');
            }
            text.push('>');
        }
        (Json::Object(entries), ty) => {
            let element = if let Type::Map(element) = ty { element } else { ty };
            let mut keys: Vec<&String> = entries.keys().collect();
            keys.sort();
            text.push('{');
            for key in keys {
                write_quoted(key, text);
                text.push(':');
                write(&entries[key], element, text);
                text.push(';');
            }
            text.push('}');
        }
        // The cases above cover the types of all arguments.
        (Json::Array(_), _) => text.push('?'),
    }
}

/// A number as Go's `%.10g` prints it.
fn number_words(number: f64) -> String {
    let scientific = format!("{number:.*e}", DIGITS as usize - 1);
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if !(-4..DIGITS).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs());
    }
    let decimals = usize::try_from(DIGITS - 1 - exponent).unwrap_or_default();
    trimmed(&format!("{number:.decimals$}")).to_owned()
}

fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::local::schema as local;
    use super::*;

    /// The expected texts were recorded from OpenTofu 1.12.6.
    #[test]
    fn numbers_are_those_of_opentofu() {
        let http = weft_backends::catalog::schema("http").unwrap();
        for (kind, schema, settings, want) in [
            ("local", local(), json!({}), 666_019_178),
            ("local", local(), json!({"path": "local-state.tfstate"}), 4_282_859_327),
            ("local", local(), json!({"path": "local-state-2.tfstate"}), 3_699_966_848),
            ("http", http.clone(), json!({}), 2_984_870_146),
            (
                "http",
                http,
                json!({
                    "address": "http://127.0.0.1:9/x",
                    "retry_max": 12,
                    "retry_wait_min": 1_234_567.5,
                    "skip_cert_verification": true,
                    "headers": {"b": "x\"y", "a": "z"},
                }),
                0xefe9_4f1c,
            ),
        ] {
            assert_eq!(block_hash(kind, &schema, settings.as_object().unwrap()), want, "{settings}");
        }
    }

    #[test]
    fn numbers_are_printed_as_in_go() {
        for (number, want) in [
            (0.0, "0"),
            (12.0, "12"),
            (1_234_567.5, "1234567.5"),
            (0.000_123_4, "0.0001234"),
            (0.000_012_34, "1.234e-05"),
            (12_345_678_901.0, "1.23456789e+10"),
            (1_234_567_890.0, "1234567890"),
        ] {
            assert_eq!(number_words(number), want);
        }
    }
}
