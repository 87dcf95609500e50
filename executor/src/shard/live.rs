//! Live values that formulas of a shard read: ephemeral objects, and values computed from ephemeral objects or inputs.
//! Live values are prepared before a formula runs, because formulas do not await.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};
use weft_graph_format::address::AbsResource;
use weft_graph_format::formula::FormulaOp;
use weft_graph_format::graph::{FormulaIndex, Fragment, Operation, OperationId};
use weft_graph_format::value::Value;

use super::ephemeral::{LiveObjects, ObjectSlot};
use super::{LiveValues, Shard};
use crate::host::Host;
use crate::subject::Problems;

/// Which operations of a shard need which ephemeral objects, and the known live values.
#[derive(Default)]
pub(crate) struct LiveParts {
    /// Rows of the formula table that read a live result, with the operations that each row reads.
    reads: FxHashMap<u32, Read>,
    /// The objects, by the number of their `open_ephemeral`.
    slots: BTreeMap<OperationId, Arc<ObjectSlot>>,
    /// The instances of each ephemeral resource. All instances of a block are opened together.
    instances: BTreeMap<AbsResource, Vec<OperationId>>,
    /// The ephemeral objects that each operation needs until the operation ends.
    users: Mutex<FxHashMap<u32, Vec<OperationId>>>,
    /// The ephemeral objects from which a provider was configured. These objects are needed until the shard is closed.
    kept: Mutex<Vec<OperationId>>,
    /// A generation, and the values that were computed while the objects of this generation were open.
    known: Mutex<(u64, FxHashMap<u32, Value>)>,
}

impl LiveParts {
    /// Analyses a fragment, and counts its operations as users of the objects.
    pub(crate) fn of(fragment: &Fragment, number: u32, objects: &LiveObjects) -> LiveParts {
        let mut parts = LiveParts::default();
        let mut live: FxHashSet<u32> = FxHashSet::default();
        for row in &fragment.rows {
            if let Operation::OpenEphemeral { address, shards, .. } = &row.operation {
                let slot = objects.slot(address);
                slot.wanted_by(number, *shards);
                parts.slots.insert(row.id, slot);
                parts.instances.entry(address.all()).or_default().push(row.id);
            }
            if row.operation.is_live() {
                live.insert(row.id.0);
            }
        }
        if live.is_empty() {
            return parts;
        }
        for (row, index) in fragment.formulas.rows.iter().zip(0..) {
            let result = match &row.op {
                FormulaOp::Result(id, _) if live.contains(&id.0) => Some(*id),
                _ => None,
            };
            let mut operands = Vec::new();
            row.op.operands(&mut |operand: &FormulaIndex| operands.push(*operand));
            operands.retain(|operand| parts.reads.contains_key(&operand.0));
            if result.is_some() || !operands.is_empty() {
                parts.reads.insert(index, Read { result, operands });
            }
        }
        if !parts.slots.is_empty() {
            parts.count_users(fragment);
        }
        parts
    }

    fn count_users(&mut self, fragment: &Fragment) {
        let place = |id: OperationId| fragment.rows.binary_search_by_key(&id, |row| row.id).ok();
        let row = |id: OperationId| place(id).and_then(|at| fragment.rows.get(at));
        let (mut users, mut kept) = (FxHashMap::default(), BTreeSet::new());
        for of in &fragment.rows {
            // Operations that run inside a tracked operation. Providers are omitted, because they live longer.
            let mut roots: Vec<FormulaIndex> = Vec::new();
            let mut pending = match &of.operation {
                Operation::OpenProvider { .. } => vec![of.id],
                operation if operation.is_tracked() => vec![of.id],
                _ => continue,
            };
            while let Some(part) = pending.pop().and_then(row) {
                roots.extend(part.operation.formulas().into_iter().copied());
                let inside = |id: &OperationId| row(*id).is_some_and(|row| !row.operation.is_tracked());
                let provider = |id: &OperationId| {
                    row(*id).is_some_and(|row| matches!(row.operation, Operation::OpenProvider { .. }))
                };
                pending.extend(part.operation.operands().into_iter().filter(|id| inside(id) && !provider(id)));
            }
            let mut needed = self.reads_below(&roots, &|id| row(id).map(|row| &row.operation));
            needed.retain(|id| self.slots.contains_key(id));
            if needed.is_empty() {
                continue;
            }
            match &of.operation {
                Operation::OpenProvider { .. } => kept.extend(needed),
                _ => drop(users.insert(of.id.0, needed.into_iter().collect::<Vec<_>>())),
            }
        }
        for id in users.values().flatten().chain(&kept) {
            if let Some(slot) = self.slots.get(id) {
                slot.used(1);
            }
        }
        *self.users.lock() = users;
        *self.kept.lock() = kept.into_iter().collect();
    }

