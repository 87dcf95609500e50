//! Diagnostics of `removed` blocks, provisioners, `lifecycle` values, and names without a value at their position.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

use crate::config::{Provisioner, RemovedBlock, Variable};

/// A value that comes from a deprecated source. `notice` is the message of its author.
pub(in crate::evaluation) fn from_deprecated(source: &str, notice: &str, at: SourceRange) -> Diagnostic {
    let detail = format!("This value comes from {source}, which is deprecated. Message of the author:\n\n{notice}");
    Diagnostic::warning("Value derived from a deprecated source", detail).at(at)
}

/// An argument for a deprecated variable. `notice` is the message of its author.
pub(in crate::evaluation) fn deprecated_variable(variable: &Variable, notice: &str, at: SourceRange) -> Diagnostic {
    let detail =
        format!("Variable {:?} is marked as deprecated with the following message:\n{notice}", variable.name.as_str());
    Diagnostic::warning("Variable marked as deprecated by the module author", detail).at(at)
}

/// A provider function in a destroy-time provisioner.
pub(in crate::evaluation) fn function_at_destroy(name: &str) -> Diagnostic {
    let detail = format!(
        "The function {name} cannot be used when an object is destroyed, because its provider may no longer be \
         available then."
    );
    Diagnostic::error("Provider function not available", detail)
}

/// A `prevent_destroy` that is not a truth value, for the reason `why`.
pub(in crate::evaluation) fn unsuitable_prevent_destroy(why: &str, at: SourceRange) -> Diagnostic {
    Diagnostic::error("Invalid value for prevent_destroy", format!("The value is unsuitable: {why}.")).at(at)
}

/// A `destroy` that is not a literal.
pub(in crate::evaluation) fn unclear_destroy(at: SourceRange) -> Diagnostic {
    let detail = "The lifecycle argument destroy must be written as true or false, not as an expression.";
    Diagnostic::error("Invalid lifecycle destroy expression", detail).at(at)
}

/// A name in a condition whose other references are invalid.
pub(in crate::evaluation) fn nameless(name: &str, at: SourceRange) -> Diagnostic {
    let detail = format!(
        "The variable {name:?} is not available here, because other references of the condition are invalid. Correct \
         these references first."
    );
    Diagnostic::error("Unknown variable", detail).at(at)
}

/// A provider function in a condition whose other references are invalid.
pub(in crate::evaluation) fn nameless_function(name: &str) -> Diagnostic {
    Diagnostic::error("Unknown provider function", format!("{name} cannot be called here."))
}

/// A provisioner that would need a plugin. `kinds` are the built-in ones.
pub(in crate::evaluation) fn unknown_provisioner(found: &Provisioner, kinds: &[&str]) -> Diagnostic {
    let detail = format!(
        "The configuration uses the provisioner {:?} at {}:{}, which does not exist. Use {}.",
        found.kind.as_str(),
        found.range.file,
        found.range.start.line,
        kinds.join(" or ")
    );
    Diagnostic::error("Missing required provisioner plugin", detail)
}

/// An empty command.
pub(in crate::evaluation) fn no_command() -> Diagnostic {
    Diagnostic::error("Invalid local-exec provisioner command", "The command must be a string that is not empty.")
}

/// A `remote-exec` provisioner without a script.
pub(in crate::evaluation) fn no_script() -> Diagnostic {
    remote_exec("One of \"inline\", \"script\" and \"scripts\" must be set.")
}

/// A `remote-exec` provisioner with several kinds of script.
pub(in crate::evaluation) fn several_scripts() -> Diagnostic {
    remote_exec("Only one of \"inline\", \"script\" and \"scripts\" can be set.")
}

fn remote_exec(detail: &str) -> Diagnostic {
    Diagnostic::error("Invalid remote-exec provisioner configuration", detail)
}

/// A `file` provisioner without a destination.
pub(in crate::evaluation) fn no_destination() -> Diagnostic {
    Diagnostic::error("Invalid file provisioner configuration", "The destination must be a string that is not empty.")
}

/// A `file` provisioner with two sources.
pub(in crate::evaluation) fn two_sources() -> Diagnostic {
    Diagnostic::error("Cannot set both 'source' and 'content'", "")
}

/// A `file` provisioner without a source.
pub(in crate::evaluation) fn no_source() -> Diagnostic {
    Diagnostic::error("Must provide one of 'source' or 'content'", "")
}

/// A connection of a type that is not supported.
pub(in crate::evaluation) fn unsupported_connection(found: &str, at: SourceRange) -> Diagnostic {
    let detail = format!("The connection type {found:?} is not supported. Use \"ssh\", which is also the default.");
    Diagnostic::error("Unsupported connection type", detail).at(at)
}

/// A `removed` block for a resource that is still declared.
pub(in crate::evaluation) fn resource_still_declared(block: &RemovedBlock) -> Diagnostic {
    let detail = format!(
        "This removed block names the resource {}, but the configuration still declares that resource. Remove one of \
         the two blocks.",
        block.address()
    );
    Diagnostic::error("Removed resource block still exists", detail).at(block.range.clone())
}

/// A `removed` block for a module that is still called.
pub(in crate::evaluation) fn module_still_called(block: &RemovedBlock) -> Diagnostic {
    let detail = format!(
        "This removed block names the module {}, but the configuration still calls that module. Remove one of the two \
         blocks.",
        block.address()
    );
    Diagnostic::error("Removed module block still exists", detail).at(block.range.clone())
}

/// `count.index` without `count`.
pub(in crate::evaluation) fn count_out_of_scope(at: SourceRange) -> Diagnostic {
    let detail = "count.index has a value only inside resource, data and module blocks that set count.";
    Diagnostic::error("Reference to \"count\" in non-counted context", detail).at(at)
}

/// `each.value` without `for_each`.
pub(in crate::evaluation) fn each_value_out_of_scope(at: SourceRange) -> Diagnostic {
    let detail = "each.value has a value only inside blocks that set for_each.";
    Diagnostic::error("each.value cannot be used in this context", detail).at(at)
}

/// `each.key` without `for_each`.
pub(in crate::evaluation) fn each_key_out_of_scope(at: SourceRange) -> Diagnostic {
    let detail = "each.key and each.value have values only inside blocks that set for_each.";
    Diagnostic::error("Reference to \"each\" in context without for_each", detail).at(at)
}

/// `self` without an object.
pub(in crate::evaluation) fn self_out_of_scope(at: SourceRange) -> Diagnostic {
    let detail = "self has a value only in provisioner, connection and postcondition blocks of a resource.";
    Diagnostic::error("Invalid \"self\" reference", detail).at(at)
}

/// An attribute of `terraform` that is not supported.
pub(in crate::evaluation) fn unsupported_name(at: SourceRange) -> Diagnostic {
    let detail = "This name is part of the language, but this version of Weft does not support the name yet.";
    Diagnostic::error("Reference not supported yet", detail).at(at)
}

/// Another name that has no value at its position.
pub(in crate::evaluation) fn undeclared_object(at: SourceRange) -> Diagnostic {
    Diagnostic::error("Reference to undeclared object", "This name has no value at this place.").at(at)
}
