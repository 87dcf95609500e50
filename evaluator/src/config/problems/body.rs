//! Diagnostics of the labels and the content of blocks.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

/// A block with more labels than `expected`. The first superfluous label is at `at`.
pub(in crate::config) fn extraneous_label(block_type: &str, expected: &[&str], at: SourceRange) -> Diagnostic {
    let names = expected.join(", ");
    let detail = match expected.len() {
        0 => format!("No labels are expected for {block_type} blocks."),
        1 => format!("Only 1 label ({names}) is expected for {block_type} blocks."),
        n => format!("Only {n} labels ({names}) are expected for {block_type} blocks."),
    };
    Diagnostic::error(format!("Extraneous label for {block_type}"), detail).at(at)
}

/// A block without the label `missing`. `header` is the header of the block.
pub(in crate::config) fn missing_label(
    (block_type, expected): (&str, &[&str]),
    missing: &str,
    header: SourceRange,
    at: SourceRange,
) -> Diagnostic {
    let names = expected.join(", ");
    let wanted = match expected.len() {
        1 => "1 label".to_owned(),
        n => format!("{n} labels"),
    };
    Diagnostic::error(
        format!("Missing {missing} for {block_type}"),
        format!("All {block_type} blocks must have {wanted} ({names})."),
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

/// An argument in an escaping block that is also set outside of it. The other definition is at `first`.
pub(in crate::config) fn duplicate_argument(name: &str, first: &SourceRange, at: SourceRange) -> Diagnostic {
    let detail =
        format!("The argument {name:?} is already set at {}:{}. Remove one of them.", first.file, first.start.line);
    Diagnostic::error("Duplicate argument", detail).at(at)
}
