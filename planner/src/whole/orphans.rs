//! Orphans: objects that are in the state but not in the configuration, with the reasons.

use std::cell::LazyCell;
use std::collections::BTreeSet;

use weft_evaluator::config::CompiledModule;
use weft_evaluator::config::reach::planned;
use weft_evaluator::glue::{Expansion, ExpansionKind};
use weft_evaluator::selection::Selection;
use weft_graph_format::address::{
    AbsResource, ConfigResource, InstanceKey, ModuleInstance, ProviderInstance, ProviderParts, ResourceInstance,
    ResourceMode,
};
use weft_graph_format::changes::Reason;
use weft_graph_format::diagnostic::Diagnostic;

use crate::evaluated::Evaluated;
use crate::facts::Facts;
use crate::prior_state::PriorState;
use crate::problems::missing_instance;
use crate::whole::protection::{RemovalVerdict, protection, verdict};

/// An unwanted object.
#[derive(Debug)]
pub(crate) struct Orphan {
    pub(crate) address: ResourceInstance,
    pub(crate) provider: ProviderInstance,
    /// The reason why the object is unwanted.
    pub(crate) reason: Reason,
    /// Whether the selection of the plan covers the object. A destroy plan also covers the dependents of its selection.
    pub(crate) is_selected: bool,
}

/// The orphans that the plan covers and that evaluation did not plan, ordered by address, and problems of the state. If
/// evaluation `failed`, omits objects that the configuration may still want.
pub(crate) fn orphans(facts: &Facts, evaluated: &Evaluated, failed: bool) -> (Vec<Orphan>, Vec<Diagnostic>) {
    let mut problems = facts.state.problems();
    let mut found = Vec::new();
    // Computed only if the plan is partial and a module instance no longer exists.
    let chosen = LazyCell::new(|| planned(&facts.root, facts.selection()).resources);
    for (address, stored) in facts.state.iter() {
        if evaluated.desired.contains(address) || evaluated.surplus.contains(address) {
            continue;
        }
        if !is_taken(facts, evaluated, address, &|config| chosen.contains(config))
            || failed && !is_certain(facts, evaluated, address)
        {
            continue;
        }
        match facts.provider_of(address, stored) {
            Ok(provider) => {
                let is_selected = is_selected(facts, evaluated, address, &|config| chosen.contains(config));
                found.push(Orphan { is_selected, ..orphan(facts, evaluated, address, provider) });
            }
            Err(problem) => problems.push(problem),
        }
    }
    (found, problems)
}

fn orphan(facts: &Facts, evaluated: &Evaluated, address: &ResourceInstance, provider: ProviderInstance) -> Orphan {
    let reason = reason(facts, evaluated, address);
    Orphan { address: address.clone(), provider, reason, is_selected: true }
}

/// Protected instances of a resource that are not in its expansion. They are planned together with the resource,
/// because its readers must not continue if one of these instances cannot be deleted.
pub(crate) fn protected_surplus(facts: &Facts, evaluated: &Evaluated, resource: &AbsResource) -> Vec<Orphan> {
    let Some(expansion) = evaluated.resources.get(resource) else { return Vec::new() };
    if resource.resource.mode != ResourceMode::Managed {
        return Vec::new();
    }
    let surplus = facts.state.of_resource(resource).filter(|address| !expansion.has(&address.key));
    let protected = surplus.filter(|address| {
        let protection = protection(evaluated, facts, address);
        is_taken(facts, evaluated, address, &|_| true)
            && verdict(protection.as_ref(), address, "destroyed") != RemovalVerdict::Allowed
    });
    let with_provider = protected.filter_map(|address| {
        let stored = facts.state.get(address)?;
        Some(orphan(facts, evaluated, address, facts.provider_of(address, stored).ok()?))
    });
    with_provider.collect()
}

/// Whether the plan covers an orphan. `is_chosen` says whether the selection reaches a resource of the configuration.
fn is_taken(
    facts: &Facts,
    evaluated: &Evaluated,
    address: &ResourceInstance,
    is_chosen: &dyn Fn(&ConfigResource) -> bool,
) -> bool {
    match facts.rules.covers_what_goes {
        true => facts.is_selected_to_go(address),
        false => is_selected(facts, evaluated, address, is_chosen),
    }
}

