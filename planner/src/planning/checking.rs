//! What came of conditions, also of those that nobody came to.

use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;
use weft_evaluator::config::reach::{Reach, applied, destroyed, planned};
use weft_evaluator::selection::Selection;
use weft_evaluator::{LOCAL_MODULE, REMOTE_MODULE, create_first};
use weft_graph_format::address::{
    ConfigResource, Module, ModuleInstance, ProviderConfig, ProviderInstance, Resource, ResourceInstance, ResourceMode,
};
use weft_graph_format::changes::{ChangeAction, Changes, ResourceChange};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::graph::Action;
use weft_graph_format::plan_file::{CheckResult, CheckStatus, CheckedKind};

use super::Planning;

/// Something that the configuration gives conditions to.
enum Checked {
    Resource(ConfigResource),
    Named(CheckedKind, Module, SmolStr),
}

/// What a plan and its apply look at.
struct Looks {
    at_plan: Reach,
    at_apply: Reach,
    /// Data sources that apply reads.
    read: BTreeSet<String>,
}

impl Checked {
    fn kind(&self) -> CheckedKind {
        match self {
            Checked::Resource(_) => CheckedKind::Resource,
            Checked::Named(kind, ..) => *kind,
        }
    }

    /// The address as configured.
    fn address(&self) -> String {
        match self {
            Checked::Resource(config) => config.to_string(),
            Checked::Named(kind, module, name) if module.is_root() => format!("{}.{name}", word(*kind)),
            Checked::Named(kind, module, name) => format!("{module}.{}.{name}", word(*kind)),
        }
    }
}

/// What addresses of this kind begin with.
fn word(kind: CheckedKind) -> &'static str {
    match kind {
        CheckedKind::Check => "check",
        CheckedKind::Variable => "var",
        CheckedKind::Resource | CheckedKind::Output | CheckedKind::UnusedOutput => "output",
    }
}

/// Whether apply does something to the current object.
fn is_active(change: &ResourceChange) -> bool {
    !matches!(change.action, ChangeAction::Only(Action::NoOp | Action::Delete | Action::Forget))
}

impl Planning {
    /// What came of everything that has conditions, ordered by what it belongs to.
    pub(super) fn check_results(&self, changes: &[ResourceChange]) -> Vec<CheckResult> {
        let known = std::mem::take(&mut *self.checks.lock());
        let checked = self.configured_checks();
        if checked.is_empty() {
            return Vec::new();
        }
        let looks = self.looks(changes);
        let modules = self.module_instances();
        let mut results = BTreeMap::new();
        for one in checked {
            let (kind, config) = (one.kind(), one.address());
            let objects = self.objects(&one, &looks.at_plan, &modules);
            let unreached = |address: &String| {
                known.get(&(kind, address.clone())).is_some_and(|result| result.status == CheckStatus::Unreached)
            };
            let none =
                |status| CheckResult { address: config.clone(), kind, status, messages: Vec::new(), again: true };
            match objects.filter(|found| !found.iter().any(unreached)) {
                None => drop(results.insert((kind, config.clone()), none(CheckStatus::Unreached))),
                Some(found) if found.is_empty() => {
                    results.insert((kind, config.clone()), none(CheckStatus::Absent));
                }
                Some(found) => {
                    for address in found {
                        let mut result = match known.get(&(kind, address.clone())) {
                            Some(result) if !(self.options.destroy && kind == CheckedKind::Output) => result.clone(),
                            _ => CheckResult { address: address.clone(), ..none(CheckStatus::Unknown) },
                        };
                        result.again = self.options.refresh_only || self.is_looked_at_again(&one, &address, &looks);
                        results.insert((kind, address), result);
                    }
                }
            }
        }
        results.into_values().collect()
    }

    /// Leaves out what there is to say of deprecated values and variables that apply does not come to.
    pub(super) fn drop_unreached(&self, warnings: &mut Vec<Diagnostic>, changes: &Changes) {
        let of_module = |warning: &Diagnostic| warning.code == LOCAL_MODULE || warning.code == REMOTE_MODULE;
        if !warnings.iter().any(of_module) {
            return;
        }
        let reach = self.looks(&changes.resources).at_apply;
        let changed = changes.resources.iter().filter(|change| is_active(change));
        let changed: BTreeSet<ConfigResource> = changed.map(|change| change.address.config()).collect();
        let settled = changes.outputs.iter().filter(|(_, change)| change.after.is_wholly_known());
        let settled: BTreeSet<SmolStr> = settled.map(|(name, _)| name.clone()).collect();
        let mut bare = Vec::new();
        warnings.retain(|warning| {
            let (Some(place), true) = (&warning.subject, of_module(warning)) else { return true };
            match warning.address.as_ref().and_then(|address| address.parse::<ResourceInstance>().ok()) {
                Some(user) if changed.contains(&user.config()) => {
                    // OpenTofu evaluates the block twice, and the second time tells only its place.
                    bare.push(Diagnostic { address: None, ..warning.clone() });
                    true
                }
                Some(_) => false,
                None => reach.comes_to(&self.root, place, &settled),
            }
        });
        warnings.append(&mut bare);
        warnings.dedup();
    }

