//! Results of conditions, including those that were not evaluated.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use weft_evaluator::config::CompiledModule;
use weft_evaluator::config::reach::{NeededParts, applied, destroyed, planned};
use weft_evaluator::selection::Selection;
use weft_evaluator::{LOCAL_MODULE, REMOTE_MODULE, create_first};
use weft_graph_format::address::{
    AbsResource, ConfigResource, InstanceKey, Module, ModuleInstance, ProviderConfig, ResourceInstance, ResourceMode,
};
use weft_graph_format::changes::{ChangeAction, Changes, ResourceChange};
use weft_graph_format::checked::CheckedAddress;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::graph::Action;
use weft_graph_format::plan_file::{CheckResult, CheckStatus, CheckedKind};

use crate::evaluated::Evaluated;
use crate::facts::Facts;

/// A part of the configuration with conditions.
enum CheckedPart {
    Resource(ConfigResource),
    Named(CheckedKind, Module, SmolStr),
}

/// The objects that the plan and its apply evaluate.
struct Looks {
    at_plan: NeededParts,
    at_apply: NeededParts,
    /// Data sources that apply reads.
    read: BTreeSet<ResourceInstance>,
}

/// An object that has conditions.
struct Object {
    /// The address of the object.
    text: String,
    /// The parsed address of the object, if the object is an instance of a resource.
    instance: Option<ResourceInstance>,
}

impl Object {
    fn of(instance: ResourceInstance) -> Object {
        Object { text: instance.to_string(), instance: Some(instance) }
    }
}

impl CheckedPart {
    fn kind(&self) -> CheckedKind {
        match self {
            CheckedPart::Resource(_) => CheckedKind::Resource,
            CheckedPart::Named(kind, ..) => *kind,
        }
    }

    /// The configured address.
    fn address(&self) -> String {
        match self {
            CheckedPart::Resource(config) => config.to_string(),
            CheckedPart::Named(kind, module, name) if module.is_root() => format!("{}.{name}", word(*kind)),
            CheckedPart::Named(kind, module, name) => format!("{module}.{}.{name}", word(*kind)),
        }
    }
}

/// The first word in addresses of objects of this kind.
fn word(kind: CheckedKind) -> &'static str {
    match kind {
        CheckedKind::Check => "check",
        CheckedKind::Variable => "var",
        CheckedKind::Resource | CheckedKind::Output | CheckedKind::UnusedOutput => "output",
    }
}

/// Whether apply changes the current object.
fn is_active(change: &ResourceChange) -> bool {
    !matches!(change.action, ChangeAction::Only(Action::NoOp | Action::Delete | Action::Forget))
}

/// The results of all conditions, ordered by address.
pub(crate) fn check_results(facts: &Facts, evaluated: &Evaluated, changes: &[ResourceChange]) -> Vec<CheckResult> {
    let checked = configured_checks(&facts.root);
    if checked.is_empty() {
        return Vec::new();
    }
    let looks = looks(facts, evaluated, changes);
    let modules = module_instances(&facts.root, evaluated);
    let mut results = BTreeMap::new();
    for one in checked {
        let (kind, config) = (one.kind(), one.address());
        let unreached = |object: &Object| {
            let known = evaluated.checks.get(&(kind, object.text.clone()));
            known.is_some_and(|result| result.status == CheckStatus::Unreached)
        };
        let none = |status| CheckResult {
            address: CheckedAddress::read(&config),
            kind,
            status,
            messages: Vec::new(),
            again: true,
        };
        match objects(&one, evaluated, &looks.at_plan, &modules).filter(|found| !found.iter().any(unreached)) {
            None => drop(results.insert((kind, config.clone()), none(CheckStatus::Unreached))),
            Some(found) if found.is_empty() => {
                results.insert((kind, config.clone()), none(CheckStatus::Absent));
            }
            Some(found) => {
                for object in found {
                    let mut result = match evaluated.checks.get(&(kind, object.text.clone())) {
                        Some(result) if !facts.rules.empties_state || kind != CheckedKind::Output => result.clone(),
                        _ => CheckResult { address: CheckedAddress::read(&object.text), ..none(CheckStatus::Unknown) },
                    };
                    result.again = facts.rules.looks_again || is_looked_at_again(facts, &one, &object, &looks);
                    results.insert((kind, object.text), result);
                }
            }
        }
    }
    results.into_values().collect()
}

