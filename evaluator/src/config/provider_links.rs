//! Checks how provider configurations are passed between modules.
//!
//! The checks run after the whole tree is loaded, callers first. They evaluate nothing.

mod passed;
mod repeated;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::{ProviderConfig, ProviderSource};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;

pub(crate) use self::repeated::unsuitable;
use super::requirements::is_part;
use super::{CompiledModule, ModuleCall, ProviderBlock, ProviderReference, Repetition};

type Name = (SmolStr, Option<SmolStr>);

fn shown((name, alias): &Name) -> String {
    match alias {
        Some(alias) => format!("{name}.{alias}"),
        None => name.to_string(),
    }
}

fn place(module: &CompiledModule) -> String {
    if module.path.is_root() { String::from("the root module") } else { module.path.to_string() }
}

impl ProviderBlock {
    /// Whether the block has content. An empty block stands for a configuration from the caller, if there is one.
    pub fn is_configured(&self) -> bool {
        !self.is_empty || self.version.is_some() || self.for_each.is_some()
    }
}

/// Reports the problems of the providers of a tree of modules.
pub(super) fn check_providers(root: &Arc<CompiledModule>, diagnostics: &mut Vec<Diagnostic>) {
    // Modules in which provider configurations are forbidden, with the argument of the call that forbids them.
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
                diagnostics.push(
                    Diagnostic::error(
                        "Module is incompatible with count, for_each, enabled and depends_on",
                        format!(
                            "{} has provider configurations of its own, so calls that lead to it cannot use count, \
                             for_each, enabled or depends_on. Pass it its providers instead, or allow them with \
                             experiments = [provider_iteration] in a language block of the calling module or of the \
                             called one.",
                            child.path
                        ),
                    )
                    .at(at.clone()),
                );
            }
            passed::check(&module, call, child, diagnostics);
            check_wholes(&module, call, child, diagnostics);
            check_passed_on(child, Some((&module, call)), diagnostics);
            pending.push((child.clone(), forbidden));
        }
    }
}

/// Reports local names with the same provider, and types without a valid provider.
fn check_names(module: &CompiledModule, diagnostics: &mut Vec<Diagnostic>) {
    const SUMMARY: &str = "Duplicate required provider";
    let mut first_names: BTreeMap<&ProviderSource, &SmolStr> = BTreeMap::new();
    for (name, required) in &module.settings.required_providers {
        let source = &required.source;
        if let Some(first) = first_names.get(source) {
            let detail = format!(
                "Provider {} has two local names here, {first:?} and {name:?}: one is enough.",
                source.for_display()
            );
            diagnostics.push(Diagnostic::warning(SUMMARY, detail).at(required.range.clone()));
            continue;
        }
        first_names.insert(source, name);
        let implied = |block: &ProviderBlock| {
            block.local_name != *name && ProviderSource::default_for(&block.local_name) == *source
        };
        if let Some(block) = module.providers.values().find(|block| implied(block)) {
            let detail = format!(
                "Provider {} has the local name {name:?} here, but a provider block calls it {:?}.",
                source.for_display(),
                block.local_name
            );
            diagnostics.push(Diagnostic::warning(SUMMARY, detail).at(required.range.clone()));
        }
    }
    for block in module.resources.values().filter(|block| block.provider.is_none() && block.provider_value.is_none()) {
        let local_name = block.provider_local_name();
        if !is_part(&local_name) {
            let detail = format!(
                "The type {:?} would belong to a provider {local_name:?}, and no provider can be called so.",
                block.resource.type_name
            );
            diagnostics.push(Diagnostic::error("Invalid provider local name", detail).at(block.range.clone()));
        } else if !module.settings.required_providers.contains_key(&local_name)
            && let Some(other) = first_names.get(&module.provider_source(&local_name))
        {
            let detail = format!(
                "{} belongs to provider {local_name:?} by its name, but required_providers calls that provider \
                 {other:?}. Call it {local_name:?} there, or write provider = {other} in the resource.",
                block.resource
            );
            diagnostics.push(Diagnostic::warning(SUMMARY, detail).at(block.range.clone()));
        }
    }
}

/// Reports default configurations that a module passes on without having them. `caller` is the calling module with its
/// call.
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
            let detail = format!(
                "{} does not say what provider {:?} is, so {} is taken to be meant. Add it to required_providers.",
                place(module),
                name.0,
                source.for_display()
            );
            let problem = Diagnostic::warning("Reference to undefined provider", detail);
            diagnostics.push(problem.at(one.parent.range.clone()));
            continue;
        }
        let Some((above, call)) = caller.filter(|_| !configured) else { continue };
        if !call.providers.iter().any(|given| given.child_name == name.0 && given.child_alias.is_none()) {
            let detail = format!(
                "{} passes on a configuration of provider {} under the name {:?}, but {} gives it none: add an entry \
                 for it to the \"providers\" argument of this call.",
                module.path,
                source.for_display(),
                name.0,
                place(above)
            );
            let problem = Diagnostic::warning("Missing required provider configuration", detail);
            diagnostics.push(problem.at(call.range.clone()));
        }
    }
}

fn forbidding(call: &ModuleCall) -> Option<SourceRange> {
    match &call.repetition {
        Repetition::Single => call.depends_on.first().map(|reference| reference.range.clone()),
        Repetition::Count(e) | Repetition::ForEach(e) | Repetition::Enabled(e) => Some(e.range()),
    }
}

