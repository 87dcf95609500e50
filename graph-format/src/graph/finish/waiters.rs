//! What operations wait for: origins are resolved to operations and waiters.
//!
//! In this module, a waiter contains the numbers of drafts, and the numbers of waiters that are older than itself.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Drafted;
use crate::origin::{Origin, OriginNode};

/// The maximum number of members that are listed with each reader. A larger set becomes a waiter.
const WIDE: usize = 4;

/// A set of operations, and of waiters that stand for further operations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Members {
    pub(super) operations: Vec<u32>,
    pub(super) waiters: Vec<u32>,
}

impl Members {
    fn of(operations: BTreeSet<u32>, waiters: BTreeSet<u32>) -> Members {
        Members { operations: operations.into_iter().collect(), waiters: waiters.into_iter().collect() }
    }

    fn len(&self) -> usize {
        self.operations.len() + self.waiters.len()
    }
}

/// The needs of one origin node, computed once for everything that shares it.
#[derive(Clone, Default)]
struct Flat {
    after: Members,
    /// Deletes that wait for the readers of the value with this origin, and groups of such deletes.
    before_delete: Members,
}

/// Deletes and groups of deletes that wait for the same readers.
#[derive(Default)]
struct Group {
    deletes: Members,
    readers: BTreeSet<u32>,
}

/// The waiters of a graph while it is drafted, and the rules by which operations wait for each other.
pub(super) struct Waiters {
    /// The number of drafts.
    count: u32,
    /// An operation that an origin names and that was never drafted.
    missing: Option<u32>,
    /// The waiters, by number.
    pub(super) sets: Vec<Members>,
    by_content: FxHashMap<Members, u32>,
    flat: FxHashMap<usize, Flat>,
    groups: Vec<Group>,
    /// Deletes with their readers, except deletes that are in groups.
    before_delete: Vec<(u32, u32)>,
    /// The origins that were visited. Nodes are identified by address, so the origins must stay alive.
    keep: Vec<Origin>,
}

impl Waiters {
    pub(super) fn new(count: u32) -> Waiters {
        Waiters {
            count,
            missing: None,
            sets: Vec::new(),
            by_content: FxHashMap::default(),
            flat: FxHashMap::default(),
            groups: Vec::new(),
            before_delete: Vec::new(),
            keep: Vec::new(),
        }
    }

    /// Makes the draft `id` wait for `origin`. The error is the number of an operation that was never drafted.
    pub(super) fn take(&mut self, origin: &Origin, id: u32, drafted: &mut Drafted) -> Result<(), u32> {
        let Flat { after, before_delete } = self.flatten(origin);
        if let Some(missing) = self.missing {
            return Err(missing);
        }
        drafted.after.extend(after.operations);
        drafted.waiters.extend(after.waiters);
        self.before_delete.extend(before_delete.operations.iter().map(|delete| (*delete, id)));
        for group in before_delete.waiters {
            self.groups[group as usize].readers.insert(id);
        }
        Ok(())
    }

    /// The operations of `origin`, without deletes that wait for readers. The error is the number of an operation that
    /// was never drafted.
    pub(super) fn members(&mut self, origin: &Origin) -> Result<Members, u32> {
        let Flat { after, .. } = self.flatten(origin);
        self.missing.map_or(Ok(after), Err)
    }

    /// If a delete waits for an operation that has copies, makes it wait for the copies, too.
    pub(super) fn copied(&mut self, copies: &FxHashMap<u32, Vec<u32>>) {
        let mut more = Vec::new();
        for (delete, reader) in &self.before_delete {
            more.extend(copies.get(reader).into_iter().flatten().map(|copy| (*delete, *copy)));
        }
        self.before_delete.extend(more);
        for group in &mut self.groups {
            let copied: Vec<u32> =
                group.readers.iter().filter_map(|reader| copies.get(reader)).flatten().copied().collect();
            group.readers.extend(copied);
        }
    }

