//! Problems, and their form as diagnostics of the protocol.

use weft_proto::tfplugin6::attribute_path::{Step, step::Selector};
use weft_proto::tfplugin6::{AttributePath, Diagnostic, diagnostic::Severity};

/// One step of a path into a value.
#[derive(Clone, Debug, PartialEq)]
pub enum At {
    /// An attribute.
    Attribute(String),
    /// An element of a map.
    Key(String),
    /// An element of a list.
    Index(i64),
}

/// An error for the user.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{summary}: {detail}")]
pub struct Problem {
    /// A summary of the problem.
    pub summary: String,
    /// The details, and the remedy.
    pub detail: String,
    /// The path of the attribute at fault, if there is one.
    pub path: Vec<At>,
}

impl Problem {
    /// A problem without a path.
    pub fn new(summary: impl Into<String>, detail: impl Into<String>) -> Problem {
        Problem { summary: summary.into(), detail: detail.into(), path: Vec::new() }
    }

    /// Adds the path of an attribute.
    pub fn at(self, attribute: &str) -> Problem {
        Problem { path: vec![At::Attribute(attribute.to_owned())], ..self }
    }

    /// Adds a step to the end of the path.
    pub fn within(mut self, step: At) -> Problem {
        self.path.push(step);
        self
    }

    /// Converts the problem to a diagnostic of the protocol.
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

/// Converts a path to the form of the protocol.
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