    fn looks(&self, changes: &[ResourceChange]) -> Looks {
        let selection = &self.options.selection;
        let read = changes.iter().filter(|change| change.action == ChangeAction::Only(Action::Read));
        let read = read.map(|change| change.address.to_string()).collect();
        if self.options.destroy {
            let going = self.snapshot.instances.iter().filter(|(address, stored)| {
                stored.record.mode == weft_state::ResourceMode::Managed
                    && address.parse().is_ok_and(|address| self.is_selected_to_go(&address))
            });
            let providers: BTreeSet<ProviderConfig> = going
                .filter_map(|(_, stored)| stored.record.provider.parse::<ProviderInstance>().ok())
                .map(|instance| instance.config())
                .collect();
            let reach = destroyed(&self.root, &providers, *selection == Selection::All);
            let at_apply = Reach { outputs: BTreeSet::new(), ..reach.clone() };
            return Looks { at_plan: reach, at_apply, read };
        }
        let at_apply = applied(&self.root, selection, &self.active(changes));
        Looks { at_plan: planned(&self.root, selection), at_apply, read }
    }

    /// The resources that apply comes to: something happens to them, or they have conditions.
    fn active(&self, changes: &[ResourceChange]) -> BTreeSet<ConfigResource> {
        let mut active: BTreeSet<ConfigResource> =
            changes.iter().filter(|change| is_active(change)).map(|change| change.address.config()).collect();
        let wanted = self.desired.lock();
        let kept = wanted.iter().filter(|address| self.is_kept_for_conditions(address));
        active.extend(kept.map(ResourceInstance::config));
        active
    }

    /// State says of an object that is made or changed that its replacements create first only when something asks for
    /// that to which apply comes too.
    pub(super) fn settle_create_first(&self, changes: &[ResourceChange]) {
        let mut forced = std::mem::take(&mut *self.forced.lock());
        if forced.is_empty() {
            return;
        }
        for change in changes.iter().filter(|change| change.action == ChangeAction::CreateThenDelete) {
            forced.remove(&change.address);
        }
        let asked = create_first(&self.root, &self.active(changes));
        for (address, plan) in forced {
            let config = address.config().to_string();
            if !asked.contains(config.as_str()) && !asked.contains(format!("{config}{}", address.key).as_str()) {
                self.builder.stores_destroy_first(plan);
            }
        }
    }

    /// Whether apply comes to an object although it may do nothing to it, since it has conditions.
    fn is_kept_for_conditions(&self, address: &ResourceInstance) -> bool {
        let has_conditions = self.blocks.get(&address.config()).is_some_and(|block| {
            !(block.lifecycle.preconditions.is_empty() && block.lifecycle.postconditions.is_empty())
        });
        has_conditions && address.resource.mode == ResourceMode::Managed && !self.options.selection.leaves_out(address)
    }

    fn is_looked_at_again(&self, one: &Checked, address: &str, looks: &Looks) -> bool {
        match one {
            Checked::Named(kind, module, name) => {
                let (reach, key) = (&looks.at_apply, &(module.clone(), name.clone()));
                match kind {
                    CheckedKind::Variable => reach.variables.contains(key),
                    CheckedKind::Check => reach.checks.contains(key),
                    _ => reach.outputs.contains(key),
                }
            }
            Checked::Resource(_) => match address.parse::<ResourceInstance>() {
                Ok(found) if found.resource.mode == ResourceMode::Managed => !self.options.selection.leaves_out(&found),
                Ok(found) if found.resource.mode == ResourceMode::Data => looks.read.contains(address),
                _ => true,
            },
        }
    }

    /// The objects; none where the plan did not come to tell which there are.
    fn objects(
        &self,
        one: &Checked,
        reach: &Reach,
        modules: &BTreeMap<Module, Vec<ModuleInstance>>,
    ) -> Option<Vec<String>> {
        match one {
            Checked::Resource(config) => {
                if !reach.resources.contains(config) {
                    return None;
                }
                let expansions = self.resources.lock();
                let mut found = Vec::new();
                for module in modules.get(&config.module)? {
                    let resource = Resource::clone(&config.resource);
                    let all = weft_graph_format::address::AbsResource { module: module.clone(), resource };
                    let expansion = expansions.get(&all)?;
                    found.extend(expansion.keys.iter().map(|key| all.instance(key.clone()).to_string()));
                }
                Some(found)
            }
            Checked::Named(kind, module, name) => {
                let key = &(module.clone(), name.clone());
                let reached = match kind {
                    CheckedKind::Variable => reach.variables.contains(key),
                    CheckedKind::Check => reach.told_checks.contains(key),
                    _ => reach.outputs.contains(key),
                };
                let instances = modules.get(module).filter(|_| reached)?;
                let own = format!("{}.{name}", word(*kind));
                let address = |m: &ModuleInstance| if m.is_root() { own.clone() } else { format!("{m}.{own}") };
                Some(instances.iter().map(address).collect())
            }
        }
    }

    /// The instances of each module, where all of them are known.
    fn module_instances(&self) -> BTreeMap<Module, Vec<ModuleInstance>> {
        let expansions = self.modules.lock();
        let mut found = BTreeMap::from([(Module::root(), vec![ModuleInstance::root()])]);
        // Callers come before what they call.
        for module in self.root.all() {
            let Some(callers) = found.get(&module.path).cloned() else { continue };
            for (name, child) in &module.children {
                let expanded: Option<Vec<_>> = callers
                    .iter()
                    .map(|caller| Some((caller, expansions.get(&(caller.clone(), name.clone()))?)))
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
    fn configured_checks(&self) -> Vec<Checked> {
        let mut found = Vec::new();
        for module in self.root.all() {
            let named = |kind, name: &SmolStr| Checked::Named(kind, module.path.clone(), name.clone());
            for (resource, block) in &module.resources {
                let lifecycle = &block.lifecycle;
                if !(lifecycle.preconditions.is_empty() && lifecycle.postconditions.is_empty()) {
                    let config = ConfigResource { module: module.path.clone(), resource: resource.clone() };
                    found.push(Checked::Resource(config));
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
}
