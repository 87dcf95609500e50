//! From drafts to a finished graph: formulas interned, wide ones computed once, operations ordered and numbered
//! anew, cut into fragments.
//!
//! Everything here is linear in the drafts but for one sort. The same drafts in another order give the same graph.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use rustc_hash::{FxHashMap, FxHashSet};
use thiserror::Error;

use super::builder::{Builder, Draft};
use super::formula_table::{FormulaIndex, FormulaRow, FormulaTable};
use super::opcode::{Action, Operation};
use super::outline::OutlineRow;
use super::{ExecutionGraph, ForeignResult, Fragment, OperationId, Row, Shard, WaiterIndex, Waits};
use crate::formula::{Formula, FormulaOp};
use crate::origin::{Origin, OriginNode};
use crate::path::Path;

/// A formula that reads at least this many results and is used more than once becomes an operation of its own, so
/// that N readers of M results cost N + M edges.
const WIDE_FORMULA: u32 = 8;
/// A union of origins with more members than this becomes a waiter; smaller ones are listed with each reader.
const WIDE_ORIGIN: usize = 4;

/// Drafts that do not make a graph.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FinishError {
    /// Operations that wait for each other.
    #[error("operations wait for each other: {}", .0.join(", "))]
    Cycle(Vec<String>),
    /// A formula that cannot be written.
    #[error("a formula cannot be written: {0}")]
    Unwritable(String),
    /// A formula that holds an ephemeral constant.
    #[error("an ephemeral value would be stored in the plan for {0}")]
    EphemeralConstant(String),
}

impl Builder {
    /// The finished graph.
    ///
    /// `order` of equal candidates is by address, so the result does not depend on the order of drafting.
    pub fn finish(self) -> Result<ExecutionGraph, FinishError> {
        Finish::new(self.into_drafts()).run()
    }
}

/// All formulas of the graph in one table, each node once.
#[derive(Default)]
struct Interned {
    rows: Vec<FormulaRow>,
    by_content: FxHashMap<Vec<u8>, u32>,
    by_node: FxHashMap<usize, u32>,
    keep: Vec<Formula>,
    /// How many results are read below a row, counted with repetition and capped.
    width: Vec<u32>,
    /// How many rows and operations use a row.
    users: Vec<u32>,
    /// A parameter is used below the row and bound above it.
    open: Vec<bool>,
}

impl Interned {
    fn intern(&mut self, root: &Formula) -> Result<u32, FinishError> {
        let mut pending = vec![(root.clone(), false)];
        while let Some((formula, entered)) = pending.pop() {
            if self.by_node.contains_key(&formula.identity()) {
                continue;
            }
            if entered {
                self.add(&formula)?;
            } else {
                pending.push((formula.clone(), true));
                formula.operands(|operand| pending.push((operand.clone(), false)));
            }
        }
        Ok(self.by_node[&root.identity()])
    }

    fn add(&mut self, formula: &Formula) -> Result<(), FinishError> {
        if let FormulaOp::Constant(value) = formula.op()
            && value.deep().ephemeral
        {
            return Err(FinishError::EphemeralConstant(String::from("a formula")));
        }
        let by_node = &self.by_node;
        let op = formula.op().map(&mut |operand: &Formula| FormulaIndex(by_node[&operand.identity()]));
        let row = FormulaRow { op, ty: formula.ty().clone(), range: formula.range().cloned() };
        let content = postcard::to_stdvec(&row).map_err(|e| FinishError::Unwritable(e.to_string()))?;
        let index = match self.by_content.get(&content) {
            Some(index) => *index,
            None => {
                let index = self.rows.len() as u32;
                let (mut width, mut open) = (0u32, matches!(row.op, FormulaOp::Parameter(_)));
                if matches!(row.op, FormulaOp::Result(..)) {
                    width = 1;
                }
                row.op.operands(&mut |operand: &FormulaIndex| {
                    let i = operand.0 as usize;
                    width = width.saturating_add(self.width[i]).min(WIDE_FORMULA);
                    open |= self.open[i];
                    self.users[i] = self.users[i].saturating_add(1);
                });
                if matches!(row.op, FormulaOp::For { .. } | FormulaOp::Splat { .. }) {
                    // Whether an outer parameter is used too is not tracked: an enclosing body computes it each time.
                    open = false;
                    row.op.operands(&mut |operand: &FormulaIndex| open |= self.open[operand.0 as usize]);
                }
                self.rows.push(row);
                self.width.push(width);
                self.users.push(0);
                self.open.push(open);
                self.by_content.insert(content, index);
                index
            }
        };
        self.by_node.insert(formula.identity(), index);
        // The identity is an address: the node must outlive the table.
        self.keep.push(formula.clone());
        Ok(())
    }
}

