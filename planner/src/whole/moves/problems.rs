//! Diagnostics of `moved` blocks that contradict themselves or each other.

use weft_graph_format::diagnostic::Diagnostic;

use super::Statement;

/// A `moved` block with equal ends.
pub(super) fn redundant_move(statement: &Statement, address: &str) -> Diagnostic {
    Diagnostic::error(
        "Redundant move statement",
        format!("This block moves {address} to the same address. Remove the block."),
    )
    .at(statement.range.clone())
}

/// Two `moved` blocks with the same source. `to` is the target of the second one.
pub(super) fn two_targets(statement: &Statement, other: &Statement, from: &str, to: &str) -> Diagnostic {
    ambiguous_move(
        statement,
        format!(
            "The moved block at {} moves {from} to {}, but this block moves it to {to}. An object can only move to one \
             address. Remove one of the blocks.",
            place(other),
            other.text(&other.to)
        ),
    )
}

/// Two `moved` blocks with the same target. `from` is the source of the second one.
pub(super) fn two_sources(statement: &Statement, other: &Statement, from: &str, to: &str) -> Diagnostic {
    ambiguous_move(
        statement,
        format!(
            "The moved block at {} moves {} to {to}, but this block moves {from} there. Two objects cannot have the \
             same address. Remove one of the blocks.",
            place(other),
            other.text(&other.from)
        ),
    )
}

fn ambiguous_move(statement: &Statement, detail: String) -> Diagnostic {
    Diagnostic::error("Ambiguous move statements", detail).at(statement.range.clone())
}

fn place(statement: &Statement) -> String {
    format!("{}:{}", statement.range.file, statement.range.start.line)
}

/// `moved` blocks that form a cycle.
pub(super) fn cyclic_moves<'a>(statements: impl Iterator<Item = &'a Statement>) -> Diagnostic {
    let lines: Vec<String> = statements
        .map(|statement| {
            let (from, to) = (statement.text(&statement.from), statement.text(&statement.to));
            format!("\n  - {}: {from} to {to}", place(statement))
        })
        .collect();
    Diagnostic::error(
        "Cyclic dependency in move statements",
        format!(
            "These moved blocks form a cycle, so their objects have no final address:{}\n\nTo exchange addresses, move \
             one object to an unused address first, and apply that plan before the other moves.",
            lines.concat()
        ),
    )
}
