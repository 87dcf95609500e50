//! The diagnostics of `graph`, as constructors.

use weft_graph_format::diagnostic::Diagnostic;

/// The operations of a graph depend on each other.
pub fn cycle(names: &[&str]) -> Diagnostic {
    Diagnostic::error(
        format!("Cycle: {}", names.join(", ")),
        "The vertices of this cycle depend on each other. Use -draw-cycles to print the graph anyway.",
    )
}

/// Plan files have only one type of graph.
pub fn graph_of_plan(kind: &str) -> Diagnostic {
    Diagnostic::error(
        "Unsupported graph type",
        format!("A plan file has only the graph of an apply. Remove -type={kind}, or use it without -plan."),
    )
}

/// The type of graph no longer exists.
pub fn former_graph(kind: &str) -> Diagnostic {
    Diagnostic::error(
        "Graph type no longer available",
        format!("The graph type {kind:?} no longer exists. -type=plan prints a similar graph."),
    )
}

/// The type of graph is unknown.
pub fn unknown_graph() -> Diagnostic {
    Diagnostic::error(
        "Unsupported graph type",
        "-type may be \"plan\", \"plan-refresh-only\", \"plan-destroy\" or \"apply\".",
    )
}
