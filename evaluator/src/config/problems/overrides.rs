//! Diagnostics of override files.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

/// An override of `depends_on`.
pub(in crate::config) fn depends_on(at: SourceRange) -> Diagnostic {
    Diagnostic::error(
        "Unsupported override",
        "An override file cannot set depends_on. Set the argument in the block that is overridden.",
    )
    .at(at)
}

/// A block that overrides nothing. `name` is its name, without the type of the block.
pub(in crate::config) fn missing_base(block_type: &str, name: &str, at: &SourceRange) -> Diagnostic {
    let summary = match block_type {
        "variable" => "Missing base variable declaration to override",
        "output" => "Missing base output definition to override",
        "module" => "Missing module call to override",
        "resource" => "Missing resource to override",
        "data" => "Missing data resource to override",
        "ephemeral" => "Missing ephemeral resource to override",
        _ => "Missing base provider configuration for override",
    };
    let detail = format!(
        "The other files of this module have no {block_type} block {name} that this block can override. Check the \
         name, or move this block to another file."
    );
    Diagnostic::error(summary, detail).at(at.clone())
}

/// A local value that overrides nothing.
pub(in crate::config) fn missing_local(name: &str, at: SourceRange) -> Diagnostic {
    let detail = format!(
        "The other files of this module have no local value {name:?} that this definition can override. Check the \
         name, or move the definition to another file."
    );
    Diagnostic::error("Missing base local value definition to override", detail).at(at)
}

/// A block that cannot be in an override file.
pub(in crate::config) fn unsupported_block(block_type: &str, at: &SourceRange) -> Diagnostic {
    // OpenTofu's summaries differ between block types.
    let summary = match block_type {
        "check" => "Can't override check blocks".to_owned(),
        "removed" => "Cannot override 'Removed' blocks".to_owned(),
        other => format!("Cannot override '{other}' blocks"),
    };
    let detail = format!("An override file cannot have {block_type} blocks. Move this block to another file.");
    Diagnostic::error(summary, detail).at(at.clone())
}
