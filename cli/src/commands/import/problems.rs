//! The diagnostics of `import`, as constructors.

use weft_graph_format::address::{ModuleInstance, ResourceInstance};
use weft_graph_format::diagnostic::Diagnostic;

/// `import` takes two arguments.
pub fn import_arguments() -> Diagnostic {
    Diagnostic::error("Invalid number of arguments", "The import command expects two arguments")
}

/// `import` was given the address of a data source.
pub fn import_of_data() -> Diagnostic {
    Diagnostic::error(
        "Invalid target resource address",
        "A managed resource address is required. Importing into a data resource is not allowed.",
    )
}

/// The module of the address is not in the configuration.
pub fn no_module(module: &ModuleInstance) -> Diagnostic {
    Diagnostic::error(
        "Import to non-existent module",
        format!(
            "{module} is not defined in the configuration. Please add configuration for this module before importing \
             into it."
        ),
    )
}

/// The configuration has no block for the address.
pub fn no_block(address: &ResourceInstance) -> Diagnostic {
    Diagnostic::error(
        format!("resource address \"{address}\" does not exist in the configuration."),
        format!(
            "Before importing this resource, please create its configuration. For example:\n\nresource \"{}\" \"{}\" \
             {{\n  # (resource arguments)\n}}",
            address.resource.type_name, address.resource.name
        ),
    )
}

/// The state already has an object at the address.
pub fn already_managed(name: &str) -> Diagnostic {
    Diagnostic::error(
        "Resource already managed by OpenTofu",
        format!(
            "The state already has an object for {name}. To import to this address you must first remove the existing \
             object from the state."
        ),
    )
}

/// The configuration has no instance with the key of the address.
pub fn no_instance(name: &str) -> Diagnostic {
    Diagnostic::error(
        "Import found nothing",
        format!("The configuration has no instance {name}: its count or for_each does not have that key."),
    )
}
