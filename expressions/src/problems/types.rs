//! Diagnostics of type constraints.

use weft_graph_format::diagnostic::Diagnostic;

use crate::convert::ConvertError;

fn invalid(detail: impl Into<String>) -> Diagnostic {
    Diagnostic::error("Invalid type specification", detail)
}

/// A quoted type. Early versions of Terraform required the quotes.
pub(crate) fn quoted_type(text: &str) -> Diagnostic {
    let way_out = match text {
        "list" => " and write list(string) instead to explicitly indicate that the list elements are strings",
        "map" => " and write map(string) instead to explicitly indicate that the map elements are strings",
        _ => "",
    };
    let detail = format!(
        "Early versions required type constraints to be given in quotes, but that form is now rejected. Remove the \
         quotes around {text:?}{way_out}."
    );
    Diagnostic::error("Invalid quoted type constraints", detail)
}

/// A quoted text that does not name a type.
pub(crate) fn quoted_text() -> Diagnostic {
    let detail = "Types are written without quotes, such as string or list(string).";
    Diagnostic::error("Invalid legacy variable type hint", detail)
}

/// An expression that is neither a keyword nor a call.
pub(crate) fn no_type() -> Diagnostic {
    invalid(
        "A type specification is either a primitive type keyword (bool, number, string) or a complex type constructor \
         call, like list(string).",
    )
}

/// A keyword that is not a type.
pub(crate) fn unknown_keyword(name: &str) -> Diagnostic {
    invalid(format!("The keyword {name:?} is not a valid type specification."))
}

/// A constructor without exactly one argument.
pub(crate) fn one_argument(constructor: &str) -> Diagnostic {
    let what = match constructor {
        "object" => "the attribute types and values as a map",
        "tuple" => "the element types as a list",
        _ => "the element type",
    };
    invalid(format!("The {constructor} type constructor requires one argument specifying {what}."))
}

/// Arguments of a primitive type.
pub(crate) fn arguments_of_primitive(name: &str) -> Diagnostic {
    invalid(format!("Primitive type keyword {name:?} does not expect arguments."))
}

/// Arguments of `any`.
pub(crate) fn arguments_of_any() -> Diagnostic {
    invalid("Type constraint keyword \"any\" does not expect arguments.")
}

/// `optional` outside of an object type.
pub(crate) fn misplaced_optional() -> Diagnostic {
    invalid("Keyword \"optional\" is valid only as a modifier for object type attributes.")
}

/// A constructor that does not exist.
pub(crate) fn unknown_constructor(name: &str) -> Diagnostic {
    invalid(format!("Keyword {name:?} is not a valid type constructor."))
}

/// A reference to a provider as a type, in a module without the experiment for it.
pub(crate) fn provider_values_off(constructor: &str) -> Diagnostic {
    invalid(format!(
        "Keyword {constructor:?} is not a valid type constructor. To use it, set experiments = [provider_values] in a \
         language block of the module."
    ))
}

/// A type constructor for providers without exactly one name.
pub(crate) fn one_provider(constructor: &str) -> Diagnostic {
    invalid(format!("The {constructor} type constructor requires one argument: the local name of a provider."))
}

/// A tuple type whose argument is not a list.
pub(crate) fn tuple_without_list() -> Diagnostic {
    invalid("Tuple type constructor requires a list of element types.")
}

/// An object type whose argument is not a map.
pub(crate) fn object_without_map() -> Diagnostic {
    invalid(
        "Object type constructor requires a map whose keys are attribute names and whose values are the corresponding \
         attribute types.",
    )
}

/// A key of an object type that is not a name.
pub(crate) fn invalid_attribute_name() -> Diagnostic {
    invalid("Object constructor map keys must be attribute names.")
}

/// A duplicate attribute of an object type.
pub(crate) fn duplicate_attribute(name: &str) -> Diagnostic {
    invalid(format!("This object type already has an attribute named {name:?}."))
}

/// `optional` without a type.
pub(crate) fn optional_without_type() -> Diagnostic {
    invalid("Optional attribute modifier requires the attribute type as its argument.")
}

/// `optional` with more than a type and a default.
pub(crate) fn optional_with_more() -> Diagnostic {
    invalid("Optional attribute modifier expects at most two arguments: the attribute type, and a default value.")
}

/// A default that does not convert to the type of its attribute.
pub(crate) fn unsuitable_default(error: &ConvertError) -> Diagnostic {
    let detail =
        format!("This default value is not compatible with the attribute's type constraint: {}.", error.with_path());
    Diagnostic::error("Invalid default value for optional attribute", detail)
}
