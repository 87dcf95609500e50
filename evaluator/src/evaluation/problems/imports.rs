//! Diagnostics of `import` blocks.

use weft_graph_format::address::{ResourceInstance, quoted};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

/// The argument that identifies the object of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::evaluation) enum NamedBy {
    /// The argument `id`.
    Id,
    /// The argument `identity`.
    Identity,
}

impl NamedBy {
    fn summary(self) -> &'static str {
        match self {
            NamedBy::Id => "Invalid import id argument",
            NamedBy::Identity => "Invalid import identity argument",
        }
    }

    fn shown(self) -> &'static str {
        match self {
            NamedBy::Id => "import ID",
            NamedBy::Identity => "import identity",
        }
    }

    fn problem(self, detail: impl Into<String>, at: SourceRange) -> Diagnostic {
        Diagnostic::error(self.summary(), detail).at(at)
    }
}

/// A `for_each` that refers to the imported resource.
pub(in crate::evaluation) fn for_each_of_target(at: SourceRange) -> Diagnostic {
    let detail = "The for_each of an import block cannot refer to the resource that the block imports.";
    Diagnostic::error("Invalid for_each argument", detail).at(at)
}

/// A second import to an address. As in OpenTofu, the place `at` is that of the first block, because the keys of the
/// address are evaluated. `second` is the other block.
pub(in crate::evaluation) fn imported_twice(
    address: &ResourceInstance,
    second: &SourceRange,
    at: SourceRange,
) -> Diagnostic {
    let detail = format!(
        "The block at {}:{} also imports an object to {address}. Remove one of the blocks.",
        second.file, second.start.line
    );
    let summary = format!("Duplicate import configuration for {}", quoted(&address.to_string()));
    Diagnostic::error(summary, detail).at(at)
}

/// The reason why a value cannot be the key of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::evaluation) enum KeyFault {
    /// The key is sensitive.
    Sensitive,
    /// The key is unknown.
    Unknown,
    /// The key is a negative or fractional number.
    Number,
    /// The key is neither a string nor a number.
    Type,
}

/// What a key of a target belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::evaluation) enum KeyOf {
    /// A module.
    Module,
    /// The resource.
    Resource,
}

/// An invalid key in the target.
pub(in crate::evaluation) fn invalid_key(fault: KeyFault, of: KeyOf, at: SourceRange) -> Diagnostic {
    let detail = match fault {
        KeyFault::Sensitive => "The key of the target is sensitive, but addresses are shown.",
        KeyFault::Unknown => {
            "The key of the target is known only after apply, but the plan needs it. Use a value that is known now."
        }
        KeyFault::Number => "A key that is a number must be a whole number that is not negative.",
        KeyFault::Type => "The key of the target must be a string or a number.",
    };
    let summary = match (fault, of) {
        (KeyFault::Number, KeyOf::Resource) => "Invalid address",
        (KeyFault::Number, KeyOf::Module) => "Invalid address operator",
        _ => "Import block 'to' address contains an invalid key",
    };
    Diagnostic::error(summary, detail).at(at)
}

/// An ID that is not a string, for the reason `why`.
pub(in crate::evaluation) fn unsuitable_id(why: &str, at: SourceRange) -> Diagnostic {
    Diagnostic::error("Incorrect value type", format!("The import ID value is unsuitable: {why}.")).at(at)
}

/// An ID or identity that refers to the imported object.
pub(in crate::evaluation) fn named_by_target(by: NamedBy, at: SourceRange) -> Diagnostic {
    let detail = format!("The {} refers to the imported object itself, so its value is not known yet.", by.shown());
    by.problem(detail, at)
}

/// A null ID or identity.
pub(in crate::evaluation) fn null_name(by: NamedBy, at: SourceRange) -> Diagnostic {
    by.problem(format!("The {} cannot be null.", by.shown()), at)
}

/// An unknown ID or identity.
pub(in crate::evaluation) fn unknown_name(by: NamedBy, at: SourceRange) -> Diagnostic {
    let detail = format!(
        "The {} depends on values that are known only after apply, but the plan needs it. First apply the resources \
         that these values come from, with -target.",
        by.shown()
    );
    by.problem(detail, at)
}

/// A sensitive ID or identity.
pub(in crate::evaluation) fn sensitive_name(by: NamedBy, at: SourceRange) -> Diagnostic {
    by.problem(format!("The {} cannot be sensitive: it is shown.", by.shown()), at)
}

/// An ephemeral ID or identity.
pub(in crate::evaluation) fn ephemeral_name(by: NamedBy, at: SourceRange) -> Diagnostic {
    by.problem(format!("The {} cannot be ephemeral: it is stored.", by.shown()), at)
}

/// A resource type without an identity.
pub(in crate::evaluation) fn no_identity(type_name: &str, at: SourceRange) -> Diagnostic {
    let detail = format!("The provider has no identity schema for {type_name}. Import the object by its id.");
    Diagnostic::error("Unable to determine identity schema for import identity", detail).at(at)
}

/// A missing attribute of an identity.
pub(in crate::evaluation) fn missing_in_identity(name: &str) -> String {
    format!("the attribute {name:?} is required")
}

/// An attribute of an identity with the wrong type, for the reason `why`.
pub(in crate::evaluation) fn wrong_in_identity(name: &str, why: &str) -> String {
    format!("attribute {name:?}: {why}")
}

/// An identity that is not an object.
pub(in crate::evaluation) fn identity_not_an_object() -> String {
    "an object is required".to_owned()
}

/// An identity that does not match its schema.
pub(in crate::evaluation) fn unsuitable_identity(faults: &[String], at: SourceRange) -> Diagnostic {
    Diagnostic::error("Incorrect value type", format!("The identity is unsuitable: {}.", faults.join("; "))).at(at)
}

/// A target without a resource block.
pub(in crate::evaluation) fn no_target(address: &str, at: &SourceRange) -> Diagnostic {
    Diagnostic::error(
        "Configuration for import target does not exist",
        format!("The configuration has no block for {address}. Add a resource block for the imported object."),
    )
    .at(at.clone())
}
