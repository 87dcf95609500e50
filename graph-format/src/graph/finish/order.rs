//! The order of operations. Each operation comes after its needs. Otherwise, operations are ordered by address.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use rustc_hash::{FxHashMap, FxHashSet};

use super::waiters::Members;
use super::{Finish, FinishError};
use crate::graph::Action;
use crate::graph::opcode::Operation;
use crate::graph::{FormulaIndex, FormulaRow, OperationId};
use crate::source::SourceRange;
use crate::value::formula::{FormulaOp, Occurrence, Parameter};

/// The name of an operation, which does not depend on the order of drafting.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    address: String,
    opcode: u16,
    deposed: Option<String>,
    action: Option<Action>,
    /// The position of the first formula, so that checks of one block keep the order of the source.
    range: Option<SourceRange>,
}

/// The needs of the nodes of a graph. The nodes are the operations, then the waiters, then a barrier: every operation
/// comes before it, except the operations that close something.
struct Needs {
    /// The nodes that come after each node.
    later: Vec<Vec<u32>>,
    /// The number of nodes that come before each node.
    missing: Vec<u32>,
}

impl Needs {
    fn of(finish: &Finish, reads: &[Vec<u32>]) -> Needs {
        let operations = &finish.operations;
        let waiters = &finish.waiters.sets;
        let barrier = (operations.len() + waiters.len()) as u32;
        let total = operations.len() + waiters.len() + 1;
        let mut needs = Needs { later: vec![Vec::new(); total], missing: vec![0; total] };
        let waiter_node = |w: u32| operations.len() as u32 + w;
        let mut closes: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for (drafted, id) in operations.iter().zip(0..) {
            if let Operation::CloseProvider { provider } = &drafted.operation {
                closes.entry(provider.0).or_default().push(id);
            }
        }
        for (drafted, id) in operations.iter().zip(0..) {
            for operand in drafted.operation.operands() {
                needs.edge(operand.0, id);
            }
            reads[id as usize].iter().for_each(|r| needs.edge(*r, id));
            drafted.after.iter().for_each(|a| needs.edge(*a, id));
            drafted.waiters.iter().for_each(|w| needs.edge(waiter_node(*w), id));
            if let Some(provider) = provider_used(finish, &drafted.operation) {
                closes.get(&provider).into_iter().flatten().for_each(|close| needs.edge(id, *close));
            }
            match &drafted.operation {
                Operation::CloseProvider { .. } => {}
                Operation::CloseEphemeral { .. } => needs.edge(barrier, id),
                _ => needs.edge(id, barrier),
            }
        }
        for (waiter, w) in waiters.iter().zip(0..) {
            waiter.operations.iter().for_each(|a| needs.edge(*a, waiter_node(w)));
            waiter.waiters.iter().for_each(|v| needs.edge(waiter_node(*v), waiter_node(w)));
        }
        needs
    }

    fn edge(&mut self, from: u32, to: u32) {
        self.later[from as usize].push(to);
        self.missing[to as usize] += 1;
    }

    /// Removes a node, and calls `ready` for each node that needs nothing else.
    fn done(&mut self, node: u32, mut ready: impl FnMut(u32)) {
        for next in &self.later[node as usize] {
            self.missing[*next as usize] -= 1;
            if self.missing[*next as usize] == 0 {
                ready(*next);
            }
        }
    }
}

/// The place of each node in the order of names.
fn ranks(finish: &Finish, total: usize) -> Vec<u32> {
    let mut rank: Vec<u32> = vec![0; total];
    for (place, id) in by_key(finish).into_iter().enumerate() {
        rank[id as usize] = place as u32;
    }
    rank
}

/// The operations in their final order. The error contains the nodes on a cycle: operations, and waiters after them.
pub(super) fn sort(finish: &Finish, reads: &[Vec<u32>]) -> Result<Vec<u32>, Vec<u32>> {
    let operations = &finish.operations;
    let mut needs = Needs::of(finish, reads);
    let total = needs.missing.len();
    let rank = ranks(finish, total);
    let mut ready: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::new();
    for node in 0..total as u32 {
        if needs.missing[node as usize] == 0 {
            ready.push(Reverse((rank[node as usize], node)));
        }
    }
    let mut order = Vec::with_capacity(operations.len());
    let mut visited = 0;
    while let Some(Reverse((_, node))) = ready.pop() {
        visited += 1;
        if (node as usize) < operations.len() && !finish.live.is_gone(node) {
            order.push(node);
        }
        needs.done(node, |next| ready.push(Reverse((rank[next as usize], next))));
    }
    if visited == total {
        return Ok(order);
    }
    Err(circle_members(&needs.later, &needs.missing))
}

