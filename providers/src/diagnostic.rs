//! A provider's message about its work, with a path into the value that it concerns.

use weft_graph_format::diagnostic::{Diagnostic, Severity};
use weft_graph_format::explain::{SAID_BY_A_PROVIDER, code_of};
use weft_graph_format::path::Path;

/// A message from a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderDiagnostic {
    /// The severity. An unknown severity counts as an error.
    pub severity: Severity,
    /// One line.
    pub summary: String,
    /// The rest of the message; may be empty.
    pub detail: String,
    /// The path in the configuration or object; the root if the provider gave none.
    pub path: Path,
    /// Whether the message names its subject itself, so that it is shown without an address and a source range.
    pub bare: bool,
}

impl ProviderDiagnostic {
    /// An error about the whole value.
    pub fn error(summary: impl Into<String>, detail: impl Into<String>) -> ProviderDiagnostic {
        ProviderDiagnostic {
            severity: Severity::Error,
            summary: summary.into(),
            detail: detail.into(),
            path: Path::ROOT,
            bare: false,
        }
    }

    /// An error that names its own subject.
    pub fn bare(summary: impl Into<String>, detail: impl Into<String>) -> ProviderDiagnostic {
        ProviderDiagnostic { bare: true, ..ProviderDiagnostic::error(summary, detail) }
    }

    /// Sets the part of the value that the diagnostic is about.
    pub fn at(self, path: Path) -> ProviderDiagnostic {
        ProviderDiagnostic { path, ..self }
    }

    /// Whether the diagnostic is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The message for the user, without a position in a file: the caller knows which block the path is in.
    pub fn to_diagnostic(&self) -> Diagnostic {
        let problem = match self.severity {
            Severity::Error => Diagnostic::error(self.summary.clone(), self.detail.clone()),
            Severity::Warning => Diagnostic::warning(self.summary.clone(), self.detail.clone()),
        };
        match code_of(&self.summary) {
            Some(_) => problem,
            None => problem.code(SAID_BY_A_PROVIDER),
        }
    }
}

/// Whether any of the diagnostics is an error.
pub fn has_errors(diagnostics: &[ProviderDiagnostic]) -> bool {
    diagnostics.iter().any(ProviderDiagnostic::is_error)
}
