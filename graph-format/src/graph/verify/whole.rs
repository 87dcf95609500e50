//! Checks of all fragments together.
//!
//! The checks of each fragment and of the outline run first. They make sure that operands exist, come earlier and have
//! the right kind. So the indexes that this module uses are valid.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use super::Flaw;
use crate::address::{DeposedKey, ResourceInstance};
use crate::graph::Action;
use crate::graph::PlannedObject;
use crate::graph::opcode::Operation;
use crate::graph::{ExecutionGraph, FormulaIndex, OperationId, OutlineRow, Row, WaiterIndex, Waits};
use crate::value::formula::FormulaOp;

type Rows<'g> = [(&'g Row, usize)];

pub(super) fn check(graph: &ExecutionGraph, rows: &Rows<'_>, flaws: &mut Vec<Flaw>) {
    let before = flaws.len();
    check_waits(graph, rows, flaws);
    check_results(graph, rows, flaws);
    if flaws.len() > before {
        return;
    }
    check_providers(rows, flaws);
    check_applied(rows, flaws);
    check_shards(rows, flaws);
    check_outline(graph, rows, flaws);
    check_final_states(graph, rows, flaws);
}

fn operation<'g>(rows: &Rows<'g>, id: OperationId) -> Option<&'g Operation<FormulaIndex>> {
    rows.get(id.0 as usize).map(|(row, _)| &row.operation)
}

fn is_tracked(rows: &Rows<'_>, id: OperationId) -> bool {
    operation(rows, id).is_some_and(Operation::is_tracked)
}

fn check_waits(graph: &ExecutionGraph, rows: &Rows<'_>, flaws: &mut Vec<Flaw>) {
    let mut latest: Vec<Option<OperationId>> = Vec::with_capacity(graph.waiters.len());
    for (waiter, i) in graph.waiters.iter().zip(0u32..) {
        if !waiter.operations.iter().all(|o| is_tracked(rows, *o)) {
            flaws.push(Flaw::Waiter(i));
        }
        let below = waiter.waiters.iter().filter_map(|w| latest.get(w.0 as usize).copied().flatten());
        latest.push(waiter.operations.iter().copied().chain(below).max());
    }
    for (row, _) in rows {
        for to in row.waits.operations.iter().filter(|o| !is_tracked(rows, **o)) {
            flaws.push(Flaw::Untracked { operation: row.id.0, to: to.0 });
        }
        for waiter in &row.waits.waiters {
            match latest.get(waiter.0 as usize) {
                Some(latest) if latest.is_none_or(|l| l < row.id) => {}
                _ => flaws.push(Flaw::Waiter(waiter.0)),
            }
        }
    }
}

/// Checks that every result that is read is the result of an operation.
fn check_results(graph: &ExecutionGraph, rows: &Rows<'_>, flaws: &mut Vec<Flaw>) {
    let has_result = |id: OperationId| {
        matches!(
            operation(rows, id),
            Some(
                Operation::Evaluate { .. }
                    | Operation::Apply { .. }
                    | Operation::ReadData { .. }
                    | Operation::Output { .. }
                    | Operation::OpenEphemeral { .. }
                    | Operation::EvaluateLive { .. }
            )
        )
    };
    for fragment in &graph.fragments {
        let live = |id: OperationId| operation(rows, id).is_some_and(Operation::is_live);
        let carried = fragment.foreign.iter().filter(|foreign| live(foreign.operation));
        flaws.extend(carried.map(|foreign| Flaw::LiveElsewhere(foreign.operation.0)));
        for row in &fragment.formulas.rows {
            if let FormulaOp::Result(id, _) = &row.op
                && !has_result(*id)
            {
                flaws.push(Flaw::NoResult(id.0));
            }
        }
    }
}

/// Checks that each provider is closed once, after everything that uses it.
fn check_providers(rows: &Rows<'_>, flaws: &mut Vec<Flaw>) {
    #[derive(Default)]
    struct Opened {
        closed: Vec<OperationId>,
        last_use: Option<OperationId>,
    }
    let mut opened: BTreeMap<OperationId, Opened> = BTreeMap::new();
    for (row, _) in rows {
        let used = match &row.operation {
            Operation::OpenProvider { .. } => {
                opened.entry(row.id).or_default();
                continue;
            }
            Operation::CloseProvider { provider } => {
                opened.entry(*provider).or_default().closed.push(row.id);
                continue;
            }
            Operation::FinalPlan { provider, .. }
            | Operation::ReadData { provider, .. }
            | Operation::OpenEphemeral { provider, .. } => *provider,
            Operation::CloseEphemeral { ephemeral } => match operation(rows, *ephemeral) {
                Some(Operation::OpenEphemeral { provider, .. }) => *provider,
                _ => continue,
            },
            Operation::Apply { plan, .. } => match operation(rows, *plan) {
                Some(Operation::FinalPlan { provider, .. }) => *provider,
                _ => continue,
            },
            _ => continue,
        };
        opened.entry(used).or_default().last_use = Some(row.id);
    }
    for (id, Opened { closed, last_use }) in opened {
        let sound = matches!(closed.as_slice(), [close] if last_use.is_none_or(|last| last < *close));
        if !sound {
            flaws.push(Flaw::NotClosed(id.0));
        }
    }
}

