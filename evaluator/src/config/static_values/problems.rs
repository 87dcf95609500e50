//! Diagnostics of static values. `needing` is the argument or value that needs a static value.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

use super::{Needing, Variable};

const DYNAMIC: &str = "Dynamic value in static context";
const PROVIDER_FUNCTION: &str = "Provider function in static context";

fn too_early(needing: &Needing, what: &str) -> String {
    let hint = with_experiment(needing);
    format!("{} must be known before planning, so it cannot use {what}.{hint}", needing.text)
}

/// The part of a message about the experiment that would accept the value. Empty if there is no such experiment.
fn with_experiment(needing: &Needing) -> String {
    needing.experiment.map_or_else(String::new, |name| {
        format!(
            " To use any value that is known during planning, set experiments = [{name}] in a language block of this \
             module."
        )
    })
}

/// A value that depends on itself.
pub(super) fn circular(what: &str, at: SourceRange) -> Diagnostic {
    let detail = format!("The value of {what} depends on itself. Remove one of the references in this circle.");
    Diagnostic::error("Circular reference", detail).at(at)
}

/// A value that depends on a value which could not be evaluated.
pub(super) fn not_computed(needing: &Needing, what: &str) -> Diagnostic {
    let hint = with_experiment(needing);
    let detail = format!("{} depends on {what}, which is not available before planning.{hint}", needing.text);
    Diagnostic::error("Unable to compute static value", detail).at(needing.range.clone())
}

/// A null for a variable that is not nullable.
pub(super) fn null_variable(variable: &Variable) -> Diagnostic {
    let detail = format!(
        "The value given for var.{} is null, but the variable has nullable = false. Give the variable another value.",
        variable.name
    );
    Diagnostic::error("Required variable not set", detail).at(variable.range.clone())
}

/// A value that does not fit the type of a variable, for the reason `why`.
pub(super) fn unsuitable_variable(variable: &Variable, why: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid value for input variable",
        format!("The value is not suitable for var.{}: {why}.", variable.name),
    )
}

/// A call without an argument that is needed before planning.
pub(super) fn argument_not_given(name: &str, at: SourceRange) -> Diagnostic {
    let detail =
        format!("The argument {name:?} is needed before planning, but this module call does not set the argument.");
    Diagnostic::error("Missing required variable in module call", detail).at(at)
}

/// A variable of the root module without a value that is needed before planning.
pub(super) fn variable_not_given(variable: &Variable) -> Diagnostic {
    Diagnostic::error(
        format!("Failed to request input from user for variable var.{}", variable.name),
        format!(
            "The variable {:?} has no value and no default, but is needed before planning. Set it with -var, -var-file \
             or TF_VAR_{}.",
            variable.name.as_str(),
            variable.name
        ),
    )
    .at(variable.range.clone())
}

/// An attribute that `path` does not have.
pub(super) fn no_path_attribute(name: &str, at: SourceRange) -> Diagnostic {
    let detail = format!("There is no path.{name}. Use path.cwd, path.module or path.root.");
    Diagnostic::error("Invalid \"path\" attribute", detail).at(at)
}

/// `terraform.applying` in a static value.
pub(super) fn applying(root: &str, at: SourceRange) -> Diagnostic {
    let detail =
        format!("{root}.applying is known during plan and apply only, but this value is needed before planning.");
    Diagnostic::error("Invalid attribute in static context", detail).at(at)
}

/// An attribute that `terraform` does not have.
pub(super) fn no_terraform_attribute(root: &str, name: &str, at: SourceRange) -> Diagnostic {
    let detail = format!("There is no {root}.{name}. Use {root}.workspace.");
    Diagnostic::error("Invalid \"terraform\" attribute", detail).at(at)
}

/// A module output in a static value.
pub(super) fn module_output(needing: &Needing, call: &str, at: SourceRange) -> Diagnostic {
    let detail = too_early(needing, &format!("module.{call}"));
    Diagnostic::error("Module output not supported in static context", detail).at(at)
}

/// A function of a provider in a static value.
pub(super) fn provider_function(needing: &Needing, provider: &str, at: SourceRange) -> Diagnostic {
    let detail = too_early(needing, &format!("functions of the provider {provider}"));
    Diagnostic::error(PROVIDER_FUNCTION, detail).at(at)
}

/// A function of a provider in a static value, for a caller that does not know which argument needs the value.
pub(super) fn early_provider_function(name: &str) -> Diagnostic {
    let detail = format!("{name} is a function of a provider, and providers cannot be called before planning.");
    Diagnostic::error(PROVIDER_FUNCTION, detail)
}

/// A reference to a name of another kind, such as a resource, that has no value before planning.
pub(super) fn dynamic(needing: &Needing, what: &str, at: SourceRange) -> Diagnostic {
    Diagnostic::error(DYNAMIC, too_early(needing, what)).at(at)
}

/// A reference to a name that has no value before planning, for a caller that does not know which argument needs the
/// value.
pub(super) fn early(at: SourceRange) -> Diagnostic {
    Diagnostic::error(DYNAMIC, "The value must be known before planning, so the expression cannot use this reference.")
        .at(at)
}

/// A local value that is not declared.
pub(super) fn undefined_local(what: &str, at: SourceRange) -> Diagnostic {
    Diagnostic::error("Undefined local", format!("{what} is not declared. Add it to a locals block.")).at(at)
}

/// A variable that is not declared.
pub(super) fn undefined_variable(what: &str, at: SourceRange) -> Diagnostic {
    Diagnostic::error("Undefined variable", format!("{what} is not declared. Add a variable block for it.")).at(at)
}

/// A variable with `const = false` in a static value.
pub(super) fn not_constant(needing: &Needing, what: &str, at: SourceRange) -> Diagnostic {
    let user = &needing.text;
    let detail = format!(
        "{user} must be known before planning, so it cannot use {what}, which is declared with const = false. Remove \
         const = false to use it."
    );
    Diagnostic::error("Unable to use variable in static context", detail).at(at)
}

/// A sensitive value for an argument that is shown.
pub(super) fn sensitive_text(what: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!("{what} is shown and stored, so it cannot be sensitive.");
    Diagnostic::error("Sensitive value not allowed", detail).at(at.clone())
}

/// An ephemeral value for an argument that is stored.
pub(super) fn ephemeral_text(what: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!("{what} is stored, so it cannot be ephemeral. Use a value that is not ephemeral.");
    Diagnostic::error("Ephemeral value not allowed", detail).at(at.clone())
}

/// A value that is not a string.
pub(super) fn no_text(what: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!("{what} must be a string that is known before planning.");
    Diagnostic::error("Unsuitable value type", detail).at(at.clone())
}