/// Waits of one origin node, computed once for all that share it.
#[derive(Clone, Default)]
struct Flat {
    after: Vec<u32>,
    waiters: Vec<u32>,
    before_delete: Vec<u32>,
}

struct Drafted {
    operation: Operation<u32>,
    shard: Shard,
    after: BTreeSet<u32>,
    waiters: BTreeSet<u32>,
}

struct Finish {
    drafts: Vec<Draft>,
    formulas: Interned,
    flat: FxHashMap<usize, Flat>,
    waiters: Vec<(Vec<u32>, Vec<u32>)>,
    /// Nodes are told apart by address, so all that were seen are kept alive.
    keep: Vec<Origin>,
}

impl Finish {
    fn new(drafts: Vec<Draft>) -> Finish {
        Finish { drafts, formulas: Interned::default(), flat: FxHashMap::default(), waiters: Vec::new(), keep: Vec::new() }
    }

    fn run(mut self) -> Result<ExecutionGraph, FinishError> {
        let drafts = std::mem::take(&mut self.drafts);
        let mut operations = Vec::with_capacity(drafts.len());
        let mut reversed: Vec<(u32, u32)> = Vec::new();
        for (id, draft) in drafts.into_iter().enumerate() {
            let mut failed = None;
            let formulas = &mut self.formulas;
            let address = draft.operation.address();
            let operation = draft.operation.map(&mut |o| o, &mut |f: Formula| {
                formulas.intern(&f).unwrap_or_else(|error| {
                    failed.get_or_insert(error);
                    0
                })
            });
            match failed {
                Some(FinishError::EphemeralConstant(_)) => return Err(FinishError::EphemeralConstant(address)),
                Some(other) => return Err(other),
                None => {}
            }
            for root in operation.formulas() {
                let users = &mut self.formulas.users[*root as usize];
                *users = users.saturating_add(1);
            }
            let mut after: BTreeSet<u32> = draft.after.iter().map(|o| o.0).collect();
            let mut waiters = BTreeSet::new();
            for origin in &draft.waits {
                let flat = self.flatten(origin);
                after.extend(&flat.after);
                waiters.extend(&flat.waiters);
                reversed.extend(flat.before_delete.iter().map(|delete| (*delete, id as u32)));
            }
            after.remove(&(id as u32));
            operations.push(Drafted { operation, shard: draft.shard, after, waiters });
        }
        for (delete, reader) in reversed {
            if delete != reader
                && let Some(drafted) = operations.get_mut(delete as usize)
            {
                drafted.after.insert(reader);
            }
        }
        self.widen(&mut operations);
        let reads: Vec<Vec<u32>> = self.results_read(&operations);
        let order = self.sort(&operations, &reads)?;
        Ok(self.assemble(operations, &reads, &order))
    }

    /// What an origin comes to; shared nodes once.
    fn flatten(&mut self, origin: &Origin) -> Flat {
        let mut pending = vec![(origin.clone(), false)];
        while let Some((node, entered)) = pending.pop() {
            if self.flat.contains_key(&node.identity()) {
                continue;
            }
            let flat = match node.node() {
                OriginNode::After(op) => Flat { after: vec![op.0], ..Flat::default() },
                OriginNode::BeforeDelete(op) => Flat { before_delete: vec![op.0], ..Flat::default() },
                OriginNode::Union(members) if entered => {
                    let (mut after, mut waiters, mut before) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
                    for member in members {
                        let below = &self.flat[&member.identity()];
                        after.extend(below.after.iter().copied());
                        waiters.extend(below.waiters.iter().copied());
                        before.extend(below.before_delete.iter().copied());
                    }
                    let mut flat = Flat {
                        after: after.into_iter().collect(),
                        waiters: waiters.into_iter().collect(),
                        before_delete: before.into_iter().collect(),
                    };
                    if flat.after.len() + flat.waiters.len() > WIDE_ORIGIN {
                        let index = self.waiters.len() as u32;
                        self.waiters.push((flat.after, flat.waiters));
                        flat.after = Vec::new();
                        flat.waiters = vec![index];
                    }
                    flat
                }
                OriginNode::Union(members) => {
                    let members = members.clone();
                    pending.push((node.clone(), true));
                    pending.extend(members.into_iter().map(|m| (m, false)));
                    continue;
                }
            };
            self.flat.insert(node.identity(), flat);
            self.keep.push(node);
        }
        self.flat[&origin.identity()].clone()
    }