/// The place of each node in an order of the necessary waits. If possible, the next node is one whose `preferred` waits
/// are met. Otherwise, it is a node in `on_circle` whose preferred waits are not met. The error contains the nodes on a
/// cycle of necessary waits.
pub(super) fn places(
    finish: &Finish,
    reads: &[Vec<u32>],
    preferred: &[(u32, Members)],
    on_circle: &FxHashSet<u32>,
) -> Result<Vec<u32>, Vec<u32>> {
    let mut needs = Needs::of(finish, reads);
    let total = needs.missing.len();
    let rank = ranks(finish, total);
    let mut wishes = Needs { later: vec![Vec::new(); total], missing: vec![0; total] };
    for (id, members) in preferred {
        members.operations.iter().for_each(|other| wishes.edge(*other, *id));
        members.waiters.iter().for_each(|waiter| wishes.edge(finish.operations.len() as u32 + waiter, *id));
    }
    let entry = |node: u32| Reverse((rank[node as usize], node));
    let (mut content, mut held): (BinaryHeap<_>, BinaryHeap<_>) = (BinaryHeap::new(), BinaryHeap::new());
    let mut ready: Vec<u32> = (0..total as u32).filter(|node| needs.missing[*node as usize] == 0).collect();
    let mut place: Vec<Option<u32>> = vec![None; total];
    for next in 0..total as u32 {
        for node in ready.drain(..) {
            match wishes.missing[node as usize] {
                0 => content.push(entry(node)),
                _ if on_circle.contains(&node) => held.push(entry(node)),
                _ => {}
            }
        }
        let first = [&mut content, &mut held].into_iter().find_map(|heap| {
            std::iter::from_fn(|| heap.pop())
                .map(|Reverse((_, node))| node)
                .find(|node| place[*node as usize].is_none())
        });
        let Some(node) = first else { return Err(circle_members(&needs.later, &needs.missing)) };
        place[node as usize] = Some(next);
        needs.done(node, |next| ready.push(next));
        let mut met = Vec::new();
        wishes.done(node, |next| met.push(next));
        ready.extend(
            met.into_iter().filter(|node| needs.missing[*node as usize] == 0 && place[*node as usize].is_none()),
        );
    }
    Ok(place.into_iter().map(|place| place.unwrap_or(u32::MAX)).collect())
}

/// The error that names the operations on a cycle.
pub(super) fn cycle(finish: &Finish, on_circle: &[u32]) -> FinishError {
    let operations = on_circle.iter().filter_map(|id| finish.operations.get(*id as usize));
    let names = operations.map(|drafted| drafted.operation.address()).filter(|name| !name.is_empty());
    FinishError::Cycle(names.collect::<BTreeSet<String>>().into_iter().collect())
}

/// The `open_provider` that must stay open until this operation has finished.
fn provider_used(finish: &Finish, operation: &Operation<u32>) -> Option<u32> {
    match operation {
        Operation::FinalPlan { provider, .. }
        | Operation::ReadData { provider, .. }
        | Operation::OpenEphemeral { provider, .. } => Some(provider.0),
        Operation::CloseEphemeral { ephemeral } => match &finish.operations.get(ephemeral.0 as usize)?.operation {
            Operation::OpenEphemeral { provider, .. } => Some(provider.0),
            _ => None,
        },
        Operation::Apply { plan, .. } => match &finish.operations.get(plan.0 as usize)?.operation {
            Operation::FinalPlan { provider, .. } => Some(provider.0),
            _ => None,
        },
        _ => None,
    }
}

/// All operations in the order of their names. Operations with equal names are ordered by content.
fn by_key(finish: &Finish) -> Vec<u32> {
    let operations = &finish.operations;
    let keys: Vec<Key> = operations.iter().map(|d| key(finish, &d.operation)).collect();
    let mut by_key: Vec<u32> = (0..operations.len() as u32).collect();
    by_key.sort_by(|a, b| keys[*a as usize].cmp(&keys[*b as usize]));
    if by_key.windows(2).all(|pair| keys[pair[0] as usize] != keys[pair[1] as usize]) {
        return by_key;
    }
    let contents = ContentDigests::of(finish, &keys);
    by_key.sort_by(|a, b| {
        let names = keys[*a as usize].cmp(&keys[*b as usize]);
        let same = names.then_with(|| contents.operations[*a as usize].cmp(&contents.operations[*b as usize]));
        // Copies for several shards have the same content.
        same.then_with(|| operations[*a as usize].shard.cmp(&operations[*b as usize].shard))
    });
    by_key
}

