//! Diagnostics of `count`, `for_each` and `enabled`.

use std::fmt::Display;

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

/// A `count` that is not a number, for the reason `why`.
pub(in crate::evaluation) fn unsuitable_count(why: &str, at: SourceRange) -> Diagnostic {
    Diagnostic::error("Incorrect value type", format!("The count is unsuitable: {why}.")).at(at)
}

fn invalid_count(detail: impl Into<String>, at: SourceRange) -> Diagnostic {
    Diagnostic::error("Invalid count argument", detail).at(at)
}

/// A null `count`.
pub(in crate::evaluation) fn null_count(at: SourceRange) -> Diagnostic {
    invalid_count("The count is null. A whole number of zero or more is needed.", at)
}

/// An unknown `count`.
pub(in crate::evaluation) fn unknown_count(at: SourceRange) -> Diagnostic {
    let detail = "The count depends on values that are known only after apply, so the number of instances cannot be \
                  planned. First apply the resources that these values come from, with -target, or compute the count \
                  from values that are known.";
    invalid_count(detail, at)
}

/// An ephemeral `count`.
pub(in crate::evaluation) fn ephemeral_count(at: SourceRange) -> Diagnostic {
    invalid_count("The count is ephemeral, but the number of instances is stored.", at)
}

/// A `count` that is not a number after conversion.
pub(in crate::evaluation) fn count_not_a_number(at: SourceRange) -> Diagnostic {
    invalid_count("The count must be a number.", at)
}

/// A negative `count`.
pub(in crate::evaluation) fn negative_count(number: &dyn Display, at: SourceRange) -> Diagnostic {
    invalid_count(format!("The count is {number}; it must be zero or more."), at)
}

/// A `count` above the maximum.
pub(in crate::evaluation) fn large_count(number: u64, most: u64, at: SourceRange) -> Diagnostic {
    invalid_count(format!("The count is {number}; the limit is {most}."), at)
}

/// A fractional `count`.
pub(in crate::evaluation) fn fractional_count(number: &dyn Display, at: SourceRange) -> Diagnostic {
    invalid_count(format!("The count is {number}; it must be a whole number."), at)
}

fn invalid_for_each(detail: impl Into<String>, at: SourceRange) -> Diagnostic {
    Diagnostic::error("Invalid for_each argument", detail).at(at)
}

/// A sensitive `for_each`.
pub(in crate::evaluation) fn sensitive_for_each(at: SourceRange) -> Diagnostic {
    let detail =
        "Sensitive values, or values made from them, cannot be used for for_each: keys are shown in addresses.";
    invalid_for_each(detail, at)
}

/// An ephemeral `for_each`.
pub(in crate::evaluation) fn ephemeral_for_each(at: SourceRange) -> Diagnostic {
    invalid_for_each("Ephemeral values cannot be used for for_each: keys are stored.", at)
}

/// A null `for_each`.
pub(in crate::evaluation) fn null_for_each(at: SourceRange) -> Diagnostic {
    invalid_for_each("for_each is null. A map, or a set of strings, is needed.", at)
}

/// A `for_each` with unknown keys.
pub(in crate::evaluation) fn unknown_for_each(at: SourceRange) -> Diagnostic {
    let detail = "The keys of for_each depend on values that are known only after apply, so the instances cannot be \
                  planned. Use a map with known keys, and put the unknown values into it. Or first apply the resources \
                  that these values come from, with -target.";
    invalid_for_each(detail, at)
}

/// A null element in the set of a `for_each`.
pub(in crate::evaluation) fn null_in_for_each(at: SourceRange) -> Diagnostic {
    invalid_for_each("The set in for_each must not contain null values.", at)
}

/// A set with elements that are not strings. `ty` is the name of their type.
pub(in crate::evaluation) fn for_each_of_others(ty: &str, at: SourceRange) -> Diagnostic {
    invalid_for_each(format!("for_each needs a set of strings, but this set has elements of type {ty}."), at)
}

/// An unknown `for_each` of an unsuitable type. `ty` is the name of the type.
pub(in crate::evaluation) fn for_each_type(ty: &str, at: SourceRange) -> Diagnostic {
    invalid_for_each(format!("for_each needs a map or a set of strings, not {ty}."), at)
}

/// A known `for_each` of an unsuitable type. `ty` is the name of the type.
pub(in crate::evaluation) fn no_for_each(ty: &str, at: SourceRange) -> Diagnostic {
    let detail =
        format!("for_each needs a map or a set of strings, not {ty}. To convert a list to a set, use toset(...).");
    invalid_for_each(detail, at)
}

/// A `for_each` of a provider with unknown keys. `names` are the unknown values.
pub(in crate::evaluation) fn unknown_provider_keys(names: &str, at: SourceRange) -> Diagnostic {
    let detail = format!(
        "The keys of the for_each of this provider depend on {names}, known only after apply, but the plan needs the \
         keys. Use a map with known keys, and put the unknown values into it. Or first apply the resources that these \
         values come from, with -target."
    );
    invalid_for_each(detail, at)
}

/// A `for_each` of a provider that is unsuitable, for the reason `why`.
pub(in crate::evaluation) fn provider_for_each(why: String, at: SourceRange) -> Diagnostic {
    invalid_for_each(why, at)
}

fn invalid_enabled(detail: impl Into<String>, at: SourceRange) -> Diagnostic {
    Diagnostic::error("Invalid enabled argument", detail).at(at)
}

/// A sensitive or ephemeral `enabled`.
pub(in crate::evaluation) fn confidential_enabled(at: SourceRange) -> Diagnostic {
    invalid_enabled("Sensitive and ephemeral values cannot be used for enabled.", at)
}

/// An `enabled` that is not a truth value, for the reason `why`.
pub(in crate::evaluation) fn unsuitable_enabled(why: &str, at: SourceRange) -> Diagnostic {
    invalid_enabled(format!("The value is unsuitable: {why}."), at)
}

/// A null `enabled`.
pub(in crate::evaluation) fn null_enabled(at: SourceRange) -> Diagnostic {
    invalid_enabled("enabled must be true or false, not null.", at)
}

/// An unknown `enabled`.
pub(in crate::evaluation) fn unknown_enabled(at: SourceRange) -> Diagnostic {
    let detail = "enabled depends on values that are known only after apply, so the instance cannot be planned. First \
                  apply the resources that these values come from, with -target.";
    invalid_enabled(detail, at)
}
