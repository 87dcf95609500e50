//! Checks how provider configurations are passed between modules.
//!
//! The checks run after the whole tree is loaded, callers first. The checks evaluate nothing.

mod passed;
mod problems;
mod repeated;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::{ProviderConfig, ProviderSource};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

use self::problems::User;
pub(crate) use self::repeated::unsuitable;
use super::requirements::is_part;
use super::{CompiledModule, ModuleCall, ProviderBlock, ProviderName, ProviderReference, Repetition};

fn shown((name, alias): &ProviderName) -> String {
    match alias {
        Some(alias) => format!("{name}.{alias}"),
        None => name.to_string(),
    }
}

impl ProviderBlock {
    /// Whether the block has content. An empty block represents the configuration from the caller, if the caller passes
    /// one.
    pub fn is_configured(&self) -> bool {
        !self.is_empty || self.version.is_some() || self.for_each.is_some()
    }
}

/// Reports the problems of the providers of a tree of modules.
pub(super) fn check_providers(root: &Arc<CompiledModule>, diagnostics: &mut Vec<Diagnostic>) {
    // The modules to check. Each has the argument that forbids provider configurations, if there is one: an argument of
    // the module's own call, or of a call that leads to it.
    let mut pending: Vec<(Arc<CompiledModule>, Option<SourceRange>)> = vec![(root.clone(), None)];
    check_passed_on(root, None, diagnostics);
    while let Some((module, forbidden)) = pending.pop() {
        check_names(&module, diagnostics);
        check_references(&module, diagnostics);
        repeated::warn_of_same(&module, diagnostics);
        for call in module.calls.values() {
            let Some(child) = module.children.get(&call.name) else { continue };
            let own = forbidding(call).filter(|_| !module.settings.experiments.provider_iteration);
            let forbidden = own.or_else(|| forbidden.clone());
            if let Some(at) = &forbidden
                && !child.settings.experiments.provider_iteration
                && child.providers.values().any(|block| block.is_configured())
            {
                diagnostics.push(problems::configured_in_repeated(&child.path, at.clone()));
            }
            passed::check(&module, call, child, diagnostics);
            check_wholes(&module, call, child, diagnostics);
            check_passed_on(child, Some((&module, call)), diagnostics);
            pending.push((child.clone(), forbidden));
        }
    }
}

/// Reports several local names for the same provider, and resource types without a valid provider.
fn check_names(module: &CompiledModule, diagnostics: &mut Vec<Diagnostic>) {
    let mut first_names: BTreeMap<&ProviderSource, &SmolStr> = BTreeMap::new();
    for (name, required) in &module.settings.required_providers {
        let source = &required.source;
        if let Some(first) = first_names.get(source) {
            diagnostics.push(problems::two_local_names(required, first, name));
            continue;
        }
        first_names.insert(source, name);
        let implied = |block: &ProviderBlock| {
            block.local_name != *name && ProviderSource::default_for(&block.local_name) == *source
        };
        if let Some(block) = module.providers.values().find(|block| implied(block)) {
            diagnostics.push(problems::other_local_name(required, name, block));
        }
    }
    for block in module.resources.values().filter(|block| block.provider.is_none() && block.provider_value.is_none()) {
        let local_name = block.provider_local_name();
        if !is_part(&local_name) {
            let type_name = &block.resource.type_name;
            diagnostics.push(problems::no_local_name(type_name, &local_name, block.range.clone()));
        } else if !module.settings.required_providers.contains_key(&local_name)
            && let Some(other) = first_names.get(&module.provider_source(&local_name))
        {
            diagnostics.push(problems::implied_name(&block.resource, &local_name, other, block.range.clone()));
        }
    }
}

/// Reports default provider configurations that a module passes on although the module does not have them. `caller` is
/// the calling module and its call.
fn check_passed_on(
    module: &CompiledModule,
    caller: Option<(&CompiledModule, &ModuleCall)>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let passed = module.calls.values().flat_map(|call| &call.providers);
    for one in passed.filter(|one| one.value.is_none() && one.parent.alias.is_none()) {
        let name = (one.parent.local_name.clone(), None);
        let configured = module.providers.get(&name).is_some_and(|block| block.is_configured());
        let source = module.provider_source(&name.0);
        if !configured && !module.settings.required_providers.contains_key(&name.0) {
            let at = one.parent.range.clone();
            diagnostics.push(problems::assumed_source(&module.path, &name.0, &source, at));
            continue;
        }
        let Some((above, call)) = caller.filter(|_| !configured) else { continue };
        if !call.providers.iter().any(|given| given.child_name == name.0 && given.child_alias.is_none()) {
            let at = call.range.clone();
            diagnostics.push(problems::not_passed_on(&module.path, &above.path, &name.0, &source, at));
        }
    }
}

