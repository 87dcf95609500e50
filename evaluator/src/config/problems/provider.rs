//! Diagnostics of `provider` blocks and of references to providers.

use smol_str::SmolStr;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

/// A `provider` argument that is not a reference to a provider.
pub(in crate::config) fn invalid_reference(at: SourceRange) -> Diagnostic {
    let detail = "The argument \"provider\" must be the local name of a provider, optionally with an alias and a key: \
                  aws, aws.west or aws.by_region[each.key].";
    Diagnostic::error("Invalid provider configuration reference", detail).at(at)
}

/// A local name with characters other than those that [`super::requirements::PART`] describes.
pub(in crate::config) fn invalid_local_name(name: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!("{name:?} cannot be the local name of a provider. It must {}.", super::requirements::PART);
    Diagnostic::error("Invalid provider local name", detail).at(at.clone())
}

/// A local name with capital letters.
pub(in crate::config) fn local_name_not_lowercase(name: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!("The local name of a provider must be in lower case. Write {:?}.", name.to_lowercase());
    Diagnostic::error("Invalid provider local name", detail).at(at.clone())
}

/// A `for_each` without an alias.
pub(in crate::config) fn for_each_without_alias(at: SourceRange) -> Diagnostic {
    let detail = "A provider block with for_each must have an alias, because references to its instances contain it, \
                  as in aws.by_region[each.key].";
    Diagnostic::error("Alias required when using \"for_each\"", detail).at(at)
}

/// An argument with a reserved name.
pub(in crate::config) fn reserved_argument(name: &str, at: SourceRange) -> Diagnostic {
    let detail = format!("The language reserves the argument name {name:?} for future use. Remove the argument.");
    Diagnostic::error("Reserved argument name in provider block", detail).at(at)
}

/// A block of a reserved type.
pub(in crate::config) fn reserved_block(block_type: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!("The language reserves the block type {block_type:?} for future use. Remove the block.");
    Diagnostic::error("Reserved block type name in provider block", detail).at(at.clone())
}

/// An alias that is not an identifier. As in OpenTofu, the problem has no range.
pub(in crate::config) fn invalid_alias(local_name: &str, file: &str) -> Diagnostic {
    let detail = format!(
        "The alias of the provider {local_name:?} in {file} must start with a letter or an underscore, and contain only \
         letters, digits, underscores and dashes."
    );
    Diagnostic::error("Invalid provider configuration alias", detail)
}

/// A second block for a configuration.
pub(in crate::config) fn duplicate(
    local_name: &str,
    alias: Option<&SmolStr>,
    first: &SourceRange,
    at: &SourceRange,
) -> Diagnostic {
    let place = format!("{}:{}", first.file, first.start.line);
    let detail = match alias {
        None => format!(
            "The default configuration of the provider {local_name:?} is already at {place}. Give this one an alias."
        ),
        Some(alias) => format!(
            "A configuration of the provider {local_name:?} with the alias {alias:?} is already at {place}. Give this \
             one another alias."
        ),
    };
    Diagnostic::error("Duplicate provider configuration", detail).at(at.clone())
}

/// A version constraint in a `provider` block.
pub(in crate::config) fn version_in_block(at: SourceRange) -> Diagnostic {
    Diagnostic::warning(
        "Version constraints inside provider configuration blocks are deprecated",
        "Move the version constraint to the required_providers block of the module.",
    )
    .at(at)
}
