//! A YAML reader with the features that kubeconfig files need: one document of mappings, sequences and scalars.
//!
//! Plain `true` and `false` become bools. Plain `null`, `~` and empty scalars become null. All other scalars become
//! strings: the fields of a kubeconfig are strings and bools.

use saphyr_parser::{Event, Parser, ScalarStyle, StrInput};
use serde_json::{Map, Value as Json};

/// The maximum nesting of sequences and mappings. Kubeconfig files have five levels, and extensions some more.
const DEEPEST_NESTING: usize = 64;

/// Why a text is not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum YamlProblem {
    /// The text is not YAML.
    #[error("on line {line}: {what}")]
    Syntax { line: usize, what: String },
    #[error("it is nested too deeply")]
    TooDeep,
    #[error("a key is not text")]
    KeyNotText,
    #[error("references to anchors are not supported")]
    Anchor,
    #[error("a value is missing")]
    NoValue,
}

/// Reads the first document of a text. A text without documents is null. The rest of the text is not checked.
///
/// # Errors
/// Returns an error if the text is not YAML, or has features that kubeconfig files do not have.
pub(super) fn read(text: &str) -> Result<Json, YamlProblem> {
    let mut reader = YamlReader { parser: Parser::new_from_str(text) };
    loop {
        match reader.next()? {
            Event::StreamStart | Event::DocumentStart(_) => {}
            Event::StreamEnd => return Ok(Json::Null),
            event => return reader.value(event, 0),
        }
    }
}

struct YamlReader<'a> {
    parser: Parser<'a, StrInput<'a>>,
}

impl<'a> YamlReader<'a> {
    fn next(&mut self) -> Result<Event<'a>, YamlProblem> {
        match self.parser.next_event() {
            Some(Ok((event, _))) => Ok(event),
            Some(Err(error)) => Err(YamlProblem::Syntax { line: error.marker().line(), what: error.info().to_owned() }),
            None => Ok(Event::StreamEnd),
        }
    }

    fn value(&mut self, event: Event<'a>, depth: usize) -> Result<Json, YamlProblem> {
        if depth >= DEEPEST_NESTING {
            return Err(YamlProblem::TooDeep);
        }
        match event {
            Event::Scalar(text, style, ..) => Ok(match (style, &*text) {
                (ScalarStyle::Plain, "" | "~" | "null" | "Null" | "NULL") => Json::Null,
                (ScalarStyle::Plain, "true" | "True" | "TRUE") => Json::Bool(true),
                (ScalarStyle::Plain, "false" | "False" | "FALSE") => Json::Bool(false),
                _ => Json::String(text.into_owned()),
            }),
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        Event::SequenceEnd => return Ok(Json::Array(items)),
                        event => items.push(self.value(event, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(..) => {
                let mut entries = Map::new();
                loop {
                    let key = match self.next()? {
                        Event::MappingEnd => return Ok(Json::Object(entries)),
                        Event::Scalar(text, ..) => text.into_owned(),
                        _ => return Err(YamlProblem::KeyNotText),
                    };
                    let event = self.next()?;
                    let value = self.value(event, depth + 1)?;
                    entries.insert(key, value);
                }
            }
            Event::Alias(_) => Err(YamlProblem::Anchor),
            _ => Err(YamlProblem::NoValue),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents() {
        let text = "# comment\nclusters:\n- name: a\n  cluster: {server: 'https://h', insecure-skip-tls-verify: true}\n\
                    token: 12345\nquoted: \"true\"\nnothing:\ncert: |\n  line\n  line\n";
        let want = json!({
            "clusters": [{"name": "a", "cluster": {"server": "https://h", "insecure-skip-tls-verify": true}}],
            "token": "12345", "quoted": "true", "nothing": null, "cert": "line\nline\n",
        });
        assert_eq!(read(text).unwrap(), want);
        assert_eq!(read("{\"kind\": \"Config\", \"users\": []}").unwrap(), json!({"kind": "Config", "users": []}));
        assert_eq!(read("").unwrap(), Json::Null);
        for other in ["a: [", "a: *b", "? [a]\n: b", &"[".repeat(1000)] {
            assert!(read(other).is_err(), "{other}");
        }
    }
}
