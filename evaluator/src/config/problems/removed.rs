//! Diagnostics of `removed` blocks.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

/// A second `lifecycle` block.
pub(in crate::config) fn second_lifecycle(at: &SourceRange) -> Diagnostic {
    let detail = "A removed block can have only one lifecycle block. Remove one of them.";
    Diagnostic::error("Duplicate lifecycle block", detail).at(at.clone())
}

/// A provisioner that runs on creation.
pub(in crate::config) fn creation_provisioner(at: &SourceRange) -> Diagnostic {
    let detail = "A provisioner of a removed block must run before objects are destroyed. Set when = destroy.";
    Diagnostic::error("Invalid \"removed.provisioner\" block", detail).at(at.clone())
}

/// The address of a single instance of a resource, or of an attribute.
pub(in crate::config) fn resource_with_keys(at: SourceRange) -> Diagnostic {
    let detail = "A removed block applies to all instances of a resource. Write the address of the resource only, \
                  without a key or attribute.";
    Diagnostic::error("Resource instance address with keys is not allowed", detail).at(at)
}

/// An address in a single instance of a module.
pub(in crate::config) fn module_with_keys(at: SourceRange) -> Diagnostic {
    let detail = "A removed block applies to all instances of a module. Write the address without keys.";
    Diagnostic::error("Module instance address with keys is not allowed", detail).at(at)
}

/// The address of a data source.
pub(in crate::config) fn data_source(at: SourceRange) -> Diagnostic {
    let detail = "A data source has no objects to destroy or forget. It is enough to remove its data block.";
    Diagnostic::error("Data source address is not allowed", detail).at(at)
}

/// The address of an ephemeral resource.
pub(in crate::config) fn ephemeral_resource(at: SourceRange) -> Diagnostic {
    let detail = "An ephemeral resource is never in the state. It is enough to remove its ephemeral block.";
    Diagnostic::error("Ephemeral resource address is not allowed", detail).at(at)
}

/// A block without `destroy`. `address` is the address that it removes.
pub(in crate::config) fn without_lifecycle(address: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "This block does not say whether to destroy the objects of {address}, so the objects are only removed from the \
         state and continue to exist. To choose, write lifecycle {{ destroy = false }} or lifecycle {{ destroy = true \
         }}."
    );
    Diagnostic::warning("Missing lifecycle from the removed block", detail).at(at.clone())
}

/// A provisioner in a block that removes a whole module.
pub(in crate::config) fn provisioner_of_module(address: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "This block removes the whole module {address}, so it cannot have provisioners. Write a removed block for each \
         resource that needs them."
    );
    Diagnostic::error("Invalid \"removed\" block", detail).at(at.clone())
}

/// Provisioners in a block that only forgets the objects.
pub(in crate::config) fn unused_provisioners(address: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "The provisioners of this block do not run, because destroy = false keeps the objects of {address}. Remove the \
         provisioners, or set destroy = true."
    );
    Diagnostic::warning("Removed block provisioners will not be executed", detail).at(at.clone())
}
