//! The diagnostics of tests, as constructors.

use std::fmt::Display;

use weft_graph_format::diagnostic::{Diagnostic, Severity};
use weft_providers::ProviderDiagnostic;

/// The plan file of a test cannot be encoded.
pub fn plan_not_written(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to write plan file", format!("{error}."))
}

/// A run cannot begin.
pub fn run_not_begun(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Run not begun", format!("{error}."))
}

/// The outcome of an operation is unknown.
pub fn in_doubt(address: &str) -> Diagnostic {
    Diagnostic::error(
        "Resource instance in doubt",
        format!(
            "The outcome of the operation on {address} is unknown, so the test cannot continue. Check whether the real \
             object exists, and remove it if necessary."
        ),
    )
    .about(address)
}

/// A run refers to a provider that the test file does not have.
pub fn missing_provider(name: &str) -> Diagnostic {
    Diagnostic::error(
        format!("Missing provider definition for {name}"),
        format!(
            "The argument \"providers\" of this run refers to {name}, but the test file has neither a provider block \
             nor a mock_provider block for this provider. Add one of these blocks, or correct the argument."
        ),
    )
}

/// The whole file and a run override the same target.
pub fn overridden_twice(block_type: &str, target: &str) -> Diagnostic {
    Diagnostic::warning(
        format!("Multiple `{block_type}` blocks for the same address"),
        format!(
            "`{target}` is overridden for the whole file and in this run. The override of the run takes precedence."
        ),
    )
}

/// The target of an override is in a module that is not called.
pub fn module_of_resource_not_found(module: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        format!("Module not found: {module}"),
        "The target is a resource of a module that the configuration does not call.",
    )
}

/// The target of an override does not exist.
pub fn resource_not_found(target: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        format!("Resource not found: {target}"),
        "The target is a resource that the configuration does not have.",
    )
}

/// The type of an override does not fit its target.
pub fn wrong_override(block_type: &str, target: &dyn Display, kind: &str, other: &str) -> Diagnostic {
    Diagnostic::error(
        format!("Unsupported `{kind}` target in `{block_type}` block"),
        format!("`{target}` is a `{kind}` block, so use `{other}`."),
    )
}

/// An override sets an output that the module does not have.
pub fn output_not_found(name: &str) -> Diagnostic {
    Diagnostic::warning(
        format!("Output not found: {name}"),
        "The module has no such output, so the given value is not used.",
    )
}

/// The target of an override is a module that is not called.
pub fn module_not_found(target: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        format!("Module not found: {target}"),
        "The target is a module that the configuration does not call.",
    )
}

/// The user has interrupted a run.
pub fn interrupted() -> Diagnostic {
    Diagnostic::error(
        "Test interrupted",
        "The run was interrupted before its end. The other messages list the objects that may still exist.",
    )
}

/// `replace` in a run contains an object that is not managed.
pub fn replace_of_unmanaged(address: &str) -> Diagnostic {
    Diagnostic::error("Can only target managed resources for forced replacements.", address)
}

/// `replace` in a run contains a text that is not an instance.
pub fn invalid_replace() -> Diagnostic {
    Diagnostic::error(
        "Invalid address",
        "Each element of replace must be the address of a resource instance, such as TYPE.NAME or TYPE.NAME[KEY].",
    )
}

/// `target` in a run contains a text that cannot be selected.
pub fn invalid_target() -> Diagnostic {
    Diagnostic::error("Invalid address", "A target is a module, a resource, or an instance of one.")
}

/// An expected failure is missing.
pub fn missing_failure(object: &str) -> Diagnostic {
    Diagnostic::error(
        "Missing expected failure",
        format!("This run expects a condition of {object} to fail, but no condition failed."),
    )
}

/// The value of a variable is invalid, as expected. However, the invalid value prevents the apply.
pub fn invalid_variable_before_apply(object: &str) -> Diagnostic {
    Diagnostic::warning(
        "Invalid Variable in test file",
        format!(
            "{object} has an invalid value in this run. The invalid value was expected, but it prevents the apply, so \
             the run fails. With command = plan, the run would pass."
        ),
    )
}

/// The state of the objects that the cleanup has left behind cannot be written.
pub fn state_not_kept(path: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Failed to persist state",
        format!("The state of the remaining objects cannot be written to {path}: {error}."),
    )
}

/// A variable of the tested module has no value.
pub fn no_value(name: &str) -> Diagnostic {
    Diagnostic::error(
        "No value for required variable",
        format!(
            "The variable {name:?} of the tested module has neither a value nor a default. Set a value in a variables \
             block of the run or the file, or with -var."
        ),
    )
}

/// The values for a mock contain a name that the type does not have.
pub fn unknown_field(name: &str) -> ProviderDiagnostic {
    ProviderDiagnostic::error(
        format!("Invalid override for block field `{name}`"),
        "The type has no attribute or block of this name. Remove the value, or correct its name.",
    )
}

/// The values for a mock contain a write-only attribute.
pub fn write_only_value(name: &str) -> ProviderDiagnostic {
    let problem = ProviderDiagnostic::error(
        format!("Encountered override for write-only attribute `{name}`"),
        "Write-only attributes are always null. Remove the value.",
    );
    ProviderDiagnostic { severity: Severity::Warning, ..problem }
}

/// A required attribute has no value in the configuration. The test must not set such an attribute.
pub fn required_value(name: &str) -> ProviderDiagnostic {
    ProviderDiagnostic::error(
        format!("Invalid mock/override field `{name}`"),
        "The attribute is required, so the configuration sets it. Remove the value from the test.",
    )
}

/// The values for a mock contain an attribute that the configuration sets.
pub fn configured_value(name: &str) -> ProviderDiagnostic {
    ProviderDiagnostic::error(
        format!("Invalid mock/override field `{name}`"),
        "The configuration sets this attribute, and its value takes precedence. Remove the field from the test.",
    )
}

/// The values for a mock contain an attribute that a provider would not compute.
pub fn value_not_computed(name: &str) -> ProviderDiagnostic {
    ProviderDiagnostic::error(
        format!("Non-computed field `{name}` is not allowed to be overridden"),
        "Tests can only set attributes that a provider would compute. Remove the value.",
    )
}

/// A value for a mock has the wrong type for its attribute.
pub fn unsuitable_value(name: &str, error: &dyn Display) -> ProviderDiagnostic {
    ProviderDiagnostic::error(
        format!("Invalid mock/override field `{name}`"),
        format!("The value does not fit the type of the attribute: {error}."),
    )
}

/// The value for a block of a mock is not an object.
pub fn block_values_not_an_object(name: &str) -> ProviderDiagnostic {
    ProviderDiagnostic::error(
        format!("Invalid override for block field `{name}`"),
        format!("The value for the blocks {name:?} must be an object, with values for attributes of these blocks."),
    )
}

/// The values for a mock contain a block that the configuration does not have.
pub fn values_without_block(name: &str) -> ProviderDiagnostic {
    ProviderDiagnostic::error(
        format!("Invalid override for block field `{name}`"),
        "The configuration has no such block. Remove the value.",
    )
}
