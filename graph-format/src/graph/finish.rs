//! Turns drafts into a finished graph: interns formulas, turns those that read many results into operations, and
//! orders, numbers and divides the operations.
//!
//! Properties of the result:
//! - The order of drafting does not matter. Even the numbers that identify parameters and waiters do not depend on it.
//! - If N operations read or wait for the same M operations, this costs N + M edges. A shared formula that reads many
//!   results becomes an `evaluate` operation, and a shared set of operations becomes a waiter.
//! - Rows and waiters wait for tracked operations only. If a draft waits for an untracked operation (a `desired`, an
//!   `open_provider`), the row of the draft waits for the tracked operations that the untracked one depends on.
//! - Operations whose results are never stored (`open_ephemeral`, `evaluate_live`) are in the shards of their readers.
//!
//! Every step is linear in the drafts, except for sorting.

mod assembly;
mod interned;
mod live;
mod order;
mod outline;
mod preferred;
mod waiters;

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::builder::{Builder, Draft};
use super::finish_error::FinishError;
use super::opcode::Operation;
use super::{ExecutionGraph, OperationId, PriorObject, Shard};
use crate::value::Value;
use crate::value::formula::Formula;
use interned::Interned;
use live::Live;
use waiters::{Members, Waiters};

impl Builder {
    /// Finishes the graph. The order of drafting does not matter.
    ///
    /// # Errors
    /// Returns [`FinishError::Cycle`] with every operation on the cycle, or another error if a draft is invalid.
    pub fn finish(self) -> Result<ExecutionGraph, FinishError> {
        Finish::of(self.into_drafts()?)?.run()
    }
}

/// An operation whose formulas are rows of the common table.
struct Drafted {
    operation: Operation<u32>,
    shard: Shard,
    /// The operations that this operation waits for.
    after: BTreeSet<u32>,
    /// The waiters that this operation waits for.
    waiters: BTreeSet<u32>,
}

/// The formula rows of the operations that were added for shared formulas, by the number of the operation.
type SharedRows = FxHashMap<u32, u32>;

struct Finish {
    operations: Vec<Drafted>,
    formulas: Interned,
    waiters: Waiters,
    /// Preferred waits: an operation, and the members that it waits for unless this makes a cycle.
    preferred: Vec<(u32, Members)>,
    shared: SharedRows,
    live: Live,
}

impl Finish {
    fn of(drafts: Vec<Draft>) -> Result<Finish, FinishError> {
        let count = drafts.len() as u32;
        let priors: FxHashMap<u32, Value> = drafts
            .iter()
            .zip(0..)
            .filter_map(|(draft, id)| match &draft.operation {
                Operation::PriorState { object, .. } => Some((id, object.value.clone())),
                _ => None,
            })
            .collect();
        let readable: Vec<bool> = drafts.iter().map(|d| has_result(&d.operation)).collect();
        let mut finish = Finish {
            operations: Vec::with_capacity(drafts.len()),
            formulas: Interned::new(priors, readable),
            waiters: Waiters::new(count),
            preferred: Vec::new(),
            shared: SharedRows::default(),
            live: Live::default(),
        };
        for (draft, id) in drafts.into_iter().zip(0..) {
            finish.take(draft, id, count)?;
        }
        Ok(finish)
    }

    fn take(&mut self, draft: Draft, id: u32, count: u32) -> Result<(), FinishError> {
        let Draft { operation, shard, waits, after, preferred } = draft;
        if stored_values(&operation).iter().any(|value| value.stores_ephemeral()) {
            return Err(FinishError::EphemeralConstant(operation.address()));
        }
        let address = operation.address();
        let named = operation.operands().into_iter().chain(after.iter().copied());
        if let Some(missing) = named.into_iter().find(|o| o.0 >= count) {
            return Err(FinishError::NoOperation { user: address, operation: missing.0 });
        }
        let mut failed = None;
        let formulas = &mut self.formulas;
        let operation = operation.map(&mut |o| o, &mut |f: Formula| {
            formulas.intern(&f, &address).unwrap_or_else(|error| {
                failed.get_or_insert(error);
                0
            })
        });
        if let Some(error) = failed {
            return Err(error);
        }
        let mut drafted =
            Drafted { operation, shard, after: after.into_iter().map(|o| o.0).collect(), waiters: BTreeSet::new() };
        for origin in &waits {
            self.waiters
                .take(origin, id, &mut drafted)
                .map_err(|operation| FinishError::NoOperation { user: address.clone(), operation })?;
        }
        drafted.after.remove(&id);
        for origin in &preferred {
            let members = self.waiters.members(origin);
            let members = members.map_err(|operation| FinishError::NoOperation { user: address.clone(), operation })?;
            self.preferred.push((id, members));
        }
        self.operations.push(drafted);
        Ok(())
    }

