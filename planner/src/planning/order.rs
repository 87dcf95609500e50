//! The order of deletes: what depends on an object is done with it before the object goes.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use weft_graph_format::address::{AbsResource, Module, ModuleInstance};
use weft_graph_format::graph::OperationId;
use weft_graph_format::origin::Origin;

use super::Planning;

/// What is drafted for objects, for the order of deletes.
#[derive(Debug, Default)]
pub(crate) struct Ordering {
    /// Deletes by resource.
    deletes: BTreeMap<AbsResource, Vec<Delete>>,
    /// Pending deletes, by what their stored dependencies name.
    deleted: Dependents,
    /// Pending creates and updates, by what their dependencies name, before or after.
    changed: Dependents,
    /// Those of them that need not come before the delete of something that they depended on, by what their stored
    /// dependencies name.
    following: Dependents,
    /// Data sources that are read at apply, by what they name.
    read: Vec<(OperationId, Vec<AbsResource>)>,
    /// Data sources of check blocks that are read at apply.
    read_last: Vec<OperationId>,
}

/// A delete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delete {
    /// What comes first of it: its first provisioner, or the delete itself.
    pub(crate) first: OperationId,
    /// The delete itself.
    pub(crate) last: OperationId,
    pub(crate) kind: DeleteKind,
    /// Its resource is replaced by creating first, by what state has.
    pub(crate) create_first: bool,
}

/// How a delete stands to what comes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeleteKind {
    /// Nothing takes its place.
    Final,
    /// The new object is created after it.
    BeforeCreate,
    /// The new object was created before it.
    AfterCreate,
}

/// Operations by the resource as configured that they depend on. Instances of a module that is repeated have nothing
/// to do with each other: what depends on a resource of its own module depends on its own instance alone.
#[derive(Debug, Default)]
struct Dependents(FxHashMap<(SmolStr, Option<ModuleInstance>), Vec<OperationId>>);

impl Dependents {
    fn note(&mut self, names: &[SmolStr], module: &ModuleInstance, operation: OperationId) {
        if names.is_empty() {
            return;
        }
        let config = module.config();
        for name in names {
            let own = is_of_module(name, &config);
            self.0.entry((name.clone(), own.then(|| module.clone()))).or_default().push(operation);
        }
    }

    /// What has to do with the instances of a resource, as one set.
    fn of(&self, name: &SmolStr, module: &ModuleInstance) -> Option<Origin> {
        let keys = [(name.clone(), None), (name.clone(), Some(module.clone()))];
        let found = keys.iter().filter_map(|key| self.0.get(key)).flatten();
        Origin::union(found.copied().map(Origin::after))
    }

    fn operations(&self, name: &SmolStr, module: &ModuleInstance) -> Vec<OperationId> {
        let keys = [(name.clone(), None), (name.clone(), Some(module.clone()))];
        keys.iter().filter_map(|key| self.0.get(key)).flatten().copied().collect()
    }
}

/// Whether a resource as configured, by its address as text, is one of a module itself, not of one that it calls.
pub(super) fn is_of_module(name: &str, module: &Module) -> bool {
    let within = match module.is_root() {
        true => Some(name),
        false => name.strip_prefix(module.to_string().as_str()).and_then(|rest| rest.strip_prefix('.')),
    };
    within.is_some_and(|rest| !rest.starts_with("module."))
}

impl Ordering {
    /// Takes a delete.
    pub(crate) fn delete(&mut self, resource: AbsResource, delete: Delete) {
        self.deletes.entry(resource).or_default().push(delete);
    }

    /// Takes something that goes and depended on these.
    pub(crate) fn goes(&mut self, operation: OperationId, module: &ModuleInstance, names: &[SmolStr]) {
        self.deleted.note(names, module, operation);
    }

    /// Takes something that is created or changed and depends on these, or did.
    pub(crate) fn changes(&mut self, operation: OperationId, module: &ModuleInstance, names: &[SmolStr]) {
        self.changed.note(names, module, operation);
    }

    /// Takes something that is changed, or created after its old object went, and by what state has depended on these.
    pub(crate) fn follows(&mut self, operation: OperationId, module: &ModuleInstance, names: &[SmolStr]) {
        self.following.note(names, module, operation);
    }

    /// Takes a data source that is read at apply and names these.
    pub(crate) fn reads(&mut self, operation: OperationId, resources: &[AbsResource]) {
        self.read.push((operation, resources.to_vec()));
    }

    /// Takes a data source that is read when everything else is done.
    pub(crate) fn reads_last(&mut self, operation: OperationId) {
        self.read_last.push(operation);
    }
}

impl Planning {
    /// Draws the edges of deletes, once all of them are drafted.
    ///
    /// Everything that is deleted and named the resource among its stored dependencies is deleted first. Then the
    /// object goes, and only then what depended on it is changed; not so when the new object is there already, or when
    /// the resource is replaced by creating first: then the object goes last. Data sources see what is left. For each
    /// resource one set serves all its instances, so edges grow with instances and not with pairs of them.
    pub(crate) fn order_deletes(&self) {
        let ordering = std::mem::take(&mut *self.ordering.lock());
        let mut gone: FxHashMap<&AbsResource, Origin> = FxHashMap::default();
        for (resource, deletes) in &ordering.deletes {
            let name = SmolStr::from(resource.config().to_string());
            let deleted = ordering.deleted.of(&name, &resource.module);
            let changed = ordering.changed.of(&name, &resource.module);
            let mut first = Vec::new();
            for delete in deletes {
                self.builder.wait(delete.first, deleted.clone());
                match delete.kind {
                    DeleteKind::AfterCreate => self.builder.wait(delete.first, changed.clone()),
                    DeleteKind::Final if delete.create_first => self.builder.wait(delete.first, changed.clone()),
                    DeleteKind::Final => first.push(delete.last),
                    DeleteKind::BeforeCreate => {}
                }
            }
            let Some(before) = Origin::union(first.into_iter().map(Origin::after)) else { continue };
            for operation in ordering.following.operations(&name, &resource.module) {
                self.builder.wait(operation, Some(before.clone()));
            }
            gone.insert(resource, before);
        }
        for (read, resources) in &ordering.read {
            self.builder.wait(*read, Origin::union(resources.iter().filter_map(|r| gone.get(r)).cloned()));
        }
        self.order_last_reads(&ordering.read_last);
        self.remove_after(|address| ordering.deleted.of(&SmolStr::from(address.config().to_string()), &address.module));
    }

    /// What a check block looks at is looked at when everything else is done.
    fn order_last_reads(&self, reads: &[OperationId]) {
        if reads.is_empty() {
            return;
        }
        let own: FxHashSet<OperationId> = reads.iter().copied().collect();
        let others: Vec<OperationId> =
            self.in_shard.lock().values().flatten().filter(|operation| !own.contains(*operation)).copied().collect();
        let done = Origin::union(others.into_iter().map(Origin::after));
        reads.iter().for_each(|read| self.builder.wait(*read, done.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_addresses() {
        let root = Module::default();
        let (m, n) = (root.child("m"), root.child("m").child("n"));
        assert!(is_of_module("a.b", &root) && !is_of_module("module.m.a.b", &root));
        assert!(is_of_module("module.m.data.a.b", &m) && !is_of_module("module.m.module.n.a.b", &m));
        assert!(is_of_module("module.m.module.n.a.b", &n) && !is_of_module("module.mm.a.b", &m));
    }
}