/// Removes warnings about deprecated values and variables that apply does not evaluate.
pub(crate) fn drop_unreached(facts: &Facts, evaluated: &Evaluated, warnings: &mut Vec<Diagnostic>, changes: &Changes) {
    let of_module = |warning: &Diagnostic| warning.code == LOCAL_MODULE || warning.code == REMOTE_MODULE;
    if !warnings.iter().any(of_module) {
        return;
    }
    let reach = looks(facts, evaluated, &changes.resources).at_apply;
    let changed = changes.resources.iter().filter(|change| is_active(change));
    let changed: BTreeSet<ConfigResource> = changed.map(|change| change.address.config()).collect();
    // Diagnostics name instances by text.
    let users: FxHashMap<String, ConfigResource> =
        evaluated.desired.iter().map(|address| (address.to_string(), address.config())).collect();
    let settled = changes.outputs.iter().filter(|(_, change)| change.after.is_wholly_known());
    let settled: BTreeSet<SmolStr> = settled.map(|(name, _)| name.clone()).collect();
    let mut bare = Vec::new();
    warnings.retain(|warning| {
        let (Some(place), true) = (&warning.subject, of_module(warning)) else { return true };
        match warning.address.as_ref().and_then(|address| users.get(address)) {
            Some(user) if changed.contains(user) => {
                // OpenTofu evaluates the block twice, and its second warning has only the source range.
                bare.push(Diagnostic { address: None, ..warning.clone() });
                true
            }
            Some(_) => false,
            None => reach.comes_to(&facts.root, place, &settled),
        }
    });
    warnings.append(&mut bare);
    warnings.dedup();
}

/// Removes other warnings about instances that apply does not plan again, because they do not change.
pub(crate) fn drop_unchanged(evaluated: &Evaluated, warnings: &mut Vec<Diagnostic>, changes: &Changes) {
    if warnings.iter().all(|warning| warning.address.is_none()) {
        return;
    }
    // Diagnostics name instances by text.
    let desired: FxHashSet<String> = evaluated.desired.iter().map(ToString::to_string).collect();
    let changed = changes.resources.iter().filter(|change| is_active(change));
    let changed: FxHashSet<String> = changed.map(|change| change.address.to_string()).collect();
    warnings.retain(|warning| {
        let of_module = warning.code == LOCAL_MODULE || warning.code == REMOTE_MODULE;
        let address = warning.address.as_ref().filter(|address| !of_module && desired.contains(*address));
        address.is_none_or(|address| changed.contains(address))
    });
}

fn looks(facts: &Facts, evaluated: &Evaluated, changes: &[ResourceChange]) -> Looks {
    let selection = facts.selection();
    let read = changes.iter().filter(|change| change.action == ChangeAction::Only(Action::Read));
    let read = read.map(|change| change.address.clone()).collect();
    if !facts.rules.empties_state {
        let at_apply = applied(&facts.root, selection, &active(facts, evaluated, changes));
        return Looks { at_plan: planned(&facts.root, selection), at_apply, read };
    }
    let going = facts.state.managed().filter(|(address, _)| facts.is_selected_to_go(address));
    let providers: BTreeSet<ProviderConfig> =
        going.filter_map(|(address, stored)| Some(facts.provider_of(address, stored).ok()?.config())).collect();
    let reach = destroyed(&facts.root, &providers, *selection == Selection::All);
    let at_apply = NeededParts { outputs: BTreeSet::new(), ..reach.clone() };
    Looks { at_plan: reach, at_apply, read }
}

/// The resources that apply evaluates: changed resources, and resources with conditions.
pub(crate) fn active(facts: &Facts, evaluated: &Evaluated, changes: &[ResourceChange]) -> BTreeSet<ConfigResource> {
    let changed = changes.iter().filter(|change| is_active(change)).map(|change| change.address.config());
    let kept = evaluated.desired.iter().filter(|address| is_kept_for_conditions(facts, address));
    changed.chain(kept.map(ResourceInstance::config)).collect()
}

/// The instances that apply evaluates: changed instances, and instances with conditions.
pub(crate) fn evaluated_instances(
    facts: &Facts,
    evaluated: &Evaluated,
    changes: &[ResourceChange],
) -> BTreeSet<(ConfigResource, InstanceKey)> {
    let changed = changes.iter().filter(|change| is_active(change)).map(|change| &change.address);
    let kept = evaluated.desired.iter().filter(|address| is_kept_for_conditions(facts, address));
    changed.chain(kept).map(|address| (address.config(), address.key.clone())).collect()
}

