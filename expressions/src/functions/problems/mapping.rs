//! The errors of the functions of maps and objects.

use weft_graph_format::types::Type;

use crate::functions::FunctionError;

/// A function was removed from the language.
pub(in crate::functions) fn gone(name: &str, instead: &str) -> FunctionError {
    FunctionError::new(format!("the \"{name}\" function is no longer available; use {instead}"))
}

/// The argument of `keys` is neither a map nor an object.
pub(in crate::functions) fn has_no_keys() -> FunctionError {
    FunctionError::argument(0, "must have map or object type")
}

/// The argument of `values` is neither a map nor an object.
pub(in crate::functions) fn has_no_values() -> FunctionError {
    FunctionError::new("values() requires a map as the first argument")
}

/// `lookup` has more than three arguments.
pub(in crate::functions) fn too_many_lookup_arguments(count: usize) -> FunctionError {
    FunctionError::new(format!("lookup() takes two or three arguments, got {count}"))
}

/// An object lacks the attribute to look up. `key` is shown as in the language.
pub(in crate::functions) fn no_such_attribute(key: &str) -> FunctionError {
    FunctionError::argument(0, format!("the given object has no attribute {key}"))
}

/// The default of `lookup` does not convert to the type of the elements.
pub(in crate::functions) fn default_of_other_type() -> FunctionError {
    FunctionError::argument(2, "the default value must have the same type as the map elements")
}

/// The first argument of `lookup` is neither a map nor an object.
pub(in crate::functions) fn cannot_look_up() -> FunctionError {
    FunctionError::argument(0, "lookup() requires a map as the first argument")
}

/// A map lacks the key to look up. `key` is shown as in the language.
pub(in crate::functions) fn key_not_found(key: &str) -> FunctionError {
    FunctionError::new(format!("lookup failed to find key {key}"))
}

/// An argument of `merge` is neither a map nor an object.
pub(in crate::functions) fn not_a_map(ty: &Type) -> FunctionError {
    FunctionError::new(format!("arguments must be maps or objects, got {:?}", ty.friendly_name()))
}

/// A list in the map to transpose is null.
pub(in crate::functions) fn null_list(key: &str) -> FunctionError {
    FunctionError::argument(0, format!("cannot use null list for [{key:?}]"))
}

/// A string in the map to transpose is null.
pub(in crate::functions) fn null_string(key: &str, place: usize) -> FunctionError {
    FunctionError::argument(0, format!("cannot use null string for [{key:?}][{place}]"))
}

/// `zipmap` has different numbers of keys and values.
pub(in crate::functions) fn counts_differ(keys: usize, values: usize) -> FunctionError {
    FunctionError::new(format!("number of keys ({keys}) does not match number of values ({values})"))
}

/// A key of `zipmap` is null.
pub(in crate::functions) fn null_key(place: usize) -> FunctionError {
    FunctionError::new(format!("keys list has null value at index {place}"))
}

/// The values of `zipmap` are neither a list nor a tuple.
pub(in crate::functions) fn values_not_a_list() -> FunctionError {
    FunctionError::new("values argument must be a list or tuple value")
}
