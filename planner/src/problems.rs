//! Diagnostics of planning as a whole.

use std::collections::BTreeSet;
use std::fmt::Display;

use smol_str::SmolStr;
use weft_evaluator::config::Variable;
use weft_evaluator::glue::{RootTemplate, RootVariable};
use weft_graph_format::address::{InstanceKey, ProviderInstance, ProviderSource, ResourceInstance};
use weft_graph_format::diagnostic::{Diagnostic, Severity};
use weft_graph_format::source::SourceRange;
use weft_providers::{CallError, ProviderOpenError};
use weft_state::Doubt;

/// The code of the warning about a value for a deprecated variable of the root module.
pub const DEPRECATED_VARIABLE: &str = "deprecated-variable";

/// The summary for an object that violates the rules for providers.
pub(crate) const INVALID_OBJECT: &str = "Provider produced invalid object";

/// The summary for a missing provider block.
const CONFIGURATION_NOT_PRESENT: &str = "Provider configuration not present";

/// The summary for a missing key of a provider.
const INSTANCE_NOT_PRESENT: &str = "Provider instance not present";

/// Problems, which the caller reports.
pub(crate) type Problems = Vec<Diagnostic>;

/// The provider's plan violates a rule.
pub(crate) fn invalid_plan(address: &str, violation: &dyn Display) -> Diagnostic {
    let detail =
        format!("The provider planned an invalid value for {address}: {violation}. This is a bug in the provider.");
    Diagnostic::error("Provider produced invalid plan", detail).about(address)
}

/// `-replace` in a destroy or refresh-only plan.
pub(crate) fn replace_unsupported() -> Diagnostic {
    Diagnostic::error(
        "Unsupported plan mode",
        "-replace=ADDRESS works in the normal planning mode only. Remove -replace, or remove -destroy or \
         -refresh-only.",
    )
}

/// A deprecated variable of the root module is given a value. `notice` is the message of its author.
pub(crate) fn deprecated_variable(variable: &Variable, notice: &str) -> Diagnostic {
    let detail = format!(
        "The variable {:?} is deprecated, but has been given a value. Message of the author: {notice}",
        variable.name.as_str()
    );
    Diagnostic::warning("Deprecated variable used from the root module", detail)
        .code(DEPRECATED_VARIABLE)
        .at(variable.range.clone())
}

/// An import block names an instance that the configuration does not have.
pub(crate) fn import_without_instance(address: &ResourceInstance) -> Diagnostic {
    Diagnostic::error(
        "Configuration for import target does not exist",
        format!(
            "The configuration has no instance {address}. Add the instance to the count or for_each of the resource, \
             or remove the import block."
        ),
    )
}

/// The plan would touch an object whose last operation has an unknown outcome. `address` is what `-exclude` can name;
/// `None` if the plan cannot leave the object out.
pub(crate) fn in_doubt(doubt: &Doubt, address: Option<&ResourceInstance>) -> Diagnostic {
    let problem = doubt.problem();
    let Some(address) = address else { return problem };
    let way_on = format!(
        "\n\nTo plan everything but this object and what depends on it: -exclude={}",
        weft_state::choice::quoted(&address.to_string())
    );
    Diagnostic { detail: problem.detail + &way_on, ..problem }
}

/// An object has an operation with an unknown outcome, and the plan leaves the object as it is.
pub(crate) fn kept_in_doubt(doubt: &Doubt) -> Diagnostic {
    let problem = doubt.problem();
    let detail = problem.detail + "\n\nThis plan neither reads nor changes the object.";
    Diagnostic { severity: Severity::Warning, detail, ..problem }
}

/// A task of planning panicked.
pub(crate) fn task_ended() -> Diagnostic {
    Diagnostic::error("Planning failed", "A task of planning ended early. This is a bug in Weft; please report it.")
}

/// Planning failed without an error.
pub(crate) fn failed_without_error() -> Diagnostic {
    Diagnostic::error(
        "Planning failed",
        "Planning ended early without an error. This is a bug in Weft; please report it.",
    )
}

/// Operations wait for each other.
pub(crate) fn cycle(members: &[String]) -> Diagnostic {
    Diagnostic::error(
        format!("Cycle: {}", members.join(", ")),
        "These changes depend on each other, so no change can be made first.",
    )
}

