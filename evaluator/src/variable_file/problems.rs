//! Diagnostics of variable files.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

/// A variable file declares a variable.
pub(super) fn declaration(name: &str, at: SourceRange) -> Diagnostic {
    let detail = format!(
        "A variable file sets variables that are declared elsewhere, in the form NAME = VALUE. Move the block that \
         declares {name:?} to a .tf file."
    );
    Diagnostic::error("Variable declaration in .tfvars file", detail).at(at)
}

/// A variable file has a block.
pub(super) fn block(block_type: &str, at: SourceRange) -> Diagnostic {
    let detail = "Blocks are not allowed here. A variable file contains only arguments of the form NAME = VALUE.";
    Diagnostic::error(format!("Unexpected \"{block_type}\" block"), detail).at(at)
}
