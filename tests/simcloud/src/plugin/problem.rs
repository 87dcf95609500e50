//! What goes wrong, as the protocol's diagnostics.

use weft_proto::tfplugin6::attribute_path::{Step, step::Selector};
use weft_proto::tfplugin6::{AttributePath, Diagnostic, diagnostic::Severity};

/// A step into a value.
#[derive(Clone, Debug, PartialEq)]
pub enum At {
    /// An attribute.
    Attribute(String),
    /// A map's element.
    Key(String),
    /// A list's element.
    Index(i64),
}

/// An error for the user.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{summary}: {detail}")]
pub struct Problem {
    /// What is wrong, in short.
    pub summary: String,
    /// In full, and what to do.
    pub detail: String,
    /// Where, if somewhere.
    pub path: Vec<At>,
}

impl Problem {
    /// One without a place.
    pub fn new(summary: impl Into<String>, detail: impl Into<String>) -> Problem {
        Problem { summary: summary.into(), detail: detail.into(), path: Vec::new() }
    }

    /// The same, at an attribute.
    pub fn at(self, attribute: &str) -> Problem {
        Problem { path: vec![At::Attribute(attribute.to_owned())], ..self }
    }

    /// The same, one step further in.
    pub fn within(mut self, step: At) -> Problem {
        self.path.push(step);
        self
    }

    /// As the protocol has it.
    pub fn to_diagnostic(&self) -> Diagnostic {
        let attribute = (!self.path.is_empty()).then(|| attribute_path(&self.path));
        Diagnostic {
            severity: Severity::Error as i32,
            summary: self.summary.clone(),
            detail: self.detail.clone(),
            attribute,
        }
    }
}

/// A path as the protocol has it.
pub fn attribute_path(path: &[At]) -> AttributePath {
    let step = |at: &At| {
        let selector = match at {
            At::Attribute(name) => Selector::AttributeName(name.clone()),
            At::Key(key) => Selector::ElementKeyString(key.clone()),
            At::Index(index) => Selector::ElementKeyInt(*index),
        };
        Step { selector: Some(selector) }
    };
    AttributePath { steps: path.iter().map(step).collect() }
}