/// The graph is invalid.
pub(crate) fn plan_unwritable(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Plan cannot be written", format!("{error}."))
}

/// An object is removed from the state without being destroyed.
pub(crate) fn forgotten(address: &ResourceInstance) -> Diagnostic {
    Diagnostic::warning(
        "Resource will be removed from the state",
        format!("{address} is removed from the state and not destroyed. Weft no longer manages it."),
    )
}

/// The provider did not return its schema.
pub(crate) fn schema_missing(source: &ProviderSource, error: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Failed to obtain provider schema",
        format!("The provider {} did not return its schema: {error}.", source.for_display()),
    )
}

/// A call to a provider failed.
pub(crate) fn call_failed(error: &CallError, address: &str) -> Diagnostic {
    let (summary, hint) = match error {
        CallError::UnknownType { .. } => ("Invalid resource type", ""),
        CallError::Crashed { .. } | CallError::NotRunning { .. } => {
            ("Plugin did not respond", " The plugin process ended. Its last output is in the log.")
        }
        _ => ("Plugin error", ""),
    };
    Diagnostic::error(summary, format!("{address}: {error}.{hint}")).about(address)
}

/// A provider cannot be started.
pub(crate) fn provider_not_started(instance: &str, error: &ProviderOpenError) -> Diagnostic {
    Diagnostic::error("Failed to start provider", format!("{instance} cannot be started: {error}."))
}

/// An ephemeral object could not be renewed.
pub(crate) fn ephemeral_not_renewed(address: &ResourceInstance, why: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!("{address} could not be renewed: {why}.");
    Diagnostic::error("Ephemeral object not renewed", detail).about(address.to_string()).at(at.clone())
}

/// An ephemeral object could not be closed.
pub(crate) fn ephemeral_not_closed(address: &ResourceInstance, why: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!("{address} could not be closed: {why}.");
    Diagnostic::error("Ephemeral object not closed", detail).about(address.to_string()).at(at.clone())
}

/// A provider claims to be built in, but does not exist.
pub(crate) fn no_such_builtin(source: &ProviderSource) -> Diagnostic {
    Diagnostic::error(
        "Invalid provider source",
        format!(
            "There is no built-in provider {source}. The only built-in provider is terraform.io/builtin/terraform."
        ),
    )
}

/// The state names a provider instance that the configuration no longer has.
pub(crate) fn missing_instance(instance: &ProviderInstance) -> Diagnostic {
    let keyed = instance.key != InstanceKey::None;
    // The key of a module instance or of the provider was removed together with its objects.
    let repeated = keyed || instance.module.0.iter().any(|step| step.key != InstanceKey::None);
    let how = match repeated {
        true => " If a key was removed, restore it and destroy its objects first: weft apply -destroy -target=ADDRESS.",
        false => "",
    };
    Diagnostic::error(
        if keyed { INSTANCE_NOT_PRESENT } else { CONFIGURATION_NOT_PRESENT },
        format!(
            "The state has objects of {instance}, which is no longer in the configuration. Restore the provider \
             configuration, destroy these objects, and only then remove the provider configuration.{how}"
        ),
    )
}

/// A provider instance that has disappeared is used once more.
pub(crate) fn recalled_instance(instance: &ProviderInstance) -> Diagnostic {
    let source = match instance.key {
        InstanceKey::None => "the last configuration",
        _ => "the last each.value",
    };
    Diagnostic::warning(
        "Provider instance from the state",
        format!(
            "{instance} is no longer in the configuration, but the state still has objects of it. The plan uses \
             {source} of this provider instance, as recorded in the state."
        ),
    )
}

/// The common start of the errors about an incomplete memory.
fn not_recalled(instance: &ProviderInstance, why: &str) -> Diagnostic {
    let keyed = instance.key != InstanceKey::None;
    let summary = if keyed { INSTANCE_NOT_PRESENT } else { CONFIGURATION_NOT_PRESENT };
    let detail = format!("The state has objects of {instance}, which is no longer in the configuration. {why}");
    Diagnostic::error(summary, detail)
}

/// The remedy if there is no memory.
const RESTORE: &str = "Restore the configuration that was removed, and destroy the objects first: weft apply -destroy \
                       -target=ADDRESS.";

