//! The order of deletes: what depends on an object is done with it before the object goes.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use weft_graph_format::address::{AbsResource, ConfigResource, ModuleInstance};
use weft_graph_format::graph::OperationId;
use weft_graph_format::origin::Origin;

use crate::prior_state::Names;

/// What is drafted for objects, for the order of deletes.
#[derive(Debug, Default)]
pub(crate) struct Ordering {
    names: Names,
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

/// An operation, and what it waits for beside what it uses.
pub(crate) type Wait = (OperationId, Option<Origin>);

/// Operations by the resource as configured that they depend on. Instances of a module that is repeated have nothing
/// to do with each other: what depends on a resource of its own module depends on its own instance alone.
#[derive(Debug, Default)]
struct Dependents(FxHashMap<(Arc<ConfigResource>, Option<ModuleInstance>), Vec<OperationId>>);

impl Dependents {
    fn note(&mut self, names: &mut Names, of: &[SmolStr], module: &ModuleInstance, operation: OperationId) {
        if of.is_empty() {
            return;
        }
        let own = module.config();
        for resource in of.iter().filter_map(|text| names.resource(text)) {
            let module = (resource.module == own).then(|| module.clone());
            self.0.entry((resource, module)).or_default().push(operation);
        }
    }

    fn operations(&self, resource: &AbsResource) -> impl Iterator<Item = OperationId> {
        let config = Arc::new(resource.config());
        let keys = [(config.clone(), None), (config, Some(resource.module.clone()))];
        keys.into_iter().filter_map(|key| self.0.get(&key)).flatten().copied()
    }

    /// What has to do with the instances of a resource, as one set.
    fn of(&self, resource: &AbsResource) -> Option<Origin> {
        Origin::union(self.operations(resource).map(Origin::after))
    }
}

impl Ordering {
    /// Takes a delete.
    pub(crate) fn delete(&mut self, resource: AbsResource, delete: Delete) {
        self.deletes.entry(resource).or_default().push(delete);
    }

    /// Takes something that goes and depended on these.
    pub(crate) fn goes(&mut self, operation: OperationId, module: &ModuleInstance, names: &[SmolStr]) {
        self.deleted.note(&mut self.names, names, module, operation);
    }

    /// Takes something that is created or changed and depends on these, or did.
    pub(crate) fn changes(&mut self, operation: OperationId, module: &ModuleInstance, names: &[SmolStr]) {
        self.changed.note(&mut self.names, names, module, operation);
    }

    /// Takes something that is changed, or created after its old object went, and by what state has depended on these.
    pub(crate) fn follows(&mut self, operation: OperationId, module: &ModuleInstance, names: &[SmolStr]) {
        self.following.note(&mut self.names, names, module, operation);
    }

    /// Takes a data source that is read at apply and names these.
    pub(crate) fn reads(&mut self, operation: OperationId, resources: &[AbsResource]) {
        self.read.push((operation, resources.to_vec()));
    }

    /// Takes a data source that is read when everything else is done.
    pub(crate) fn reads_last(&mut self, operation: OperationId) {
        self.read_last.push(operation);
    }

    /// What must be deleted before an object is taken out of state: everything that named it.
    pub(crate) fn gone_before(&self, resource: &AbsResource) -> Option<Origin> {
        self.deleted.of(resource)
    }

    /// The waits that deletes need, once all of them are drafted. `in_shards` are all operations of providers.
    ///
    /// Everything that is deleted and named the resource among its stored dependencies is deleted first. Then the
    /// object goes, and only then what depended on it is changed; not so when the new object is there already, or when
    /// the resource is replaced by creating first: then the object goes last. Data sources see what is left. For each
    /// resource one set serves all its instances, so edges grow with instances and not with pairs of them.
    pub(crate) fn waits(&self, in_shards: impl Iterator<Item = OperationId>) -> Vec<Wait> {
        let mut waits: Vec<Wait> = Vec::new();
        let mut gone: FxHashMap<&AbsResource, Origin> = FxHashMap::default();
        for (resource, deletes) in &self.deletes {
            let deleted = self.deleted.of(resource);
            let changed = self.changed.of(resource);
            let mut first = Vec::new();
            for delete in deletes {
                waits.push((delete.first, deleted.clone()));
                match delete.kind {
                    DeleteKind::AfterCreate => waits.push((delete.first, changed.clone())),
                    DeleteKind::Final if delete.create_first => waits.push((delete.first, changed.clone())),
                    DeleteKind::Final => first.push(delete.last),
                    DeleteKind::BeforeCreate => {}
                }
            }
            let Some(before) = Origin::union(first.into_iter().map(Origin::after)) else { continue };
            waits.extend(self.following.operations(resource).map(|operation| (operation, Some(before.clone()))));
            gone.insert(resource, before);
        }
        for (read, resources) in &self.read {
            waits.push((*read, Origin::union(resources.iter().filter_map(|r| gone.get(r)).cloned())));
        }
        waits.extend(self.last_reads(in_shards));
        waits
    }

