//! Diagnostics of provider configurations, their instances and their functions.

use weft_graph_format::address::{InstanceKey, ProviderConfig, ProviderSource};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::path::Path;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;

const INVALID_KEY: &str = "Invalid provider instance key";
const INVALID_REFERENCE: &str = "Invalid provider configuration reference";
const UNINITIALIZED: &str = "Uninitialized function provider";

/// The name of a provider configuration: `aws.west`.
fn shown(local_name: &str, alias: Option<&str>) -> String {
    alias.map_or_else(|| local_name.to_string(), |alias| format!("{local_name}.{alias}"))
}

/// A key for a configuration that is a single instance, chosen by the call of the module.
pub(in crate::evaluation) fn key_of_passed(at: SourceRange) -> Diagnostic {
    let detail = "The call of this module passes a single instance of this provider, so references to the provider \
                  have no key here. Remove the key.";
    Diagnostic::error(INVALID_KEY, detail).at(at)
}

/// A key for a configuration without `for_each`.
pub(in crate::evaluation) fn key_without_for_each(at: SourceRange) -> Diagnostic {
    let detail = "This provider configuration has no for_each, so it has no instances with keys. Remove the key.";
    Diagnostic::error(INVALID_REFERENCE, detail).at(at)
}

/// A reference without a key to a configuration with `for_each`.
pub(in crate::evaluation) fn key_missing(at: &SourceRange) -> Diagnostic {
    let detail = "This provider configuration uses for_each. Choose one of its instances by its key, such as \
                  aws.by_region[each.key].";
    Diagnostic::error("Missing provider instance key", detail).at(at.clone())
}

/// A sensitive key.
pub(in crate::evaluation) fn sensitive_key(at: SourceRange) -> Diagnostic {
    Diagnostic::error(INVALID_KEY, "A provider instance key must not be sensitive: it is part of an address.").at(at)
}

/// A null key.
pub(in crate::evaluation) fn null_key(at: SourceRange) -> Diagnostic {
    Diagnostic::error(INVALID_KEY, "A provider instance key must not be null.").at(at)
}

/// An unknown key. `names` are the unknown values.
pub(in crate::evaluation) fn unknown_key(names: &str, at: SourceRange) -> Diagnostic {
    let detail = format!(
        "The provider instance key depends on {names}, known only after apply, but the plan needs it. First apply the \
         resources that these values come from, with -target."
    );
    Diagnostic::error(INVALID_KEY, detail).at(at)
}

/// A key that is not a string, for the reason `why`.
pub(in crate::evaluation) fn unsuitable_key(why: &str, at: SourceRange) -> Diagnostic {
    Diagnostic::error(INVALID_KEY, format!("The provider instance key is unsuitable: {why}.")).at(at)
}

/// A key for which no instance exists. `there` are the keys that exist.
pub(in crate::evaluation) fn absent_instance<'k>(
    user: &str,
    key: &InstanceKey,
    config: &ProviderConfig,
    there: impl Iterator<Item = &'k InstanceKey>,
    at: &SourceRange,
) -> Diagnostic {
    let there: Vec<String> = there.map(InstanceKey::to_string).collect();
    let there = match there.is_empty() {
        true => "The configuration has no instances".to_owned(),
        false => format!("The existing instances are: {}", there.join(", ")),
    };
    let detail = format!(
        "{user} uses the instance {key} of {config} (at {}:{}), which does not exist. {there}. Add the key to the \
         for_each of the provider block, or choose another instance.",
        at.file, at.start.line
    );
    Diagnostic::error("Provider instance not present", detail)
}

/// A provider configuration that does not exist.
pub(in crate::evaluation) fn missing_configuration(
    local_name: &str,
    alias: Option<&str>,
    at: &SourceRange,
) -> Diagnostic {
    let detail = format!(
        "This module has no provider configuration {}. Add a provider block to this module, or pass the configuration \
         from the caller.",
        shown(local_name, alias)
    );
    Diagnostic::error("Provider configuration not present", detail).at(at.clone())
}

/// A provider without a block that has required arguments.
pub(in crate::evaluation) fn must_be_configured(source: &ProviderSource) -> Diagnostic {
    let detail = format!(
        "Provider {} has required arguments. Add a provider block with these arguments to the root module.",
        source.for_display()
    );
    Diagnostic::error("Invalid provider configuration", detail)
}

/// A sensitive reference to a provider.
pub(in crate::evaluation) fn sensitive_reference() -> Diagnostic {
    let detail = "The reference to the provider is sensitive, but the provider of an object is stored and shown.";
    Diagnostic::error(INVALID_REFERENCE, detail)
}

