//! Partial plans: the selected objects, and placeholders for the rest.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use weft_evaluator::Declared;
use weft_evaluator::glue::{Expansion, ExpansionKind};
use weft_evaluator::selection::Selection;
use weft_expressions::resource_rules::all_null;
use weft_graph_format::address::{
    AbsResource, ConfigResource, InstanceKey, Module, ModuleInstance, ProviderConfig, ResourceInstance, ResourceMode,
};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::Formula;
use weft_graph_format::schema::Schema;
use weft_graph_format::value::Value;

use super::problems;
use crate::prior_state::{Names, PriorState};

/// An object with its stored dependencies.
#[derive(Clone, Debug)]
pub(crate) struct Dependent {
    pub(crate) address: ResourceInstance,
    pub(crate) needs: Vec<Arc<ConfigResource>>,
    /// Whether the object is managed, and its provider is excluded.
    pub(crate) lacks_provider: bool,
}

/// The objects of a state. Dependencies on data sources count, too. `excluded` are the provider configurations that the
/// selection excludes.
pub(crate) fn dependents(state: &PriorState, excluded: &BTreeSet<ProviderConfig>) -> Vec<Dependent> {
    let mut names = Names::default();
    let found = state.iter().map(|(address, stored)| Dependent {
        address: address.clone(),
        needs: stored.instance.record.dependencies().into_iter().filter_map(|text| names.resource(text)).collect(),
        lacks_provider: !excluded.is_empty()
            && address.resource.mode == ResourceMode::Managed
            && stored.provider().is_ok_and(|provider| excluded.contains(&provider.config())),
    });
    found.collect()
}

/// The objects that a destroy plan covers.
///
/// Dependents of a destroyed object are destroyed, too. Dependencies of an excluded object stay. Both rules use the
/// dependencies in the state. An object whose provider is excluded counts as excluded.
pub(crate) fn destroyed(objects: &[Dependent], selection: &Selection) -> BTreeSet<ResourceInstance> {
    let mut graph = Linked::of(objects);
    let keeps = matches!(selection, Selection::AllBut(_));
    let mut found = vec![false; objects.len()];
    let mut pending: Vec<usize> = (0..objects.len())
        .filter(|index| objects[*index].lacks_provider || selection.covers(&objects[*index].address) != keeps)
        .collect();
    while let Some(index) = pending.pop() {
        if !std::mem::replace(&mut found[index], true) {
            pending.extend(if keeps { graph.needed_by(index) } else { graph.depending_on(index) });
        }
    }
    let chosen = objects.iter().zip(found).filter(|(_, found)| *found != keeps);
    chosen.map(|(object, _)| object.address.clone()).collect()
}

/// A configured resource that another object may depend on. The module instance is set if that object is in the same
/// module, because instances of a module are independent of each other.
type Link = (Arc<ConfigResource>, Option<ModuleInstance>);

/// Objects by resource and by dependency. Entries are removed when they are followed, so the number of steps of a walk
/// is linear in the number of objects and dependencies.
struct Linked<'a> {
    objects: &'a [Dependent],
    is: FxHashMap<Link, Vec<usize>>,
    needs: FxHashMap<Link, Vec<usize>>,
    #[cfg(test)]
    steps: usize,
}

