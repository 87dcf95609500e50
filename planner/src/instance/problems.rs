//! Diagnostics of plans for single instances.

use std::fmt::Display;

use weft_evaluator::glue::DesiredInstance;
use weft_graph_format::address::{ProviderSource, ResourceInstance};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

use crate::problems::INVALID_OBJECT;

/// The provider cannot convert a stored object of another type.
pub(super) fn type_change_unsupported(desired: &DesiredInstance, previous: &ResourceInstance) -> Diagnostic {
    type_change_failed(
        desired,
        format!(
            "{previous} cannot become {}: the provider {} does not support moves of objects between resource types.",
            desired.address,
            desired.provider.source.for_display()
        ),
    )
}

/// The provider returned a null or partly unknown object of the new type.
pub(super) fn type_change_incomplete(desired: &DesiredInstance) -> Diagnostic {
    let detail = format!(
        "The provider did not return a complete object of the new type for {}. This is a bug in the provider.",
        desired.address
    );
    type_change_failed(desired, detail)
}

/// The object that the provider returned for the new type cannot be stored.
pub(super) fn type_change_unusable(
    desired: &DesiredInstance,
    previous: &ResourceInstance,
    error: &dyn Display,
) -> Diagnostic {
    let detail =
        format!("The provider converted {previous} to an invalid object: {error}. This is a bug in the provider.");
    type_change_failed(desired, detail)
}

fn type_change_failed(desired: &DesiredInstance, detail: String) -> Diagnostic {
    Diagnostic::error("Unable to Move Resource State", detail)
        .about(desired.address.to_string())
        .at(desired.block.range.clone())
}

/// The provider returned an invalid data source: `what` is null, or partly unknown.
pub(super) fn read_invalid(desired: &DesiredInstance, what: &str) -> Diagnostic {
    let address = &desired.address;
    let detail = format!("The provider returned {what} for {address}. This is a bug in the provider.");
    Diagnostic::error(INVALID_OBJECT, detail).about(address.to_string()).at(desired.block.range.clone())
}

/// The provider did not find the object to import.
pub(super) fn import_not_found(address: &str) -> Diagnostic {
    Diagnostic::error(
        "Cannot import non-existent remote object",
        format!(
            "The provider did not find the object to import as {address}. Check its ID, and that the provider is \
             configured for the object's location."
        ),
    )
}

/// The provider returned an imported object that does not match its schema.
pub(super) fn import_unusable(address: &str, error: &dyn Display, range: &SourceRange) -> Diagnostic {
    let detail = format!("The object that the provider imported as {address} is invalid: {error}.");
    Diagnostic::error(INVALID_OBJECT, detail).about(address).at(range.clone())
}

/// The planned object contains an infinite number.
pub(super) fn infinite(address: &ResourceInstance, range: &SourceRange) -> Diagnostic {
    let detail = format!(
        "The planned object {address} contains an infinite number. JSON has no infinite numbers, so a state cannot \
         contain one. Look for a division by zero, or a power that is too large."
    );
    Diagnostic::error("Object cannot be stored", detail).about(address.to_string()).at(range.clone())
}

/// The identity in an `import` block cannot be used.
pub(super) fn import_identity(detail: String, range: &SourceRange) -> Diagnostic {
    Diagnostic::error("Invalid import identity argument", detail).at(range.clone())
}

/// The provider no longer has the type of a stored object.
pub(crate) fn type_removed(address: &str, provider: &ProviderSource) -> Diagnostic {
    let detail = format!(
        "The provider {} no longer has the type of {address}. Use a version of the provider that has this type.",
        provider.for_display()
    );
    Diagnostic::error("Invalid resource type", detail).about(address)
}
