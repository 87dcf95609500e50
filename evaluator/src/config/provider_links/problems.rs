//! Diagnostics of provider configurations that modules use and pass on.

use weft_graph_format::address::{Module, ProviderConfig, ProviderSource, Resource};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

use crate::config::{ProviderBlock, RequiredProvider};

const DUPLICATE_REQUIRED: &str = "Duplicate required provider";
const INVALID_IN_CALL: &str = "Invalid module provider configuration";
const MISSING_CONFIGURATION: &str = "Missing required provider configuration";
const UNDEFINED: &str = "Reference to undefined provider";

/// The user of a provider configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum User {
    Resource,
    Call,
}

/// The name of a module in messages.
fn place(module: &Module) -> String {
    if module.is_root() { String::from("the root module") } else { module.to_string() }
}

/// A called module that configures providers, although its call has `count`, `for_each`, `enabled` or `depends_on`.
pub(super) fn configured_in_repeated(child: &Module, at: SourceRange) -> Diagnostic {
    Diagnostic::error(
        "Module is incompatible with count, for_each, enabled and depends_on",
        format!(
            "{child} configures providers itself, so calls that lead to {child} cannot use count, for_each, enabled or \
             depends_on. Configure the providers in the caller and pass them with \"providers\". Or set experiments = \
             [provider_iteration] in a language block of the calling or the called module."
        ),
    )
    .at(at)
}

/// Two local names for one provider.
pub(super) fn two_local_names(required: &RequiredProvider, first: &str, second: &str) -> Diagnostic {
    let detail = format!(
        "Provider {} has two local names in this module, {first:?} and {second:?}. Remove one of them.",
        required.source.for_display()
    );
    Diagnostic::warning(DUPLICATE_REQUIRED, detail).at(required.range.clone())
}

/// A `provider` block for the default local name of a provider that has another local name.
pub(super) fn other_local_name(required: &RequiredProvider, name: &str, block: &ProviderBlock) -> Diagnostic {
    let detail = format!(
        "Provider {} has the local name {name:?} in this module, but a provider block has the name {:?}. Use {name:?} \
         in that block.",
        required.source.for_display(),
        block.local_name
    );
    Diagnostic::warning(DUPLICATE_REQUIRED, detail).at(required.range.clone())
}

/// A resource whose type implies a provider that has another local name.
pub(super) fn implied_name(resource: &Resource, implied: &str, other: &str, at: SourceRange) -> Diagnostic {
    let detail = format!(
        "By its type, {resource} belongs to provider {implied:?}, but the local name of that provider in \
         required_providers is {other:?}. Rename it to {implied:?} there, or write provider = {other} in the resource."
    );
    Diagnostic::warning(DUPLICATE_REQUIRED, detail).at(at)
}

/// A resource type that starts with something other than a provider name.
pub(super) fn no_local_name(type_name: &str, local_name: &str, at: SourceRange) -> Diagnostic {
    let detail = format!(
        "The resource type {type_name:?} implies the provider {local_name:?}, which is not a valid provider name. Set \
         the provider argument of the resource."
    );
    Diagnostic::error("Invalid provider local name", detail).at(at)
}

/// A module that passes on a default configuration of a provider without declaring the provider.
pub(super) fn assumed_source(module: &Module, name: &str, source: &ProviderSource, at: SourceRange) -> Diagnostic {
    let detail = format!(
        "{} does not declare the provider {name:?}, so Weft assumes that the provider is {}. Add the provider to \
         required_providers.",
        place(module),
        source.for_display()
    );
    Diagnostic::warning(UNDEFINED, detail).at(at)
}

/// A module that passes on a default configuration, although it does not receive this configuration from its caller.
pub(super) fn not_passed_on(
    module: &Module,
    caller: &Module,
    name: &str,
    source: &ProviderSource,
    at: SourceRange,
) -> Diagnostic {
    let detail = format!(
        "{module} passes on its configuration {name:?} of provider {}, but {} passes no configuration under this name \
         to {module}. Add an entry for {name:?} to the \"providers\" argument of this call.",
        source.for_display(),
        place(caller)
    );
    Diagnostic::warning(MISSING_CONFIGURATION, detail).at(at)
}

