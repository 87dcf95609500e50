//! Problems of attributes and indices. The summaries become those of a `Diagnostic`.

use weft_graph_format::number::{Number, NumberError};
use weft_graph_format::types::Type;

use super::Problem;
use crate::convert::ConvertError;

const INVALID_INDEX: &str = "Invalid index";
const UNSUPPORTED_ATTRIBUTE: &str = "Unsupported attribute";
const NO_SUCH_ELEMENT: &str = "The given key does not identify an element in this collection value";

/// An attribute of null.
pub(crate) fn attribute_of_null() -> Problem {
    Problem::new("Attempt to get attribute from null value", "This value is null, so it does not have any attributes.")
}

/// An attribute that the object does not have.
pub(crate) fn missing_attribute(name: &str) -> Problem {
    Problem::new(UNSUPPORTED_ATTRIBUTE, format!("This object does not have an attribute named {name:?}."))
}

/// An attribute access to a map that does not have this element.
pub(crate) fn missing_element(name: &str) -> Problem {
    Problem::new("Missing map element", format!("This map does not have an element with the key {name:?}."))
}

/// An attribute of a value whose type has none.
pub(crate) fn no_attributes(ty: &Type, name: &str) -> Problem {
    let detail = match ty {
        Type::List(element) if matches!(&**element, Type::Object(o) if o.attributes.contains_key(name)) => format!(
            "Can't access attributes on a list of objects. Did you mean to access attribute {name:?} for a specific \
             element of the list, or across all elements of the list?"
        ),
        Type::Set(element) if matches!(&**element, Type::Object(o) if o.attributes.contains_key(name)) => format!(
            "Can't access attributes on a set of objects. Did you mean to access attribute {name:?} across all \
             elements of the set?"
        ),
        Type::Set(element) if matches!(&**element, Type::Object(_)) => {
            "Can't access attributes on a set of objects. Did you mean to access an attribute across all elements of \
             the set?"
                .to_owned()
        }
        Type::List(element) if matches!(&**element, Type::Object(_)) => {
            "Can't access attributes on a list of objects. Did you mean to access an attribute for a specific element \
             of the list, or across all elements of the list?"
                .to_owned()
        }
        ty if ty.is_primitive() => {
            format!("Can't access attributes on a primitive-typed value ({}).", ty.friendly_name())
        }
        _ => "This value does not have any attributes.".to_owned(),
    };
    Problem::new(UNSUPPORTED_ATTRIBUTE, detail)
}

/// An index into null.
pub(crate) fn index_of_null() -> Problem {
    Problem::new("Attempt to index null value", "This value is null, so it does not have any indices.")
}

/// A null key.
pub(crate) fn null_key() -> Problem {
    Problem::new(INVALID_INDEX, "Can't use a null value as an indexing key.")
}

/// A key that does not convert to the type of the collection's keys.
pub(crate) fn unsuitable_key(error: &ConvertError) -> Problem {
    Problem::new(INVALID_INDEX, format!("{NO_SUCH_ELEMENT}: {error}."))
}

/// A literal key that is not a number.
pub(crate) fn unsuitable_number(error: &NumberError) -> Problem {
    Problem::new(INVALID_INDEX, format!("{error}."))
}

/// An index into a set.
pub(crate) fn index_of_set() -> Problem {
    Problem::new(
        INVALID_INDEX,
        "Elements of a set are identified only by their value and don't have any separate index or key to select \
         with, so it's only possible to perform operations across all elements of the set.",
    )
}

/// An index into a value that is not a collection.
pub(crate) fn no_indices() -> Problem {
    Problem::new(INVALID_INDEX, "This value does not have any indices.")
}

/// A number that is not the index of an element in a sequence of `length` elements.
pub(crate) fn missing_position(number: &Number, length: usize) -> Problem {
    let reason = if !number.is_integer() && !number.is_infinite() {
        "indexing a sequence requires a whole number, but the given index has a fractional part"
    } else if number.signum() < 0 {
        "a negative number is not a valid index for a sequence"
    } else if length == 0 {
        "the collection has no elements"
    } else {
        "the given index is greater than or equal to the length of the collection"
    };
    Problem::new(INVALID_INDEX, format!("{NO_SUCH_ELEMENT}: {reason}."))
}

/// A key that a collection of type `ty` does not have. `by_number` says whether the key was given as a number.
pub(crate) fn missing_key(ty: &Type, by_number: bool) -> Problem {
    let hint = match ty {
        Type::Object(_) if by_number => " An object only supports looking up attributes by name, not by numeric index.",
        _ => "",
    };
    Problem::new(INVALID_INDEX, format!("{NO_SUCH_ELEMENT}.{hint}"))
}
