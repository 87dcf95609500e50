//! Diagnostics of declarations of any kind, and of `locals` blocks.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

/// A name that is not an identifier. `what` is the kind of the named object, such as "variable".
pub(in crate::config) fn invalid_name(what: &str, at: &SourceRange) -> Diagnostic {
    let detail = "A name must start with a letter or an underscore, and contain only letters, digits, underscores and \
                  dashes.";
    Diagnostic::error(format!("Invalid {what} name"), detail).at(at.clone())
}

/// A second declaration of a name. `what` is the kind of the declaration, such as "variable declaration".
pub(in crate::config) fn duplicate(what: &str, name: &str, first: &SourceRange, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "{name:?} is already declared at {}:{}. Each name can be declared only once in a module.",
        first.file, first.start.line
    );
    Diagnostic::error(format!("Duplicate {what}"), detail).at(at.clone())
}

/// A second escaping block in the same body.
pub(in crate::config) fn second_escape(first: &SourceRange, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "A block can contain only one block of type \"_\". The first one is at {}:{}. Move the arguments there.",
        first.file, first.start.line
    );
    Diagnostic::error("Duplicate escaping block", detail).at(at.clone())
}

/// A `required_providers` block outside of a `terraform` block.
pub(in crate::config) fn required_providers_outside(at: &SourceRange) -> Diagnostic {
    let detail = "A required_providers block must be inside a terraform block.";
    Diagnostic::error("Invalid required_providers block", detail).at(at.clone())
}

/// A block in a block of the type `owner`, which can only have arguments.
pub(in crate::config) fn nested_block(block_type: &str, owner: &str, at: SourceRange) -> Diagnostic {
    let detail = format!("A {owner} block cannot have nested blocks. Write each value as an argument.");
    Diagnostic::error(format!("Unexpected {block_type:?} block"), detail).at(at)
}