    /// The needs of an origin. They are computed once for each shared node.
    fn flatten(&mut self, origin: &Origin) -> Flat {
        let mut pending = vec![(origin.clone(), false)];
        while let Some((node, entered)) = pending.pop() {
            if self.flat.contains_key(&node.identity()) {
                continue;
            }
            if let OriginNode::After(op) | OriginNode::BeforeDelete(op) = node.node()
                && op.0 >= self.count
            {
                self.missing = Some(op.0);
            }
            let one = |id: u32| Members { operations: vec![id], waiters: Vec::new() };
            let flat = match node.node() {
                OriginNode::After(op) => Flat { after: one(op.0), ..Flat::default() },
                OriginNode::BeforeDelete(op) => Flat { before_delete: one(op.0), ..Flat::default() },
                OriginNode::Union(members) if entered => {
                    let parts: Vec<&Flat> = members.iter().map(|m| &self.flat[&m.identity()]).collect();
                    let after = union(parts.iter().map(|p| &p.after));
                    let before_delete = union(parts.iter().map(|p| &p.before_delete));
                    Flat { after: self.gathered(after), before_delete: self.grouped(before_delete) }
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

    /// Replaces many members with one waiter. Few members are returned as they are.
    fn gathered(&mut self, members: Members) -> Members {
        if members.len() <= WIDE {
            return members;
        }
        Members { operations: Vec::new(), waiters: vec![self.waiter(members)] }
    }

    fn waiter(&mut self, members: Members) -> u32 {
        // Nothing would ever meet a wait for no operation.
        assert!(members.len() > 0, "a waiter without members");
        let next = self.sets.len() as u32;
        let index = *self.by_content.entry(members.clone()).or_insert(next);
        if index == next {
            self.sets.push(members);
        }
        index
    }

    /// A waiter with those operations of another waiter that are not in `left_out`. `None` if all are.
    pub(super) fn without(&mut self, waiter: u32, left_out: &FxHashSet<u32>) -> Option<u32> {
        let mut rest = self.all_operations(&Members { operations: Vec::new(), waiters: vec![waiter] });
        rest.operations.retain(|operation| !left_out.contains(operation));
        (!rest.operations.is_empty()).then(|| self.waiter(rest))
    }

    fn grouped(&mut self, deletes: Members) -> Members {
        if deletes.len() <= WIDE {
            return deletes;
        }
        self.groups.push(Group { deletes, readers: BTreeSet::new() });
        Members { operations: Vec::new(), waiters: vec![self.groups.len() as u32 - 1] }
    }

    /// If an operation or a waiter waits for an untracked operation, replaces this wait by waits for the tracked
    /// operations that the untracked operation depends on. Makes each delete wait for the readers of its object. If
    /// several operations use an untracked operation that has many needs, gathers these needs in a waiter.
    pub(super) fn settle(&mut self, operations: &mut [Drafted], reads: &[Vec<u32>]) {
        self.name_tracked_only(operations, reads);
        self.wait_for_readers(operations, reads);
        self.gather_needs(operations, reads);
    }

    fn name_tracked_only(&mut self, operations: &mut [Drafted], reads: &[Vec<u32>]) {
        let tracked: Vec<bool> = operations.iter().map(|d| d.operation.is_tracked()).collect();
        let resolve = |named: &Members| -> Option<Members> {
            if named.operations.iter().all(|o| tracked[*o as usize]) {
                return None;
            }
            let (mut found, mut waiters) = (BTreeSet::new(), named.waiters.iter().copied().collect::<BTreeSet<_>>());
            let mut seen = FxHashSet::default();
            let mut pending = named.operations.clone();
            while let Some(id) = pending.pop() {
                if tracked[id as usize] {
                    found.insert(id);
                } else if seen.insert(id) {
                    let untracked = &operations[id as usize];
                    pending.extend(untracked.operation.operands().iter().map(|o| o.0));
                    pending.extend(&reads[id as usize]);
                    pending.extend(&untracked.after);
                    waiters.extend(&untracked.waiters);
                }
            }
            Some(Members::of(found, waiters))
        };
        let waiters: Vec<Option<Members>> = self.sets.iter().map(resolve).collect();
        let rows: Vec<Option<Members>> =
            operations.iter().map(|d| resolve(&Members::of(d.after.clone(), d.waiters.clone()))).collect();
        for (waiter, resolved) in self.sets.iter_mut().zip(waiters) {
            *waiter = resolved.unwrap_or_else(|| std::mem::take(waiter));
        }
        for ((drafted, resolved), id) in operations.iter_mut().zip(rows).zip(0..) {
            if let Some(Members { operations, waiters }) = resolved {
                drafted.after = operations.into_iter().filter(|o| *o != id).collect();
                drafted.waiters = waiters.into_iter().collect();
            }
        }
    }

    fn wait_for_readers(&mut self, operations: &mut [Drafted], reads: &[Vec<u32>]) {
        if self.before_delete.is_empty() && self.groups.is_empty() {
            return;
        }
        let mut users = Users::of(operations, reads);
        let groups = std::mem::take(&mut self.groups);
        let mut waits: Vec<(u32, Members)> = Vec::new();
        for (delete, reader) in std::mem::take(&mut self.before_delete) {
            waits.push((delete, users.tracked(reader, self)));
        }
        // A group comes after the groups inside it. The loop runs in reverse order, so each group has the readers of
        // its outer groups before it is handled.
        let mut inherited: Vec<Vec<Members>> = vec![Vec::new(); groups.len()];
        for (index, group) in groups.into_iter().enumerate().rev() {
            let own: Vec<Members> = group.readers.iter().map(|reader| users.tracked(*reader, self)).collect();
            let all = union(own.iter().chain(&inherited[index]));
            let all = self.gathered(all);
            waits.extend(group.deletes.operations.iter().map(|delete| (*delete, all.clone())));
            for below in group.deletes.waiters {
                inherited[below as usize].push(all.clone());
            }
        }
        let deletes: FxHashSet<u32> = waits.iter().map(|(delete, _)| *delete).collect();
        let among = self.members_among(&deletes);
        for (delete, members) in waits {
            let with_itself = |w: &u32| among[*w as usize].contains(&delete);
            let found = match members.waiters.iter().any(with_itself) {
                // A delete must not wait for itself. So if a waiter contains the delete, all waiters are replaced by
                // their operations, and the delete is removed below.
                true => self.all_operations(&members),
                false => members,
            };
            if let Some(drafted) = operations.get_mut(delete as usize) {
                drafted.after.extend(found.operations.into_iter().filter(|o| *o != delete));
                drafted.waiters.extend(found.waiters);
            }
        }
    }

    /// For each waiter, the operations of `wanted` that it stands for.
    fn members_among(&self, wanted: &FxHashSet<u32>) -> Vec<BTreeSet<u32>> {
        let mut found: Vec<BTreeSet<u32>> = Vec::with_capacity(self.sets.len());
        for waiter in &self.sets {
            let mut here: BTreeSet<u32> = waiter.operations.iter().copied().filter(|o| wanted.contains(o)).collect();
            waiter.waiters.iter().for_each(|w| here.extend(&found[*w as usize]));
            found.push(here);
        }
        found
    }

    fn all_operations(&self, members: &Members) -> Members {
        let mut found: BTreeSet<u32> = members.operations.iter().copied().collect();
        let mut seen = FxHashSet::default();
        let mut pending = members.waiters.clone();
        while let Some(waiter) = pending.pop() {
            if seen.insert(waiter) {
                found.extend(&self.sets[waiter as usize].operations);
                pending.extend(&self.sets[waiter as usize].waiters);
            }
        }
        Members::of(found, BTreeSet::new())
    }

    fn gather_needs(&mut self, operations: &mut [Drafted], reads: &[Vec<u32>]) {
        let mut uses = vec![0u32; operations.len()];
        for drafted in operations.iter() {
            drafted.operation.operands().iter().for_each(|o| uses[o.0 as usize] += 1);
        }
        reads.iter().flatten().for_each(|read| uses[*read as usize] += 1);
        for (drafted, id) in operations.iter_mut().zip(0usize..) {
            if drafted.operation.is_tracked() || uses[id] < 2 {
                continue;
            }
            let mut needs = drafted.after.clone();
            needs.extend(&reads[id]);
            if needs.len() > WIDE {
                let waiter = self.waiter(Members::of(needs, BTreeSet::new()));
                drafted.after.clear();
                drafted.waiters.insert(waiter);
            }
        }
    }
}

/// For each operation, the tracked operations that use the operation, or that it is part of.
struct Users {
    tracked: Vec<bool>,
    /// The direct users of untracked operations.
    direct: FxHashMap<u32, Vec<u32>>,
    known: FxHashMap<u32, Members>,
}

impl Users {
    fn of(operations: &[Drafted], reads: &[Vec<u32>]) -> Users {
        let tracked: Vec<bool> = operations.iter().map(|d| d.operation.is_tracked()).collect();
        let mut direct: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for ((drafted, reads), id) in operations.iter().zip(reads).zip(0..) {
            let used = drafted.operation.operands().into_iter().map(|o| o.0).chain(reads.iter().copied());
            for other in used.filter(|o| !tracked[*o as usize]) {
                direct.entry(other).or_default().push(id);
            }
        }
        Users { tracked, direct, known: FxHashMap::default() }
    }

    /// The operation itself if it is tracked, otherwise all tracked operations that use it.
    fn tracked(&mut self, id: u32, waiters: &mut Waiters) -> Members {
        if self.tracked[id as usize] {
            return Members { operations: vec![id], waiters: Vec::new() };
        }
        if let Some(known) = self.known.get(&id) {
            return known.clone();
        }
        let mut found = BTreeSet::new();
        let mut seen = FxHashSet::default();
        let mut pending = vec![id];
        while let Some(untracked) = pending.pop() {
            for user in self.direct.get(&untracked).into_iter().flatten() {
                if self.tracked[*user as usize] {
                    found.insert(*user);
                } else if seen.insert(*user) {
                    pending.push(*user);
                }
            }
        }
        let members = waiters.gathered(Members::of(found, BTreeSet::new()));
        self.known.insert(id, members.clone());
        members
    }
}

fn union<'m>(parts: impl Iterator<Item = &'m Members>) -> Members {
    let (mut operations, mut waiters) = (BTreeSet::new(), BTreeSet::new());
    for part in parts {
        operations.extend(part.operations.iter().copied());
        waiters.extend(part.waiters.iter().copied());
    }
    Members::of(operations, waiters)
}
