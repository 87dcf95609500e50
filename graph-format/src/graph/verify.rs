//! Checks a graph independently: derives the properties of a valid graph again, with other code.

mod fragment;
mod outline;
mod whole;

use thiserror::Error;

use super::{ExecutionGraph, FormulaIndex, OperationId, Row, TableError};

pub use fragment::verify_fragment;
pub use outline::verify_outline;

/// Something that is wrong with a graph, so that it must not be run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Flaw {
    /// Operation numbers have gaps, occur twice, or are out of order.
    #[error("operation numbers are not 0 to {count} once each, ascending in each fragment")]
    Numbering {
        /// The number of operations that the graph claims.
        count: u32,
    },
    /// The fragments are not in the order of their shards, or two have the same shard.
    #[error("fragment {0} is not in the order of the shards")]
    Fragment(u32),
    /// An operand, wait or formula that refers to something that does not exist or comes later.
    #[error("operation {operation} refers to {to}, which does not come before operation {operation}")]
    ForwardReference {
        /// The operation.
        operation: u32,
        /// The number that the operation refers to.
        to: u32,
    },
    /// An operand that is the wrong kind of operation, belongs to another object, or is in another shard.
    #[error("operation {operation} refers to operation {operand}, which has the wrong kind, object or shard")]
    WrongKind {
        /// The operation.
        operation: u32,
        /// The operand.
        operand: u32,
    },
    /// An invalid formula table.
    #[error(transparent)]
    Formula(#[from] TableError),
    /// An operation with a formula that is not in its fragment's table.
    #[error("operation {operation} names formula {formula}, which is not in the fragment of the operation")]
    NoFormula {
        /// The operation.
        operation: u32,
        /// The missing row.
        formula: u32,
    },
    /// A formula that uses a parameter outside of its body.
    #[error("formula {formula} is used where its parameters have no value")]
    Parameter {
        /// The row.
        formula: u32,
    },
    /// A formula that reads an operation without a result.
    #[error("the result of operation {0} is read, but that operation has no result")]
    NoResult(u32),
    /// An ephemeral value that is stored.
    #[error("an ephemeral value is stored with operation {0}")]
    Ephemeral(u32),
    /// An ephemeral value that is stored in a formula.
    #[error("an ephemeral value is stored in formula {0}")]
    EphemeralFormula(u32),
    /// The list of results from other shards is wrong: a result that is read is missing, or a listed result is not from
    /// another shard.
    #[error("the list of results from other shards is wrong for operation {0}")]
    Foreign(u32),
    /// An invalid waiter:
    ///
    /// - It does not exist.
    /// - It refers to itself, to a later waiter, or to an operation that does not exist or is not tracked.
    /// - It contains an operation that does not come before the operations that wait for it.
    /// - Its members are not in ascending order.
    #[error("waiter {0} is invalid")]
    Waiter(u32),
    /// An operation that waits for an untracked operation.
    #[error("operation {operation} waits for {to}, which is not tracked")]
    Untracked {
        /// The operation.
        operation: u32,
        /// The untracked operation.
        to: u32,
    },
    /// A result that is never stored, but is read in another shard.
    #[error("the result of operation {0} is read in another shard, but is never sent to that shard")]
    LiveElsewhere(u32),
    /// An ephemeral object that is not closed, closed twice, or closed before something in its shard that may need it.
    #[error("ephemeral operation {0} is not closed exactly once, after all its uses")]
    NotClosedEphemeral(u32),
    /// An operation that cannot run in its shard.
    #[error("operation {0} is in a shard where it cannot run")]
    Shard(u32),
    /// A plan whose parts contradict its action.
    #[error("operation {0}: the parts of the plan do not fit its action")]
    Plan(u32),
    /// A provider that is not closed, closed twice, or closed before something that uses it.
    #[error("provider operation {0} is not closed exactly once, after all its uses")]
    NotClosed(u32),
    /// Two operations that apply the same object.
    #[error("operations {first} and {second} apply the same object")]
    AppliedTwice {
        /// The first operation.
        first: u32,
        /// The second operation.
        second: u32,
    },
    /// A final plan that is not carried out by exactly one operation.
    #[error("the plan of operation {0} is not carried out exactly once")]
    NotApplied(u32),
    /// The outline contradicts the operations.
    #[error("the outline of operation {0} contradicts the operation")]
    Outline(u32),
    /// Formulas and operations share so many parts that deriving their needs takes too many steps.
    #[error("the dependencies of the operations have too many shared parts to be checked")]
    Entangled,
    /// The final state of an instance is attributed to the wrong operation. Contains the address.
    #[error("the final state of {0} does not come from the operation that the plan names")]
    FinalState(String),
}

/// All flaws of a graph, in order. Empty for a valid graph. Takes time linear in the size of the graph, except for
/// sorting.
///
/// If numbers or references within a fragment are wrong, checks that depend on them are skipped.
pub fn verify(graph: &ExecutionGraph) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    let rows = number_rows(graph, &mut flaws);
    for (i, pair) in graph.fragments.windows(2).enumerate() {
        if pair[0].shard >= pair[1].shard {
            flaws.push(Flaw::Fragment(i as u32 + 1));
        }
    }
    if !flaws.is_empty() {
        return flaws;
    }
    graph.fragments.iter().for_each(|part| flaws.extend(verify_fragment(part)));
    flaws.extend(verify_outline(graph.operations, graph.fragments.len(), &graph.waiters, &graph.outline));
    if !flaws.is_empty() {
        return flaws;
    }
    whole::check(graph, &rows, &mut flaws);
    flaws
}

/// All rows by number, each with the index of its fragment.
fn number_rows<'g>(graph: &'g ExecutionGraph, flaws: &mut Vec<Flaw>) -> Vec<(&'g Row, usize)> {
    let there: usize = graph.fragments.iter().map(|part| part.rows.len()).sum();
    if there != graph.operations as usize {
        flaws.push(Flaw::Numbering { count: graph.operations });
        return Vec::new();
    }
    let mut rows: Vec<Option<(&Row, usize)>> = vec![None; there];
    for (shard, part) in graph.fragments.iter().enumerate() {
        for row in &part.rows {
            match rows.get_mut(row.id.0 as usize) {
                Some(slot @ None) => *slot = Some((row, shard)),
                _ => flaws.push(Flaw::Numbering { count: graph.operations }),
            }
        }
    }
    rows.into_iter().flatten().collect()
}

/// Whether each item is greater than the item before it.
fn ascending<T: Ord>(items: &[T]) -> bool {
    items.windows(2).all(|pair| pair[0] < pair[1])
}

/// Facts about one formula row, derived from the rows before it.
struct RowFacts {
    /// The latest operation whose result the formula reads.
    latest: Option<OperationId>,
    /// The parameters that the formula uses without binding them, in ascending order.
    open: Box<[u32]>,
}

/// The facts of a row; `None` if the row is missing.
fn facts_of(facts: &[RowFacts], row: FormulaIndex) -> Option<&RowFacts> {
    facts.get(row.0 as usize)
}
