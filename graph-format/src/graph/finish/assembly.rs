//! Builds the finished tables: final numbers, ordered waiters, and one fragment for each shard.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use rustc_hash::FxHashMap;

use super::waiters::Members;
use super::{Drafted, Finish, Numbers, numbers, outline};
use crate::graph::opcode::Operation;
use crate::graph::{
    ExecutionGraph, ForeignResult, FormulaIndex, FormulaRow, FormulaTable, Fragment, OperationId, Row, Shard,
    WaiterIndex, Waits,
};
use crate::path::Path;
use crate::value::formula::{FormulaOp, Occurrence, Parameter};

pub(super) fn assemble(finish: Finish, reads: &[Vec<u32>], order: &[u32]) -> ExecutionGraph {
    let Finish { operations, formulas, waiters: drafted_waiters, live, .. } = finish;
    let number = Numbers::of(order, operations.len());
    let (waiters, waiter_number) = order_waiters(&drafted_waiters.sets, &number);
    let waiter_list = |ids: &BTreeSet<u32>| -> Vec<WaiterIndex> {
        let set: BTreeSet<u32> = ids.iter().map(|w| waiter_number[*w as usize]).collect();
        set.into_iter().map(WaiterIndex).collect()
    };
    let shards: BTreeSet<&Shard> = order.iter().map(|id| &operations[*id as usize].shard).collect();
    let shard_index: BTreeMap<Shard, u32> = shards.into_iter().cloned().zip(0..).collect();
    // An operation that is not in the order has no new number.
    let shard_of: Vec<u32> =
        operations.iter().map(|d| shard_index.get(&d.shard).copied().unwrap_or(u32::MAX)).collect();

    let mut sizes = vec![0; shard_index.len()];
    order.iter().for_each(|id| sizes[shard_of[*id as usize] as usize] += 1);
    let mut parts: Vec<FragmentBuilder> =
        shard_index.keys().zip(sizes).map(|(s, rows)| FragmentBuilder::new(s.clone(), rows)).collect();
    let mut renamed = Renamed::default();
    let mut waits_of: Vec<Waits> = vec![Waits::default(); operations.len()];
    for id in order {
        let drafted = &operations[*id as usize];
        waits_of[*id as usize] =
            Waits { operations: numbers(&drafted.after, &number), waiters: waiter_list(&drafted.waiters) };
    }
    let outline = outline::rows(&operations, reads, order, &number, &shard_of, &waits_of, &waiters);
    let mut final_states = BTreeMap::new();
    // Collected in place, because there may be millions of operations.
    let mut slots: Vec<Option<Drafted>> = operations.into_iter().map(Some).collect();
    for (place, id) in order.iter().enumerate() {
        let drafted = slots[*id as usize].take().expect("an operation is in the order once");
        let waits = std::mem::take(&mut waits_of[*id as usize]);
        let own = shard_of[*id as usize];
        let part = &mut parts[own as usize];
        let here = live.in_shard(&part.shard);
        let source = Source { rows: &formulas.rows, number: &number, shard_of: &shard_of, own, here };
        let operation = drafted
            .operation
            .map(&mut |o| number.at(o.0), &mut |row: u32| part.take_formula(row, &source, &mut renamed));
        let row = Row { id: OperationId(place as u32), operation, waits };
        if row.operation.is_last_word() {
            final_states.insert(row.operation.address(), row.id);
        }
        part.rows.push(row);
    }
    ExecutionGraph {
        operations: order.len() as u32,
        fragments: parts.into_iter().map(FragmentBuilder::finish).collect(),
        waiters,
        outline,
        final_states,
    }
}

/// Removes duplicate waiters and orders the rest by what they wait for. Also returns the new number of each.
///
/// Candidates for the next number are the waiters whose inner waiters already have numbers. The least candidate is
/// chosen, compared by operations and inner waiters.
fn order_waiters(waiters: &[Members], number: &Numbers) -> (Vec<Waits>, Vec<u32>) {
    let operations: Vec<Vec<OperationId>> =
        waiters.iter().map(|w| numbers(&w.operations.iter().copied().collect(), number)).collect();
    let mut above: Vec<Vec<u32>> = vec![Vec::new(); waiters.len()];
    let mut missing: Vec<usize> = vec![0; waiters.len()];
    for (waiter, w) in waiters.iter().zip(0..) {
        missing[w as usize] = waiter.waiters.len();
        waiter.waiters.iter().for_each(|below| above[*below as usize].push(w));
    }
    let mut numbered: Vec<u32> = vec![0; waiters.len()];
    let mut ordered: Vec<Waits> = Vec::with_capacity(waiters.len());
    let mut known: FxHashMap<Waits, u32> = FxHashMap::default();
    let mut ready: BinaryHeap<Reverse<(Waits, u32)>> = BinaryHeap::new();
    let named = |w: u32, numbered: &[u32]| {
        let below: BTreeSet<u32> = waiters[w as usize].waiters.iter().map(|v| numbered[*v as usize]).collect();
        Waits { operations: operations[w as usize].clone(), waiters: below.into_iter().map(WaiterIndex).collect() }
    };
    for w in (0..waiters.len() as u32).filter(|w| waiters[*w as usize].waiters.is_empty()) {
        ready.push(Reverse((named(w, &numbered), w)));
    }
    while let Some(Reverse((waits, w))) = ready.pop() {
        let next = ordered.len() as u32;
        let index = *known.entry(waits.clone()).or_insert(next);
        if index == next {
            ordered.push(waits);
        }
        numbered[w as usize] = index;
        for upper in &above[w as usize] {
            missing[*upper as usize] -= 1;
            if missing[*upper as usize] == 0 {
                ready.push(Reverse((named(*upper, &numbered), *upper)));
            }
        }
    }
    (ordered, numbered)
}