/// Reports names without a configuration. They prevent evaluation.
///
/// `alone` means that the module is checked on its own. It may be a called module, whose callers pass the
/// configurations that it declares.
pub(crate) fn missing_providers(root: &Arc<CompiledModule>, alone: bool) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    // Each module, with the provider names that it receives from its callers.
    let mut pending: Vec<(&CompiledModule, BTreeSet<Name>)> = Vec::new();
    let promised = root.settings.required_providers.values().flat_map(|r| r.configuration_aliases.iter().cloned());
    pending.push((root, promised.filter(|_| alone).collect()));
    while let Some((module, passed)) = pending.pop() {
        let is_there = |name: &Name| name.1.is_none() || module.providers.contains_key(name) || passed.contains(name);
        for block in module.resources.values() {
            let name = (block.provider_local_name(), block.provider.as_ref().and_then(|p| p.alias.clone()));
            if !is_there(&name) {
                found.push(absent_configuration(&block.resource.to_string(), module, &name));
            }
        }
        for call in module.calls.values() {
            let Some(child) = module.children.get(&call.name) else { continue };
            let mut names = BTreeSet::new();
            for one in &call.providers {
                let parent = (one.parent.local_name.clone(), one.parent.alias.clone());
                if one.value.is_none() && !is_there(&parent) {
                    found.push(Diagnostic::error(
                        format!("missing provider {}", address(module, &parent)),
                        format!("The call of {} passes a provider configuration that is not there.", child.path),
                    ));
                }
                names.insert((one.child_name.clone(), one.child_alias.clone()));
            }
            pending.push((child, names));
        }
    }
    found
}

fn address(module: &CompiledModule, (name, alias): &Name) -> String {
    let source = module.provider_source(name);
    ProviderConfig { module: module.path.clone(), source, alias: alias.clone() }.to_string()
}

fn absent_configuration(what: &str, module: &CompiledModule, name: &Name) -> Diagnostic {
    let what = if module.path.is_root() { what.to_string() } else { format!("{}.{what}", module.path) };
    Diagnostic::error(
        "Provider configuration not present",
        format!(
            "{what} needs the provider configuration {}, which is not there: neither as a block of this module nor \
             passed \
             by its caller.",
            address(module, name)
        ),
    )
}

/// A key requires a configuration with `for_each`, and the other way round. This is only known for blocks of the same
/// module.
fn check_references(module: &CompiledModule, diagnostics: &mut Vec<Diagnostic>) {
    let mut check = |reference: &ProviderReference, summary: &str, passed: bool| {
        let name = (reference.local_name.clone(), reference.alias.clone());
        let detail = match (&reference.key, module.has_provider_keys(&name.0, name.1.as_ref())) {
            // Configurations that are passed as a whole are checked elsewhere.
            (None, true) if passed => return,
            (None, true) => String::from(
                "This provider configuration uses for_each, so one of its instances has to be named by its key.",
            ),
            (Some(_), false) => format!(
                "This module has no provider {:?} block{} with for_each, so there are no instances to choose from.",
                name.0.as_str(),
                name.1.as_ref().map(|alias| format!(" with alias = {:?}", alias.as_str())).unwrap_or_default()
            ),
            _ => return,
        };
        diagnostics.push(Diagnostic::error(summary, detail).at(reference.range.clone()));
    };
    for reference in module.resources.values().filter_map(|block| block.provider.as_ref()) {
        check(reference, "Invalid resource provider configuration", false);
    }
    let passed = module.calls.values().flat_map(|call| &call.providers);
    for passed in passed.filter(|passed| passed.value.is_none()) {
        check(&passed.parent, "Invalid module provider configuration", true);
    }
    for range in module.calls.values().flat_map(|call| &call.keyed_providers) {
        let detail = "The left side names a configuration in the child module as a whole: it has no instance keys.";
        diagnostics.push(Diagnostic::error("Invalid module provider configuration", detail).at(range.clone()));
    }
}

/// Configurations with `for_each` are passed as a whole, to modules that declare that, and only to these.
fn check_wholes(module: &CompiledModule, call: &ModuleCall, child: &CompiledModule, diagnostics: &mut Vec<Diagnostic>) {
    for passed in call.providers.iter().filter(|passed| passed.value.is_none()) {
        let ours = (passed.parent.local_name.clone(), passed.parent.alias.clone());
        let theirs = shown(&(passed.child_name.clone(), passed.child_alias.clone()));
        let whole = passed.parent.key.is_none() && module.has_provider_keys(&ours.0, ours.1.as_ref());
        let detail = match (whole, child.promises_whole(&passed.child_name, passed.child_alias.as_ref())) {
            (true, false) => format!(
                "{} uses for_each, so one of its instances has to be named by its key. All of them together can be \
                 passed to a module that takes them, by an alias: configuration_aliases = [{}.{}[*]].",
                shown(&ours),
                passed.child_name,
                passed.child_alias.as_deref().unwrap_or("ALIAS")
            ),
            (false, true) => format!(
                "{} takes a provider configuration with for_each for {theirs}, all of its instances together \
                 ({theirs}[*] in its configuration_aliases); {} is {}.",
                child.path,
                shown(&ours),
                if passed.parent.key.is_some() { "one instance here: leave out the key" } else { "a single instance" }
            ),
            _ => continue,
        };
        diagnostics
            .push(Diagnostic::error("Invalid module provider configuration", detail).at(passed.parent.range.clone()));
    }
}