/// Whether the selection covers an orphan.
fn is_selected(
    facts: &Facts,
    evaluated: &Evaluated,
    address: &ResourceInstance,
    is_chosen: &dyn Fn(&ConfigResource) -> bool,
) -> bool {
    let (selection, config) = (facts.selection(), address.config());
    match (selection, facts.is_configured(&config)) {
        (Selection::All, _) => true,
        // Evaluation does not expand resources outside the selection or in a module instance that no longer exists.
        (_, true) => {
            let is_reached = evaluated.resources.contains_key(&address.all())
                || evaluated.has_module(&address.module) == Some(false) && is_chosen(&config);
            is_reached && !selection.leaves_out(address)
        }
        (_, false) => selection.covers(address),
    }
}

/// Whether the object is certainly an orphan despite a failed evaluation: its block was removed, or a known expansion
/// does not contain it.
fn is_certain(facts: &Facts, evaluated: &Evaluated, address: &ResourceInstance) -> bool {
    if !facts.is_configured(&address.config()) || evaluated.has_module(&address.module) == Some(false) {
        return true;
    }
    evaluated.resources.get(&address.all()).is_some_and(|expansion| !expansion.has(&address.key))
}

fn reason(facts: &Facts, evaluated: &Evaluated, address: &ResourceInstance) -> Reason {
    let configured = facts.is_configured(&address.config());
    if !configured && facts.previous(address).is_some() {
        return Reason::DeleteBecauseNoMoveTarget;
    }
    let there = evaluated.has_module(&address.module) != Some(false);
    orphan_reason(&address.key, configured, there, evaluated.resources.get(&address.all()))
}

/// The reason why a stored instance is no longer wanted. `configured` says whether its resource has a block, and
/// `module_is_there` whether its module instance exists. `resource` is the expansion of the resource.
fn orphan_reason(key: &InstanceKey, configured: bool, module_is_there: bool, resource: Option<&Expansion>) -> Reason {
    if !configured {
        return Reason::DeleteBecauseNoResourceConfig;
    }
    let Some(expansion) = resource.filter(|_| module_is_there) else { return Reason::DeleteBecauseNoModule };
    match (expansion.kind, key) {
        (ExpansionKind::Enabled, InstanceKey::None) => Reason::DeleteBecauseEnabledFalse,
        (ExpansionKind::Count, InstanceKey::Int(_)) => Reason::DeleteBecauseCountIndex,
        (ExpansionKind::ForEach, InstanceKey::String(_)) => Reason::DeleteBecauseEachKey,
        _ => Reason::DeleteBecauseWrongRepetition,
    }
}

/// The first stored instance of a managed resource that is not in its expansion and that the plan covers.
pub(crate) fn first_surplus<'a>(
    state: &'a PriorState,
    selection: &Selection,
    resource: &AbsResource,
    expansion: &Expansion,
) -> Option<&'a ResourceInstance> {
    if resource.resource.mode != ResourceMode::Managed {
        return None;
    }
    state.of_resource(resource).find(|address| !expansion.has(&address.key) && selection.covers(address))
}

/// The instances of a resource in state that its expansion does not contain, and that the plan keeps: all of them in a
/// plan that only reads, and those outside the selection in any other plan. Instances with another kind of key than the
/// expansion are omitted.
pub(crate) fn left_over<'a>(
    facts: &'a Facts,
    resource: &AbsResource,
    expansion: &Expansion,
) -> Vec<&'a ResourceInstance> {
    let (state, selection) = (&facts.state, facts.selection());
    let only_reads = !facts.rules.makes_objects && !facts.rules.empties_state;
    if !only_reads && *selection == Selection::All {
        return Vec::new();
    }
    let is_key = |key: &InstanceKey| match expansion.kind {
        ExpansionKind::Count => matches!(key, InstanceKey::Int(_)),
        ExpansionKind::ForEach => matches!(key, InstanceKey::String(_)),
        ExpansionKind::Single | ExpansionKind::Enabled => false,
    };
    let surplus = state.of_resource(resource).filter(|address| is_key(&address.key) && !expansion.has(&address.key));
    surplus.filter(|address| only_reads || selection.leaves_out(address)).collect()
}

