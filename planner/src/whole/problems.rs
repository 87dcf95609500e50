//! Diagnostics of the rules over all instances.

use std::collections::BTreeSet;

use weft_graph_format::address::{AbsResource, InstanceKey, Module, ResourceInstance};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

/// The summary for a `prevent_destroy` value that is not a known truth value.
const INVALID_PREVENT_DESTROY: &str = "Invalid value for prevent_destroy";

/// Why a `prevent_destroy` value is invalid, even if it is unknown.
#[derive(Clone, Copy, Debug)]
pub(super) enum InvalidProtection {
    /// The value is sensitive or ephemeral.
    Marked,
    /// The value cannot be converted to a boolean.
    NotBoolean,
}

/// Why a `prevent_destroy` value does not decide a removal.
#[derive(Clone, Copy, Debug)]
pub(super) enum UnusableProtection {
    /// The value is unknown until apply.
    Unknown,
    /// The value cannot be converted to a boolean.
    NotBoolean,
    /// The value is null.
    Null,
}

/// A `moved` block whose source is still declared.
pub(super) fn moved_object_still_exists(from: &str, block: &SourceRange) -> Diagnostic {
    Diagnostic::error(
        "Moved object still exists",
        format!(
            "This moved block says that {from} has moved, but the configuration still declares {from}. Remove the \
             declaration or the moved block."
        ),
    )
    .at(block.clone())
}

/// Objects that did not move because other objects have their new addresses: pairs of old and new addresses.
pub(super) fn moves_blocked(blocked: &[(ResourceInstance, ResourceInstance)]) -> Diagnostic {
    let pairs: Vec<String> = blocked.iter().map(|(from, to)| format!("\n  - {from} to {to}")).collect();
    Diagnostic::warning(
        "Unresolved resource instance address changes",
        format!(
            "These objects could not be moved, because another object already has the new address:{}\n\nAll these \
             objects keep their addresses. The plan destroys the objects whose address the configuration does not \
             declare. To prevent that, remove these objects from the state with \"weft state rm\", or move them to \
             another address with \"weft state mv\".",
            pairs.concat()
        ),
    )
}

/// Moved objects are outside the selection. `way_out` says how to select them.
pub(super) fn moves_left_out(addresses: &[&str], way_out: &str) -> Diagnostic {
    Diagnostic::error(
        "Moved resource instances excluded by targeting",
        format!(
            "The moved blocks of the configuration move these objects, but -target or -exclude leaves them out of the \
             plan: {}. Either {way_out}, or plan without these options.",
            addresses.join(", ")
        ),
    )
}

/// `prevent_destroy` uses a name that only exists in instances.
pub(super) fn prevent_destroy_of_instances(name: &str, at: &SourceRange) -> Diagnostic {
    let detail = format!(
        "prevent_destroy also applies to objects whose instance no longer exists, so it cannot depend on {name}, which \
         only instances have."
    );
    Diagnostic::error("Invalid reference in prevent_destroy", detail).at(at.clone())
}

/// A `prevent_destroy` value that is never valid.
pub(super) fn invalid_prevent_destroy(why: InvalidProtection, at: &SourceRange) -> Diagnostic {
    let detail = match why {
        InvalidProtection::Marked => {
            "The value is sensitive or ephemeral, and the plan would reveal it. Use a value that may be shown."
        }
        InvalidProtection::NotBoolean => "The value is neither true nor false. Use true or false.",
    };
    Diagnostic::error(INVALID_PREVENT_DESTROY, detail).at(at.clone())
}

/// A protected object would be `what`: "destroyed" or "replaced".
pub(super) fn protected(address: &ResourceInstance, what: &str, range: &SourceRange) -> Diagnostic {
    Diagnostic::error(
        "Resource instance cannot be destroyed",
        format!(
            "Resource instance {address} has prevent_destroy set, but the plan calls for it to be {what}. Remove \
             prevent_destroy from its lifecycle block, or keep the object."
        ),
    )
    .at(range.clone())
}

/// An object would be `what`: "destroyed" or "replaced". Its `prevent_destroy` value cannot be used.
pub(super) fn unusable_prevent_destroy(
    address: &ResourceInstance,
    what: &str,
    why: UnusableProtection,
    at: &SourceRange,
) -> Diagnostic {
    let found = match why {
        UnusableProtection::Unknown => "is not known yet. Use a value that is known during planning",
        UnusableProtection::NotBoolean => "is neither true nor false",
        UnusableProtection::Null => "is null, and must be true or false",
    };
    let detail = format!("The plan calls for {address} to be {what}, and its prevent_destroy {found}.");
    Diagnostic::error(INVALID_PREVENT_DESTROY, detail).at(at.clone())
}

/// The plan is partial. `keyless` are modules with `count` or `for_each` that the options name without a key.
pub(super) fn targeting_in_effect(keyless: &BTreeSet<Module>) -> Diagnostic {
    let mut detail = "With -target or -exclude, only a part of the configuration is planned, so the result may differ \
                      from the whole configuration. Use these options to recover from problems, not for routine \
                      changes."
        .to_owned();
    for module in keyless {
        detail.push_str(&format!(
            "\n\n{module} has several instances. An address in this module must contain the key of an instance, such \
             as {module}[0] or {module}[\"key\"]. An address without a key selects nothing."
        ));
    }
    Diagnostic::warning("Resource targeting is in effect", detail)
}

/// `-replace` names a resource with `count` or `for_each`, but no key.
pub(super) fn replace_without_key(wish: &ResourceInstance, resource: &AbsResource, keys: &[InstanceKey]) -> Diagnostic {
    let instances: Vec<String> =
        keys.iter().map(|key| format!("-replace='{}'", resource.instance(key.clone()))).collect();
    let way_out = match instances.as_slice() {
        [] => "The resource has no instances now.".to_owned(),
        found => format!("Name one instance: {}.", found.join(", ")),
    };
    Diagnostic::warning(
        "Incompletely-matched force-replace resource instance",
        format!("The option -replace={wish} names no instance of {resource}, so nothing is replaced. {way_out}"),
    )
}