/// Checks that each ephemeral object has the right number of shards.
fn check_shards(rows: &Rows<'_>, flaws: &mut Vec<Flaw>) {
    let mut found: BTreeMap<&ResourceInstance, BTreeSet<usize>> = BTreeMap::new();
    let opened = || {
        rows.iter().filter_map(|(row, shard)| match &row.operation {
            Operation::OpenEphemeral { address, shards, .. } => Some((row.id, address, *shards, *shard)),
            _ => None,
        })
    };
    for (_, address, _, shard) in opened() {
        found.entry(address).or_default().insert(shard);
    }
    for (id, address, shards, _) in opened() {
        if found.get(address).map(BTreeSet::len) != usize::try_from(shards).ok() {
            flaws.push(Flaw::NotClosedEphemeral(id.0));
        }
    }
}

/// Checks that each plan is carried out by one operation, and that no object is changed twice.
fn check_applied(rows: &Rows<'_>, flaws: &mut Vec<Flaw>) {
    let mut applied: FxHashMap<(&ResourceInstance, Option<&DeposedKey>, Action), OperationId> = FxHashMap::default();
    let mut carried_out: BTreeMap<OperationId, u32> = BTreeMap::new();
    for (row, _) in rows {
        match &row.operation {
            Operation::FinalPlan { .. } => {
                carried_out.insert(row.id, 0);
            }
            Operation::Apply { address, deposed, plan } => {
                carried_out.entry(*plan).and_modify(|count| *count += 1);
                let Some(planned) = planned_of(rows, &row.operation) else { continue };
                if let Some(first) = applied.insert((address, deposed.as_ref(), planned.action), row.id) {
                    flaws.push(Flaw::AppliedTwice { first: first.0, second: row.id.0 });
                }
            }
            _ => {}
        }
    }
    flaws.extend(carried_out.into_iter().filter(|(_, count)| *count != 1).map(|(id, _)| Flaw::NotApplied(id.0)));
}

fn planned_of<'g>(rows: &Rows<'g>, apply: &Operation<FormulaIndex>) -> Option<&'g PlannedObject> {
    let Operation::Apply { plan, .. } = apply else { return None };
    match operation(rows, *plan)? {
        Operation::FinalPlan { planned, .. } => Some(planned),
        _ => None,
    }
}

/// Checks that the outline agrees with the operations. The needs of an operation are its operands, the results that its
/// formulas read, and its waits. They include the needs of the untracked operations that run inside it. If the
/// operation waits for a waiter, its needs do not repeat the direct members of the waiter.
fn check_outline(graph: &ExecutionGraph, rows: &Rows<'_>, flaws: &mut Vec<Flaw>) {
    let tracked = rows.iter().filter(|(row, _)| row.operation.is_tracked());
    if tracked.clone().count() != graph.outline.len() {
        flaws.push(Flaw::Outline(graph.operations));
        return;
    }
    let mut needs = DerivedNeeds::new(graph, rows);
    for ((row, shard), outline) in tracked.zip(&graph.outline) {
        let derived = needs.of(row.id);
        if needs.work == 0 {
            flaws.push(Flaw::Entangled);
            return;
        }
        if !says_the_same(rows, row, *shard, outline) || derived != outline.needs {
            flaws.push(Flaw::Outline(row.id.0));
        }
    }
}

fn says_the_same(rows: &Rows<'_>, row: &Row, shard: usize, outline: &OutlineRow) -> bool {
    let operation = &row.operation;
    let planned = planned_of(rows, operation);
    let action = match operation {
        Operation::Apply { .. } => planned.map_or(Action::Update, |p| p.action),
        Operation::ReadData { .. } => Action::Read,
        Operation::Forget { .. } => Action::Forget,
        Operation::Output { formula, .. } => formula.map_or(Action::Delete, |_| Action::Update),
        _ => Action::NoOp,
    };
    outline.id == row.id
        && outline.opcode == operation.opcode() as u16
        && outline.shard as usize == shard
        && outline.address == operation.address()
        && outline.deposed.as_deref() == operation.deposed().map(|key| key.0.as_str())
        && outline.action == action
        && outline.changes_world == operation.changes_world()
        && outline.lookup == planned.and_then(|p| p.lookup.clone())
}

/// The number of steps that deriving the needs of a graph may take, for each row, formula and need of the graph. Valid
/// graphs take few steps, because parts that many operations share are operations or waiters.
const STEPS_EACH: u64 = 64;
/// The number of steps that are allowed for every graph, however small.
const STEPS_ALWAYS: u64 = 1_000_000;

/// Derives the needs of operations.
struct DerivedNeeds<'g> {
    graph: &'g ExecutionGraph,
    rows: &'g Rows<'g>,
    /// By fragment and formula row, the results that the formula reads. Only for rows with several users.
    shared: Vec<Vec<Option<Box<[OperationId]>>>>,
    /// The needs of untracked operations, which may run inside several others.
    known: FxHashMap<OperationId, OperationNeeds>,
    /// The number of remaining steps. It is 0 if a malicious graph has used all of them.
    work: u64,
}

