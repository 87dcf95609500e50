//! Strings that are JSON documents.

use weft_graph_format::codec;
use weft_graph_format::value::Value;

/// The value if the string is a JSON object or array.
pub(super) fn document(text: &str) -> Option<Value> {
    if !text.starts_with(['{', '[']) {
        return None;
    }
    codec::json::decode_implied(text.as_bytes()).ok()
}