    /// The live operations that formulas need, in dependency order.
    fn reads_below<'f>(
        &self,
        roots: &[FormulaIndex],
        operation: &dyn Fn(OperationId) -> Option<&'f Operation<FormulaIndex>>,
    ) -> BTreeSet<OperationId> {
        let mut found = BTreeSet::new();
        let mut seen = FxHashSet::default();
        let mut pending: Vec<FormulaIndex> = roots.to_vec();
        while let Some(index) = pending.pop() {
            let Some(Read { result, operands }) = self.reads.get(&index.0) else { continue };
            if !seen.insert(index.0) {
                continue;
            }
            pending.extend(operands);
            let mut named: Vec<OperationId> = result.iter().copied().collect();
            while let Some(id) = named.pop() {
                if !found.insert(id) {
                    continue;
                }
                match operation(id) {
                    Some(Operation::OpenEphemeral { address, config, .. }) => {
                        pending.push(*config);
                        named.extend(self.instances.get(&address.all()).into_iter().flatten());
                    }
                    Some(Operation::EvaluateLive { formula, .. }) => pending.push(*formula),
                    _ => {}
                }
            }
        }
        found
    }

    /// Handles the end of an operation. Returns the objects that have no users at this worker.
    pub(crate) fn ended(&self, operation: u32) -> Vec<Arc<ObjectSlot>> {
        let needed = self.users.lock().remove(&operation).unwrap_or_default();
        self.released(needed)
    }

    /// Handles the end of the shard. Returns the objects that have no users at this worker.
    pub(crate) fn over(&self) -> Vec<Arc<ObjectSlot>> {
        let users = std::mem::take(&mut *self.users.lock());
        let kept = std::mem::take(&mut *self.kept.lock());
        users.into_values().flatten().chain(kept).filter_map(|id| self.slots.get(&id)).for_each(|slot| {
            slot.released();
        });
        // Some objects may have been opened again after their last user had ended.
        self.slots.values().filter(|slot| slot.is_unused()).cloned().collect()
    }

    fn released(&self, needed: impl IntoIterator<Item = OperationId>) -> Vec<Arc<ObjectSlot>> {
        needed.into_iter().filter_map(|id| self.slots.get(&id)).filter(|slot| slot.released()).cloned().collect()
    }

    /// All objects of the shard.
    pub(crate) fn slots(&self) -> impl Iterator<Item = &Arc<ObjectSlot>> {
        self.slots.values()
    }

    /// Whether this formula needs live values.
    pub(crate) fn is_read(&self, index: FormulaIndex) -> bool {
        self.reads.contains_key(&index.0)
    }
}

/// The live operations that a formula row reads.
struct Read {
    result: Option<OperationId>,
    operands: Vec<FormulaIndex>,
}

impl Shard {
    /// Opens and computes every live value that a formula needs.
    ///
    /// # Errors
    /// Returns an error if an object cannot be opened or a value cannot be computed. Every operation that needs this
    /// object or value fails.
    pub(crate) fn live_values<'a>(
        self: &'a Arc<Shard>,
        host: &'a Arc<Host>,
        index: FormulaIndex,
    ) -> BoxFuture<'a, Result<LiveValues, Problems>> {
        async move {
            if !self.live.is_read(index) {
                return Ok(LiveValues::default());
            }
            let needed = self.live.reads_below(&[index], &|id| self.operation(id));
            let mut values = FxHashMap::default();
            let mut needed = needed.into_iter().peekable();
            while let Some(id) = needed.next() {
                match self.operation(id) {
                    Some(Operation::OpenEphemeral { address, .. }) => {
                        let mut together = vec![id];
                        // Instances of one block do not need each other.
                        let resource = address.all();
                        while let Some(next) = needed.next_if(|id| self.is_instance(*id, &resource)) {
                            together.push(next);
                        }
                        let before: LiveValues = Arc::new(values.clone());
                        let open = together.iter().map(|id| self.live_object(host, *id, &before));
                        for (id, value) in together.iter().zip(join_all(open).await) {
                            values.insert(id.0, value?);
                        }
                    }
                    Some(Operation::EvaluateLive { name, formula }) => {
                        let generation = self.objects.generation();
                        let known = {
                            let known = self.live.known.lock();
                            known.1.get(&id.0).filter(|_| known.0 == generation).cloned()
                        };
                        let value = match known {
                            Some(value) => value,
                            None => {
                                let value = self.run(host, *formula, name, Arc::new(values.clone())).await?;
                                self.know(generation, id, &value);
                                value
                            }
                        };
                        values.insert(id.0, value);
                    }
                    _ => {}
                }
            }
            Ok(Arc::new(values))
        }
        .boxed()
    }

    fn is_instance(&self, id: OperationId, resource: &AbsResource) -> bool {
        matches!(self.operation(id), Some(Operation::OpenEphemeral { address, .. }) if address.all() == *resource)
    }

    async fn live_object(
        self: &Arc<Shard>,
        host: &Arc<Host>,
        id: OperationId,
        before: &LiveValues,
    ) -> Result<Value, Problems> {
        match self.live.slots.get(&id) {
            Some(slot) => slot.value(self, host, id, before).await,
            None => Err(vec![crate::problems::damaged(id, "ephemeral object")]),
        }
    }

    fn know(&self, generation: u64, id: OperationId, value: &Value) {
        if self.objects.generation() != generation {
            return;
        }
        let mut known = self.live.known.lock();
        if known.0 != generation {
            *known = (generation, FxHashMap::default());
        }
        known.1.insert(id.0, value.clone());
    }
}