    /// Turns wide formulas with several users into operations of their own.
    fn widen(&mut self, operations: &mut Vec<Drafted>) {
        let count = self.formulas.rows.len();
        let chosen: Vec<usize> = (0..count)
            .filter(|i| {
                self.formulas.width[*i] >= WIDE_FORMULA
                    && self.formulas.users[*i] >= 2
                    && !self.formulas.open[*i]
                    && !matches!(self.formulas.rows[*i].op, FormulaOp::Result(..) | FormulaOp::Failure(_))
            })
            .collect();
        for i in chosen {
            let new_row = self.formulas.rows.len() as u32;
            let id = operations.len() as u32;
            let (ty, range) = (self.formulas.rows[i].ty.clone(), self.formulas.rows[i].range.clone());
            let by_result = FormulaRow { op: FormulaOp::Result(OperationId(id), Path::ROOT), ty, range };
            let row = std::mem::replace(&mut self.formulas.rows[i], by_result);
            let name = match &row.range {
                Some(range) => format!("shared {}:{}", range.file, range.start.line),
                None => String::from("shared"),
            };
            self.formulas.rows.push(row);
            operations.push(Drafted {
                operation: Operation::Evaluate { name: name.into(), formula: new_row },
                shard: Shard::Unplaced,
                after: BTreeSet::new(),
                waiters: BTreeSet::new(),
            });
        }
    }

    /// For each operation, the operations whose results its formulas read, ascending.
    fn results_read(&self, operations: &[Drafted]) -> Vec<Vec<u32>> {
        let mut seen: Vec<u32> = vec![u32::MAX; self.formulas.rows.len()];
        operations
            .iter()
            .enumerate()
            .map(|(id, drafted)| {
                let mut found = BTreeSet::new();
                let mut pending: Vec<u32> = drafted.operation.formulas().into_iter().copied().collect();
                while let Some(row) = pending.pop() {
                    if std::mem::replace(&mut seen[row as usize], id as u32) == id as u32 {
                        continue;
                    }
                    let op = &self.formulas.rows[row as usize].op;
                    if let FormulaOp::Result(operation, _) = op {
                        found.insert(operation.0);
                    }
                    op.operands(&mut |operand: &FormulaIndex| pending.push(operand.0));
                }
                found.into_iter().collect()
            })
            .collect()
    }

    /// The order of operations: everything after what it needs, otherwise by address.
    fn sort(&self, operations: &[Drafted], reads: &[Vec<u32>]) -> Result<Vec<u32>, FinishError> {
        let total = operations.len() + self.waiters.len();
        let mut later: Vec<Vec<u32>> = vec![Vec::new(); total];
        let mut missing: Vec<u32> = vec![0; total];
        let waiter_node = |w: u32| operations.len() as u32 + w;
        let mut edge = |from: u32, to: u32| {
            later[from as usize].push(to);
            missing[to as usize] += 1;
        };
        for (id, drafted) in operations.iter().enumerate() {
            let id = id as u32;
            for operand in drafted.operation.operands() {
                edge(operand.0, id);
            }
            reads[id as usize].iter().for_each(|r| edge(*r, id));
            drafted.after.iter().for_each(|a| edge(*a, id));
            drafted.waiters.iter().for_each(|w| edge(waiter_node(*w), id));
        }
        for (w, (after, waiters)) in self.waiters.iter().enumerate() {
            after.iter().for_each(|a| edge(*a, waiter_node(w as u32)));
            waiters.iter().for_each(|v| edge(waiter_node(*v), waiter_node(w as u32)));
        }
        let keys: Vec<(String, u16, Option<String>)> = operations
            .iter()
            .map(|d| {
                let deposed = d.operation.deposed().map(|k| k.0.to_string());
                (d.operation.address(), d.operation.opcode() as u16, deposed)
            })
            .collect();
        let mut by_key: Vec<u32> = (0..operations.len() as u32).collect();
        // Operations of the same name (shared formulas, checks of one block) are told apart by what they need.
        by_key.sort_by(|a, b| {
            keys[*a as usize].cmp(&keys[*b as usize]).then_with(|| self.content_key(operations, *a, *b))
        });
        let mut rank: Vec<u32> = vec![0; total];
        for (place, id) in by_key.iter().enumerate() {
            rank[*id as usize] = place as u32;
        }
        let mut ready: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::new();
        for node in 0..total as u32 {
            if missing[node as usize] == 0 {
                ready.push(Reverse((rank[node as usize], node)));
            }
        }
        let mut order = Vec::with_capacity(operations.len());
        let mut visited = 0;
        while let Some(Reverse((_, node))) = ready.pop() {
            visited += 1;
            if (node as usize) < operations.len() {
                order.push(node);
            }
            for next in &later[node as usize] {
                missing[*next as usize] -= 1;
                if missing[*next as usize] == 0 {
                    ready.push(Reverse((rank[*next as usize], *next)));
                }
            }
        }
        if visited == total {
            return Ok(order);
        }
        let mut stuck: BTreeSet<String> = BTreeSet::new();
        for id in cycle_members(&later, &missing) {
            if let Some(drafted) = operations.get(id as usize) {
                stuck.insert(drafted.operation.address());
            }
        }
        Err(FinishError::Cycle(stuck.into_iter().collect()))
    }

