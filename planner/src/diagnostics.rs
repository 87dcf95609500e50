//! What providers say, put where it belongs in the configuration.

use weft_evaluator::glue::Places;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;
use weft_providers::{CallError, OpenError, ProviderDiagnostic};

/// A provider's messages as ours, with the places they speak of.
pub fn placed(found: &[ProviderDiagnostic], places: Option<&Places>, address: &str) -> Vec<Diagnostic> {
    found
        .iter()
        .map(|d| {
            if d.bare {
                return d.to_diagnostic();
            }
            let mut ours = d.to_diagnostic().about(address);
            if let Some(places) = places {
                ours.subject = Some(places.locate(&d.path));
            }
            ours
        })
        .collect()
}

/// A problem about an object of a block, with the place of the block when it has none of its own.
pub fn in_block(mut problem: Diagnostic, places: &Places) -> Diagnostic {
    problem.subject.get_or_insert_with(|| places.block().clone());
    problem
}

/// A provider that did not answer properly.
pub fn call_failed(error: &CallError, places: Option<&Places>, address: &str) -> Diagnostic {
    let (summary, hint) = match error {
        CallError::UnknownType { .. } => ("Invalid resource type", ""),
        CallError::Crashed { .. } | CallError::NotRunning { .. } => {
            ("Plugin did not respond", " The plugin ended; its last words are in the log.")
        }
        _ => ("Plugin error", ""),
    };
    let mut problem = Diagnostic::error(summary, format!("{address}: {error}.{hint}")).about(address);
    problem.subject = places.map(|places| places.block().clone());
    problem
}

/// A provider that cannot be had.
pub fn open_failed(error: &OpenError, instance: &str, range: Option<&SourceRange>) -> Vec<Diagnostic> {
    let mut problems = match error {
        OpenError::Configure(found) => found.iter().map(ProviderDiagnostic::to_diagnostic).collect(),
        other => vec![Diagnostic::error("Failed to start provider", format!("{instance} cannot be started: {other}."))],
    };
    for problem in &mut problems {
        problem.address = Some(instance.to_string());
        problem.subject = range.cloned();
    }
    problems
}