/// A null instead of a reference to a provider.
pub(in crate::evaluation) fn null_reference() -> Diagnostic {
    Diagnostic::error(INVALID_REFERENCE, "This must be a reference to a provider, but it is null.")
}

/// An unknown reference to a provider. `names` are the unknown values.
pub(in crate::evaluation) fn unknown_reference(names: &str) -> Diagnostic {
    let detail = format!(
        "The choice of the provider depends on {names}, known only after apply, but the plan needs it. First apply the \
         resources that these values come from, with -target."
    );
    Diagnostic::error(INVALID_REFERENCE, detail)
}

/// A value of another type instead of a reference to a provider.
pub(in crate::evaluation) fn no_reference(ty: &Type) -> Diagnostic {
    let hint = match ty.holds_providers() {
        true => ". Choose one of them by its key, such as var.regions[each.key]",
        false => ", such as provider.aws.west or var.regions[each.key]",
    };
    let detail = format!("A reference to a provider is needed, not {}{hint}.", ty.friendly_name());
    Diagnostic::error(INVALID_REFERENCE, detail)
}

/// A value of another type instead of a map of references to providers.
pub(in crate::evaluation) fn no_reference_map(ty: &str, at: SourceRange) -> Diagnostic {
    let detail = format!("This must be a map of references to providers, not {ty}.");
    Diagnostic::error(INVALID_REFERENCE, detail).at(at)
}

/// A reference to a provider other than the needed one.
pub(in crate::evaluation) fn wrong_provider(found: &ProviderSource, needed: &ProviderSource) -> Diagnostic {
    let detail = format!(
        "This is a configuration of provider {}, but a configuration of provider {} is needed here.",
        found.for_display(),
        needed.for_display()
    );
    Diagnostic::error("Provider type mismatch", detail)
}

/// A reference to a provider in the arguments of a block.
pub(in crate::evaluation) fn reference_in_body(path: &Path, at: SourceRange) -> Diagnostic {
    let detail = format!(
        "{path} contains a reference to a provider, which cannot be sent to a provider as a value. To choose the \
         provider of a resource, set its provider argument."
    );
    Diagnostic::error("Invalid use of provider configuration", detail).at(at)
}

/// A function of a provider that the module does not require.
pub(in crate::evaluation) fn unknown_function_provider(name: &str) -> Diagnostic {
    let detail = format!("The provider {name:?} is not declared in this module. Add it to required_providers.");
    Diagnostic::error("Unknown function provider", detail)
}

/// A name that is not a valid name of a provider function.
pub(in crate::evaluation) fn unreadable_function(name: &str) -> Diagnostic {
    let detail = format!("{name} is not a valid function name. Use provider::NAME::FUNCTION.");
    Diagnostic::error("Unable to parse provider function", detail)
}

/// A call in a context that cannot wait for a provider.
pub(in crate::evaluation) fn function_unavailable() -> Diagnostic {
    Diagnostic::error("Unavailable provider function", "Functions of providers cannot be called here.")
}

/// A function that a provider does not have.
pub(in crate::evaluation) fn no_function(source: &ProviderSource, function: &str) -> Diagnostic {
    let detail = format!("The provider {} has no function named {function:?}.", source.for_display());
    Diagnostic::error("Function not found in provider", detail)
}

/// A function that the built-in provider does not have.
pub(in crate::evaluation) fn no_builtin_function(name: &str) -> Diagnostic {
    Diagnostic::error("Call to unknown function", format!("There is no function named {name}."))
}

/// A function of a provider that is passed without a configuration.
pub(in crate::evaluation) fn function_of_unconfigured(local_name: &str) -> Diagnostic {
    let detail = format!(
        "The provider {local_name} is passed to this module without a configuration, so its functions cannot be \
         called. Add a provider block to the caller."
    );
    Diagnostic::error(UNINITIALIZED, detail)
}

/// A function of a provider whose configuration has errors.
pub(in crate::evaluation) fn function_of_failed(local_name: &str) -> Diagnostic {
    let detail =
        format!("The configuration of the provider {local_name} has errors, so its functions cannot be called.");
    Diagnostic::error(UNINITIALIZED, detail)
}

/// A function of a configuration with `for_each`.
pub(in crate::evaluation) fn function_of_keyed(local_name: &str, alias: Option<&str>) -> Diagnostic {
    let detail = format!(
        "{} uses for_each, but a function name cannot choose one of its instances. Call the functions of a \
         configuration without for_each.",
        shown(local_name, alias)
    );
    Diagnostic::error(UNINITIALIZED, detail)
}
