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
    while let Some((module, forbidden)) = pending.pop() {
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
            pending.push((child.clone(), forbidden));
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
        if !configured && !passed.contains_key(name) {
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
        if parent_name.1.is_none() {
            let named = module.providers.get(&parent_name).is_some_and(|block| block.is_configured())
                || declared(module, &parent_name);
            if !named {
                diagnostics.push(
                    Diagnostic::warning(
                        "Reference to undefined provider",
                        format!(
                            "{} does not say what provider {:?} is, so {} is taken to be meant. Add it to \
                             required_providers.",
                            place(module),
                            parent_name.0.as_str(),
                            ours.for_display()
                        ),
                    )
                    .at(one.parent.range.clone()),
                );
            }
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
pub(super) fn check_references(module: &CompiledModule, diagnostics: &mut Vec<Diagnostic>) {
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
}

/// Configurations with `for_each` are handed over as a whole to modules that ask for that, and only to these.
pub(super) fn check_wholes(
    module: &CompiledModule,
    call: &ModuleCall,
    child: &CompiledModule,
    diagnostics: &mut Vec<Diagnostic>,
) {
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
pub(super) fn warn_of_same(
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