/// The objects in `forced` that apply stores without `create_before_destroy`. A replacement of an object in `forced` is
/// created first only because dependents require this order. If the object is not replaced, apply stores
/// `create_before_destroy` for it only if apply also evaluates the dependents.
pub(crate) fn stored_as_destroy_first(
    facts: &Facts,
    evaluated: &Evaluated,
    forced: BTreeSet<ResourceInstance>,
    changes: &[ResourceChange],
) -> BTreeSet<ResourceInstance> {
    let mut forced = forced;
    for change in changes.iter().filter(|change| change.action == ChangeAction::CreateThenDelete) {
        forced.remove(&change.address);
    }
    if !forced.is_empty() {
        let instances = evaluated_instances(facts, evaluated, changes);
        let asked = create_first(&facts.root, &active(facts, evaluated, changes), &instances);
        forced.retain(|address| {
            let config = address.config().to_string();
            !asked.contains(config.as_str()) && !asked.contains(format!("{config}{}", address.key).as_str())
        });
    }
    forced
}

/// Whether apply evaluates an unchanged object because it has conditions.
pub(crate) fn is_kept_for_conditions(facts: &Facts, address: &ResourceInstance) -> bool {
    let has_conditions = || facts.declared.resource(&address.config()).is_some_and(|block| block.has_conditions);
    address.resource.mode == ResourceMode::Managed && has_conditions() && !facts.selection().leaves_out(address)
}

fn is_looked_at_again(facts: &Facts, one: &CheckedPart, object: &Object, looks: &Looks) -> bool {
    match one {
        CheckedPart::Named(kind, module, name) => {
            let (reach, key) = (&looks.at_apply, &(module.clone(), name.clone()));
            match kind {
                CheckedKind::Variable => reach.variables.contains(key),
                CheckedKind::Check => reach.checks.contains(key),
                _ => reach.outputs.contains(key),
            }
        }
        CheckedPart::Resource(config) => object.instance.as_ref().is_none_or(|found| match config.resource.mode {
            ResourceMode::Managed => {
                let selection = facts.selection();
                let within = *selection == Selection::All || looks.at_apply.resources.contains(config);
                within && !selection.leaves_out(found)
            }
            ResourceMode::Data => looks.read.contains(found),
            ResourceMode::Ephemeral => true,
        }),
    }
}

/// The objects with conditions. `None` if the plan did not determine them.
fn objects(
    one: &CheckedPart,
    evaluated: &Evaluated,
    reach: &NeededParts,
    modules: &BTreeMap<Module, Vec<ModuleInstance>>,
) -> Option<Vec<Object>> {
    match one {
        CheckedPart::Resource(config) => {
            if !reach.resources.contains(config) {
                return None;
            }
            let mut found = Vec::new();
            for module in modules.get(&config.module)? {
                let all = AbsResource { module: module.clone(), resource: config.resource.clone() };
                let expansion = evaluated.resources.get(&all)?;
                found.extend(expansion.keys.iter().map(|key| Object::of(all.instance(key.clone()))));
            }
            Some(found)
        }
        CheckedPart::Named(kind, module, name) => {
            let key = &(module.clone(), name.clone());
            let reached = match kind {
                CheckedKind::Variable => reach.variables.contains(key) && !evaluated.not_reached.contains(key),
                CheckedKind::Check => reach.listed_checks.contains(key),
                _ => reach.outputs.contains(key),
            };
            let instances = modules.get(module).filter(|_| reached)?;
            let own = format!("{}.{name}", word(*kind));
            let address = |m: &ModuleInstance| if m.is_root() { own.clone() } else { format!("{m}.{own}") };
            Some(instances.iter().map(|m| Object { text: address(m), instance: None }).collect())
        }
    }
}

/// The instances of each module, if all of them are known.
fn module_instances(root: &Arc<CompiledModule>, evaluated: &Evaluated) -> BTreeMap<Module, Vec<ModuleInstance>> {
    let mut found = BTreeMap::from([(Module::root(), vec![ModuleInstance::root()])]);
    // Callers come before the modules that they call.
    for module in root.all() {
        let Some(callers) = found.get(&module.path).cloned() else { continue };
        for (name, child) in &module.children {
            let expanded: Option<Vec<_>> = callers
                .iter()
                .map(|caller| Some((caller, evaluated.modules.get(&(caller.clone(), name.clone()))?)))
                .collect();
            let Some(expanded) = expanded else { continue };
            let instances = expanded
                .into_iter()
                .flat_map(|(caller, expansion)| expansion.keys.iter().map(|key| caller.child(name, key.clone())));
            found.insert(child.path.clone(), instances.collect());
        }
    }
    found
}

