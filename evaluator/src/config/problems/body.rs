//! Diagnostics of the labels and the content of blocks.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

use crate::config::BlockRule;

/// A block with more labels than expected, the first of them at `at`.
pub(in crate::config) fn extraneous_label(rule: &BlockRule, at: SourceRange) -> Diagnostic {
    let names = rule.labels.join(", ");
    let detail = match rule.labels.len() {
        0 => format!("No labels are expected for {} blocks.", rule.name),
        1 => format!("Only 1 label ({names}) is expected for {} blocks.", rule.name),
        n => format!("Only {n} labels ({names}) are expected for {} blocks.", rule.name),
    };
    Diagnostic::error(format!("Extraneous label for {}", rule.name), detail).at(at)
}

/// A block without the label `missing`. `header` is the header of the block.
pub(in crate::config) fn missing_label(
    rule: &BlockRule,
    missing: &str,
    header: SourceRange,
    at: SourceRange,
) -> Diagnostic {
    let names = rule.labels.join(", ");
    let wanted = match rule.labels.len() {
        1 => "1 label".to_owned(),
        n => format!("{n} labels"),
    };
    Diagnostic::error(
        format!("Missing {missing} for {}", rule.name),
        format!("All {} blocks must have {wanted} ({names}).", rule.name),
    )
    .at(at)
    .within(header)
}

/// A condition block such as `precondition` in an override file.
pub(in crate::config) fn condition_overridden(block_type: &str, at: SourceRange) -> Diagnostic {
    Diagnostic::error(
        format!("Can't override {block_type} blocks"),
        format!("An override file cannot have {block_type} blocks. Add this block to the block that is overridden."),
    )
    .at(at)
}

/// An argument of an escaping block that is also set outside of it, at `first`.
pub(in crate::config) fn duplicate_argument(name: &str, first: &SourceRange, at: SourceRange) -> Diagnostic {
    let detail =
        format!("The argument {name:?} is already set at {}:{}. Remove one of them.", first.file, first.start.line);
    Diagnostic::error("Duplicate argument", detail).at(at)
}
