//! Diagnostics of apply, each with an address and a position in the source.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::source::SourceRange;
use weft_providers::ProviderDiagnostic;

/// Errors and warnings.
pub(crate) type Problems = Vec<Diagnostic>;

/// The subject of diagnostics: an address, and the formula of its configuration if there is one.
#[derive(Clone, Copy)]
pub(crate) struct DiagnosticSubject<'a> {
    pub(crate) address: &'a str,
    pub(crate) config: Option<&'a Formula>,
}

impl DiagnosticSubject<'_> {
    /// An error about the subject.
    pub(crate) fn error(&self, summary: impl Into<String>, detail: impl Into<String>) -> Diagnostic {
        self.place(Diagnostic::error(summary, detail), &Path::ROOT)
    }

    /// Adds the address of the subject, and the position of the path.
    pub(crate) fn place(&self, problem: Diagnostic, path: &Path) -> Diagnostic {
        let problem = if problem.address.is_none() { problem.about(self.address) } else { problem };
        match self.config.and_then(|config| range_of(config, path)) {
            Some(range) if problem.subject.is_none() => problem.at(range),
            _ => problem,
        }
    }

    /// The diagnostics of a provider, as diagnostics about this subject.
    pub(crate) fn said(&self, found: &[ProviderDiagnostic]) -> Problems {
        let placed = |d: &ProviderDiagnostic| match d.bare {
            true => d.to_diagnostic(),
            false => self.place(d.to_diagnostic(), &d.path),
        };
        found.iter().map(placed).collect()
    }
}

/// The position of the part of a configuration that the path leads to, or of its nearest container.
fn range_of(config: &Formula, path: &Path) -> Option<SourceRange> {
    let mut here = config;
    let mut found = here.range().cloned();
    let mut steps = path.0.iter();
    let mut step = steps.next();
    loop {
        let next = match (here.op(), step) {
            (FormulaOp::Mark(inner, _) | FormulaOp::Convert(inner, _), _) => inner,
            (FormulaOp::Ignore { config, .. }, _) => config,
            (
                FormulaOp::Object(parts) | FormulaOp::Map(_, parts),
                Some(ValueStep::Attribute(name) | ValueStep::Key(name)),
            ) => {
                let part = parts.iter().find(|(n, _)| n == name).map(|(_, part)| part);
                step = steps.next();
                let Some(part) = part else { return found };
                part
            }
            (FormulaOp::Tuple(parts) | FormulaOp::List(_, parts), Some(ValueStep::Index(i))) => {
                let part = usize::try_from(*i).ok().and_then(|i| parts.get(i));
                step = steps.next();
                let Some(part) = part else { return found };
                part
            }
            _ => return found,
        };
        here = next;
        found = here.range().cloned().or(found);
    }
}

/// Whether any of the diagnostics is an error.
pub(crate) fn has_errors(problems: &[Diagnostic]) -> bool {
    weft_graph_format::diagnostic::has_errors(problems)
}
