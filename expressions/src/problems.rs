//! The problems of expressions. There is one function for each problem, which returns the problem without a source
//! range.
//!
//! The caller knows the position and adds the source range.

pub(crate) mod access;
pub(crate) mod calls;
pub(crate) mod conditionals;
pub(crate) mod iteration;
pub(crate) mod limits;
pub(crate) mod objects;
pub(crate) mod operations;
pub(crate) mod references;
pub(crate) mod templates;
pub(crate) mod tfvars;
pub(crate) mod types;

use weft_graph_format::diagnostic::{Cause, Diagnostic};

/// A problem with an expression, without its source range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The summary.
    pub summary: &'static str,
    /// The detail.
    pub detail: String,
    /// The kind of mistake.
    pub cause: Cause,
}

impl Problem {
    fn new(summary: &'static str, detail: impl Into<String>) -> Problem {
        Problem { summary, detail: detail.into(), cause: Cause::Other }
    }

    fn cause(mut self, cause: Cause) -> Problem {
        self.cause = cause;
        self
    }

    /// The problem as a diagnostic without a source range.
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::error(self.summary, self.detail.clone()).cause(self.cause)
    }
}
