//! Converts diagnostics of providers, and adds their source ranges in the configuration.

use weft_evaluator::glue::Places;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;
use weft_providers::{CallError, ProviderDiagnostic, ProviderOpenError};

use crate::problems;

/// Converts a provider's diagnostics. `places` has the source ranges of the attributes that they name.
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

/// Adds the source range of the block to a problem that has none.
pub fn in_block(mut problem: Diagnostic, places: &Places) -> Diagnostic {
    problem.subject.get_or_insert_with(|| places.block().clone());
    problem
}

/// The diagnostic for a failed call of a provider.
pub fn call_failed(error: &CallError, places: Option<&Places>, address: &str) -> Diagnostic {
    let mut problem = problems::call_failed(error, address);
    problem.subject = places.map(|places| places.block().clone());
    problem
}

/// The diagnostics for a provider that cannot be started or configured.
pub fn open_failed(error: &ProviderOpenError, instance: &str, range: Option<&SourceRange>) -> Vec<Diagnostic> {
    let mut found = match error {
        ProviderOpenError::Configure(found) => found.iter().map(ProviderDiagnostic::to_diagnostic).collect(),
        other => vec![problems::provider_not_started(instance, other)],
    };
    for problem in &mut found {
        problem.address = Some(instance.to_string());
        problem.subject = range.cloned();
    }
    found
}
