//! Diagnostics of `check` blocks.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

/// A second `data` block.
pub(in crate::config) fn second_data(first: &SourceRange, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "A check block can have only one data block. The first one is at {}:{}. Remove one of them.",
        first.file, first.start.line
    );
    Diagnostic::error("Multiple data resource blocks", detail).at(at.clone())
}

/// A block without assertions.
pub(in crate::config) fn no_assertion(at: &SourceRange) -> Diagnostic {
    Diagnostic::error("Zero assert blocks", "A check block needs at least one assert block.").at(at.clone())
}

/// A second block with the same name.
pub(in crate::config) fn duplicate(name: &str, first: &SourceRange, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "The check block at {}:{} already has the name {name:?}. The names of checks must be unique within a module.",
        first.file, first.start.line
    );
    Diagnostic::error(format!("Duplicate check \"{name}\" configuration"), detail).at(at.clone())
}
