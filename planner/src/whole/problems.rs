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
            "This block says that {from} has moved, but the configuration still declares it. Remove the declaration or \
             the block."
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
            "These objects could not be moved, because another object already has the new address:{}\n\nBoth keep their \
             addresses. Those that the configuration does not declare are planned to be destroyed. To prevent that, \
             remove them from the state or move them to another address.",
            pairs.concat()
        ),
    )
}

/// Moved objects are outside the selection. `way_out` says how to select them.
pub(super) fn moves_left_out(addresses: &[&str], way_out: &str) -> Diagnostic {
    Diagnostic::error(
        "Moved resource instances excluded by targeting",
        format!(
            "The configuration moves objects that the options leave out: {}. Either {way_out}, or plan everything.",
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
        InvalidProtection::Marked => "The value is sensitive or ephemeral, and the plan would reveal it.",
        InvalidProtection::NotBoolean => "The value is neither true nor false.",
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
        UnusableProtection::Unknown => "is not known yet. Use a value that is known at plan",
        UnusableProtection::NotBoolean => "is neither true nor false",
        UnusableProtection::Null => "is null, and must be true or false",
    };
    let detail = format!("The plan calls for {address} to be {what}, and its prevent_destroy {found}.");
    Diagnostic::error(INVALID_PREVENT_DESTROY, detail).at(at.clone())
}

/// The plan is partial. `keyless` are modules with `count` or `for_each` that the options name without a key.
pub(super) fn targeting_in_effect(keyless: &BTreeSet<Module>) -> Diagnostic {
    let mut detail = "With -target or -exclude only a part of the configuration is planned, so the result may differ from \
                      the configuration as a whole. Use these options to recover from problems, not for routine changes."
        .to_owned();
    for module in keyless {
        detail.push_str(&format!(
            "\n\n{module} has several instances. An address in it must have the key of one, such as {module}[0] or \
             {module}[\"key\"]. Otherwise it names nothing."
        ));
    }
    Diagnostic::warning("Resource targeting is in effect", detail)
}

/// `-replace` names a resource with `count` or `for_each`, but no key.
pub(super) fn replace_without_key(wish: &ResourceInstance, resource: &AbsResource, keys: &[InstanceKey]) -> Diagnostic {
    let instances: Vec<String> =
        keys.iter().map(|key| format!("-replace='{}'", resource.instance(key.clone()))).collect();
    let way_out = match instances.as_slice() {
        [] => "It has no instances now.".to_owned(),
        found => format!("Name the instance: {}.", found.join(", ")),
    };
    Diagnostic::warning(
        "Incompletely-matched force-replace resource instance",
        format!("The option -replace={wish} names no instance of {resource}, so nothing is replaced. {way_out}"),
    )
}
