//! Checks the provider configurations of one module call.

use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;
use weft_graph_format::diagnostic::Diagnostic;

use super::problems::{self, Named};
use super::shown;
use crate::config::{CompiledModule, ModuleCall, PassedProvider, ProviderBlock, ProviderName};

/// Reports the problems of the passed configurations.
pub(super) fn check(
    module: &CompiledModule,
    call: &ModuleCall,
    child: &CompiledModule,
    diagnostics: &mut Vec<Diagnostic>,
) {
    match entries(call) {
        Ok(passed) => {
            let aliases =
                child.settings.required_providers.values().flat_map(|r| r.configuration_aliases.iter().cloned());
            let handover = Handover { module, call, child, passed, aliases: aliases.collect() };
            diagnostics.extend(handover.overrides());
            diagnostics.extend(handover.missing());
            for (name, one) in &handover.passed {
                diagnostics.extend(handover.undeclared(name, one));
                diagnostics.extend(handover.mismatch(name, one));
            }
            diagnostics.extend(redundant_blocks(module, child));
        }
        Err(duplicates) => diagnostics.extend(duplicates),
    }
}

/// The entries of a call by their name in the child, or errors for duplicate entries.
fn entries(call: &ModuleCall) -> Result<BTreeMap<ProviderName, &PassedProvider>, Vec<Diagnostic>> {
    let mut passed: BTreeMap<ProviderName, &PassedProvider> = BTreeMap::new();
    let mut duplicates = Vec::new();
    for one in &call.providers {
        let name = (one.child_name.clone(), one.child_alias.clone());
        match passed.get(&name) {
            Some(first) => {
                duplicates.push(problems::passed_twice(&shown(&name), &first.child_range, &one.child_range));
            }
            None => drop(passed.insert(name, one)),
        }
    }
    if duplicates.is_empty() { Ok(passed) } else { Err(duplicates) }
}

/// A call with its entries.
struct Handover<'a> {
    module: &'a CompiledModule,
    call: &'a ModuleCall,
    child: &'a CompiledModule,
    passed: BTreeMap<ProviderName, &'a PassedProvider>,
    /// The names in the child's `configuration_aliases`.
    aliases: BTreeSet<ProviderName>,
}

impl Handover<'_> {
    /// Reports entries for configurations that the child defines itself.
    fn overrides(&self) -> impl Iterator<Item = Diagnostic> {
        let configured = self.child.providers.iter().filter(|(_, block)| block.is_configured());
        configured.filter_map(|(name, block)| {
            let one = self.passed.get(name)?;
            Some(problems::cannot_override(&self.child.path, &shown(name), block, &one.child_range))
        })
    }

    /// Reports configurations in the child's `configuration_aliases` that have neither an entry in the call nor a block
    /// with content in the child.
    fn missing(&self) -> impl Iterator<Item = Diagnostic> {
        let is_missing = |name: &&ProviderName| {
            let configured = self.child.providers.get(*name).is_some_and(|block| block.is_configured());
            // An entry with an invalid key on its left side may have been intended for this provider configuration. So
            // no configuration is reported as missing if there is such an entry.
            !configured && !self.passed.contains_key(*name) && self.call.keyed_providers.is_empty()
        };
        self.aliases.iter().filter(is_missing).map(|name| {
            let source = self.child.provider_source(&name.0);
            problems::required_not_passed(&source, &shown(name), &self.call.range)
        })
    }

    /// Reports an entry for a name that the child does not declare.
    fn undeclared(&self, name: &ProviderName, one: &PassedProvider) -> Option<Diagnostic> {
        let declared = self.aliases.contains(name)
            || (name.1.is_none() && self.child.settings.required_providers.contains_key(&name.0))
            || self.child.providers.get(name).is_some_and(|block| !block.is_configured());
        if declared {
            return None;
        }
        let source = self.child.provider_source(&name.0);
        Some(problems::undeclared_in_child(&self.child.path, &source, &shown(name), &one.child_range))
    }

    /// Reports an entry with different providers on its two sides.
    fn mismatch(&self, name: &ProviderName, one: &PassedProvider) -> Option<Diagnostic> {
        if one.value.is_some() {
            // If the entry is an expression, evaluation determines its provider.
            return None;
        }
        // As in OpenTofu, a requirement of the caller with the child's name counts instead of the passed name.
        let same_name = name.1.is_none() && self.module.settings.required_providers.contains_key(&name.0);
        let ours = self.module.provider_source(if same_name { &name.0 } else { &one.parent.local_name });
        let theirs = self.child.provider_source(&name.0);
        if ours == theirs {
            return None;
        }
        let ours = Named { name: &one.parent.local_name, module: &self.module.path, source: ours };
        let theirs = Named { name: &name.0, module: &self.child.path, source: theirs };
        Some(problems::mismatch(&ours, &theirs, &one.parent.range))
    }
}

/// Warns about empty provider blocks of a called module: once for each local name, at its last block. As in OpenTofu, a
/// block with only `for_each` counts as empty, but not with the experiment that gives each module instance its own
/// providers.
fn redundant_blocks(module: &CompiledModule, child: &CompiledModule) -> impl Iterator<Item = Diagnostic> {
    let mut empty: BTreeMap<&SmolStr, &ProviderBlock> = BTreeMap::new();
    let iterates = [module, child].iter().any(|module| module.settings.experiments.provider_iteration);
    let is_redundant = |block: &ProviderBlock| match iterates {
        true => !block.is_configured(),
        false => block.is_empty && block.version.is_none(),
    };
    for block in child.providers.values().filter(|block| is_redundant(block)) {
        let last = empty.entry(&block.local_name).or_insert(block);
        if last.range < block.range {
            *last = block;
        }
    }
    empty.into_values().map(|block| problems::redundant_block(&block.range))
}
