//! How provider configurations are handed from module to module: what a call passes, what the child needs.
//!
//! Checked when the whole tree is read, callers first: problems that nobody has to evaluate anything for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::{ProviderConfig, ProviderSource, ResourceMode};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};
use weft_syntax::{ExprKind, Expression};

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
    /// Whether the block says anything of its own. One that does not stands for what a caller passes, if it does.
    pub fn is_configured(&self) -> bool {
        !self.is_empty || self.version.is_some() || self.for_each.is_some()
    }
}

/// Reports what is wrong with the providers of a tree of modules.
pub(super) fn check_providers(root: &Arc<CompiledModule>, diagnostics: &mut Vec<Diagnostic>) {
    // Modules with the text in their call that forbids configurations in them and below.
    let mut pending: Vec<(Arc<CompiledModule>, Option<SourceRange>)> = vec![(root.clone(), None)];
    check_passed_on(root, None, diagnostics);
    while let Some((module, forbidden)) = pending.pop() {
        check_names(&module, diagnostics);
        check_references(&module, diagnostics);
        warn_of_same(&module, diagnostics);
        for call in module.calls.values() {
            let Some(child) = module.children.get(&call.name) else { continue };
            let own = forbidding(call).filter(|_| !module.experiments.provider_iteration);
            let forbidden = own.or_else(|| forbidden.clone());
            if let Some(at) = &forbidden
                && !child.experiments.provider_iteration
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
            check_call(&module, call, child, diagnostics);
            check_wholes(&module, call, child, diagnostics);
            check_passed_on(child, Some((&module, call)), diagnostics);
            pending.push((child.clone(), forbidden));
        }
    }
}