    /// What a check block looks at is looked at when everything else is done.
    fn last_reads(&self, in_shards: impl Iterator<Item = OperationId>) -> Vec<Wait> {
        if self.read_last.is_empty() {
            return Vec::new();
        }
        let own: FxHashSet<OperationId> = self.read_last.iter().copied().collect();
        let others = in_shards.filter(|operation| !own.contains(operation));
        let done = Origin::union(others.map(Origin::after));
        self.read_last.iter().map(|read| (*read, done.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_graph_format::origin::OriginNode;

    fn resource(text: &str) -> AbsResource {
        text.parse().unwrap()
    }

    fn names(texts: &[&str]) -> Vec<SmolStr> {
        texts.iter().map(SmolStr::new).collect()
    }

    fn operations(origin: &Origin) -> Vec<u32> {
        match origin.node() {
            OriginNode::After(id) | OriginNode::BeforeDelete(id) => vec![id.0],
            OriginNode::Union(members) => members.iter().flat_map(operations).collect(),
        }
    }

    fn shown(waits: &[Wait]) -> Vec<(u32, Vec<u32>)> {
        let mut found: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (operation, origin) in waits {
            found.entry(operation.0).or_default().extend(origin.iter().flat_map(operations));
        }
        found.values_mut().for_each(|list| list.sort_unstable());
        found.into_iter().filter(|(_, list)| !list.is_empty()).collect()
    }

    fn delete(ordering: &mut Ordering, address: &str, id: u32, kind: DeleteKind, create_first: bool) {
        let operation = OperationId(id);
        ordering.delete(resource(address), Delete { first: operation, last: operation, kind, create_first });
    }

    /// An object that goes, one that named it and goes too, one that named it and is changed, and a reader of it.
    #[test]
    fn the_order_around_a_delete() {
        for (kind, create_first, want) in [
            (DeleteKind::Final, false, vec![(0, vec![1]), (2, vec![0]), (3, vec![0])]),
            (DeleteKind::Final, true, vec![(0, vec![1, 2])]),
            (DeleteKind::BeforeCreate, false, vec![(0, vec![1])]),
            (DeleteKind::AfterCreate, false, vec![(0, vec![1, 2])]),
        ] {
            let mut ordering = Ordering::default();
            let root = ModuleInstance::root();
            delete(&mut ordering, "a.x", 0, kind, create_first);
            ordering.goes(OperationId(1), &root, &names(&["a.x"]));
            ordering.changes(OperationId(2), &root, &names(&["a.x"]));
            ordering.follows(OperationId(2), &root, &names(&["a.x"]));
            ordering.reads(OperationId(3), &[resource("a.x")]);
            assert_eq!(shown(&ordering.waits([].into_iter())), want, "{kind:?} {create_first}");
        }
    }

    #[test]
    fn instances_of_a_module_have_nothing_to_do_with_each_other() {
        let mut ordering = Ordering::default();
        let module = |text: &str| text.parse::<ModuleInstance>().unwrap();
        delete(&mut ordering, "module.m[0].a.x", 0, DeleteKind::Final, false);
        delete(&mut ordering, "module.m[1].a.x", 1, DeleteKind::Final, false);
        ordering.goes(OperationId(2), &module("module.m[1]"), &names(&["module.m.a.x", "no address"]));
        // What stands outside of the module may mean any of its instances.
        ordering.goes(OperationId(3), &ModuleInstance::root(), &names(&["module.m.a.x"]));
        ordering.goes(OperationId(4), &module("module.m[0].module.n"), &names(&["module.m.a.x"]));
        assert_eq!(shown(&ordering.waits([].into_iter())), [(0, vec![3, 4]), (1, vec![2, 3, 4])]);
        assert_eq!(ordering.gone_before(&resource("module.m[7].a.x")).map(|o| operations(&o).len()), Some(2));
    }

    #[test]
    fn data_of_checks_is_read_last() {
        let mut ordering = Ordering::default();
        ordering.reads_last(OperationId(1));
        ordering.reads_last(OperationId(2));
        let all = (0..4).map(OperationId);
        assert_eq!(shown(&ordering.waits(all)), [(1, vec![0, 3]), (2, vec![0, 3])]);
    }
}
