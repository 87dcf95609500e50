//! Encoded diagnostics: the worker encodes diagnostics once, frames and journals contain the bytes, and the command
//! that displays diagnostics decodes them.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::stored::Opaque;

use crate::problems;

/// Encodes diagnostics. An empty list gives no bytes.
pub fn encode_diagnostics(diagnostics: &[Diagnostic]) -> Opaque {
    if diagnostics.is_empty() {
        return Opaque::default();
    }
    // Encoding plain data into memory does not fail.
    Opaque(postcard::to_stdvec(diagnostics).unwrap_or_default())
}

/// Decodes diagnostics. If the bytes cannot be decoded, returns a diagnostic that reports this, so that every failure
/// has a message.
pub fn decode_diagnostics(bytes: &Opaque) -> Vec<Diagnostic> {
    if bytes.0.is_empty() {
        return Vec::new();
    }
    postcard::from_bytes(&bytes.0).unwrap_or_else(|_| vec![problems::unreadable_message()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diagnostics_round_trip() {
        let given = vec![Diagnostic::error("No", "It cannot be.").about("a.b")];
        assert_eq!(decode_diagnostics(&encode_diagnostics(&given)), given);
        assert_eq!(decode_diagnostics(&Opaque(vec![255]))[0].summary, "Unreadable message");
    }
}
