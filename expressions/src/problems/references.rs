//! Diagnostics of references that cannot be resolved.

use weft_graph_format::diagnostic::Diagnostic;

/// The code for a reference to a name that the variables of a template do not have.
pub(crate) const UNKNOWN_NAME: &str = "unknown-name";

const INVALID_REFERENCE: &str = "Invalid reference";

/// A reference in an expression that must be constant.
pub(crate) fn not_allowed() -> Diagnostic {
    Diagnostic::error("Variables not allowed", "Variables may not be used here.")
}

/// A name that the variables of a template do not have. `place` is the position of the reference, as text.
pub(crate) fn no_such_variable(name: &str, place: &str) -> Diagnostic {
    let detail = format!("vars map does not contain key {name:?}, referenced at {place}.");
    Diagnostic::error("Unknown variable", detail).code(UNKNOWN_NAME)
}

/// The current directory is not known.
pub(crate) fn no_current_directory(error: &std::io::Error) -> Diagnostic {
    let detail = format!("The current directory, which is the value of path.cwd, cannot be determined: {error}.");
    Diagnostic::error("Failed to get working directory", detail)
}

/// An attribute that `path` does not have.
pub(crate) fn path_attribute(name: &str) -> Diagnostic {
    let detail = format!("path has no attribute {name:?}. Use path.module, path.root or path.cwd.");
    Diagnostic::error("Invalid \"path\" attribute", detail)
}

/// An attribute that `terraform` or `tofu` does not have. `root` is one of these two.
pub(crate) fn terraform_attribute(root: &str, name: &str) -> Diagnostic {
    let detail = format!("{root} has no attribute {name:?}. Use {root}.workspace, the name of the selected workspace.");
    Diagnostic::error(format!("Invalid {root:?} attribute"), detail)
}

/// `each.key` or `each.value` outside of a block with `for_each`.
pub(crate) fn each_out_of_scope() -> Diagnostic {
    Diagnostic::error(
        "Reference to \"each\" in context without for_each",
        "The \"each\" object can be used only in \"module\" or \"resource\" blocks, and only when the \"for_each\" \
         argument is set.",
    )
}

/// An attribute that `each` does not have.
pub(crate) fn each_attribute(name: &str) -> Diagnostic {
    let detail = format!("each has no attribute {name:?}. Use each.key or each.value, the current entry of for_each.");
    Diagnostic::error("Invalid \"each\" attribute", detail)
}

/// `count.index` outside of a block with `count`.
pub(crate) fn count_out_of_scope() -> Diagnostic {
    Diagnostic::error(
        "Reference to \"count\" in non-counted context",
        "The \"count\" object can only be used in \"module\", \"resource\", and \"data\" blocks, and only when the \
         \"count\" argument is set.",
    )
}

/// An attribute that `count` does not have.
pub(crate) fn count_attribute(name: &str) -> Diagnostic {
    let detail =
        format!("count has no attribute {name:?}. Use count.index, the index of the instance in a block with count.");
    Diagnostic::error("Invalid \"count\" attribute", detail)
}

/// `self` without an object.
pub(crate) fn self_out_of_scope() -> Diagnostic {
    let detail = "self has a value only in provisioner, connection and postcondition blocks of a resource.";
    Diagnostic::error("Invalid \"self\" reference", detail)
}

/// A local value that is not declared.
pub(crate) fn undeclared_local(name: &str) -> Diagnostic {
    Diagnostic::error("Reference to undeclared local value", format!("No local value named {name:?} is declared."))
}

/// A variable that is not declared.
pub(crate) fn undeclared_variable(name: &str) -> Diagnostic {
    let detail = format!("No variable named {name:?} is declared. Declare it with a block variable {name:?} {{}}.");
    Diagnostic::error("Reference to undeclared input variable", detail)
}

/// A module call that is not declared.
pub(crate) fn undeclared_module(name: &str) -> Diagnostic {
    let detail = format!("No module call named {name:?} is declared in the root module.");
    Diagnostic::error("Reference to undeclared module", detail)
}

/// A resource that is not declared. `mode` is "managed", "data" or "ephemeral".
pub(crate) fn undeclared_resource(mode: &str, ty: &str, name: &str) -> Diagnostic {
    let detail = format!("There is no {mode} resource {ty:?} {name:?} definition in the root module.");
    Diagnostic::error("Reference to undeclared resource", detail)
}

/// `resource`, `data` or `ephemeral` without the type and the name of a resource.
pub(crate) fn incomplete_resource(object: &str) -> Diagnostic {
    let detail = format!(
        "The {object:?} object must be followed by two attribute names: the resource type and the resource name."
    );
    Diagnostic::error(INVALID_REFERENCE, detail)
}

/// The type of a resource without its name.
pub(crate) fn nameless_resource() -> Diagnostic {
    Diagnostic::error(INVALID_REFERENCE, "The name of a resource must follow its type.")
}
