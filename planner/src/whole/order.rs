//! The order of deletes: before an object is deleted, its dependents are changed or deleted.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use weft_evaluator::glue::NamedObjects;
use weft_graph_format::address::{
    AbsResource, ConfigResource, InstanceKey, ModuleInstance, ProviderConfig, ProviderInstance, ResourceInstance,
};
use weft_graph_format::graph::OperationId;
use weft_graph_format::origin::Origin;

use crate::prior_state::Names;

/// The drafted operations that determine the order of deletes.
#[derive(Debug, Default)]
pub(crate) struct DeleteOrder {
    names: Names,
    /// Deletes by resource.
    deletes: BTreeMap<AbsResource, Vec<Delete>>,
    /// Deletes and forgets by their stored dependencies.
    deleted: Dependents,
    /// The provider configurations of deletes.
    providers: FxHashMap<OperationId, u32>,
    /// The numbers of provider configurations.
    numbers: FxHashMap<ProviderConfig, u32>,
    /// Deletes that come before the changes of their stored dependencies.
    deleted_first: Dependents,
    /// Deletes that come after the changes of their stored dependencies.
    deleted_last: Vec<(OperationId, ModuleInstance, Vec<Arc<ConfigResource>>)>,
    /// Creates and updates by their resource.
    made: BTreeMap<AbsResource, Made>,
    /// Creates and updates by their dependencies, old and new.
    changed: Dependents,
    /// Creates and updates that may come after the delete of an old dependency, by their stored dependencies.
    following: Dependents,
    /// Data sources that are read at apply, with the resources that they name.
    read: Vec<(OperationId, Vec<ReadObjects>)>,
    /// Data sources of check blocks that are read at apply.
    read_last: Vec<OperationId>,
}

/// A delete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delete {
    /// The first operation: its first provisioner, or the delete itself.
    pub(crate) first: OperationId,
    /// The delete itself.
    pub(crate) last: OperationId,
    pub(crate) kind: DeleteKind,
    /// Whether the state records the resource as create-first.
    pub(crate) create_first: bool,
}

impl Delete {
    /// Whether the object is deleted after its dependencies are changed, instead of before.
    fn is_last(&self) -> bool {
        self.kind == DeleteKind::AfterCreate || self.kind == DeleteKind::Final && self.create_first
    }
}

/// The position of a delete relative to a create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeleteKind {
    /// The object is not replaced.
    Final,
    /// The new object is created after the delete.
    BeforeCreate,
    /// The new object is created before the delete.
    AfterCreate,
}

/// Creates and updates of a resource by the key of the instance.
type Made = BTreeMap<InstanceKey, Vec<OperationId>>;

/// Objects that a data source refers to.
#[derive(Clone, Debug)]
pub(crate) struct ReadObjects {
    pub(crate) named: NamedObjects,
    /// Whether the reference names a single instance, and apply evaluates the conditions of this instance.
    pub(crate) has_conditions: bool,
}

/// An operation, and the operations that it additionally waits for.
pub(crate) type Wait = (OperationId, Option<Origin>);

/// Operations by the configured resource that they depend on. If an operation is in the same module as this resource,
/// it depends only on objects in its own module instance, because instances of a module are independent of each other.
/// In this case, the key also contains the module instance. Otherwise, `None` stands for all module instances.
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

    /// All operations that depend on the instances of a resource, as one set.
    fn of(&self, resource: &AbsResource) -> Option<Origin> {
        Origin::union(self.operations(resource).map(Origin::after))
    }
}

impl DeleteOrder {
    /// Adds a delete of an object with these stored dependencies.
    pub(crate) fn delete(
        &mut self,
        resource: AbsResource,
        provider: &ProviderInstance,
        delete: Delete,
        names: &[SmolStr],
    ) {
        let module = resource.module.clone();
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(provider.config()).or_insert(next);
        self.providers.insert(delete.last, number);
        self.deleted.note(&mut self.names, names, &module, delete.last);
        if delete.is_last() {
            let dependencies: Vec<_> = names.iter().filter_map(|text| self.names.resource(text)).collect();
            self.deleted_last.push((delete.first, module, dependencies));
        } else {
            self.deleted_first.note(&mut self.names, names, &module, delete.last);
        }
        self.deletes.entry(resource).or_default().push(delete);
    }

    /// Adds a create or an update of an object.
    pub(crate) fn makes(&mut self, address: &ResourceInstance, operation: OperationId) {
        self.made.entry(address.all()).or_default().entry(address.key.clone()).or_default().push(operation);
    }

    /// Adds an operation that deletes or forgets an object with these dependencies.
    pub(crate) fn goes(&mut self, operation: OperationId, module: &ModuleInstance, names: &[SmolStr]) {
        self.deleted.note(&mut self.names, names, module, operation);
    }

