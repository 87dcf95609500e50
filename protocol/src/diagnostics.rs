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

/// Decodes diagnostics. Bytes that cannot be decoded yield one diagnostic that says so, because every failure needs a
/// message.
pub fn decode_diagnostics(bytes: &Opaque) -> Vec<Diagnostic> {
    if bytes.0.is_empty() {
        return Vec::new();
    }
    postcard::from_bytes(&bytes.0).unwrap_or_else(|_| vec![problems::unreadable_message()])
}

/// The first error of a list in one line, as the reason in another message.
pub fn first_error(diagnostics: &[Diagnostic]) -> String {
    match diagnostics.iter().find(|diagnostic| diagnostic.is_error()) {
        Some(error) if error.detail.is_empty() => error.summary.clone(),
        Some(error) => format!("{}: {}", error.summary, error.detail),
        None => String::from("no reason was given"),
    }
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

    #[test]
    fn a_reason_names_the_first_error() {
        let given = [Diagnostic::warning("Old", "It is old."), Diagnostic::error("No", "It cannot be.")];
        assert_eq!(first_error(&given), "No: It cannot be.");
        assert_eq!(first_error(&[Diagnostic::error("No", "")]), "No");
        assert_eq!(first_error(&given[..1]), "no reason was given");
    }
}