/// A call that passes a configuration which does not exist.
pub(super) fn passes_absent(provider: &ProviderConfig, child: &Module) -> Diagnostic {
    let detail = format!(
        "The call of {child} passes the provider configuration {provider}, which does not exist. Add a provider block \
         for it to the calling module."
    );
    Diagnostic::error(format!("missing provider {provider}"), detail)
}

/// A resource that needs a configuration which does not exist.
pub(super) fn absent_configuration(module: &Module, resource: &Resource, provider: &ProviderConfig) -> Diagnostic {
    let what = if module.is_root() { resource.to_string() } else { format!("{module}.{resource}") };
    let detail = format!(
        "{what} needs the provider configuration {provider}, which does not exist. Add a provider block to this \
         module, or pass the configuration from the caller."
    );
    Diagnostic::error("Provider configuration not present", detail)
}

fn of_user(user: User, detail: &str, at: &SourceRange) -> Diagnostic {
    let summary = match user {
        User::Resource => "Invalid resource provider configuration",
        User::Call => INVALID_IN_CALL,
    };
    Diagnostic::error(summary, detail).at(at.clone())
}

/// A reference without a key to a configuration with `for_each`.
pub(super) fn key_missing(user: User, at: &SourceRange) -> Diagnostic {
    let detail = "This provider configuration uses for_each. Choose one of its instances by its key, such as \
                  aws.by_region[each.key].";
    of_user(user, detail, at)
}

/// A reference with a key to a configuration without `for_each`.
pub(super) fn key_unexpected(user: User, name: &str, alias: Option<&str>, at: &SourceRange) -> Diagnostic {
    let aliased = alias.map(|alias| format!(" with alias = {alias:?}")).unwrap_or_default();
    let detail = format!(
        "The key chooses an instance of a provider configuration with for_each, but no provider {name:?} \
         block{aliased} in this module has for_each. Remove the key."
    );
    of_user(user, &detail, at)
}

/// A key on the left side of an entry of `providers`.
pub(super) fn key_on_the_left(at: &SourceRange) -> Diagnostic {
    let detail = "The left side of an entry in \"providers\" names a provider configuration of the called module with \
                  all its instances, so it cannot have an instance key. Remove the key.";
    of_user(User::Call, detail, at)
}

/// A configuration with `for_each` is passed as a whole to a module that needs a single configuration.
pub(super) fn whole_for_single(ours: &str, name: &str, alias: Option<&str>, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "{ours} uses for_each. To pass one of its instances, add the key of the instance. To pass all instances, \
         declare them with an alias in the called module: configuration_aliases = [{name}.{}[*]].",
        alias.unwrap_or("ALIAS")
    );
    of_user(User::Call, &detail, at)
}

/// A provider configuration without `for_each`, or one instance of a provider configuration with `for_each`, is passed
/// to a module that needs all instances of a provider configuration.
pub(super) fn single_for_whole(child: &Module, ours: &str, theirs: &str, keyed: bool, at: &SourceRange) -> Diagnostic {
    let found = match keyed {
        true => format!("this key chooses one instance of {ours}. Remove the key"),
        false => format!("{ours} has no for_each. Pass a configuration with for_each"),
    };
    let detail = format!(
        "The configuration_aliases of {child} contain {theirs}[*], so {child} needs all instances of a provider \
         configuration with for_each, but {found}."
    );
    of_user(User::Call, &detail, at)
}

/// Two entries of `providers` for the same name in the child.
pub(super) fn passed_twice(name: &str, first: &SourceRange, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "A provider configuration is already passed to {name} at {}:{}. Remove one of the entries.",
        first.file, first.start.line
    );
    Diagnostic::error("Duplicate provider address", detail).at(at.clone())
}

