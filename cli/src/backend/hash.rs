//! The number by which `init` recognizes a backend block. It is OpenTofu's, so that both tools work in one directory in
//! turns.

use weft_graph_format::quoting::write_quoted;

/// CRC-32 (IEEE) of a text of the backend's type and its arguments, in the order of their names. Arguments that are not
/// written are `None`. Those of `-backend-config` do not count.
pub fn block_hash(kind: &str, arguments: &[Option<&str>]) -> u32 {
    let mut text = String::from("<");
    write_quoted(kind, &mut text);
    text.push_str(";<");
    for argument in arguments {
        match argument {
            Some(value) => write_quoted(value, &mut text),
            None => text.push('~'),
        }
        text.push(';');
    }
    text.push_str(">;>");
    crc32fast::hash(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As recorded from OpenTofu 1.12.6.
    #[test]
    fn hashes_are_those_of_opentofu() {
        for (arguments, want) in [
            ([None, None], 666_019_178),
            ([Some("local-state.tfstate"), None], 4_282_859_327),
            ([Some("local-state-2.tfstate"), None], 3_699_966_848),
        ] {
            assert_eq!(block_hash("local", &arguments), want, "{arguments:?}");
        }
    }
}
