//! The comparison of JSON texts.

use super::decode_implied;

/// Whether two JSON texts have the same content. `compact` has no space between its parts. Texts that cannot be read
/// count as equal.
pub fn same(text: &str, compact: &str) -> bool {
    let mut in_string = false;
    let mut escaped = false;
    let dense = text.bytes().filter(|byte| {
        let was_escaped = escaped;
        escaped = in_string && *byte == b'\\' && !was_escaped;
        in_string ^= *byte == b'"' && !was_escaped;
        in_string || !byte.is_ascii_whitespace()
    });
    // Most texts differ in space only, and need not be parsed.
    if dense.eq(compact.bytes()) {
        return true;
    }
    match (decode_implied(text.as_bytes()), decode_implied(compact.as_bytes())) {
        (Ok(text), Ok(compact)) => text.ty() == compact.ty() && text.same_content(&compact),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::same;

    #[test]
    fn texts_are_compared_by_their_content() {
        for (text, compact, want) in [
            ("{ \"a\": 1 }", "{\"a\":1}", true),
            ("{\"b\":2,\n \"a\":1}", "{\"a\":1,\"b\":2}", true),
            ("{\"a\": \"x y\"}", "{\"a\":\"x y\"}", true),
            ("{\"a\": \"x y\"}", "{\"a\":\"xy\"}", false),
            ("{\"a\": \"\\\" b\"}", "{\"a\":\"\\\"b\"}", false),
            ("{\"a\": \"\\\\\" }", "{\"a\":\"\\\\\"}", true),
            ("{\"a\": \"1\"}", "{\"a\":1}", false),
            ("{\"a\":1}", "{\"a\":1,\"b\":null}", false),
            ("not JSON", "{}", true),
        ] {
            assert_eq!(same(text, compact), want, "{text} and {compact}");
        }
    }
}
