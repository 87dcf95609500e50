//! What a provider says about its work, with the place in the value that it speaks of.

use weft_graph_format::diagnostic::{Diagnostic, Severity};
use weft_graph_format::explain::{SAID_BY_A_PROVIDER, code_of};
use weft_graph_format::path::Path;

/// A message from a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderDiagnostic {
    /// How bad it is. A severity that the protocol does not know counts as an error.
    pub severity: Severity,
    /// One line.
    pub summary: String,
    /// Everything else; may be empty.
    pub detail: String,
    /// Where in the configuration or object; the root when the provider did not say.
    pub path: Path,
    /// It says by itself what it is about: neither an address nor a place is to be shown with it.
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

    /// An error that says by itself what it is about.
    pub fn bare(summary: impl Into<String>, detail: impl Into<String>) -> ProviderDiagnostic {
        ProviderDiagnostic { bare: true, ..ProviderDiagnostic::error(summary, detail) }
    }

    /// The same about a part of the value.
    pub fn at(self, path: Path) -> ProviderDiagnostic {
        ProviderDiagnostic { path, ..self }
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The message for the user, still without a place in a file: the caller knows which block the path leads into.
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

/// Whether any of them is an error.
pub fn has_errors(diagnostics: &[ProviderDiagnostic]) -> bool {
    diagnostics.iter().any(ProviderDiagnostic::is_error)
}
