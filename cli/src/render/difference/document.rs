//! Strings that are JSON documents.

use serde::de::IgnoredAny;
use serde_json::Deserializer;
use weft_graph_format::codec;
use weft_graph_format::value::Value;

/// The value if the string is a JSON object or array. As in OpenTofu, text after the first value does not count.
pub(super) fn document(text: &str) -> Option<Value> {
    if !text.starts_with(['{', '[']) {
        return None;
    }
    codec::json::decode_implied(first(text).as_bytes()).ok()
}

/// The text of the first JSON value, or the whole text if that is not valid.
fn first(text: &str) -> &str {
    let mut values = Deserializer::from_str(text).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => text.get(..values.byte_offset()).unwrap_or(text),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_after_the_first_value_does_not_count() {
        let found = |text| document(text).map(|value| format!("{value:?}"));
        assert!(found(r#"{"a":1}"#).is_some());
        for text in [r#"{"a":1} rest"#, "{\"a\":1}\n{\"b\":2}", r#"{"a":1}}"#] {
            assert_eq!(found(text), found(r#"{"a":1}"#), "{text}");
        }
        for text in [r#"{"a":1"#, "[1,", "text", r#" {"a":1}"#, "1"] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
