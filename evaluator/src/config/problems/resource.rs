//! Diagnostics of `resource`, `data` and `ephemeral` blocks.

use weft_graph_format::address::{Resource, ResourceMode};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

fn place(at: &SourceRange) -> String {
    format!("{}:{}", at.file, at.start.line)
}

/// A second block for a resource.
pub(in crate::config) fn duplicate(resource: &Resource, first: &SourceRange, at: &SourceRange) -> Diagnostic {
    let what = match resource.mode {
        ResourceMode::Managed => "resource",
        ResourceMode::Data => "data",
        ResourceMode::Ephemeral => "ephemeral resource",
    };
    let detail = format!(
        "{resource} is already declared at {}. The names of resources of one type must be unique in a module.",
        place(first)
    );
    Diagnostic::error(format!("Duplicate {what} {:?} configuration", resource.type_name.as_str()), detail)
        .at(at.clone())
}

/// An argument such as `count` in the data block of a check.
pub(in crate::config) fn repeated_in_check(name: &str, at: SourceRange) -> Diagnostic {
    let detail = format!("A data block in a check block has only one instance, so it cannot have {name:?}.");
    Diagnostic::error(format!("Invalid \"{name}\" attribute"), detail).at(at)
}

/// A `lifecycle` block in the data block of a check.
pub(in crate::config) fn lifecycle_in_check(at: &SourceRange) -> Diagnostic {
    let detail = "A data block in a check block cannot have a lifecycle block. Write conditions as assert blocks.";
    Diagnostic::error("Invalid lifecycle block", detail).at(at.clone())
}

/// A second `lifecycle` block.
pub(in crate::config) fn second_lifecycle(first: &SourceRange, at: &SourceRange) -> Diagnostic {
    let detail = format!("This resource already has a lifecycle block at {}.", place(first));
    Diagnostic::error("Duplicate lifecycle block", detail).at(at.clone())
}

/// A second `connection` block.
pub(in crate::config) fn second_connection(first: &SourceRange, at: &SourceRange) -> Diagnostic {
    let detail = format!("This resource already has a connection block at {}.", place(first));
    Diagnostic::error("Duplicate connection block", detail).at(at.clone())
}

/// A `connection` or `provisioner` block of an ephemeral resource.
pub(in crate::config) fn block_of_ephemeral(block_type: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!("Only a managed resource (a \"resource\" block) can have a {block_type} block.");
    Diagnostic::error("Invalid configuration block for ephemeral resource", detail).at(at.clone())
}

/// A `locals` block, which is reserved.
pub(in crate::config) fn reserved_locals(mode: ResourceMode, at: &SourceRange) -> Diagnostic {
    let block = match mode {
        ResourceMode::Managed => "resource",
        ResourceMode::Data => "data",
        ResourceMode::Ephemeral => "ephemeral",
    };
    let detail = "The language reserves the block type \"locals\" for future use. Remove the block.";
    Diagnostic::error(format!("Reserved block type name in {block} block"), detail).at(at.clone())
}
