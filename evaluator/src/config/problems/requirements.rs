//! Diagnostics of `required_providers` blocks.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

/// The rule for the parts of a provider's address. Messages put it after the words "It must".
pub(super) const PART: &str =
    "contain only letters, digits and dashes, with no dash at either end and no two dashes in a row";

const INVALID_ALIASES: &str = "Invalid configuration_aliases value";
const INVALID_EXPRESSION: &str = "Invalid expression";
const INVALID_HOST: &str = "Invalid provider source hostname";
const INVALID_OBJECT: &str = "Invalid required_providers object";
const INVALID_TYPE: &str = "Invalid provider type";

/// A second `required_providers` block in a module.
pub(in crate::config) fn duplicate(first: &SourceRange, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "A module can have only one required_providers block. The first one is at {}:{}. Move the entries there.",
        first.file, first.start.line
    );
    Diagnostic::error("Duplicate required providers configuration", detail).at(at.clone())
}

/// An entry that is neither an object nor a version.
pub(in crate::config) fn invalid_entry(at: SourceRange) -> Diagnostic {
    let detail = "An entry of required_providers must be an object with source and version, or a version constraint.";
    Diagnostic::error(INVALID_OBJECT, detail).at(at)
}

/// An unknown attribute of an entry.
pub(in crate::config) fn unknown_attribute(name: &str, at: SourceRange) -> Diagnostic {
    let detail = format!(
        "An entry of required_providers has no attribute {name:?}. It can have source, version and \
         configuration_aliases."
    );
    Diagnostic::error(INVALID_OBJECT, detail).at(at)
}

/// A source that is not a string.
pub(in crate::config) fn source_not_text(at: SourceRange) -> Diagnostic {
    Diagnostic::error("Invalid source", "The source of a provider must be a quoted string.").at(at)
}

/// A source that is not an address. Problems of sources have no range, because a source can also come from a command
/// line.
pub(in crate::config) fn malformed_source(source: &str) -> Diagnostic {
    let detail = format!("{source:?} does not have the form [hostname/][namespace/]name.");
    Diagnostic::error("Invalid provider source string", detail)
}

/// An invalid type in a source.
pub(in crate::config) fn invalid_type(part: &str, source: &str) -> Diagnostic {
    Diagnostic::error(INVALID_TYPE, format!("The type {part:?} in {source:?} is invalid. It must {PART}."))
}

/// A type in a source that begins like the name of a repository. `rest` is the remainder.
pub(in crate::config) fn type_with_prefix(source: &str, prefix: &str, rest: &str) -> Diagnostic {
    let detail = format!(
        "The type in {source:?} begins with {prefix:?}, which belongs to the name of the provider's repository, but not \
         to its address. Did you mean {rest:?}?"
    );
    Diagnostic::error(INVALID_TYPE, detail)
}

/// An invalid namespace in a source.
pub(in crate::config) fn invalid_namespace(part: &str, source: &str) -> Diagnostic {
    let detail = format!("The namespace {part:?} in {source:?} is invalid. It must {PART}.");
    Diagnostic::error("Invalid provider namespace", detail)
}

/// An invalid host name in a source.
pub(in crate::config) fn invalid_host(host: &str, source: &str) -> Diagnostic {
    Diagnostic::error(INVALID_HOST, format!("{host:?} in {source:?} is not a valid host name."))
}

/// A value of `configuration_aliases` that is not a list.
pub(in crate::config) fn aliases_not_a_list(at: SourceRange) -> Diagnostic {
    let detail = "The value of configuration_aliases must be a static list, such as [aws.west, aws.east].";
    Diagnostic::error(INVALID_EXPRESSION, detail).at(at)
}

/// An entry of `configuration_aliases` with `[*]` in a module that does not enable the experiment `provider_iteration`.
pub(in crate::config) fn whole_without_experiment(at: SourceRange) -> Diagnostic {
    let detail = "This must be a single static reference. To take all instances of a provider with for_each, write \
                  experiments = [provider_iteration] in a language block of this module.";
    Diagnostic::error(INVALID_EXPRESSION, detail).at(at)
}

/// An entry of `configuration_aliases` with `[*]` but without an alias.
pub(in crate::config) fn whole_default(at: SourceRange) -> Diagnostic {
    let detail = "The default configuration of a provider has only one instance. Only a configuration with an alias can \
                  have for_each, as in aws.by_region[*].";
    Diagnostic::error(INVALID_ALIASES, detail).at(at)
}

/// An entry of `configuration_aliases` that begins with the local name of another provider.
pub(in crate::config) fn alias_of_other(expected: &str, found: &str, at: SourceRange) -> Diagnostic {
    let detail = format!("Each entry must begin with the local name of this provider, {expected:?}, not {found:?}.");
    Diagnostic::error(INVALID_ALIASES, detail).at(at)
}

/// An entry of `configuration_aliases` that does not name a provider.
pub(in crate::config) fn invalid_alias(at: SourceRange) -> Diagnostic {
    let detail = "Each entry must be the local name of a provider and an alias, such as aws.west, or aws.by_region[*] \
                  for all instances of a configuration with for_each.";
    Diagnostic::error(INVALID_ALIASES, detail).at(at)
}