fn forbidding(call: &ModuleCall) -> Option<SourceRange> {
    match &call.repetition {
        Repetition::Single => call.depends_on.first().map(|reference| reference.range.clone()),
        Repetition::Count(e) | Repetition::ForEach(e) | Repetition::Enabled(e) => Some(e.range()),
    }
}

/// Reports references to provider configurations that do not exist. Such references prevent evaluation.
///
/// If `alone` is set, `root` is checked as a module without its caller. The provider configurations in its
/// `configuration_aliases` then count as passed.
pub(crate) fn missing_providers(root: &Arc<CompiledModule>, alone: bool) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    // Each module, with the provider configurations that it receives from its caller.
    let mut pending: Vec<(&CompiledModule, BTreeSet<ProviderName>)> = Vec::new();
    let promised = root.settings.required_providers.values().flat_map(|r| r.configuration_aliases.iter().cloned());
    pending.push((root, promised.filter(|_| alone).collect()));
    while let Some((module, passed)) = pending.pop() {
        let is_own = |name: &ProviderName| module.providers.contains_key(name) || passed.contains(name);
        // A resource inherits a default configuration from the callers of its module.
        let is_there = |name: &ProviderName| name.1.is_none() || is_own(name);
        // A call passes only what its own module has. The root module has every default configuration.
        let can_pass = |name: &ProviderName| is_own(name) || (name.1.is_none() && module.path.is_root());
        for block in module.resources.values() {
            let name = (block.provider_local_name(), block.provider.as_ref().and_then(|p| p.alias.clone()));
            if !is_there(&name) {
                found.push(problems::absent_configuration(&module.path, &block.resource, &address(module, &name)));
            }
        }
        for call in module.calls.values() {
            let Some(child) = module.children.get(&call.name) else { continue };
            let mut names = BTreeSet::new();
            for one in &call.providers {
                let parent = (one.parent.local_name.clone(), one.parent.alias.clone());
                if one.value.is_none() && !can_pass(&parent) {
                    found.push(problems::passes_absent(&address(module, &parent), &child.path));
                }
                names.insert((one.child_name.clone(), one.child_alias.clone()));
            }
            pending.push((child, names));
        }
    }
    found
}

fn address(module: &CompiledModule, (name, alias): &ProviderName) -> ProviderConfig {
    let source = module.provider_source(name);
    ProviderConfig { module: module.path.clone(), source, alias: alias.clone() }
}

/// Checks the references to provider configurations of the same module. Reports a key if the provider configuration has
/// no `for_each`, and a missing key if it has `for_each`. Exception: a module call may omit the key, to pass the
/// provider configuration as a whole.
fn check_references(module: &CompiledModule, diagnostics: &mut Vec<Diagnostic>) {
    let mut check = |reference: &ProviderReference, user: User| {
        let (name, alias) = (&reference.local_name, reference.alias.as_ref());
        match (&reference.key, module.has_provider_keys(name, alias)) {
            // Calls that pass a configuration as a whole are checked by `check_wholes`.
            (None, true) if user == User::Call => {}
            (None, true) => diagnostics.push(problems::key_missing(user, &reference.range)),
            (Some(_), false) => {
                let alias = alias.map(SmolStr::as_str);
                diagnostics.push(problems::key_unexpected(user, name, alias, &reference.range));
            }
            _ => {}
        }
    };
    for reference in module.resources.values().filter_map(|block| block.provider.as_ref()) {
        check(reference, User::Resource);
    }
    let passed = module.calls.values().flat_map(|call| &call.providers);
    for passed in passed.filter(|passed| passed.value.is_none()) {
        check(&passed.parent, User::Call);
    }
    let keyed = module.calls.values().flat_map(|call| &call.keyed_providers);
    diagnostics.extend(keyed.map(problems::key_on_the_left));
}

/// Checks that a configuration with `for_each` is passed as a whole exactly if the called module requires this.
fn check_wholes(module: &CompiledModule, call: &ModuleCall, child: &CompiledModule, diagnostics: &mut Vec<Diagnostic>) {
    for passed in call.providers.iter().filter(|passed| passed.value.is_none()) {
        let ours = (passed.parent.local_name.clone(), passed.parent.alias.clone());
        let theirs = shown(&(passed.child_name.clone(), passed.child_alias.clone()));
        let whole = passed.parent.key.is_none() && module.has_provider_keys(&ours.0, ours.1.as_ref());
        let (name, alias, at) = (&passed.child_name, passed.child_alias.as_ref(), &passed.parent.range);
        match (whole, child.promises_whole(name, alias)) {
            (true, false) => {
                let alias = alias.map(SmolStr::as_str);
                diagnostics.push(problems::whole_for_single(&shown(&ours), name, alias, at));
            }
            (false, true) => {
                let keyed = passed.parent.key.is_some();
                diagnostics.push(problems::single_for_whole(&child.path, &shown(&ours), &theirs, keyed, at));
            }
            _ => {}
        }
    }
}
