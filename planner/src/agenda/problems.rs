//! Diagnostics of the plan so far.

use weft_graph_format::address::{AbsResource, InstanceKey};
use weft_graph_format::diagnostic::Diagnostic;

/// A `replace_triggered_by` target is not in the plan. The error has no source range, as in OpenTofu.
pub(super) fn no_change_found(resource: &AbsResource, key: Option<&InstanceKey>) -> Diagnostic {
    let key = key.cloned().unwrap_or(InstanceKey::None);
    let module = &resource.module;
    let module = if module.is_root() { "the root module".to_string() } else { module.to_string() };
    Diagnostic::error(
        format!("no change found for {}{key} in {module}", resource.resource),
        "Only managed resources that have instances, and data sources that are read at apply, can be named in \
         replace_triggered_by.",
    )
}