/// Names of providers that mean the same provider, and names of types that no provider can have.
fn check_names(module: &CompiledModule, diagnostics: &mut Vec<Diagnostic>) {
    const SUMMARY: &str = "Duplicate required provider";
    let mut first_names: BTreeMap<&ProviderSource, &SmolStr> = BTreeMap::new();
    for (name, required) in &module.required_providers {
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
        } else if !module.required_providers.contains_key(&local_name)
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

/// Default configurations that a module passes on to what it calls: somebody has to say what they are. `caller` is the
/// module that calls it, and the call.
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
        if !configured && !module.required_providers.contains_key(&name.0) {
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

fn check_call(module: &CompiledModule, call: &ModuleCall, child: &CompiledModule, diagnostics: &mut Vec<Diagnostic>) {
    let mut passed: BTreeMap<Name, &super::PassedProvider> = BTreeMap::new();
    let mut duplicate = false;
    for one in &call.providers {
        let name = (one.child_name.clone(), one.child_alias.clone());
        if let Some(first) = passed.get(&name) {
            duplicate = true;
            diagnostics.push(
                Diagnostic::error(
                    "Duplicate provider address",
                    format!(
                        "A provider configuration was passed to {} at {}:{} already.",
                        shown(&name),
                        first.child_range.file,
                        first.child_range.start.line
                    ),
                )
                .at(one.child_range.clone()),
            );
            continue;
        }
        passed.insert(name, one);
    }
    if duplicate {
        return;
    }
    let aliases: BTreeSet<Name> =
        child.required_providers.values().flat_map(|r| r.configuration_aliases.iter().cloned()).collect();
    for (name, block) in child.providers.iter().filter(|(_, block)| block.is_configured()) {
        if let Some(one) = passed.get(name) {
            diagnostics.push(
                Diagnostic::error(
                    "Cannot override provider configuration",
                    format!(
                        "{} configures {} itself (at {}:{}), so its caller cannot pass another configuration for it.",
                        child.path,
                        shown(name),
                        block.range.file,
                        block.range.start.line
                    ),
                )
                .at(one.child_range.clone()),
            );
        }
    }
    for name in &aliases {
        let configured = child.providers.get(name).is_some_and(|block| block.is_configured());
        // An entry with a key on its left may be the one that is missing.
        if !configured && !passed.contains_key(name) && call.keyed_providers.is_empty() {
            diagnostics.push(
                Diagnostic::error(
                    "Missing required provider configuration",
                    format!(
                        "The module needs a configuration of provider {} under the name {:?}: add an entry for it \
                         to the \
                         \"providers\" argument of this call.",
                        child.provider_source(&name.0).for_display(),
                        shown(name)
                    ),
                )
                .at(call.range.clone()),
            );
        }
    }
    for (name, one) in &passed {
        let known = aliases.contains(name)
            || (name.1.is_none() && child.required_providers.contains_key(&name.0))
            || child.providers.get(name).is_some_and(|block| !block.is_configured());
        if !known {
            let summary = "Reference to undefined provider";
            let detail = format!(
                "{} declares no provider with the local name {:?}. Add it to required_providers there.",
                child.path,
                shown(name)
            );
            // What the module would take the name for is as good as declared where it is a default provider.
            let source = child.provider_source(&name.0);
            let problem = match source == ProviderSource::default_for(&source.type_name) {
                true => Diagnostic::warning(summary, detail),
                false => Diagnostic::error(summary, detail),
            };
            diagnostics.push(problem.at(one.child_range.clone()));
        }
        if one.value.is_some() {
            // What it is, evaluation finds out.
            continue;
        }
        let declared = |m: &CompiledModule, name: &Name| m.required_providers.contains_key(&name.0);
        let parent_name = (one.parent.local_name.clone(), one.parent.alias.clone());
        let theirs: ProviderSource = child.provider_source(&name.0);
        let ours = module.provider_source(&parent_name.0);
        // A mismatch is missed where the caller has the child's name too, as in OpenTofu.
        if ours != theirs && !(declared(module, name) && declared(child, name)) {
            diagnostics.push(
                Diagnostic::error(
                    "Provider type mismatch",
                    format!(
                        "{:?} in {} is provider {}, but {:?} in {} is {}.",
                        one.parent.local_name.as_str(),
                        place(module),
                        ours.for_display(),
                        name.0.as_str(),
                        child.path,
                        theirs.for_display()
                    ),
                )
                .at(one.parent.range.clone()),
            );
        }
    }
    // One for each local name, at the last of its blocks.
    let mut empty: BTreeMap<&SmolStr, &ProviderBlock> = BTreeMap::new();
    for block in child.providers.values().filter(|block| !block.is_configured()) {
        let last = empty.entry(&block.local_name).or_insert(block);
        if last.range < block.range {
            *last = block;
        }
    }
    for block in empty.into_values() {
        diagnostics.push(
            Diagnostic::warning(
                "Redundant empty provider block",
                "A module says which providers it needs in required_providers, with configuration_aliases for further \
                 configurations. Its empty blocks of this provider say nothing more and can be taken out.",
            )
            .at(block.range.clone()),
        );
    }
}

/// Names that lead to no configuration at all: nothing can be evaluated then.
///
/// `alone` is for looking at a module by itself, which may stand for one that is called: its callers may pass what it
/// says it needs.
pub(crate) fn missing_providers(root: &Arc<CompiledModule>, alone: bool) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    // Each module with the names that stand for something in it, beside its own blocks.
    let mut pending: Vec<(&CompiledModule, BTreeSet<Name>)> = Vec::new();
    let promised = root.required_providers.values().flat_map(|r| r.configuration_aliases.iter().cloned());
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

/// Keys are given for configurations with `for_each`, and for these only. Which those are is known only for blocks of
/// the same module.
fn check_references(module: &CompiledModule, diagnostics: &mut Vec<Diagnostic>) {
    let mut check = |reference: &ProviderReference, summary: &str, passed: bool| {
        let name = (reference.local_name.clone(), reference.alias.clone());
        let detail = match (&reference.key, module.has_provider_keys(&name.0, name.1.as_ref())) {
            // What a module takes as a whole is seen where the module is known.
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

/// Configurations with `for_each` are handed over as a whole to modules that ask for that, and only to these.
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

/// Whether an element of a set is a text, or may still become one.
fn may_be_key(item: &Value) -> bool {
    !item.is_null() && matches!(item.ty(), Type::String | Type::Dynamic)
}

/// Why a value cannot be the `for_each` of a provider.
pub(crate) fn unsuitable(value: &Value) -> Option<String> {
    const WANTED: &str = "The for_each of a provider needs a map, or a set of strings";
    let (marks, kind) = value.open();
    if marks.is_sensitive() {
        return Some(String::from("A sensitive value cannot be used for for_each: keys are part of addresses."));
    }
    if marks.is_ephemeral() {
        return Some(String::from("An ephemeral value cannot be used for for_each: keys are stored."));
    }
    match kind {
        Kind::Null(_) => Some(format!("{WANTED}; this is null.")),
        Kind::Map(_) | Kind::Object(_) => None,
        Kind::Set(set) if set.items().is_empty() => None,
        // Elements that are not known may become keys.
        Kind::Set(set) => match set.items().iter().all(may_be_key) {
            true => None,
            false => Some(format!("{WANTED}; this is a set with elements of another kind.")),
        },
        Kind::Unknown(unknown) => match &unknown.ty {
            Type::Dynamic | Type::Map(_) | Type::Object(_) => None,
            Type::Set(element) if matches!(**element, Type::String | Type::Dynamic) => None,
            other => Some(format!("{WANTED}, not {}.", other.friendly_name())),
        },
        _ => Some(format!("{WANTED}, not {}.", value.ty().friendly_name())),
    }
}

/// When resources are repeated over the very expression that their provider is, taking a key out takes the provider
/// away together with what it would have to destroy.
fn warn_of_same(module: &CompiledModule, diagnostics: &mut Vec<Diagnostic>) {
    for block in module.providers.values() {
        if let Some(expression) = &block.for_each {
            warn_of_same_as(module, block, expression, diagnostics);
        }
    }
}

fn warn_of_same_as(
    module: &CompiledModule,
    block: &ProviderBlock,
    expression: &Expression,
    diagnostics: &mut Vec<Diagnostic>,
) {
    // Keys that are written out cannot go without the resource being changed too.
    if weft_syntax::references(expression).is_empty() {
        return;
    }
    let Some(text) = compact(expression) else { return };
    let is_meant = |reference: &ProviderReference| {
        reference.local_name == block.local_name && reference.alias == block.alias && reference.key.is_some()
    };
    let mut warn = |own: &Repetition, summary: &str, what: &str| {
        let Repetition::ForEach(own) = own else { return };
        if compact(own).is_some_and(|own| own == text) {
            diagnostics.push(
                Diagnostic::warning(
                    summary,
                    format!(
                        "This {what} and its provider configuration use the same for_each expression. When a key is \
                         taken out of it, nobody is left to destroy what was made with it: the provider's keys have to \
                         outlive those of the {what}."
                    ),
                )
                .at(own.range()),
            );
        }
    };
    for resource in module.resources.values().filter(|block| block.resource.mode == ResourceMode::Managed) {
        if resource.provider.as_ref().is_some_and(is_meant) {
            warn(&resource.repetition, "Provider configuration for_each matches resource", "resource");
        }
    }
    for call in module.calls.values() {
        if call.providers.iter().any(|passed| is_meant(&passed.parent)) {
            warn(&call.repetition, "Provider configuration for_each matches module", "module");
        }
    }
}

/// The text of an expression without blanks; none for forms that are not compared.
fn compact(expression: &Expression) -> Option<String> {
    let mut pending = vec![expression.clone()];
    while let Some(here) = pending.pop() {
        match here.kind() {
            ExprKind::Splat(_) | ExprKind::AnonymousElement | ExprKind::Error => return None,
            ExprKind::Call(call) => pending.extend(call.arguments.iter().map(|id| here.child(*id))),
            ExprKind::Parentheses { inner } | ExprKind::TemplateWrap { inner } => pending.push(here.child(*inner)),
            _ => {}
        }
    }
    let span = expression.span();
    let text = expression.tree.source().text().get(span.start as usize..span.end as usize)?;
    Some(text.chars().filter(|c| !c.is_whitespace()).collect())
}
