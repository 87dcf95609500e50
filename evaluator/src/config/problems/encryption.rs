//! Diagnostics of `encryption` blocks.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::nearest::did_you_mean;
use weft_graph_format::source::SourceRange;

use crate::config::PartName;

/// A second `encryption` block.
pub(in crate::config) fn duplicate(first: &SourceRange, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "A module can have only one encryption block. The first one is at {}:{}. Move the settings there.",
        first.file, first.start.line
    );
    Diagnostic::error("Duplicate encryption configuration", detail).at(at.clone())
}

/// A second `key_provider` or `method` block with the same type and name. It is on line `line`.
pub(in crate::config) fn duplicate_part(kind: &str, name: &PartName, line: u32, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "The block {kind} {:?} {:?} on line {line} has the same type and name as an earlier one. Choose another name.",
        name.0.as_str(),
        name.1.as_str()
    );
    Diagnostic::error(format!("Duplicate {kind}"), detail).at(at.clone())
}

/// A second block of a type that is allowed once.
pub(in crate::config) fn second_block(block_type: &str, at: SourceRange) -> Diagnostic {
    let detail = format!("Only one {block_type} block is allowed here. Remove this one.");
    Diagnostic::error(format!("Duplicate {block_type} block"), detail).at(at)
}

/// A second block for the same remote state.
pub(in crate::config) fn duplicate_remote(name: &str, at: SourceRange) -> Diagnostic {
    let detail = format!("There is already a remote_state_data_source block {name:?}. Remove one of them.");
    Diagnostic::error("Duplicate remote_data_source", detail).at(at)
}

/// An `enforced` that is not a truth value.
pub(in crate::config) fn enforced_not_bool(at: SourceRange) -> Diagnostic {
    Diagnostic::error("Unsuitable value type", "The argument \"enforced\" must be true or false.").at(at)
}

/// A method that is not a reference.
pub(in crate::config) fn method_not_a_reference(at: SourceRange) -> Diagnostic {
    let detail = "The method must be a static reference, such as method.aes_gcm.main.";
    Diagnostic::error("Invalid expression", detail).at(at)
}

/// A method that is a reference to something else.
pub(in crate::config) fn invalid_method(at: SourceRange) -> Diagnostic {
    let detail = "The reference must have the form method.TYPE.NAME, such as method.aes_gcm.main.";
    Diagnostic::error("Invalid encryption method identifier", detail).at(at)
}

/// A reference to a method without a block. `declared` are the methods with a block.
pub(in crate::config) fn undeclared_method<'n>(
    name: &PartName,
    declared: impl IntoIterator<Item = &'n PartName>,
    at: SourceRange,
) -> Diagnostic {
    let detail = undeclared("method", name, declared);
    Diagnostic::error("Reference to undeclared encryption method", detail).at(at)
}

/// A reference to a key provider without a block. `declared` are the key providers with a block.
pub(in crate::config) fn undeclared_key_provider<'n>(
    name: &PartName,
    declared: impl IntoIterator<Item = &'n PartName>,
    at: SourceRange,
) -> Diagnostic {
    let detail = undeclared("key_provider", name, declared);
    Diagnostic::error("Reference to undeclared key provider", detail).at(at)
}

fn undeclared<'n>(kind: &str, name: &PartName, declared: impl IntoIterator<Item = &'n PartName>) -> String {
    let whole = |name: &PartName| format!("{kind}.{}.{}", name.0, name.1);
    let all: Vec<String> = declared.into_iter().map(whole).collect();
    let hint = did_you_mean(&whole(name), all.iter().map(String::as_str));
    format!("The encryption settings have no block {kind} {:?} {:?}.{hint}", name.0.as_str(), name.1.as_str())
}

/// A setting that is not known before planning.
pub(in crate::config) fn unknown_setting(at: SourceRange) -> Diagnostic {
    let detail = "Encryption settings must be known before planning. Use a value that does not depend on resources.";
    Diagnostic::error("Dynamic value in static context", detail).at(at)
}