/// The needs of one operation.
#[derive(Clone, Default)]
struct OperationNeeds {
    tracked: Vec<OperationId>,
    untracked: Vec<OperationId>,
}

impl<'g> DerivedNeeds<'g> {
    fn new(graph: &'g ExecutionGraph, rows: &'g Rows<'g>) -> DerivedNeeds<'g> {
        let size = |waits: &Waits| (waits.operations.len() + waits.waiters.len()) as u64;
        let things = rows.len() as u64
            + graph.fragments.iter().map(|f| f.formulas.rows.len() as u64).sum::<u64>()
            + graph.outline.iter().map(|o| size(&o.needs)).sum::<u64>()
            + graph.waiters.iter().map(size).sum::<u64>();
        let work = STEPS_ALWAYS + STEPS_EACH * things;
        let mut needs = DerivedNeeds { graph, rows, shared: Vec::new(), known: FxHashMap::default(), work };
        for (index, fragment) in graph.fragments.iter().enumerate() {
            let table = &fragment.formulas.rows;
            let mut uses = vec![0u32; table.len()];
            for row in table {
                row.op.operands(&mut |operand: &FormulaIndex| uses[operand.0 as usize] += 1);
            }
            for row in &fragment.rows {
                row.operation.formulas().into_iter().for_each(|root| uses[root.0 as usize] += 1);
            }
            needs.shared.push(vec![None; table.len()]);
            for i in (0..table.len()).filter(|i| uses[*i] > 1) {
                let reads = needs.reads_below(index, vec![i as u32]).into_iter().collect();
                needs.shared[index][i] = Some(reads);
            }
        }
        needs
    }

    fn reads_below(&mut self, fragment: usize, mut pending: Vec<u32>) -> BTreeSet<OperationId> {
        let mut found = BTreeSet::new();
        while let Some(i) = pending.pop().filter(|_| self.work > 0) {
            self.work -= 1;
            if let Some(reads) = &self.shared[fragment][i as usize] {
                self.work = self.work.saturating_sub(reads.len() as u64);
                found.extend(reads.iter().copied());
                continue;
            }
            let op = &self.graph.fragments[fragment].formulas.rows[i as usize].op;
            if let FormulaOp::Result(id, _) = op {
                found.insert(*id);
            }
            op.operands(&mut |operand: &FormulaIndex| pending.push(operand.0));
        }
        found
    }

    fn of(&mut self, id: OperationId) -> Waits {
        let (mut operations, mut waiters): (BTreeSet<OperationId>, BTreeSet<WaiterIndex>) = Default::default();
        let mut seen = FxHashSet::default();
        let mut pending = vec![id];
        while let Some(part) = pending.pop() {
            let (row, fragment) = self.rows[part.0 as usize];
            let own = self.own(row, fragment);
            let steps = 1 + own.tracked.len() + own.untracked.len() + row.waits.waiters.len();
            self.work = self.work.saturating_sub(steps as u64);
            if self.work == 0 {
                break;
            }
            waiters.extend(&row.waits.waiters);
            operations.extend(own.tracked);
            pending.extend(own.untracked.into_iter().filter(|other| seen.insert(*other)));
        }
        Waits { operations: operations.into_iter().collect(), waiters: waiters.into_iter().collect() }
    }

    fn own(&mut self, row: &Row, fragment: usize) -> OperationNeeds {
        if let Some(known) = self.known.get(&row.id) {
            return known.clone();
        }
        let roots = row.operation.formulas().into_iter().map(|f| f.0).collect();
        let mut named = self.reads_below(fragment, roots);
        named.extend(row.operation.operands());
        named.extend(&row.waits.operations);
        self.work = self.work.saturating_sub((named.len() * (1 + row.waits.waiters.len())) as u64);
        if self.work == 0 {
            return OperationNeeds::default();
        }
        let (mut tracked, untracked): (Vec<_>, Vec<_>) = named.into_iter().partition(|o| is_tracked(self.rows, *o));
        let waiters = &self.graph.waiters;
        tracked
            .retain(|o| !row.waits.waiters.iter().any(|w| waiters[w.0 as usize].operations.binary_search(o).is_ok()));
        let own = OperationNeeds { tracked, untracked };
        if !row.operation.is_tracked() {
            self.known.insert(row.id, own.clone());
        }
        own
    }
}

fn check_final_states(graph: &ExecutionGraph, rows: &Rows<'_>, flaws: &mut Vec<Flaw>) {
    let mut found: BTreeMap<String, OperationId> = BTreeMap::new();
    for (row, _) in rows.iter().filter(|(row, _)| row.operation.is_last_word()) {
        found.insert(row.operation.address(), row.id);
    }
    if found == graph.final_states {
        return;
    }
    let wrong = |address: &&String| found.get(*address) != graph.final_states.get(*address);
    let address = found.keys().chain(graph.final_states.keys()).find(wrong);
    flaws.push(Flaw::FinalState(address.cloned().unwrap_or_default()));
}