    /// Adds a create or an update of an object with these dependencies, old or new.
    pub(crate) fn changes(&mut self, operation: OperationId, module: &ModuleInstance, names: &[SmolStr]) {
        self.changed.note(&mut self.names, names, module, operation);
    }

    /// Adds an update, or a create that follows a delete, with its stored dependencies.
    pub(crate) fn follows(&mut self, operation: OperationId, module: &ModuleInstance, names: &[SmolStr]) {
        self.following.note(&mut self.names, names, module, operation);
    }

    /// Adds a data source that is read at apply and refers to these objects.
    pub(crate) fn reads(&mut self, operation: OperationId, objects: Vec<ReadObjects>) {
        self.read.push((operation, objects));
    }

    /// Adds a data source that is read last.
    pub(crate) fn reads_last(&mut self, operation: OperationId) {
        self.read_last.push(operation);
    }

    /// The operations that must have deleted all dependents before an object is removed from the state.
    pub(crate) fn gone_before(&self, resource: &AbsResource) -> Option<Origin> {
        self.deleted.of(resource)
    }

    /// The waits of deletes. Call this when all deletes are drafted. `in_shards` are all operations in the shards of
    /// provider instances.
    ///
    /// - The deletes of the dependents of an object come first, then the delete of the object, and last the changes of
    ///   the other dependents.
    /// - There are two exceptions, in which the object is deleted last: if its replacement is created before the
    ///   delete, or if the state records the object as create-first.
    /// - A data source that is read at apply waits for the creates and updates of the resources that it refers to, and
    ///   for the deletes of their objects. It does not wait for the deletes of objects that are replaced or deleted
    ///   last. If it names a single instance that apply evaluates, it waits for the creates and updates of this
    ///   instance only.
    /// - A data source of a check block also waits for all operations that are not reads.
    ///
    /// The waits of all instances of a resource share one set of operations, so the number of edges is linear in the
    /// number of instances.
    pub(crate) fn waits(&self, in_shards: impl Iterator<Item = OperationId>) -> Vec<Wait> {
        let [mut waits, _] = self.between_deletes();
        let mut gone: FxHashMap<&AbsResource, Origin> = FxHashMap::default();
        for (resource, deletes) in &self.deletes {
            let changed = self.changed.of(resource);
            let mut first = Vec::new();
            for delete in deletes {
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
        let mut whole: FxHashMap<&AbsResource, Option<Origin>> = FxHashMap::default();
        for (read, objects) in &self.read {
            let mut before = Vec::new();
            for objects in objects {
                let resource = &objects.named.resource;
                before.extend(gone.get(resource).cloned());
                before.extend(match self.made_alone(objects) {
                    Some(made) => made,
                    None => whole.entry(resource).or_insert_with(|| self.made_of(resource)).clone(),
                });
            }
            waits.push((*read, Origin::union(before)));
        }
        waits.extend(self.last_reads(in_shards));
        waits
    }

    /// The creates and updates of a resource.
    fn made_of(&self, resource: &AbsResource) -> Option<Origin> {
        let operations = self.made.get(resource)?.values().flatten();
        Origin::union(operations.copied().map(Origin::after))
    }

    /// The creates and updates of a named instance. `None` if a reference to this instance counts as a reference to the
    /// whole resource, as in OpenTofu: if apply does not evaluate the instance.
    fn made_alone(&self, objects: &ReadObjects) -> Option<Option<Origin>> {
        let key = objects.named.key.as_ref()?;
        match self.made.get(&objects.named.resource).and_then(|made| made.get(key)) {
            Some(operations) => Some(Origin::union(operations.iter().copied().map(Origin::after))),
            None => objects.has_conditions.then_some(None),
        }
    }

    /// The deletes and forgets of the dependents of a resource. The first part contains the deletes with this provider
    /// configuration, and the forgets. The second part contains the deletes with other provider configurations.
    fn deleted_by_provider(&self, resource: &AbsResource, provider: Option<u32>) -> [Option<Origin>; 2] {
        let is_same = |operation: &OperationId| {
            let own = self.providers.get(operation).copied();
            own.is_none() || own == provider
        };
        let (same, other): (Vec<_>, Vec<_>) = self.deleted.operations(resource).partition(is_same);
        [same, other].map(|operations| Origin::union(operations.into_iter().map(Origin::after)))
    }

    /// The waits of deletes for the deletes and forgets of dependents. The first part contains the necessary waits. The
    /// second part contains the waits between different provider configurations.
    fn between_deletes(&self) -> [Vec<Wait>; 2] {
        let mut waits = [Vec::new(), Vec::new()];
        for (resource, deletes) in &self.deletes {
            let mut known: BTreeMap<Option<u32>, [Option<Origin>; 2]> = BTreeMap::new();
            for delete in deletes {
                let provider = self.providers.get(&delete.last).copied();
                let before = known.entry(provider).or_insert_with(|| self.deleted_by_provider(resource, provider));
                for (waits, origin) in waits.iter_mut().zip(before) {
                    waits.push((delete.first, origin.clone()));
                }
            }
        }
        waits
    }

    /// Preferred waits between deletes and the changes of the dependencies of the deleted objects. A delete comes
    /// before these changes. The exception is the delete of a create-first object, which comes after these changes. The
    /// result includes the waits between deletes with different provider configurations. A provider may be configured
    /// from a changed object, so the waits can make cycles. That is why they are only preferred.
    pub(crate) fn preferred(&self) -> Vec<Wait> {
        let [_, mut waits] = self.between_deletes();
        let mut made: FxHashMap<(ConfigResource, Option<&ModuleInstance>), Vec<&Made>> = FxHashMap::default();
        for (resource, objects) in &self.made {
            let before = self.deleted_first.of(resource);
            if before.is_some() {
                waits.extend(objects.values().flatten().map(|operation| (*operation, before.clone())));
            }
            if !self.deleted_last.is_empty() {
                for module in [None, Some(&resource.module)] {
                    made.entry((resource.config(), module)).or_default().push(objects);
                }
            }
        }
        let mut unions: FxHashMap<(&ConfigResource, Option<&ModuleInstance>), Option<Origin>> = FxHashMap::default();
        for (delete, module, dependencies) in &self.deleted_last {
            let own = module.config();
            for dependency in dependencies {
                let key = (&**dependency, (dependency.module == own).then_some(module));
                let union = unions.entry(key).or_insert_with(|| {
                    let made = made.get(&((**dependency).clone(), key.1)).into_iter().flatten();
                    let operations = made.flat_map(|objects| objects.values().flatten());
                    Origin::union(operations.copied().map(Origin::after))
                });
                waits.push((*delete, union.clone()));
            }
        }
        waits.retain(|(_, origin)| origin.is_some());
        waits
    }

    /// The waits of data sources in check blocks. These are read after all other operations, except other reads.
    fn last_reads(&self, in_shards: impl Iterator<Item = OperationId>) -> Vec<Wait> {
        if self.read_last.is_empty() {
            return Vec::new();
        }
        let reads = self.read_last.iter().chain(self.read.iter().map(|(read, _)| read));
        let reads: FxHashSet<OperationId> = reads.copied().collect();
        let others = in_shards.filter(|operation| !reads.contains(operation));
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

    fn read(text: &str, key: Option<i64>, has_conditions: bool) -> ReadObjects {
        ReadObjects { named: NamedObjects { resource: resource(text), key: key.map(InstanceKey::Int) }, has_conditions }
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

    fn delete(ordering: &mut DeleteOrder, address: &str, id: u32, kind: DeleteKind, create_first: bool) {
        let operation = OperationId(id);
        let delete = Delete { first: operation, last: operation, kind, create_first };
        ordering.delete(resource(address), &provider("a"), delete, &[]);
    }

    fn provider(name: &str) -> ProviderInstance {
        format!("provider[\"registry.opentofu.org/hashicorp/{name}\"]").parse().unwrap()
    }

    /// A deleted object, with a deleted dependent, a changed dependent, and a reader.
    #[test]
    fn operations_around_a_delete_are_ordered() {
        for (kind, create_first, want) in [
            (DeleteKind::Final, false, vec![(0, vec![1]), (2, vec![0]), (3, vec![0])]),
            (DeleteKind::Final, true, vec![(0, vec![1, 2])]),
            (DeleteKind::BeforeCreate, false, vec![(0, vec![1])]),
            (DeleteKind::AfterCreate, false, vec![(0, vec![1, 2])]),
        ] {
            let mut ordering = DeleteOrder::default();
            let root = ModuleInstance::root();
            delete(&mut ordering, "a.x", 0, kind, create_first);
            ordering.goes(OperationId(1), &root, &names(&["a.x"]));
            ordering.changes(OperationId(2), &root, &names(&["a.x"]));
            ordering.follows(OperationId(2), &root, &names(&["a.x"]));
            ordering.reads(OperationId(3), vec![read("a.x", None, false)]);
            assert_eq!(shown(&ordering.waits([].into_iter())), want, "{kind:?} {create_first}");
        }
    }

    /// `b.x`, which depended on `a.x`, is deleted. `a.x` is changed, and so is `c.x`.
    #[test]
    fn changes_wait_for_deletes_of_dependents() {
        for (kind, create_first, want) in [
            (DeleteKind::Final, false, vec![(1, vec![0])]),
            (DeleteKind::BeforeCreate, false, vec![(1, vec![0])]),
            (DeleteKind::BeforeCreate, true, vec![(1, vec![0])]),
            (DeleteKind::Final, true, vec![(0, vec![1])]),
            (DeleteKind::AfterCreate, true, vec![(0, vec![1])]),
        ] {
            let mut ordering = DeleteOrder::default();
            let delete = Delete { first: OperationId(0), last: OperationId(0), kind, create_first };
            ordering.delete(resource("b.x"), &provider("a"), delete, &names(&["a.x", "no address"]));
            ordering.makes(&"a.x".parse().unwrap(), OperationId(1));
            ordering.makes(&"c.x".parse().unwrap(), OperationId(2));
            assert_eq!(shown(&ordering.preferred()), want, "{kind:?} {create_first}");
        }
    }

    /// The deleted objects are in two module instances and outside of both.
    #[test]
    fn changes_wait_for_deletes_of_their_own_module_instance() {
        for (create_first, want) in
            [(false, vec![(3, vec![0, 2]), (4, vec![1, 2])]), (true, vec![(0, vec![3]), (1, vec![4]), (2, vec![3, 4])])]
        {
            let mut ordering = DeleteOrder::default();
            for (address, id) in [("module.m[0].b.x", 0), ("module.m[1].b.x", 1), ("b.y", 2)] {
                let operation = OperationId(id);
                let delete = Delete { first: operation, last: operation, kind: DeleteKind::Final, create_first };
                ordering.delete(resource(address), &provider("a"), delete, &names(&["module.m.a.x"]));
            }
            ordering.makes(&"module.m[0].a.x".parse().unwrap(), OperationId(3));
            ordering.makes(&"module.m[1].a.x".parse().unwrap(), OperationId(4));
            assert_eq!(shown(&ordering.preferred()), want, "{create_first}");
        }
    }

    /// `b.x` depends on `a.x`, and both are deleted. The provider of `b.x` can be configured from `a.x`.
    #[test]
    fn deletes_with_different_providers_prefer_an_order() {
        for (other, hard) in [("a", true), ("b", false)] {
            let mut ordering = DeleteOrder::default();
            let one = |id| {
                let id = OperationId(id);
                Delete { first: id, last: id, kind: DeleteKind::BeforeCreate, create_first: false }
            };
            ordering.delete(resource("a.x"), &provider("a"), one(0), &[]);
            ordering.delete(resource("b.x"), &provider(other), one(1), &names(&["a.x"]));
            let want = vec![(0, vec![1])];
            let (waits, preferred) = (shown(&ordering.waits([].into_iter())), shown(&ordering.preferred()));
            assert_eq!((waits, preferred), if hard { (want, vec![]) } else { (vec![], want) });
        }
    }

    #[test]
    fn data_sources_wait_for_the_objects_that_they_name() {
        for (key, has_conditions, want) in [
            (None, false, vec![0, 1]),
            (Some(1), false, vec![1]),
            (Some(7), false, vec![0, 1]),
            (Some(7), true, vec![]),
        ] {
            let mut ordering = DeleteOrder::default();
            for (id, address) in ["a.x[0]", "a.x[1]", "a.y"].into_iter().enumerate() {
                ordering.makes(&address.parse().unwrap(), OperationId(id as u32));
            }
            ordering.reads(OperationId(3), vec![read("a.x", key, has_conditions)]);
            let waits: Vec<u32> = shown(&ordering.waits([].into_iter())).into_iter().flat_map(|(_, ids)| ids).collect();
            assert_eq!(waits, want, "{key:?}");
        }
    }

    #[test]
    fn instances_of_a_module_do_not_wait_for_each_other() {
        let mut ordering = DeleteOrder::default();
        let module = |text: &str| text.parse::<ModuleInstance>().unwrap();
        delete(&mut ordering, "module.m[0].a.x", 0, DeleteKind::Final, false);
        delete(&mut ordering, "module.m[1].a.x", 1, DeleteKind::Final, false);
        ordering.goes(OperationId(2), &module("module.m[1]"), &names(&["module.m.a.x", "no address"]));
        // A dependent outside the module may depend on any of its instances.
        ordering.goes(OperationId(3), &ModuleInstance::root(), &names(&["module.m.a.x"]));
        ordering.goes(OperationId(4), &module("module.m[0].module.n"), &names(&["module.m.a.x"]));
        assert_eq!(shown(&ordering.waits([].into_iter())), [(0, vec![3, 4]), (1, vec![2, 3, 4])]);
        assert_eq!(ordering.gone_before(&resource("module.m[7].a.x")).map(|o| operations(&o).len()), Some(2));
    }

    #[test]
    fn data_sources_of_checks_are_read_last() {
        let mut ordering = DeleteOrder::default();
        ordering.reads_last(OperationId(1));
        ordering.reads_last(OperationId(2));
        let all = (0..4).map(OperationId);
        assert_eq!(shown(&ordering.waits(all)), [(1, vec![0, 3]), (2, vec![0, 3])]);
    }
}
