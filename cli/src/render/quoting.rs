//! Quoted strings, and names that need no quotes.

pub use weft_graph_format::quoting::quoted;
use weft_syntax::is_identifier;

/// The name of an attribute, quoted unless it is an identifier.
pub fn attribute_name(name: &str) -> String {
    if is_identifier(name) { name.to_owned() } else { quoted(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_as_in_go() {
        assert_eq!(quoted("a\"b\\c\n\t${x}\u{1}\u{202e}é"), "\"a\\\"b\\\\c\\n\\t${x}\\x01\\u202eé\"");
        assert_eq!(attribute_name("a-b"), "a-b");
        assert_eq!(attribute_name("a b"), "\"a b\"");
    }
}
