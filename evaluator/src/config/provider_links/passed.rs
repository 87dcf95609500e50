//! Checks the provider configurations of one module call.

use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;
use weft_graph_format::address::ProviderSource;
use weft_graph_format::diagnostic::Diagnostic;

use super::{Name, place, shown};
use crate::config::{CompiledModule, ModuleCall, PassedProvider, ProviderBlock};

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
            diagnostics.extend(redundant_blocks(child));
        }
        Err(duplicates) => diagnostics.extend(duplicates),
    }
}

/// The entries of a call by their name in the child, or the duplicate entries.
fn entries(call: &ModuleCall) -> Result<BTreeMap<Name, &PassedProvider>, Vec<Diagnostic>> {
    let mut passed: BTreeMap<Name, &PassedProvider> = BTreeMap::new();
    let mut duplicates = Vec::new();
    for one in &call.providers {
        let name = (one.child_name.clone(), one.child_alias.clone());
        match passed.get(&name) {
            Some(first) => {
                let detail = format!(
                    "A provider configuration was passed to {} at {}:{} already.",
                    shown(&name),
                    first.child_range.file,
                    first.child_range.start.line
                );
                duplicates.push(Diagnostic::error("Duplicate provider address", detail).at(one.child_range.clone()));
            }
            None => drop(passed.insert(name, one)),
        }
    }
    if duplicates.is_empty() { Ok(passed) } else { Err(duplicates) }
}

/// One call with its entries.
struct Handover<'a> {
    module: &'a CompiledModule,
    call: &'a ModuleCall,
    child: &'a CompiledModule,
    passed: BTreeMap<Name, &'a PassedProvider>,
    /// The names in the child's `configuration_aliases`.
    aliases: BTreeSet<Name>,
}

impl Handover<'_> {
    /// Reports entries for configurations that the child defines itself.
    fn overrides(&self) -> impl Iterator<Item = Diagnostic> {
        let configured = self.child.providers.iter().filter(|(_, block)| block.is_configured());
        configured.filter_map(|(name, block)| {
            let one = self.passed.get(name)?;
            let detail = format!(
                "{} configures {} itself (at {}:{}), so its caller cannot pass another configuration for it.",
                self.child.path,
                shown(name),
                block.range.file,
                block.range.start.line
            );
            Some(Diagnostic::error("Cannot override provider configuration", detail).at(one.child_range.clone()))
        })
    }

    /// Reports declared configurations of the child without an entry or a block.
    fn missing(&self) -> impl Iterator<Item = Diagnostic> {
        let is_missing = |name: &&Name| {
            let configured = self.child.providers.get(*name).is_some_and(|block| block.is_configured());
            // An entry with a key on its left side may have been meant.
            !configured && !self.passed.contains_key(*name) && self.call.keyed_providers.is_empty()
        };
        self.aliases.iter().filter(is_missing).map(|name| {
            let detail = format!(
                "The module needs a configuration of provider {} under the name {:?}: add an entry for it to the \
                 \"providers\" argument of this call.",
                self.child.provider_source(&name.0).for_display(),
                shown(name)
            );
            Diagnostic::error("Missing required provider configuration", detail).at(self.call.range.clone())
        })
    }

    /// Reports an entry for a name that the child does not declare.
    fn undeclared(&self, name: &Name, one: &PassedProvider) -> Option<Diagnostic> {
        let declared = self.aliases.contains(name)
            || (name.1.is_none() && self.child.settings.required_providers.contains_key(&name.0))
            || self.child.providers.get(name).is_some_and(|block| !block.is_configured());
        if declared {
            return None;
        }
        let summary = "Reference to undefined provider";
        let detail = format!(
            "{} declares no provider with the local name {:?}. Add it to required_providers there.",
            self.child.path,
            shown(name)
        );
        // The name of a default provider needs no declaration.
        let source = self.child.provider_source(&name.0);
        let problem = match source == ProviderSource::default_for(&source.type_name) {
            true => Diagnostic::warning(summary, detail),
            false => Diagnostic::error(summary, detail),
        };
        Some(problem.at(one.child_range.clone()))
    }

    /// Reports an entry with different providers on its two sides.
    fn mismatch(&self, name: &Name, one: &PassedProvider) -> Option<Diagnostic> {
        if one.value.is_some() {
            // Evaluation determines its provider.
            return None;
        }
        let ours = self.module.provider_source(&one.parent.local_name);
        let theirs = self.child.provider_source(&name.0);
        // OpenTofu does not report a mismatch if the caller also declares the child's name. This does the same.
        let both_declare =
            [self.module, self.child].iter().all(|m| m.settings.required_providers.contains_key(&name.0));
        if ours == theirs || both_declare {
            return None;
        }
        let detail = format!(
            "{:?} in {} is provider {}, but {:?} in {} is {}.",
            one.parent.local_name.as_str(),
            place(self.module),
            ours.for_display(),
            name.0.as_str(),
            self.child.path,
            theirs.for_display()
        );
        Some(Diagnostic::error("Provider type mismatch", detail).at(one.parent.range.clone()))
    }
}

/// Warns about empty provider blocks of a called module: once for each local name, at its last block.
fn redundant_blocks(child: &CompiledModule) -> impl Iterator<Item = Diagnostic> {
    let mut empty: BTreeMap<&SmolStr, &ProviderBlock> = BTreeMap::new();
    for block in child.providers.values().filter(|block| !block.is_configured()) {
        let last = empty.entry(&block.local_name).or_insert(block);
        if last.range < block.range {
            *last = block;
        }
    }
    empty.into_values().map(|block| {
        Diagnostic::warning(
            "Redundant empty provider block",
            "A module says which providers it needs in required_providers, with configuration_aliases for further \
             configurations. Its empty blocks of this provider say nothing more and can be taken out.",
        )
        .at(block.range.clone())
    })
}