/// A call that passes a configuration under a name for which the child has a block of its own.
pub(super) fn cannot_override(child: &Module, name: &str, block: &ProviderBlock, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "{child} configures {name} itself at {}:{}, so the caller cannot pass a configuration for {name}. Remove this \
         entry or that provider block.",
        block.range.file, block.range.start.line
    );
    Diagnostic::error("Cannot override provider configuration", detail).at(at.clone())
}

/// A call that does not pass a configuration which the child requires.
pub(super) fn required_not_passed(source: &ProviderSource, name: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "The module requires a configuration of provider {} named {name:?}. Add an entry for {name:?} to the \
         \"providers\" argument of this call.",
        source.for_display()
    );
    Diagnostic::error(MISSING_CONFIGURATION, detail).at(at.clone())
}

/// A call that passes a provider configuration under a name which the child does not declare. If the name stands for a
/// provider with a default source in the child, this is a warning, because such a provider needs no declaration.
/// Otherwise, this is an error.
pub(super) fn undeclared_in_child(child: &Module, source: &ProviderSource, name: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "{child} does not declare a provider with the local name {name:?}. Add the provider to required_providers in \
         that module."
    );
    let problem = match *source == ProviderSource::default_for(&source.type_name) {
        true => Diagnostic::warning(UNDEFINED, detail),
        false => Diagnostic::error(UNDEFINED, detail),
    };
    problem.at(at.clone())
}

/// A local name in a module, with its provider.
pub(super) struct Named<'a> {
    pub(super) name: &'a str,
    pub(super) module: &'a Module,
    pub(super) source: ProviderSource,
}

/// An entry of `providers` with different providers on its two sides.
pub(super) fn mismatch(ours: &Named<'_>, theirs: &Named<'_>, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "{:?} in {} is provider {}, but {:?} in {} is {}. Both sides must be the same provider.",
        ours.name,
        place(ours.module),
        ours.source.for_display(),
        theirs.name,
        theirs.module,
        theirs.source.for_display()
    );
    Diagnostic::error("Provider type mismatch", detail).at(at.clone())
}

/// An empty `provider` block in a called module.
pub(super) fn redundant_block(at: &SourceRange) -> Diagnostic {
    Diagnostic::warning(
        "Redundant empty provider block",
        "A module declares its providers in required_providers, and further configurations of them in \
         configuration_aliases. Its empty provider blocks have no effect. Remove them.",
    )
    .at(at.clone())
}

/// A resource or call with the same `for_each` as its provider.
pub(super) fn same_for_each(user: User, at: SourceRange) -> Diagnostic {
    let (summary, what) = match user {
        User::Resource => ("Provider configuration for_each matches resource", "resource"),
        User::Call => ("Provider configuration for_each matches module", "module"),
    };
    let detail = format!(
        "This {what} and its provider configuration use the same for_each expression. If a key is removed, the \
         provider instance disappears together with the {what}. Weft destroys the objects of that key with the \
         each.value that is recorded in the state. OpenTofu cannot destroy these objects. For OpenTofu, keep the key \
         in the for_each of the provider until the objects are destroyed."
    );
    Diagnostic::warning(summary, detail).at(at)
}

/// The beginning of the messages about unsuitable collections.
const WANTED: &str = "The for_each of a provider needs a map, or a set of strings";

/// A sensitive `for_each` of a provider.
pub(super) fn sensitive_keys() -> String {
    String::from(
        "The for_each of a provider cannot be sensitive: its keys are part of addresses. Use nonsensitive(...).",
    )
}

/// An ephemeral `for_each` of a provider.
pub(super) fn ephemeral_keys() -> String {
    String::from("The for_each of a provider cannot be ephemeral: its keys are stored.")
}

/// A null `for_each` of a provider.
pub(super) fn null_keys() -> String {
    format!("{WANTED}, but it is null.")
}

/// A `for_each` of a provider that is a set of something other than strings.
pub(super) fn keys_of_other_kind() -> String {
    format!("{WANTED}, but it is a set with elements that are not strings.")
}

/// A `for_each` of a provider with a value of an unsuitable type. `ty` is the name of the type.
pub(super) fn keys_of_other_type(ty: &str) -> String {
    format!("{WANTED}, not {ty}.")
}