impl<'a> Linked<'a> {
    fn of(objects: &'a [Dependent]) -> Linked<'a> {
        let (mut is, mut needs): (FxHashMap<Link, Vec<usize>>, FxHashMap<Link, Vec<usize>>) = Default::default();
        for (index, object) in objects.iter().enumerate() {
            for own in links(&object.address) {
                is.entry(own).or_default().push(index);
            }
            for link in needs_of(object) {
                needs.entry(link).or_default().push(index);
            }
        }
        Linked {
            objects,
            is,
            needs,
            #[cfg(test)]
            steps: 0,
        }
    }

    fn depending_on(&mut self, index: usize) -> Vec<usize> {
        let found = links(&self.objects[index].address).into_iter().filter_map(|own| self.needs.remove(&own));
        let found: Vec<usize> = found.flatten().collect();
        self.count(found)
    }

    fn needed_by(&mut self, index: usize) -> Vec<usize> {
        let found = needs_of(&self.objects[index]).filter_map(|link| self.is.remove(&link));
        let found: Vec<usize> = found.flatten().collect();
        self.count(found)
    }

    fn count(&mut self, found: Vec<usize>) -> Vec<usize> {
        #[cfg(test)]
        {
            self.steps += found.len() + 1;
        }
        found
    }
}

fn links(address: &ResourceInstance) -> [Link; 2] {
    let config = Arc::new(address.config());
    [(config.clone(), None), (config, Some(address.module.clone()))]
}

fn needs_of(object: &Dependent) -> impl Iterator<Item = Link> {
    let own = object.address.module.config();
    let module = &object.address.module;
    object.needs.iter().map(move |needed| (needed.clone(), (needed.module == own).then(|| module.clone())))
}

/// The warning that the plan is partial.
pub(crate) fn in_effect(selection: &Selection, declared: &Declared) -> Option<Diagnostic> {
    let addresses = match selection {
        Selection::All => return None,
        Selection::Only(addresses) | Selection::AllBut(addresses) => addresses,
    };
    let repeats = |module: &Module| declared.module(module).is_some_and(|kind| kind != ExpansionKind::Single);
    let mut keyless = BTreeSet::new();
    for address in addresses {
        let config = address.module.config();
        // The last step of an address may have no key.
        let inner = address.module.0.len() - usize::from(address.resource.is_none());
        let left_out =
            address.module.0.iter().take(inner).enumerate().filter(|(_, step)| step.key == InstanceKey::None);
        keyless.extend(left_out.map(|(at, _)| Module(config.0.iter().take(at + 1).cloned().collect())).filter(repeats));
    }
    Some(problems::targeting_in_effect(&keyless))
}

/// Warnings for `-replace` options that name a resource without a key.
pub(crate) fn replacements_without_instance(
    replace: &[ResourceInstance],
    resource: &AbsResource,
    expansion: &Expansion,
) -> Vec<Diagnostic> {
    if expansion.keys.as_slice() == [InstanceKey::None] {
        return Vec::new();
    }
    let wishes = replace.iter().filter(|wish| wish.key == InstanceKey::None && wish.resource == resource.resource);
    wishes.map(|wish| problems::replace_without_key(wish, resource, &expansion.keys)).collect()
}

/// The placeholder for a missing instance: an unknown value with a formula.
pub(crate) fn nothing(schema: &Schema) -> Value {
    let ty = schema.block.implied_type();
    Value::unknown(ty).with_formula(Some(Formula::constant(all_null(&schema.block))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_evaluator::selection::SelectedAddress;

    fn objects(list: &[(&str, &[&str])]) -> Vec<Dependent> {
        let mut names = Names::default();
        list.iter()
            .map(|(address, needs)| Dependent {
                address: address.parse().unwrap(),
                needs: needs.iter().filter_map(|text| names.resource(text)).collect(),
                lacks_provider: false,
            })
            .collect()
    }

    fn selected(addresses: &[&str]) -> Vec<SelectedAddress> {
        addresses.iter().filter_map(|text| SelectedAddress::parse(text)).collect()
    }

    #[test]
    fn a_partial_destroy_covers_dependents() {
        let chain: &[(&str, &[&str])] = &[("a.x", &[]), ("a.y[0]", &["a.x"]), ("a.z", &["a.x", "a.y"]), ("a.w", &[])];
        let module: &[(&str, &[&str])] = &[
            ("module.m[0].a.x", &[]),
            ("module.m[0].a.y", &["module.m.a.x"]),
            ("module.m[1].a.x", &[]),
            ("module.m[1].a.y", &["module.m.a.x"]),
            ("a.z", &["module.m.a.x"]),
        ];
        let only = |names: &[&str]| Selection::Only(selected(names));
        let but = |names: &[&str]| Selection::AllBut(selected(names));
        for (state, selection, want) in [
            (chain, only(&["a.x"]), vec!["a.x", "a.y[0]", "a.z"]),
            (chain, only(&["a.y"]), vec!["a.y[0]", "a.z"]),
            (chain, only(&["a.w"]), vec!["a.w"]),
            (chain, but(&["a.z"]), vec!["a.w"]),
            (chain, but(&["a.y[0]"]), vec!["a.w", "a.z"]),
            (chain, Selection::All, vec!["a.w", "a.x", "a.y[0]", "a.z"]),
            (module, only(&["module.m[0].a.x"]), vec!["a.z", "module.m[0].a.x", "module.m[0].a.y"]),
            (module, but(&["module.m[1].a.y"]), vec!["a.z", "module.m[0].a.x", "module.m[0].a.y"]),
        ] {
            let found = destroyed(&objects(state), &selection);
            assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), want, "{selection:?}");
        }
    }

    /// All instances of a resource depend on all instances of another resource. Each dependency names a whole resource,
    /// so following it once for each instance would be quadratic.
    #[test]
    fn steps_grow_with_the_number_of_objects() {
        let steps = |count: usize, keeps: bool| {
            let mut names = Names::default();
            let mut list = Vec::new();
            for index in 0..count {
                let object = |name: &str, needs: &[&str], names: &mut Names| Dependent {
                    address: format!("a.{name}[{index}]").parse().unwrap(),
                    needs: needs.iter().filter_map(|text| names.resource(text)).collect(),
                    lacks_provider: false,
                };
                list.push(object("x", &[], &mut names));
                list.push(object("y", &["a.x"], &mut names));
                list.push(object("z", &["a.x", "a.y"], &mut names));
            }
            let mut graph = Linked::of(&list);
            for index in 0..list.len() {
                if keeps {
                    graph.needed_by(index)
                } else {
                    graph.depending_on(index)
                };
            }
            graph.steps
        };
        for keeps in [false, true] {
            let (few, many) = (steps(100, keeps), steps(1_000, keeps));
            assert!(many <= 10 * few, "{few} steps for 300 objects, {many} for 3,000");
        }
    }
}
