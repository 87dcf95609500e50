//! Diagnostics of cycles between references.

use weft_graph_format::diagnostic::Diagnostic;

/// A provider whose arguments need the provider itself.
pub(in crate::config) fn provider_refers_to_itself(address: &str) -> Diagnostic {
    Diagnostic::error(
        format!("Self reference: {address}"),
        "The arguments of this provider configuration call a function of the same configuration, so the provider \
         cannot be configured. Use a function of another configuration, or compute the value without a provider \
         function.",
    )
}

/// A cycle of several nodes.
pub(in crate::config) fn cycle(steps: &[String]) -> Diagnostic {
    Diagnostic::error(
        format!("Cycle: {}", steps.join(", ")),
        "These objects depend on each other in a circle, so none of them can be evaluated first. Remove one of the \
         references.",
    )
}
