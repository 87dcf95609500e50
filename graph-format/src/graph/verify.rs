//! An independent check of a graph: what a sound one must satisfy is derived again, not trusted.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use thiserror::Error;

use super::opcode::{Action, Opcode, Operation};
use super::{ExecutionGraph, FormulaIndex, OperationId, Row, Shard, TableError, Waits};
use crate::formula::FormulaOp;

/// Something that makes a graph unfit to be run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Flaw {
    /// Operations are numbered with gaps, twice, or out of order.
    #[error("operation numbers are not 0 to {count} once each, ascending in each fragment")]
    Numbering {
        /// Number of operations the graph claims.
        count: u32,
    },
    /// An operand, wait or formula leads to something that is not there or comes later.
    #[error("operation {operation} refers to {to}, which does not come before it")]
    ForwardReference {
        /// The operation.
        operation: u32,
        /// What it refers to.
        to: u32,
    },
    /// An operand is not the kind of operation it should be.
    #[error("operation {operation} takes operation {operand} for something that it is not")]
    WrongKind {
        /// The operation.
        operation: u32,
        /// The operand.
        operand: u32,
    },
    /// A formula table that is not sound.
    #[error(transparent)]
    Formula(#[from] TableError),
    /// A formula row that is not in its fragment's table.
    #[error("operation {operation} names formula {formula}, which is not in its fragment")]
    NoFormula {
        /// The operation.
        operation: u32,
        /// The row.
        formula: u32,
    },
    /// A waiter that names itself, a later waiter or an operation that is not there.
    #[error("waiter {0} is not sound")]
    Waiter(u32),
    /// An operation that cannot run in its shard.
    #[error("operation {0} is in a shard that it cannot run in")]
    Shard(u32),
    /// A plan whose parts contradict its action.
    #[error("operation {0}: the parts of the plan do not fit its action")]
    Plan(u32),
    /// A provider that is opened and not closed, or closed twice.
    #[error("provider operation {0} is not closed exactly once")]
    NotClosed(u32),
    /// Two operations claim to apply the same object.
    #[error("operations {first} and {second} apply the same object")]
    AppliedTwice {
        /// One.
        first: u32,
        /// The other.
        second: u32,
    },
    /// The outline says otherwise than the operations.
    #[error("the outline of operation {0} is not what the operation says")]
    Outline(u32),
}

/// All flaws of a graph, in order; none for a sound one. Linear in the size of the graph.
pub fn verify(graph: &ExecutionGraph) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    let mut rows: Vec<Option<(&Row, usize)>> = vec![None; graph.operations.min(MOST_OPERATIONS) as usize];
    let mut count = 0u32;
    for (shard, fragment) in graph.fragments.iter().enumerate() {
        let mut last = None;
        for row in &fragment.rows {
            let fits = last.is_none_or(|l| l < row.id);
            last = Some(row.id);
            match rows.get_mut(row.id.0 as usize) {
                Some(slot @ None) if fits => *slot = Some((row, shard)),
                _ => flaws.push(Flaw::Numbering { count: graph.operations }),
            }
            count += 1;
        }
    }
    if count != graph.operations || rows.iter().any(Option::is_none) {
        flaws.push(Flaw::Numbering { count: graph.operations });
    }
    if !flaws.is_empty() {
        return flaws;
    }
    let rows: Vec<(&Row, usize)> = rows.into_iter().flatten().collect();
    check_waiters(graph, &mut flaws);
    let mut tables_sound = Vec::new();
    for fragment in &graph.fragments {
        tables_sound.push(check_table(&fragment.formulas.rows, graph.operations, &mut flaws));
    }
    let latest_waited = latest_in_waiters(graph);
    for (row, shard) in &rows {
        check_row(graph, &rows, row, *shard, tables_sound[*shard], &latest_waited, &mut flaws);
    }
    check_whole(&rows, &mut flaws);
    check_outline(graph, &rows, &mut flaws);
    flaws
}

/// Largest number of operations of one graph; a loader refuses more, so that a header cannot ask for all memory.
pub(crate) const MOST_OPERATIONS: u32 = 50_000_000;