/// New numbers for parameters and impure occurrences. Evaluation numbers them in an order that varies; here they are
/// numbered in the order in which they are found.
#[derive(Default)]
struct Renamed {
    parameters: FxHashMap<u32, u32>,
    occurrences: FxHashMap<u32, u32>,
}

impl Renamed {
    fn parameter(&mut self, parameter: &mut Parameter) {
        let next = self.parameters.len() as u32;
        *parameter = Parameter(*self.parameters.entry(parameter.0).or_insert(next));
    }

    fn rename(&mut self, op: &mut FormulaOp<FormulaIndex>) {
        match op {
            FormulaOp::Parameter(parameter) | FormulaOp::Splat { parameter, .. } => self.parameter(parameter),
            FormulaOp::For { key_parameter, value_parameter, .. } => {
                self.parameter(key_parameter);
                self.parameter(value_parameter);
            }
            FormulaOp::Call { occurrence: Some(occurrence), .. } => {
                let next = self.occurrences.len() as u32;
                *occurrence = Occurrence(*self.occurrences.entry(occurrence.0).or_insert(next));
            }
            _ => {}
        }
    }
}

/// The source of a fragment's formulas.
struct Source<'a> {
    rows: &'a [FormulaRow],
    number: &'a Numbers,
    shard_of: &'a [u32],
    own: u32,
    /// The numbers of the copies in this shard, by the number of the draft. Operations whose results are never stored
    /// have such copies.
    here: Option<&'a FxHashMap<u32, u32>>,
}

/// A fragment under construction.
struct FragmentBuilder {
    shard: Shard,
    rows: Vec<Row>,
    table: FormulaTable,
    local: FxHashMap<u32, u32>,
    foreign: BTreeMap<u32, BTreeSet<Path>>,
}

impl FragmentBuilder {
    /// A builder with an empty table that has space for this many rows.
    fn new(shard: Shard, rows: usize) -> FragmentBuilder {
        FragmentBuilder {
            shard,
            rows: Vec::with_capacity(rows),
            table: FormulaTable::default(),
            local: FxHashMap::default(),
            foreign: BTreeMap::new(),
        }
    }

    /// Copies a formula and everything below it into the fragment's table, each row once.
    fn take_formula(&mut self, root: u32, source: &Source<'_>, renamed: &mut Renamed) -> FormulaIndex {
        let mut pending = vec![(root, false)];
        while let Some((row, entered)) = pending.pop() {
            if self.local.contains_key(&row) {
                continue;
            }
            let FormulaRow { op, ty, range } = &source.rows[row as usize];
            if !entered {
                pending.push((row, true));
                op.operands(&mut |operand: &FormulaIndex| pending.push((operand.0, false)));
                continue;
            }
            let mut op = op.map(&mut |operand: &FormulaIndex| FormulaIndex(self.local[&operand.0]));
            renamed.rename(&mut op);
            if let FormulaOp::Result(operation, path) = &mut op {
                if let Some(copy) = source.here.and_then(|here| here.get(&operation.0)) {
                    *operation = OperationId(*copy);
                }
                let foreign = source.shard_of[operation.0 as usize] != source.own;
                *operation = source.number.at(operation.0);
                if foreign {
                    self.foreign.entry(operation.0).or_default().insert(path.clone());
                }
            }
            let index = self.table.rows.len() as u32;
            self.table.rows.push(FormulaRow { op, ty: ty.clone(), range: range.clone() });
            self.local.insert(row, index);
        }
        FormulaIndex(self.local[&root])
    }

    fn finish(self) -> Fragment {
        let foreign = self
            .foreign
            .into_iter()
            .map(|(operation, paths)| {
                let mut kept: Vec<Path> = Vec::new();
                // In this order, a container comes directly before its parts.
                for path in paths {
                    if !kept.last().is_some_and(|k| k.is_prefix_of(&path)) {
                        kept.push(path);
                    }
                }
                ForeignResult { operation: OperationId(operation), paths: kept }
            })
            .collect();
        Fragment { shard: self.shard, rows: self.rows, formulas: self.table, foreign }
    }
}

impl<F> Operation<F> {
    /// Whether the operation writes the state of an instance. The last such operation of an instance determines its
    /// final state.
    pub(in crate::graph) fn is_last_word(&self) -> bool {
        matches!(self, Operation::Apply { deposed: None, .. } | Operation::ReadData { .. } | Operation::Record { .. })
    }
}