    fn run(mut self) -> Result<ExecutionGraph, FinishError> {
        let live = self.formulas.live_rows(&self.operations)?;
        self.evaluate_live(&live);
        self.widen(&live);
        let mut reads = self.formulas.results_read(&self.operations);
        self.localise(&mut reads);
        self.waiters.settle(&mut self.operations, &reads);
        let order = self.sort(&reads)?;
        Ok(assembly::assemble(self, &reads, &order))
    }

    /// Turns wide formulas with several users into operations.
    fn widen(&mut self, live: &[bool]) {
        for wide in self.formulas.widen(&self.operations, live) {
            let id = self.operations.len() as u32;
            debug_assert_eq!(id, wide.operation);
            let name = match &wide.range {
                Some(range) => format!("shared {}:{}", range.file, range.start.line),
                None => String::from("shared"),
            };
            self.shared.insert(id, wide.row);
            self.operations.push(Drafted {
                operation: Operation::Evaluate { name: SmolStr::from(name), formula: wide.row },
                shard: Shard::Unplaced,
                after: BTreeSet::new(),
                waiters: BTreeSet::new(),
            });
        }
    }
}

/// Whether formulas may read the result of an operation. During drafting, they may also read a `prior_state`: its value
/// later replaces the reference.
fn has_result<F>(operation: &Operation<F>) -> bool {
    matches!(
        operation,
        Operation::Evaluate { .. }
            | Operation::Apply { .. }
            | Operation::ReadData { .. }
            | Operation::Output { .. }
            | Operation::PriorState { .. }
            | Operation::OpenEphemeral { .. }
            | Operation::EvaluateLive { .. }
    )
}

/// The values that are stored in an operation itself.
fn stored_values<F>(operation: &Operation<F>) -> Vec<&Value> {
    fn of_object(object: &PriorObject) -> &Value {
        &object.value
    }
    match operation {
        Operation::PriorState { object, .. } => vec![of_object(object)],
        Operation::FinalPlan { planned, .. } => vec![&planned.value],
        Operation::ReadData { planned, .. } | Operation::Output { planned, .. } => vec![planned],
        Operation::Record { object, .. } => object.iter().map(|o| of_object(o)).collect(),
        _ => Vec::new(),
    }
}

/// The final numbers of drafts.
struct Numbers(Vec<Option<OperationId>>);

impl Numbers {
    /// Numbers the drafts by position in `order`. Drafts that are not in `order` were dropped.
    fn of(order: &[u32], drafts: usize) -> Numbers {
        let mut numbers = vec![None; drafts];
        for (id, place) in order.iter().zip(0..) {
            numbers[*id as usize] = Some(OperationId(place));
        }
        Numbers(numbers)
    }

    /// The final number of a draft that another draft refers to.
    ///
    /// # Panics
    /// Panics if the draft was dropped. Nothing may refer to a dropped draft.
    fn at(&self, id: u32) -> OperationId {
        self.0[id as usize].unwrap_or_else(|| panic!("draft {id} was dropped, but another operation names it"))
    }
}

fn numbers(ids: &BTreeSet<u32>, number: &Numbers) -> Vec<OperationId> {
    let set: BTreeSet<OperationId> = ids.iter().map(|id| number.at(*id)).collect();
    set.into_iter().collect()
}