fn check_waiters(graph: &ExecutionGraph, flaws: &mut Vec<Flaw>) {
    for (i, waiter) in graph.waiters.iter().enumerate() {
        let sound = waiter.waiters.iter().all(|w| (w.0 as usize) < i)
            && waiter.operations.iter().all(|o| o.0 < graph.operations);
        if !sound {
            flaws.push(Flaw::Waiter(i as u32));
        }
    }
}

/// The latest operation that each waiter waits for.
fn latest_in_waiters(graph: &ExecutionGraph) -> Vec<Option<OperationId>> {
    let mut latest: Vec<Option<OperationId>> = Vec::with_capacity(graph.waiters.len());
    for waiter in &graph.waiters {
        let below = waiter.waiters.iter().filter_map(|w| latest.get(w.0 as usize).copied().flatten());
        let found = waiter.operations.iter().copied().chain(below).max();
        latest.push(found);
    }
    latest
}

fn check_table(rows: &[super::FormulaRow], operations: u32, flaws: &mut Vec<Flaw>) -> bool {
    let before = flaws.len();
    for (i, row) in rows.iter().enumerate() {
        row.op.operands(&mut |operand: &FormulaIndex| {
            if operand.0 as usize >= i {
                flaws.push(Flaw::Formula(TableError::ForwardReference { row: i as u32, operand: operand.0 }));
            }
        });
        if let FormulaOp::Result(operation, _) = &row.op
            && operation.0 >= operations
        {
            flaws.push(Flaw::ForwardReference { operation: operations, to: operation.0 });
        }
    }
    flaws.len() == before
}

#[allow(clippy::too_many_arguments)]
fn check_row(
    graph: &ExecutionGraph,
    rows: &[(&Row, usize)],
    row: &Row,
    shard: usize,
    table_sound: bool,
    latest_waited: &[Option<OperationId>],
    flaws: &mut Vec<Flaw>,
) {
    let id = row.id;
    let operation = &row.operation;
    for earlier in operation.operands().iter().chain(&row.waits.operations) {
        if *earlier >= id {
            flaws.push(Flaw::ForwardReference { operation: id.0, to: earlier.0 });
            return;
        }
    }
    for waiter in &row.waits.waiters {
        match latest_waited.get(waiter.0 as usize) {
            Some(latest) if latest.is_none_or(|l| l < id) => {}
            _ => flaws.push(Flaw::Waiter(waiter.0)),
        }
    }
    let table = &graph.fragments[shard].formulas.rows;
    for formula in operation.formulas() {
        if formula.0 as usize >= table.len() {
            flaws.push(Flaw::NoFormula { operation: id.0, formula: formula.0 });
        }
    }
    if table_sound {
        check_results(graph, row, shard, flaws);
    }
    let kind = |other: OperationId| rows[other.0 as usize].0.operation.opcode();
    let same_shard = |other: OperationId| rows[other.0 as usize].1 == shard;
    let mut expect = |other: OperationId, opcode: Opcode| {
        if kind(other) != opcode || !same_shard(other) {
            flaws.push(Flaw::WrongKind { operation: id.0, operand: other.0 });
        }
    };
    match operation {
        Operation::CloseProvider { provider } | Operation::ReadData { provider, .. } => {
            expect(*provider, Opcode::OpenProvider);
        }
        Operation::FinalPlan { provider, prior, desired, planned, .. } => {
            expect(*provider, Opcode::OpenProvider);
            prior.iter().for_each(|p| expect(*p, Opcode::PriorState));
            desired.iter().for_each(|d| expect(*d, Opcode::Desired));
            let fits = match planned.action {
                Action::Create => prior.is_none() && desired.is_some(),
                Action::Update => prior.is_some() && desired.is_some(),
                Action::Delete => prior.is_some() && desired.is_none() && planned.value.is_null(),
                Action::NoOp | Action::Read | Action::Forget => false,
            };
            if !fits {
                flaws.push(Flaw::Plan(id.0));
            }
        }
        Operation::Apply { plan, .. } => expect(*plan, Opcode::FinalPlan),
        _ => {}
    }
    let in_provider = matches!(graph.fragments[shard].shard, Shard::Provider(_));
    let needs_provider = matches!(
        operation.opcode(),
        Opcode::OpenProvider | Opcode::CloseProvider | Opcode::FinalPlan | Opcode::Apply | Opcode::ReadData
    );
    let right_instance = match (operation, &graph.fragments[shard].shard) {
        (Operation::OpenProvider { instance, .. }, Shard::Provider(here)) => instance == here,
        _ => true,
    };
    if (needs_provider && !in_provider && graph.fragments[shard].shard != Shard::Home) || !right_instance {
        flaws.push(Flaw::Shard(id.0));
    }
}

