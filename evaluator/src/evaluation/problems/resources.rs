//! Diagnostics of resource blocks.

use weft_graph_format::address::{ProviderSource, Resource, ResourceMode};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::nearest::did_you_mean;
use weft_graph_format::path::Path;
use weft_graph_format::source::SourceRange;

/// A type that the provider does not have. `known` are the types of the same mode.
pub(in crate::evaluation) fn unknown_type<'n>(
    source: &ProviderSource,
    resource: &Resource,
    known: impl Iterator<Item = &'n str>,
    at: SourceRange,
) -> Diagnostic {
    let what = match resource.mode {
        ResourceMode::Managed => "resource type",
        ResourceMode::Data => "data source",
        ResourceMode::Ephemeral => "ephemeral resource",
    };
    let name = resource.type_name.as_str();
    let hint = did_you_mean(name, known);
    let detail = format!("The provider {} has no {what} {name:?}.{hint}", source.for_display());
    Diagnostic::error(format!("Invalid {what}"), detail).at(at)
}

/// An ephemeral value for an attribute that is stored.
pub(in crate::evaluation) fn ephemeral_stored(path: &Path, address: &str, at: SourceRange) -> Diagnostic {
    let detail = format!(
        "The value of {path} is ephemeral, but {path} is stored. Ephemeral values can be used in write-only attributes, \
         ephemeral resources, providers and provisioners only."
    );
    Diagnostic::error("Ephemeral value used in non-ephemeral context", detail).about(address).at(at)
}

/// A provisioner that refers to its own resource, which has several instances. OpenTofu usually finds a cycle.
pub(in crate::evaluation) fn provisioner_refers_to_itself(resource: &Resource, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "A provisioner of {resource} cannot refer to {resource} by name, because {resource} has several instances. Use \
         \"self\" instead."
    );
    Diagnostic::error("Self-referential block", detail).at(at.clone())
}

/// A block that needs its own value.
pub(in crate::evaluation) fn refers_to_itself(resource: &Resource, at: &SourceRange) -> Diagnostic {
    let detail = format!("The configuration of {resource} cannot refer to itself. Remove the reference.");
    Diagnostic::error("Self-referential block", detail).at(at.clone())
}