/// Everything in the configuration that has conditions.
fn configured_checks(root: &Arc<CompiledModule>) -> Vec<CheckedPart> {
    let mut found = Vec::new();
    for module in root.all() {
        let named = |kind, name: &SmolStr| CheckedPart::Named(kind, module.path.clone(), name.clone());
        for (resource, block) in &module.resources {
            if block.has_conditions() {
                let config = ConfigResource { module: module.path.clone(), resource: resource.clone() };
                found.push(CheckedPart::Resource(config));
            }
        }
        let outputs = module.outputs.values().filter(|output| !output.preconditions.is_empty());
        found.extend(outputs.map(|output| named(CheckedKind::Output, &output.name)));
        let variables = module.variables.values().filter(|variable| !variable.validations.is_empty());
        found.extend(variables.map(|variable| named(CheckedKind::Variable, &variable.name)));
        found.extend(module.checks.keys().map(|name| named(CheckedKind::Check, name)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::{PlanKind, PlanOptions};
    use weft_graph_format::changes::Reason;
    use weft_graph_format::types::Type;
    use weft_graph_format::value::Value;

    fn change(address: &str, action: ChangeAction) -> ResourceChange {
        ResourceChange {
            address: address.parse().unwrap(),
            previous_address: None,
            deposed: None,
            provider: "provider[\"registry.opentofu.org/x/y\"]".parse().unwrap(),
            action,
            reason: Reason::None,
            before: Value::null(Type::Dynamic),
            after: Value::null(Type::Dynamic),
            replace_paths: Vec::new(),
            importing: None,
            before_record: None,
            schema_version: 0,
        }
    }

    /// `a.x` is created first only because its dependent `a.y` requires this order.
    #[test]
    fn create_before_destroy_is_stored_if_apply_evaluates_the_dependent() {
        let text = r#"
            resource "a" "x" {}
            resource "a" "y" {
              depends_on = [a.x]
              lifecycle { create_before_destroy = true }
            }
        "#;
        let facts = Facts::for_tests(text, &[], PlanOptions::of_kind(PlanKind::Normal));
        let only = ChangeAction::Only;
        for (of_x, of_y, stored_as_destroy) in [
            (only(Action::Update), only(Action::NoOp), true),
            (only(Action::Update), only(Action::Update), false),
            (only(Action::Create), only(Action::Create), false),
            (only(Action::Create), only(Action::Delete), true),
            (ChangeAction::CreateThenDelete, only(Action::NoOp), false),
        ] {
            let changes = [change("a.x", of_x), change("a.y", of_y)];
            let forced = BTreeSet::from(["a.x".parse().unwrap()]);
            let found = stored_as_destroy_first(&facts, &Evaluated::default(), forced, &changes);
            assert_eq!(!found.is_empty(), stored_as_destroy, "{of_x:?} {of_y:?}");
        }
    }

    #[test]
    fn conditions_of_data_sources_read_at_apply_are_evaluated_again() {
        let text = r#"
            data "a" "d" {
              lifecycle {
                postcondition {
                  condition     = self.n == 1
                  error_message = "No."
                }
              }
            }
        "#;
        let facts = Facts::for_tests(text, &[], PlanOptions::of_kind(PlanKind::Normal));
        let mut evaluated = Evaluated::default();
        let resource: AbsResource = "data.a.d".parse().unwrap();
        let keys = vec![weft_graph_format::address::InstanceKey::None];
        let kind = weft_evaluator::glue::ExpansionKind::Single;
        evaluated.resources.insert(resource, weft_evaluator::glue::Expansion { kind, keys });
        for (changes, again) in [(vec![], false), (vec![change("data.a.d", ChangeAction::Only(Action::Read))], true)] {
            let results = check_results(&facts, &evaluated, &changes);
            let found: Vec<_> = results.iter().map(|result| (result.address.text(), result.again)).collect();
            assert_eq!(found, [("data.a.d", again)]);
        }
    }
}
