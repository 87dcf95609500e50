//! Diagnostics of `import` blocks, and of the blocks that are generated for them.

use weft_graph_format::address::{ConfigResource, Module, Resource, ResourceInstance, quoted};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

/// A block in a called module.
pub(in crate::config) fn outside_root(module: &Module, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "Import blocks are allowed only in the root module, but this block is in {module}. Move the block to the root \
         module."
    );
    Diagnostic::error("Invalid import configuration", detail).at(at.clone())
}

/// An import block with neither `id` nor `identity`.
pub(in crate::config) fn no_object(at: &SourceRange) -> Diagnostic {
    let detail = "An import block needs the argument \"id\" or \"identity\", which names the object to import.";
    Diagnostic::error("Missing required import argument", detail).at(at.clone())
}

/// An import block with both `id` and `identity`.
pub(in crate::config) fn two_names(at: SourceRange) -> Diagnostic {
    let detail = "An import block cannot have both \"id\" and \"identity\". Remove one of them.";
    Diagnostic::error("Conflicting import arguments", detail).at(at)
}

/// A second import to an address. `first` is the block of the first one.
pub(in crate::config) fn duplicate(address: &ResourceInstance, first: &SourceRange, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "The block at {}:{} already imports an object to {address}. Remove one of the blocks.",
        first.file, first.start.line
    );
    let summary = format!("Duplicate import configuration for {}", quoted(&address.to_string()));
    Diagnostic::error(summary, detail).at(at.clone())
}

/// A `provider` argument for a resource of a called module.
pub(in crate::config) fn provider_of_module(at: &SourceRange) -> Diagnostic {
    let detail = "The argument \"provider\" is only for resources of the root module that have no block yet. The resources \
                  of a called module use the providers that are passed to the module. Remove the argument.";
    Diagnostic::error("Invalid import provider argument", detail).at(at.clone())
}

/// The block of the resource has the provider `own`, and the import block has `given`.
pub(in crate::config) fn other_provider(
    resource: &Resource,
    own: Option<&str>,
    given: &str,
    at: &SourceRange,
) -> Diagnostic {
    let own = own.map_or_else(|| "has no provider argument".to_owned(), |own| format!("has the provider {own}"));
    let detail = format!(
        "The block of {resource} {own}, but this import block names {given}. Set provider = {given} in the block of the \
         resource, or remove the argument here."
    );
    Diagnostic::error("Invalid import provider argument", detail).at(at.clone())
}

/// A target that is not an address.
pub(in crate::config) fn target_not_an_address(at: SourceRange) -> Diagnostic {
    let detail = "The target must be the address of a resource, without quotes, such as aws_instance.web or \
                  module.app.aws_instance.web[0].";
    Diagnostic::error("Invalid import address expression", detail).at(at)
}

/// A target that is a module.
pub(in crate::config) fn target_is_module(at: SourceRange) -> Diagnostic {
    let detail = "The target of an import must be a resource, but this is the address of a module.";
    Diagnostic::error("Invalid address", detail).at(at)
}

/// A key at a position where the target cannot have one.
pub(in crate::config) fn misplaced_key(at: SourceRange) -> Diagnostic {
    let detail = "A key can only follow the name of a module or the name of the resource.";
    Diagnostic::error("Invalid import address", detail).at(at)
}

/// An import to a resource of a called module, for which no block can be generated.
pub(in crate::config) fn not_generated_in_module(resource: &ConfigResource, at: &SourceRange) -> Diagnostic {
    let why = "the resource is in a module that the root module calls";
    let summary = "Cannot generate configuration for resource inside sub-module";
    Diagnostic::error(summary, not_generated(resource, why)).at(at.clone())
}

/// An import to an instance with a key, for which no block can be generated.
pub(in crate::config) fn not_generated_with_key(resource: &ConfigResource, at: &SourceRange) -> Diagnostic {
    let why = "the import has a key or for_each";
    let summary = "Configuration generation for count and for_each resources not supported";
    Diagnostic::error(summary, not_generated(resource, why)).at(at.clone())
}

fn not_generated(resource: &ConfigResource, why: &str) -> String {
    format!(
        "The configuration has no block for {resource}, and Weft cannot generate this block: {why}. Write the block, \
         then import the object."
    )
}
