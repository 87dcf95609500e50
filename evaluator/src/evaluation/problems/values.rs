//! Diagnostics of variables and outputs.

use weft_graph_format::diagnostic::{Diagnostic, checked_by};
use weft_graph_format::source::SourceRange;

use crate::config::{Output, Variable};
use crate::given_variables::GivenVariable;

const INVALID_DEFAULT: &str = "Invalid default value for variable";
const INVALID_INPUT: &str = "Invalid value for input variable";
const NOT_SET: &str = "Required variable not set";
const TYPE_ARGUMENTS: &str = "type(...) takes one argument: the value whose type is shown.";

/// An ephemeral value for a variable that does not allow ephemeral values.
pub(in crate::evaluation) fn ephemeral_argument(variable: &Variable, at: SourceRange) -> Diagnostic {
    let detail = format!(
        "The value for the variable {:?} is ephemeral, but the variable does not allow ephemeral values. Set ephemeral \
         = true in the block of the variable, or pass another value.",
        variable.name.as_str()
    );
    Diagnostic::error("Variable does not allow ephemeral value", detail).at(at)
}

/// A null for a variable of a called module.
pub(in crate::evaluation) fn null_argument(variable: &Variable, at: SourceRange) -> Diagnostic {
    Diagnostic::error(NOT_SET, format!("The variable {:?} must not be null.", variable.name.as_str())).at(at)
}

/// An argument that does not fit its variable, for the reason `why`. `name` is the full name of the variable.
pub(in crate::evaluation) fn unsuitable_argument(variable: &Variable, name: &str, why: &str) -> Diagnostic {
    let detail = format!(
        "The given value is not suitable for {name} declared at {}:{}: {why}.",
        variable.range.file, variable.range.start.line
    );
    Diagnostic::error(INVALID_INPUT, detail).at(variable.range.clone())
}

/// A variable of the root module without a value.
pub(in crate::evaluation) fn no_value(variable: &Variable) -> Diagnostic {
    Diagnostic::error(
        "No value for required variable",
        format!(
            "The variable {:?} of the root module has neither a value nor a default. Give it a value with -var, \
             -var-file or TF_VAR_{}.",
            variable.name.as_str(),
            variable.name
        ),
    )
    .at(variable.range.clone())
}

/// A null for a variable of the root module.
pub(in crate::evaluation) fn null_given(variable: &Variable, given: &GivenVariable) -> Diagnostic {
    let detail = format!(
        "The variable {:?} must not be null: it has no default value. The null value was given by {}.",
        variable.name.as_str(),
        given.source
    );
    Diagnostic::error(NOT_SET, detail).at(given.range.clone().unwrap_or_else(|| variable.range.clone()))
}

/// A given value that does not fit its variable, for the reason `why`.
pub(in crate::evaluation) fn unsuitable_given(variable: &Variable, given: &GivenVariable, why: &str) -> Diagnostic {
    let detail = format!(
        "The value given by {} is not suitable for var.{} declared at {}:{}: {why}.",
        given.source, variable.name, variable.range.file, variable.range.start.line
    );
    Diagnostic::error(INVALID_INPUT, detail).at(variable.range.clone())
}

/// A null default of a variable that is not nullable.
pub(in crate::evaluation) fn null_default(at: SourceRange) -> Diagnostic {
    Diagnostic::error(INVALID_DEFAULT, "A null default value is not valid when nullable is false.").at(at)
}

/// A default that does not fit the type of its variable, for the reason `why`.
pub(in crate::evaluation) fn unsuitable_default(why: &str, at: SourceRange) -> Diagnostic {
    let detail = format!("This default value is not compatible with the type of the variable: {why}.");
    Diagnostic::error(INVALID_DEFAULT, detail).at(at)
}

/// A failed validation rule. `message` is its error message, `rule` its block.
pub(in crate::evaluation) fn validation_failed(message: &str, rule: &SourceRange, at: SourceRange) -> Diagnostic {
    Diagnostic::error("Invalid value for variable", format!("{message}{}", checked_by(rule))).at(at)
}

/// An output of the root module that is declared as ephemeral.
pub(in crate::evaluation) fn ephemeral_root_output(output: &Output) -> Diagnostic {
    Diagnostic::error(
        "Invalid output configuration",
        "Outputs of the root module are stored, so they cannot be ephemeral. Remove ephemeral = true. Only outputs of \
         called modules can have this argument.",
    )
    .at(output.range.clone())
}

/// A sensitive value of an output of the root module.
pub(in crate::evaluation) fn sensitive_output(output: &Output) -> Diagnostic {
    Diagnostic::error(
        "Output refers to sensitive values",
        "The value of this output contains sensitive values, and outputs of the root module are shown. Set sensitive = \
         true in the block of the output to hide the value.",
    )
    .at(output.range.clone())
}

/// An ephemeral value of an output that is not declared as ephemeral.
pub(in crate::evaluation) fn ephemeral_output(output: &Output) -> Diagnostic {
    Diagnostic::error(
        "Output does not allow ephemeral value",
        "The value of this output contains ephemeral values, which must not be stored. In a called module, set \
         ephemeral = true in the block of the output.",
    )
    .at(output.value.range())
}

/// A reference to a provider in an output of the root module.
pub(in crate::evaluation) fn provider_output(output: &Output) -> Diagnostic {
    Diagnostic::error(
        "Output refers to provider configuration",
        "Outputs of the root module are stored, but the value of this output contains a reference to a provider, which \
         cannot be stored. To store the keys of a map of providers, use keys(...).",
    )
    .at(output.value.range())
}

/// An expression of the console that uses something without a value.
pub(in crate::evaluation) fn expression_without_value(at: SourceRange) -> Diagnostic {
    let detail = "This expression uses something that could not be evaluated. The problems above say why.";
    Diagnostic::error("No value", detail).at(at)
}

/// A condition of a test that uses something without a value.
pub(in crate::evaluation) fn condition_without_value(at: SourceRange) -> Diagnostic {
    let detail = "This condition uses something that could not be evaluated. The problems above say why.";
    Diagnostic::error("No value", detail).at(at)
}

/// A condition of a test that names an output that does not exist.
pub(in crate::evaluation) fn undeclared_output(name: &str, at: SourceRange) -> Diagnostic {
    let detail = format!("The tested module has no output {name:?}.");
    Diagnostic::error("Reference to undeclared output value", detail).at(at)
}

/// A call of `type` as a part of an expression.
pub(in crate::evaluation) fn type_in_expression(at: SourceRange) -> Diagnostic {
    let detail = "type(...) only describes a type and returns no value, so it cannot be part of an expression. Use it \
                  alone.";
    Diagnostic::error("Invalid use of type function", detail).at(at)
}

/// A call of `type` without arguments.
pub(in crate::evaluation) fn no_type_argument(at: SourceRange) -> Diagnostic {
    Diagnostic::error("Not enough function arguments", TYPE_ARGUMENTS).at(at)
}

/// A call of `type` with several arguments.
pub(in crate::evaluation) fn type_arguments(at: SourceRange) -> Diagnostic {
    Diagnostic::error("Too many function arguments", TYPE_ARGUMENTS).at(at)
}

/// `plantimestamp` in the console.
pub(in crate::evaluation) fn no_plan_time(at: SourceRange) -> Diagnostic {
    let detail = "plantimestamp() is not available here, because no plan is made. Use timestamp().";
    Diagnostic::error("Call to unknown function", detail).at(at)
}