fn key(finish: &Finish, operation: &Operation<u32>) -> Key {
    let planned = |id: OperationId| match finish.operations.get(id.0 as usize).map(|d| &d.operation) {
        Some(Operation::FinalPlan { planned, .. }) => Some(planned.action),
        _ => None,
    };
    let action = match operation {
        Operation::FinalPlan { planned, .. } => Some(planned.action),
        Operation::Apply { plan, .. } => planned(*plan),
        _ => None,
    };
    let address = match operation {
        Operation::CloseProvider { provider: opened } | Operation::CloseEphemeral { ephemeral: opened } => {
            finish.operations[opened.0 as usize].operation.address()
        }
        other => other.address(),
    };
    let range = operation.formulas().first().and_then(|row| finish.formulas.rows[**row as usize].range.clone());
    let deposed = operation.deposed().map(|key| key.0.to_string());
    Key { address, opcode: operation.opcode() as u16, deposed, action, range }
}

/// A digest of a row or an operation, which does not depend on the order of drafting.
type ContentDigest = u64;

/// The digests of all drafted operations.
struct ContentDigests {
    operations: Vec<ContentDigest>,
}

impl ContentDigests {
    fn of(finish: &Finish, keys: &[Key]) -> ContentDigests {
        let names: Vec<ContentDigest> = keys.iter().map(|key| hash(format!("{key:?}").as_bytes())).collect();
        let rows = &finish.formulas.rows;
        let mut of_row: Vec<ContentDigest> = vec![0; rows.len()];
        for i in 0..rows.len() {
            // A shared formula comes after all other operations, but before the readers of its result.
            let shared = match &rows[i].op {
                FormulaOp::Result(operation, _) => finish.shared.get(&operation.0),
                _ => None,
            };
            of_row[i] = match shared {
                Some(moved) => row_content(&rows[*moved as usize], &of_row, &names),
                None => row_content(&rows[i], &of_row, &names),
            };
        }
        let operations = finish.operations.iter().zip(&names).map(|(drafted, name)| {
            let mut parts = vec![*name];
            parts.extend(drafted.operation.formulas().into_iter().map(|row| of_row[*row as usize]));
            parts.extend(drafted.operation.operands().iter().map(|o| names[o.0 as usize]));
            let mut after: Vec<ContentDigest> = drafted.after.iter().map(|o| names[*o as usize]).collect();
            after.sort_unstable();
            parts.extend(after);
            hash(&parts.iter().flat_map(|part| part.to_le_bytes()).collect::<Vec<u8>>())
        });
        ContentDigests { operations: operations.collect() }
    }
}

fn row_content(row: &FormulaRow, of_row: &[ContentDigest], names: &[ContentDigest]) -> ContentDigest {
    let mut op = row.op.map(&mut |operand: &FormulaIndex| of_row[operand.0 as usize]);
    // These numbers depend on the order of evaluation, so the digest must not include them.
    match &mut op {
        FormulaOp::Parameter(parameter) | FormulaOp::Splat { parameter, .. } => *parameter = Parameter(0),
        FormulaOp::For { key_parameter, value_parameter, .. } => {
            (*key_parameter, *value_parameter) = (Parameter(0), Parameter(1));
        }
        FormulaOp::Call { occurrence: Some(occurrence), .. } => *occurrence = Occurrence(0),
        _ => {}
    }
    let result = match &mut op {
        FormulaOp::Result(operation, _) => {
            let name = names[operation.0 as usize];
            *operation = OperationId(0);
            name
        }
        _ => 0,
    };
    let bytes = postcard::to_stdvec(&(op, result, &row.ty, &row.range));
    hash(&bytes.expect("a row that was interned was written once"))
}

fn hash(bytes: &[u8]) -> ContentDigest {
    let digest = blake3::hash(bytes);
    digest.as_bytes().iter().take(8).fold(0, |number, byte| number << 8 | ContentDigest::from(*byte))
}

/// The nodes on cycles, among those that could not be ordered. Nodes that only depend on a cycle are left out.
fn circle_members(later: &[Vec<u32>], missing: &[u32]) -> Vec<u32> {
    let stuck: Vec<u32> = (0..missing.len() as u32).filter(|n| missing[*n as usize] > 0).collect();
    let mut out: Vec<u32> = vec![0; missing.len()];
    let mut earlier: Vec<Vec<u32>> = vec![Vec::new(); missing.len()];
    for node in &stuck {
        for next in &later[*node as usize] {
            if missing[*next as usize] > 0 {
                out[*node as usize] += 1;
                earlier[*next as usize].push(*node);
            }
        }
    }
    let mut ends: Vec<u32> = stuck.iter().copied().filter(|n| out[*n as usize] == 0).collect();
    let mut gone = FxHashSet::default();
    while let Some(node) = ends.pop() {
        gone.insert(node);
        for before in &earlier[node as usize] {
            out[*before as usize] -= 1;
            if out[*before as usize] == 0 {
                ends.push(*before);
            }
        }
    }
    stuck.into_iter().filter(|n| !gone.contains(n)).collect()
}