    /// Orders operations of the same name by the source range of their first formula.
    fn content_key(&self, operations: &[Drafted], a: u32, b: u32) -> std::cmp::Ordering {
        let range = |id: u32| {
            let operation = &operations[id as usize].operation;
            operation.formulas().first().and_then(|f| self.formulas.rows[**f as usize].range.clone())
        };
        range(a).cmp(&range(b))
    }

    fn assemble(self, operations: Vec<Drafted>, reads: &[Vec<u32>], order: &[u32]) -> ExecutionGraph {
        let mut number: Vec<u32> = vec![0; operations.len()];
        for (place, id) in order.iter().enumerate() {
            number[*id as usize] = place as u32;
        }
        let renumber = |ids: &mut dyn Iterator<Item = u32>| -> Vec<OperationId> {
            let set: BTreeSet<u32> = ids.map(|id| number[id as usize]).collect();
            set.into_iter().map(OperationId).collect()
        };
        let waiter_list = |ids: &mut dyn Iterator<Item = u32>| ids.map(WaiterIndex).collect::<Vec<_>>();
        let waiters: Vec<Waits> = self
            .waiters
            .iter()
            .map(|(after, below)| Waits {
                operations: renumber(&mut after.iter().copied()),
                waiters: waiter_list(&mut below.iter().copied()),
            })
            .collect();

        let shards: BTreeSet<&Shard> = operations.iter().map(|d| &d.shard).collect();
        let shard_index: BTreeMap<Shard, u32> =
            shards.into_iter().enumerate().map(|(i, s)| (s.clone(), i as u32)).collect();
        let outline = outline(&operations, reads, order, &number, &shard_index, &waiters);

        let shard_of: Vec<u32> = operations.iter().map(|d| shard_index[&d.shard]).collect();
        let mut parts: Vec<Part> = shard_index.keys().map(|s| Part::new(s.clone())).collect();
        let mut final_states = BTreeMap::new();
        let mut slots: Vec<Option<Drafted>> = operations.into_iter().map(Some).collect();
        for (place, id) in order.iter().enumerate() {
            let Some(drafted) = slots[*id as usize].take() else { continue };
            let part = &mut parts[shard_of[*id as usize] as usize];
            let own = shard_of[*id as usize];
            let operation = drafted.operation.map(&mut |o| OperationId(number[o.0 as usize]), &mut |row: u32| {
                part.take_formula(row, &self.formulas.rows, &|o| number[o as usize], &|o| shard_of[o as usize] == own)
            });
            let last_word = matches!(
                operation,
                Operation::Apply { deposed: None, .. } | Operation::ReadData { .. } | Operation::Record { .. }
            );
            if last_word {
                final_states.insert(operation.address(), OperationId(place as u32));
            }
            let waits = Waits {
                operations: renumber(&mut drafted.after.iter().copied()),
                waiters: waiter_list(&mut drafted.waiters.iter().copied()),
            };
            part.rows.push(Row { id: OperationId(place as u32), operation, waits });
        }
        ExecutionGraph {
            operations: order.len() as u32,
            fragments: parts.into_iter().map(Part::finish).collect(),
            waiters,
            outline,
            final_states,
        }
    }
}

/// A fragment while it is filled.
struct Part {
    shard: Shard,
    rows: Vec<Row>,
    table: FormulaTable,
    local: FxHashMap<u32, u32>,
    foreign: BTreeMap<u32, BTreeSet<Path>>,
}

impl Part {
    fn new(shard: Shard) -> Part {
        Part {
            shard,
            rows: Vec::new(),
            table: FormulaTable::default(),
            local: FxHashMap::default(),
            foreign: BTreeMap::new(),
        }
    }

