//! Diagnostics of `lifecycle` blocks.

use weft_graph_format::address::{Resource, ResourceMode};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

const INVALID_EXPRESSION: &str = "Invalid expression";
/// The rule for indexes in entries of `replace_triggered_by`.
const KEYS_IN_TRIGGERS: &str = "An index in replace_triggered_by must be a literal, count.index or each.key.";
const INVALID_TRIGGER: &str = "Invalid replace_triggered_by expression";

/// An argument that a resource of mode `mode` does not have. The argument is at `argument`, in the block at `block`.
pub(in crate::config) fn argument_of_managed(
    name: &str,
    mode: ResourceMode,
    argument: &SourceRange,
    block: &SourceRange,
) -> Diagnostic {
    let (summary, at) = match mode {
        ResourceMode::Data => ("Invalid data resource lifecycle argument", argument),
        _ => ("Invalid lifecycle configuration for ephemeral resource", block),
    };
    let detail = format!("Only managed resources (\"resource\" blocks) can have the lifecycle argument {name:?}.");
    Diagnostic::error(summary, detail).at(at.clone())
}

/// A `replace_triggered_by` that is not a list.
pub(in crate::config) fn triggers_not_a_list(at: SourceRange) -> Diagnostic {
    let detail = "replace_triggered_by must be a list of references, such as [aws_instance.web.id].";
    Diagnostic::error(INVALID_EXPRESSION, detail).at(at)
}

/// A reference to the resource of the condition. `block_type` is the type of the condition's block.
pub(in crate::config) fn reference_to_itself(block_type: &str, resource: &Resource, at: SourceRange) -> Diagnostic {
    let detail = format!("{resource} cannot refer to itself by its address. In a postcondition, use self instead.");
    Diagnostic::error(format!("Invalid reference in {block_type}"), detail).at(at)
}

/// An index in an entry of `replace_triggered_by` that is not a name.
pub(in crate::config) fn computed_key_in_trigger(at: SourceRange) -> Diagnostic {
    Diagnostic::error(INVALID_EXPRESSION, KEYS_IN_TRIGGERS).at(at)
}

/// A name as an index in an entry of `replace_triggered_by` that is not allowed there.
pub(in crate::config) fn wrong_key_in_trigger(at: SourceRange) -> Diagnostic {
    Diagnostic::error("Invalid index expression", KEYS_IN_TRIGGERS).at(at)
}

/// `each` or `count` in an entry of `replace_triggered_by`, with another attribute than the one that is allowed.
pub(in crate::config) fn repetition_in_trigger(root: &str, allowed: &str) -> Diagnostic {
    let detail = format!("The only attribute of {root} in replace_triggered_by is {root}.{allowed}.");
    Diagnostic::error(format!("Invalid {root} reference in replace_triggered_by expression"), detail)
}

/// A name to which an entry of `replace_triggered_by` cannot refer.
pub(in crate::config) fn name_in_trigger() -> Diagnostic {
    let detail = "replace_triggered_by can only refer to resources. The keys of their instances can use count.index \
                  and each.key.";
    Diagnostic::error("Invalid reference in replace_triggered_by expression", detail)
}

/// An entry of `replace_triggered_by` without a resource.
pub(in crate::config) fn trigger_without_resource() -> Diagnostic {
    Diagnostic::error(
        INVALID_TRIGGER,
        "Each entry of replace_triggered_by must refer to a resource, such as aws_instance.web. This entry does not.",
    )
}

/// An entry of `replace_triggered_by` with several resources.
pub(in crate::config) fn trigger_with_resources() -> Diagnostic {
    let detail = "Each entry of replace_triggered_by must refer to only one resource. Write a separate entry for each \
                  resource.";
    Diagnostic::error(INVALID_TRIGGER, detail)
}

/// An `ignore_changes` that is not a list.
pub(in crate::config) fn ignored_not_a_list(at: SourceRange) -> Diagnostic {
    let detail = "ignore_changes must be the keyword all or a list of attributes, such as [tags].";
    Diagnostic::error(INVALID_EXPRESSION, detail).at(at)
}

/// An entry of `ignore_changes` that is not the name of an attribute.
pub(in crate::config) fn ignored_not_an_attribute(at: SourceRange) -> Diagnostic {
    let detail = "Each entry of ignore_changes must be the name of an attribute, optionally with constant keys after \
                  it, such as tags[\"Name\"].";
    Diagnostic::error(INVALID_EXPRESSION, detail).at(at)
}

/// The entry "*" of `ignore_changes`.
pub(in crate::config) fn ignored_star(at: SourceRange) -> Diagnostic {
    let detail = "The list [\"*\"] is an old form for all attributes. Write ignore_changes = all.";
    Diagnostic::error("Invalid ignore_changes wildcard", detail).at(at)
}

/// The entry "*" of `ignore_changes` together with other entries.
pub(in crate::config) fn ignored_star_beside_others(at: &SourceRange) -> Diagnostic {
    let detail = "The entry \"*\" means all attributes, so the list cannot have other entries. Write ignore_changes = \
                  all, or list only the attributes.";
    Diagnostic::error("Invalid ignore_changes ruleset", detail).at(at.clone())
}
