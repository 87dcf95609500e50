//! A cache of large decoded documents.
//!
//! A configuration is evaluated twice: once to validate it and once to plan it. Decoding documents of several megabytes
//! takes most of the time of an evaluation, and both evaluations decode the same documents.

use std::fmt;

use parking_lot::Mutex;
use smol_str::SmolStr;
use weft_graph_format::value::{Kind, Value};

/// The minimum size in bytes of a cached document. Decoding a smaller one is as fast as looking it up.
const SMALLEST: usize = 64 << 10;
/// The maximum total size in bytes of cached documents. Further documents are decoded each time.
const MOST_BYTES: usize = 64 << 20;

/// Documents and their decoded values. Lives as long as the work on one configuration.
#[derive(Default)]
pub struct Decoded(Mutex<Documents>);

#[derive(Default)]
struct Documents {
    documents: Vec<Document>,
    bytes: usize,
}

struct Document {
    /// The name of the decoding function.
    function: &'static str,
    text: SmolStr,
    value: Value,
}

impl Decoded {
    /// Decodes a text with `decode`, or returns the cached value. Errors are not cached.
    ///
    /// # Errors
    ///
    /// Returns the errors of `decode`.
    pub(crate) fn of<E>(
        &self,
        function: &'static str,
        text: &Value,
        decode: impl FnOnce() -> Result<Value, E>,
    ) -> Result<Value, E> {
        let Kind::String(text) = text.open().1 else { return decode() };
        if text.len() < SMALLEST {
            return decode();
        }
        if let Some(value) = self.known(function, text) {
            return Ok(value);
        }
        let value = decode()?;
        let mut known = self.0.lock();
        if known.bytes + text.len() <= MOST_BYTES {
            known.bytes += text.len();
            known.documents.push(Document { function, text: text.clone(), value: value.clone() });
        }
        Ok(value)
    }

    fn known(&self, function: &str, text: &SmolStr) -> Option<Value> {
        let known = self.0.lock();
        let found = known.documents.iter().find(|document| document.function == function && document.text == *text);
        found.map(|document| document.value.clone())
    }
}

/// Shows no content, because documents may be secret.
impl fmt::Debug for Decoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.0.lock();
        write!(f, "Decoded({} documents, {} bytes)", known.documents.len(), known.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes a text to its length and counts the calls of the decoder.
    fn ask(decoded: &Decoded, function: &'static str, text: &Value, asked: &mut u32) -> Result<Value, &'static str> {
        decoded.of(function, text, || {
            *asked += 1;
            match text.as_str() {
                Some(text) if !text.starts_with("bad") => Ok(Value::int(text.len() as i64)),
                _ => Err("bad"),
            }
        })
    }

    #[test]
    fn large_documents_are_decoded_once() {
        let large = |first: &str, more: usize| Value::string(format!("{first}{}", "x".repeat(SMALLEST + more)));
        let (decoded, mut asked) = (Decoded::default(), 0);
        for (function, text, times) in [
            ("json", large("a", 0), 1),
            ("json", large("a", 0), 1),
            ("json", large("b", 0), 2),
            ("yaml", large("a", 0), 3),
            ("json", large("a", 1), 4),
            ("json", large("b", 0), 4),
            ("json", Value::string("small"), 5),
            ("json", Value::string("small"), 6),
            ("json", large("bad", 0), 7),
            ("json", large("bad", 0), 8),
            ("json", large("a", MOST_BYTES), 9),
            ("json", large("a", MOST_BYTES), 10),
        ] {
            let expected =
                text.as_str().filter(|text| !text.starts_with("bad")).map(|text| Value::int(text.len() as i64));
            assert_eq!(ask(&decoded, function, &text, &mut asked).ok(), expected);
            assert_eq!(asked, times);
        }
        assert_eq!(format!("{decoded:?}"), format!("Decoded(4 documents, {} bytes)", 4 * (SMALLEST + 1) + 1));
    }
}