/// Parts of the `each.value` of a removed key are not stored.
pub(crate) fn hidden_value(instance: &ProviderInstance, paths: &[&SmolStr]) -> Diagnostic {
    let paths: Vec<&str> = paths.iter().map(|path| path.as_str()).collect();
    let why = format!("The state does not contain {}, which must not be stored. {RESTORE}", paths.join(", "));
    not_recalled(instance, &why)
}

/// An argument is not stored, and cannot be computed again. `variables` are the root variables that it was computed
/// from, as text.
pub(crate) fn hidden_argument(instance: &ProviderInstance, argument: &str, variables: &str) -> Diagnostic {
    let from = if variables.is_empty() { String::new() } else { format!(" It was computed from {variables}.") };
    let why = format!(
        "The value of the argument {argument:?} of this provider must not be stored, so the state does not contain \
         it.{from} {RESTORE}"
    );
    not_recalled(instance, &why)
}

/// An argument comes from a variable that is no longer declared.
pub(crate) fn undeclared_variable(instance: &ProviderInstance, argument: &str, variable: &RootVariable) -> Diagnostic {
    let why = format!(
        "The argument {argument:?} of this provider was computed from {variable}, but the configuration no longer \
         declares this variable. Declare the variable until the objects are destroyed, and set it with -var {}=VALUE.",
        variable.name
    );
    not_recalled(instance, &why)
}

/// An argument comes from a variable that has no value in this plan.
pub(crate) fn unset_variable(instance: &ProviderInstance, argument: &str, variable: &RootVariable) -> Diagnostic {
    let why = format!(
        "The argument {argument:?} of this provider was computed from {variable}, and this variable has no value in \
         this plan. Set the variable with -var {}=VALUE, and plan without -target, -exclude and -refresh=false.",
        variable.name
    );
    not_recalled(instance, &why)
}

/// An argument comes from variables whose values have changed.
pub(crate) fn changed_variables(instance: &ProviderInstance, argument: &str, template: &RootTemplate) -> Diagnostic {
    let names: BTreeSet<&SmolStr> = template.variables().map(|variable| &variable.name).collect();
    let options: Vec<String> = names.iter().map(|name| format!("-var {name}=VALUE")).collect();
    let was = template.as_variable().map_or_else(|| format!("{:?}", template.to_string()), ToString::to_string);
    let values = if options.len() == 1 { "value" } else { "values" };
    let why = format!(
        "The argument {argument:?} of this provider was {was}, which has another value now, so the objects may not be \
         found. Set the previous {values} with {} until the objects are destroyed.",
        options.join(" ")
    );
    not_recalled(instance, &why)
}

/// A remembered argument does not match the current schema.
pub(crate) fn unsuitable_memory(instance: &ProviderInstance, argument: &str, why: &str) -> Diagnostic {
    let why = format!(
        "The stored value of the argument {argument:?} of this provider does not fit the installed version of the \
         provider: {why}. {RESTORE}"
    );
    not_recalled(instance, &why)
}

/// A `provider_meta` block for a provider that does not support it.
pub(crate) fn meta_unsupported(source: &ProviderSource, range: &SourceRange) -> Diagnostic {
    let summary = format!("Provider {} doesn't support provider_meta", source.for_display());
    Diagnostic::error(summary, "The provider does not accept values from modules. Remove the provider_meta block.")
        .at(range.clone())
}

/// An object is stored under an invalid address.
pub(crate) fn invalid_address(text: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid resource address in state",
        format!(
            "The state has an object with the address {text:?}, which is not a valid address of a resource instance."
        ),
    )
}

/// The command `import` needs a provider whose configuration is not known yet.
pub(crate) fn unknown_provider_configuration(instance: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Invalid provider configuration",
        format!(
            "The configuration of {instance} depends on values that only an apply can know, so the provider cannot \
             find the object. Use values that are known, or plan with an import block after an apply."
        ),
    )
}

/// An object is stored with an invalid provider.
pub(crate) fn invalid_provider(address: &dyn Display, provider: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Invalid provider address in state",
        format!(
            "The state names the provider {provider:?} for {address}, which is not a valid provider address: {error}. \
             Restore the state from a backup."
        ),
    )
}