/// Every result that an operation reads is one that comes before it and that has a value.
fn check_results(graph: &ExecutionGraph, row: &Row, shard: usize, flaws: &mut Vec<Flaw>) {
    let table = &graph.fragments[shard].formulas.rows;
    // Rows only lead backwards, so one pass down from the root visits each at most once.
    let mut seen = rustc_hash::FxHashSet::default();
    let mut pending: Vec<u32> = row.operation.formulas().iter().map(|f| f.0).collect();
    while let Some(i) = pending.pop() {
        let Some(formula) = table.get(i as usize) else { continue };
        if !seen.insert(i) {
            continue;
        }
        if let FormulaOp::Result(operation, _) = &formula.op
            && *operation >= row.id
        {
            flaws.push(Flaw::ForwardReference { operation: row.id.0, to: operation.0 });
        }
        formula.op.operands(&mut |operand: &FormulaIndex| pending.push(operand.0));
    }
}

fn check_whole(rows: &[(&Row, usize)], flaws: &mut Vec<Flaw>) {
    let mut opened: BTreeMap<OperationId, u32> = BTreeMap::new();
    let mut applied: FxHashMap<(String, Option<String>, Action), OperationId> = FxHashMap::default();
    for (row, _) in rows {
        match &row.operation {
            Operation::OpenProvider { .. } => {
                opened.insert(row.id, 0);
            }
            Operation::CloseProvider { provider } => {
                if let Some(count) = opened.get_mut(provider) {
                    *count += 1;
                }
            }
            Operation::Apply { address, deposed, plan } => {
                let action = match &rows[plan.0 as usize].0.operation {
                    Operation::FinalPlan { planned, .. } => planned.action,
                    _ => continue,
                };
                let object = (address.to_string(), deposed.as_ref().map(|d| d.0.to_string()), action);
                if let Some(first) = applied.insert(object, row.id) {
                    flaws.push(Flaw::AppliedTwice { first: first.0, second: row.id.0 });
                }
            }
            _ => {}
        }
    }
    flaws.extend(opened.into_iter().filter(|(_, n)| *n != 1).map(|(id, _)| Flaw::NotClosed(id.0)));
}

fn check_outline(graph: &ExecutionGraph, rows: &[(&Row, usize)], flaws: &mut Vec<Flaw>) {
    let tracked = rows.iter().filter(|(row, _)| row.operation.is_tracked());
    if tracked.clone().count() != graph.outline.len() {
        flaws.push(Flaw::Outline(graph.operations));
        return;
    }
    for ((row, shard), outline) in tracked.zip(&graph.outline) {
        let same = outline.id == row.id
            && outline.opcode == row.operation.opcode() as u16
            && outline.shard as usize == *shard
            && outline.address == row.operation.address()
            && outline.changes_world == matches!(row.operation, Operation::Apply { .. })
            && earlier_only(&outline.needs, row.id, graph);
        if !same {
            flaws.push(Flaw::Outline(row.id.0));
        }
    }
}

fn earlier_only(needs: &Waits, id: OperationId, graph: &ExecutionGraph) -> bool {
    needs.operations.iter().all(|o| *o < id) && needs.waiters.iter().all(|w| (w.0 as usize) < graph.waiters.len())
}
