//! Copies operations to their readers if the results of the operations are never stored. Each shard gets its own copy
//! of every `open_ephemeral` and `evaluate_live` that it reads, and of the providers that the copies need. If an
//! `open_ephemeral` or `evaluate_live` has no readers, it is not copied. The originals are dropped, except providers
//! that other operations use.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Drafted, Finish};
use crate::address::AbsResource;
use crate::graph::opcode::Operation;
use crate::graph::{OperationId, Shard};

/// The operations whose results are never stored, after they are copied or dropped.
#[derive(Default)]
pub(super) struct Live {
    /// For each shard, the number of the copy by the number of the draft.
    copies: BTreeMap<Shard, FxHashMap<u32, u32>>,
    /// Drafts that are dropped: only copies of them are in the graph, or nothing needs them.
    gone: FxHashSet<u32>,
}

impl Live {
    /// Whether an operation is dropped, because copies replace it or nothing needs it.
    pub(super) fn is_gone(&self, id: u32) -> bool {
        self.gone.contains(&id)
    }

    /// The copies in a shard; `None` if the shard reads none.
    pub(super) fn in_shard(&self, shard: &Shard) -> Option<&FxHashMap<u32, u32>> {
        self.copies.get(shard)
    }
}

/// The operations that are copied.
struct Templates<'f> {
    operations: &'f [Drafted],
    reads: &'f [Vec<u32>],
    /// Providers that only ephemeral objects need.
    idle: FxHashSet<u32>,
    /// The instances of each ephemeral resource.
    instances: FxHashMap<AbsResource, Vec<u32>>,
}

impl<'f> Templates<'f> {
    fn of(operations: &'f [Drafted], reads: &'f [Vec<u32>]) -> Templates<'f> {
        let mut instances: FxHashMap<AbsResource, Vec<u32>> = FxHashMap::default();
        let (mut idle, mut used) = (FxHashSet::default(), FxHashSet::default());
        for (drafted, id) in operations.iter().zip(0..) {
            match &drafted.operation {
                Operation::OpenEphemeral { address, provider, .. } => {
                    instances.entry(address.all()).or_default().push(id);
                    idle.insert(provider.0);
                }
                Operation::CloseProvider { .. } => {}
                other => used.extend(other.operands().iter().map(|operand| operand.0)),
            }
        }
        idle.retain(|provider| !used.contains(provider));
        Templates { operations, reads, idle, instances }
    }

    fn is_live(&self, id: u32) -> bool {
        self.operations[id as usize].operation.is_live()
    }

    /// Whether the graph contains only copies of the operation.
    fn is_copied(&self, id: u32) -> bool {
        self.is_live(id) || self.idle.contains(&id)
    }

    fn live_reads(&self, id: u32) -> impl Iterator<Item = u32> {
        self.reads[id as usize].iter().copied().filter(|read| self.is_live(*read))
    }

    /// The operations that each shard needs copies of.
    fn needs(&self) -> BTreeMap<Shard, BTreeSet<u32>> {
        let mut needs: BTreeMap<Shard, BTreeSet<u32>> = BTreeMap::new();
        for (drafted, id) in self.operations.iter().zip(0..) {
            if !self.is_copied(id) && self.live_reads(id).next().is_some() {
                needs.entry(drafted.shard.clone()).or_default().extend(self.live_reads(id));
            }
        }
        for (shard, needed) in &mut needs {
            let mut pending: Vec<u32> = needed.iter().copied().collect();
            while let Some(id) = pending.pop() {
                let mut more: Vec<u32> = self.live_reads(id).collect();
                if let Operation::OpenEphemeral { address, provider, .. } = &self.operations[id as usize].operation {
                    if self.idle.contains(&provider.0) || self.operations[provider.0 as usize].shard != *shard {
                        more.push(provider.0);
                    }
                    // All instances of a resource are opened together, because the configuration sees them as one
                    // object.
                    more.extend(self.instances.get(&address.all()).into_iter().flatten());
                }
                pending.extend(more.into_iter().filter(|other| needed.insert(*other)));
            }
        }
        needs
    }
}

impl Finish {
    /// Replaces each `evaluate` that depends on live values by an `evaluate_live`. Each shard that reads the result of
    /// an `evaluate_live` computes this result.
    pub(super) fn evaluate_live(&mut self, live: &[bool]) {
        for drafted in &mut self.operations {
            if let Operation::Evaluate { name, formula } = &drafted.operation
                && live[*formula as usize]
            {
                drafted.operation = Operation::EvaluateLive { name: name.clone(), formula: *formula };
            }
        }
    }

    /// Adds to each shard copies of the operations that the shard reads and whose results are never stored, with the
    /// operations that close the copies. Marks the originals as dropped. Adds to `reads` what each copy reads.
    pub(super) fn localise(&mut self, reads: &mut Vec<Vec<u32>>) {
        if !self.operations.iter().any(|drafted| drafted.operation.is_live()) {
            return;
        }
        let templates = Templates::of(&self.operations, reads);
        let needs = templates.needs();
        let gone = |(drafted, id): (&Drafted, u32)| match &drafted.operation {
            Operation::CloseProvider { provider } => templates.idle.contains(&provider.0).then_some(id),
            _ => templates.is_copied(id).then_some(id),
        };
        self.live.gone = self.operations.iter().zip(0..).filter_map(gone).collect();
        let mut shards_of: FxHashMap<u32, u32> = FxHashMap::default();
        needs.values().flatten().for_each(|id| *shards_of.entry(*id).or_default() += 1);
        let mut copies_of: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for (shard, needed) in needs {
            let mut here: FxHashMap<u32, u32> = FxHashMap::default();
            // In this order, drafts come before those that use them.
            for id in needed {
                let copy = self.operations.len() as u32;
                here.insert(id, copy);
                copies_of.entry(id).or_default().push(copy);
                let local = |other: u32| here.get(&other).copied().unwrap_or(other);
                let template = &self.operations[id as usize];
                let close = match &template.operation {
                    Operation::OpenEphemeral { .. } => Some(Operation::CloseEphemeral { ephemeral: OperationId(copy) }),
                    Operation::OpenProvider { .. } => Some(Operation::CloseProvider { provider: OperationId(copy) }),
                    _ => None,
                };
                let mut operation = template.operation.clone().map(&mut |o| OperationId(local(o.0)), &mut |row| row);
                if let Operation::OpenEphemeral { shards, .. } = &mut operation {
                    *shards = shards_of[&id];
                }
                let (after, waiters) = (template.after.clone(), template.waiters.clone());
                let drafted = Drafted { operation, shard: shard.clone(), after, waiters };
                reads.push(reads[id as usize].iter().map(|read| local(*read)).collect());
                self.operations.push(drafted);
                if let Some(operation) = close {
                    let (after, waiters) = Default::default();
                    self.operations.push(Drafted { operation, shard: shard.clone(), after, waiters });
                    reads.push(Vec::new());
                }
            }
            self.live.copies.insert(shard, here);
        }
        for (drafted, id) in self.operations.iter().zip(0..) {
            if let Some(here) = self.live.copies.get(&drafted.shard).filter(|_| !self.live.is_gone(id)) {
                let named = &mut reads[id as usize];
                named.iter_mut().for_each(|read| *read = here.get(read).copied().unwrap_or(*read));
                named.sort_unstable();
            }
        }
        self.waiters.copied(&copies_of);
    }
}
