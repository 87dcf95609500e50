//! Diagnostics of experiments of the language. `known` are the names of all experiments.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::nearest::did_you_mean;
use weft_graph_format::source::SourceRange;

/// An `experiments` argument that is not a list.
pub(in crate::config) fn not_a_list(at: SourceRange) -> Diagnostic {
    let detail = "Experiments must be a list of names, such as [provider_values].";
    Diagnostic::error("Invalid expression", detail).at(at)
}

/// An experiment that does not exist.
pub(in crate::config) fn unknown(name: &str, known: &[&str], at: SourceRange) -> Diagnostic {
    let hint = did_you_mean(name, known.iter().copied());
    let detail = format!("There is no experiment {name:?}. The experiments are {}.{hint}", known.join(" and "));
    Diagnostic::error("Unknown experiment keyword", detail).at(at)
}

/// An experiment that is not a bare name.
pub(in crate::config) fn not_a_name(known: &[&str], at: SourceRange) -> Diagnostic {
    let detail = format!("An experiment must be one of these names, without quotes: {}.", known.join(", "));
    Diagnostic::error("Invalid experiment keyword", detail).at(at)
}
