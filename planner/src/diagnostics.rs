//! What providers say, put where it belongs in the configuration.

use weft_evaluator::config::BodySource;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::path::{Path, Step};
use weft_graph_format::source::SourceRange;
use weft_providers::{CallError, OpenError, ProviderDiagnostic};

/// The text that a path into a decoded body comes from: the value of an attribute, or the header of what holds it.
pub fn locate(body: &BodySource, path: &Path) -> SourceRange {
    let tree = &body.tree;
    let mut here = tree.body(body.body);
    let mut range = body.missing.clone();
    let mut steps = path.0.iter().peekable();
    while let Some(step) = steps.next() {
        let Step::Attribute(name) = step else { break };
        if let Some(attribute) = here.attribute(name) {
            return tree.range(tree.expression(attribute.expression).span());
        }
        let index = match steps.peek() {
            Some(Step::Index(i)) => usize::try_from(*i).unwrap_or(usize::MAX),
            _ => 0,
        };
        let Some(block) = here.blocks_of(name).nth(index) else { break };
        range = tree.range(block.header_span);
        if matches!(steps.peek(), Some(Step::Index(_) | Step::Key(_))) {
            steps.next();
        }
        here = tree.body(block.body);
    }
    range
}

/// A provider's messages as ours, with the places they speak of.
pub fn placed(found: &[ProviderDiagnostic], body: Option<&BodySource>, address: &str) -> Vec<Diagnostic> {
    found
        .iter()
        .map(|d| {
            let mut ours = d.to_diagnostic().about(address);
            if let Some(body) = body {
                ours.subject = Some(locate(body, &d.path));
            }
            ours
        })
        .collect()
}

/// A problem about an object of a block, with the place of the block when it has none of its own.
pub fn in_block(mut problem: Diagnostic, body: &BodySource) -> Diagnostic {
    problem.subject.get_or_insert_with(|| body.missing.clone());
    problem
}

/// A provider that did not answer properly.
pub fn call_failed(error: &CallError, body: Option<&BodySource>, address: &str) -> Diagnostic {
    let (summary, hint) = match error {
        CallError::UnknownType { .. } => ("Invalid resource type", ""),
        CallError::Crashed { .. } | CallError::NotRunning { .. } => {
            ("Plugin did not respond", " The plugin ended; its last words are in the log.")
        }
        _ => ("Plugin error", ""),
    };
    let mut problem = Diagnostic::error(summary, format!("{address}: {error}.{hint}")).about(address);
    problem.subject = body.map(|b| b.missing.clone());
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
