//! The failures of the backend part of `init`.

use weft_graph_format::diagnostic::Diagnostic;

use crate::exit::Exit;

/// Why the backend cannot be used. As in OpenTofu, `init` installs the modules before it reports this.
pub enum BackendFailure {
    /// Problems that are not reported yet.
    Problems(Vec<Diagnostic>),
    /// The problems have been reported.
    Reported(Exit),
}

impl From<Diagnostic> for BackendFailure {
    fn from(problem: Diagnostic) -> BackendFailure {
        BackendFailure::Problems(vec![problem])
    }
}

impl From<Vec<Diagnostic>> for BackendFailure {
    fn from(problems: Vec<Diagnostic>) -> BackendFailure {
        BackendFailure::Problems(problems)
    }
}

impl From<Exit> for BackendFailure {
    fn from(exit: Exit) -> BackendFailure {
        BackendFailure::Reported(exit)
    }
}