    /// Copies a formula and all below it into the fragment's own table, each row once.
    fn take_formula(
        &mut self,
        root: u32,
        all: &[FormulaRow],
        number: &dyn Fn(u32) -> u32,
        is_local: &dyn Fn(u32) -> bool,
    ) -> FormulaIndex {
        let mut pending = vec![(root, false)];
        while let Some((row, entered)) = pending.pop() {
            if self.local.contains_key(&row) {
                continue;
            }
            let source = &all[row as usize];
            if !entered {
                pending.push((row, true));
                source.op.operands(&mut |operand: &FormulaIndex| pending.push((operand.0, false)));
                continue;
            }
            let op = match &source.op {
                FormulaOp::Result(operation, path) => {
                    if !is_local(operation.0) {
                        self.foreign.entry(number(operation.0)).or_default().insert(path.clone());
                    }
                    FormulaOp::Result(OperationId(number(operation.0)), path.clone())
                }
                op => op.map(&mut |operand: &FormulaIndex| FormulaIndex(self.local[&operand.0])),
            };
            let index = self.table.rows.len() as u32;
            self.table.rows.push(FormulaRow { op, ty: source.ty.clone(), range: source.range.clone() });
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
                // In order, so that what holds a part comes before it.
                for path in paths {
                    if !kept.iter().any(|k| k.is_prefix_of(&path)) {
                        kept.push(path);
                    }
                }
                ForeignResult { operation: OperationId(operation), paths: kept }
            })
            .collect();
        Fragment { shard: self.shard, rows: self.rows, formulas: self.table, foreign }
    }
}

/// The tracked operations with their needs: what untracked operands need is needed by the operation they run in.
fn outline(
    operations: &[Drafted],
    reads: &[Vec<u32>],
    order: &[u32],
    number: &[u32],
    shards: &BTreeMap<Shard, u32>,
    waiters: &[Waits],
) -> Vec<OutlineRow> {
    debug_assert!(waiters.iter().enumerate().all(|(i, w)| w.waiters.iter().all(|v| (v.0 as usize) < i)));
    let mut rows = Vec::new();
    for id in order {
        let drafted = &operations[*id as usize];
        if !drafted.operation.is_tracked() {
            continue;
        }
        let (mut needs, mut waits) = (BTreeSet::new(), BTreeSet::new());
        let mut seen = FxHashSet::default();
        let mut pending = vec![*id];
        while let Some(part) = pending.pop() {
            let here = &operations[part as usize];
            let mut need = |other: u32| {
                if !seen.insert(other) {
                    return;
                }
                if operations[other as usize].operation.is_tracked() {
                    needs.insert(number[other as usize]);
                } else {
                    pending.push(other);
                }
            };
            here.operation.operands().iter().for_each(|o| need(o.0));
            reads[part as usize].iter().for_each(|o| need(*o));
            here.after.iter().for_each(|o| need(*o));
            waits.extend(here.waiters.iter().copied());
        }
        let plan = planned_of(operations, &drafted.operation);
        let action = match &drafted.operation {
            Operation::Apply { .. } => plan.map_or(Action::Update, |p| p.action),
            Operation::ReadData { .. } => Action::Read,
            Operation::Forget { .. } => Action::Forget,
            Operation::Output { formula: None, .. } => Action::Delete,
            Operation::Output { .. } => Action::Update,
            _ => Action::NoOp,
        };
        rows.push(OutlineRow {
            id: OperationId(number[*id as usize]),
            opcode: drafted.operation.opcode() as u16,
            address: drafted.operation.address(),
            deposed: drafted.operation.deposed().map(|k| k.0.to_string()),
            action,
            shard: shards[&drafted.shard],
            needs: Waits {
                operations: needs.into_iter().map(OperationId).collect(),
                waiters: waits.into_iter().map(WaiterIndex).collect(),
            },
            changes_world: matches!(drafted.operation, Operation::Apply { .. }),
            lookup: plan.and_then(|p| p.lookup.clone()),
        });
    }
    rows
}

fn planned_of<'a>(
    operations: &'a [Drafted],
    operation: &Operation<u32>,
) -> Option<&'a super::opcode::PlannedObject> {
    let Operation::Apply { plan, .. } = operation else { return None };
    match &operations.get(plan.0 as usize)?.operation {
        Operation::FinalPlan { planned, .. } => Some(planned),
        _ => None,
    }
}

/// Nodes that are on a circle, among those that an ordering left over: what only hangs behind one is left out.
fn cycle_members(later: &[Vec<u32>], missing: &[u32]) -> Vec<u32> {
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