/// An error for each removed provider configuration that orphans without blocks still need.
pub(crate) fn absent_providers(facts: &Facts) -> Vec<Diagnostic> {
    let orphans = facts.state.managed().filter(|(address, _)| !facts.is_configured(&address.config()));
    let needed: BTreeSet<ProviderInstance> =
        orphans.filter_map(|(_, stored)| stored.provider().ok().cloned()).collect();
    needed
        .into_iter()
        .filter(|instance| !facts.root.has_provider(&instance.config()) && !is_recallable(facts, instance))
        .map(|instance| missing_instance(&ProviderParts { key: InstanceKey::None, ..(*instance).clone() }.into()))
        .collect()
}

/// Whether the call of a provider's module was removed, and the state has a memory of the provider.
fn is_recallable(facts: &Facts, instance: &ProviderInstance) -> bool {
    let memory = facts.memories.get(instance);
    memory.is_some_and(|memory| memory.configuration.is_some()) && !has_calls(&facts.root, &instance.module)
}

/// Whether the calls that lead to a module instance are in the configuration.
pub(crate) fn has_calls(root: &CompiledModule, module: &ModuleInstance) -> bool {
    let mut here = root;
    module.0.iter().all(|step| match here.children.get(&step.name) {
        Some(child) => {
            here = child;
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use weft_evaluator::selection::SelectedAddress;

    use super::*;
    use crate::inputs::{PlanKind, PlanOptions};

    #[test]
    fn each_orphan_has_its_reason() {
        let expansion = |kind| Expansion { kind, keys: Vec::new() };
        let text = InstanceKey::String("a".into());
        for (configured, there, kind, want) in [
            (false, false, None, Reason::DeleteBecauseNoResourceConfig),
            (true, false, None, Reason::DeleteBecauseNoModule),
            (true, false, Some(ExpansionKind::ForEach), Reason::DeleteBecauseNoModule),
            (true, true, Some(ExpansionKind::ForEach), Reason::DeleteBecauseEachKey),
            (true, true, Some(ExpansionKind::Count), Reason::DeleteBecauseWrongRepetition),
        ] {
            let found = orphan_reason(&text, configured, there, kind.map(expansion).as_ref());
            assert_eq!(found, want, "{configured} {there} {kind:?}");
        }
    }

    /// The number of key comparisons for an expansion without orphans.
    #[test]
    fn an_instance_is_found_quickly_in_a_large_expansion() {
        let expansion =
            |count: i64| Expansion { kind: ExpansionKind::Count, keys: (0..count).map(InstanceKey::Int).collect() };
        let large = expansion(100_000);
        assert!((0..100_000).all(|index| large.has(&InstanceKey::Int(index))));
        assert!(!large.has(&InstanceKey::None) && !large.has(&InstanceKey::Int(100_000)));
    }

    /// The orphans that a plan covers, and their reasons.
    #[test]
    fn undeclared_instances_are_orphans() {
        let text = r#"resource "a" "each" { for_each = toset(["k"]) }"#;
        let state: &[(&str, &[&str])] =
            &[("a.each[\"k\"]", &[]), ("a.each[\"l\"]", &[]), ("a.gone", &[]), ("module.m.a.x", &[])];
        let mut evaluated = Evaluated::default();
        let each: weft_graph_format::address::AbsResource = "a.each".parse().unwrap();
        let keys = vec![InstanceKey::String("k".into())];
        evaluated.resources.insert(each.clone(), Expansion { kind: ExpansionKind::ForEach, keys });
        evaluated.desired.insert(each.instance(InstanceKey::String("k".into())));
        let only = |text: &str| {
            let address = weft_evaluator::selection::SelectedAddress::parse(text).unwrap();
            Selection::Only(vec![address])
        };
        let (each_key, no_block) = (Reason::DeleteBecauseEachKey, Reason::DeleteBecauseNoResourceConfig);
        let all = vec![("a.each[\"l\"]", each_key), ("a.gone", no_block), ("module.m.a.x", no_block)];
        for (selection, failed, want) in [
            (Selection::All, false, all.clone()),
            // Certain orphans are planned even if evaluation failed.
            (Selection::All, true, all),
            (only("a.gone"), false, vec![("a.each[\"l\"]", each_key), ("a.gone", no_block)]),
            (only("a.each[\"k\"]"), false, vec![]),
        ] {
            let options = PlanOptions { selection, ..PlanOptions::of_kind(PlanKind::Normal) };
            let facts = Facts::for_tests(text, state, options);
            let (found, problems) = orphans(&facts, &evaluated, failed);
            let found: Vec<_> = found.iter().map(|orphan| (orphan.address.to_string(), orphan.reason)).collect();
            let want: Vec<_> = want.into_iter().map(|(address, reason)| (address.to_owned(), reason)).collect();
            assert_eq!((found, problems), (want, Vec::new()), "{:?} {failed}", facts.selection());
        }
        let facts = Facts::for_tests(text, state, PlanOptions::of_kind(PlanKind::Normal));
        let (found, _) = orphans(&facts, &Evaluated::default(), true);
        // The resource was not expanded, so its objects stay.
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn the_first_surplus_instance_is_found() {
        let state: &[(&str, &[&str])] = &[("a.x[0]", &[]), ("a.x[1]", &[]), ("a.y", &[])];
        let facts = Facts::for_tests("", state, PlanOptions::of_kind(PlanKind::Normal));
        for (resource, count, want) in [("a.x", 1, Some("a.x[1]")), ("a.x", 2, None), ("a.y", 0, Some("a.y"))] {
            let keys = (0..count).map(InstanceKey::Int).collect();
            let expansion = Expansion { kind: ExpansionKind::Count, keys };
            let found = first_surplus(&facts.state, &Selection::All, &resource.parse().unwrap(), &expansion);
            assert_eq!(found.map(ToString::to_string).as_deref(), want);
        }
    }

    #[test]
    fn surplus_instances_that_a_plan_keeps_are_found() {
        let state: &[(&str, &[&str])] = &[("a.x", &[]), ("a.x[0]", &[]), ("a.x[1]", &[]), ("a.x[2]", &[])];
        let addresses = |text: &str| vec![SelectedAddress::parse(text).unwrap()];
        let only = |text: &str| Selection::Only(addresses(text));
        let all_but = |text: &str| Selection::AllBut(addresses(text));
        for (plan, selection, kind, want) in [
            (PlanKind::Normal, Selection::All, ExpansionKind::Count, ""),
            (PlanKind::Normal, only("a.x[0]"), ExpansionKind::Count, "a.x[1] a.x[2]"),
            (PlanKind::Normal, only("a.x[1]"), ExpansionKind::Count, "a.x[2]"),
            (PlanKind::Normal, only("a.x"), ExpansionKind::Count, ""),
            (PlanKind::Normal, only("a.y"), ExpansionKind::Count, ""),
            (PlanKind::Normal, all_but("a.x[2]"), ExpansionKind::Count, "a.x[2]"),
            (PlanKind::Normal, only("a.x[0]"), ExpansionKind::ForEach, ""),
            (PlanKind::Normal, only("a.x[0]"), ExpansionKind::Single, ""),
            (PlanKind::RefreshOnly, Selection::All, ExpansionKind::Count, "a.x[1] a.x[2]"),
            (PlanKind::Destroy, Selection::All, ExpansionKind::Count, ""),
        ] {
            let options = PlanOptions { selection: selection.clone(), ..PlanOptions::of_kind(plan) };
            let facts = Facts::for_tests("", state, options);
            let keys = match kind {
                ExpansionKind::Count => [InstanceKey::Int(0)].into(),
                _ => [].into(),
            };
            let expansion = Expansion { kind, keys };
            let found = left_over(&facts, &"a.x".parse().unwrap(), &expansion);
            let found: Vec<String> = found.into_iter().map(ToString::to_string).collect();
            assert_eq!(found.join(" "), want, "{plan:?} {selection:?} {kind:?}");
        }
    }
}
