//! The inputs of planning. They do not change during planning.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weft_evaluator::config::CompiledModule;
use weft_evaluator::selection::Selection;
use weft_evaluator::{Counters, Declared, Environment};
use weft_graph_format::address::{
    ConfigResource, DeposedKey, InstanceKey, ProviderInstance, ProviderParts, ResourceInstance,
};
use weft_graph_format::changes::Reason;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::graph::StateRecord;
use weft_graph_format::schema::Schema;
use weft_graph_format::value::Value;
use weft_state::Snapshot;

use crate::doubts::Doubts;
use crate::inputs::PlanOptions;
use crate::memory::Memories;
use crate::prior::{Prior, stored_value};
use crate::prior_state::{PriorState, Stored};
use crate::rules::Rules;

/// The number of hexadecimal digits in a deposed key.
const DEPOSED_KEY_DIGITS: usize = 8;

/// The configuration, the state, and the options.
pub(crate) struct Facts {
    pub(crate) root: Arc<CompiledModule>,
    /// The declarations in the configuration.
    pub(crate) declared: Declared,
    pub(crate) environment: Environment,
    /// Used by the formulas of destroy-time provisioners.
    pub(crate) counters: Counters,
    /// The state as stored.
    pub(crate) original: Arc<Snapshot>,
    /// The state, with objects at their addresses after `moved` blocks.
    pub(crate) state: PriorState,
    /// Moved objects: the stored address of each object, by its new address.
    pub(crate) moved: BTreeMap<ResourceInstance, ResourceInstance>,
    /// The memories of the provider instances of the objects.
    pub(crate) memories: Memories,
    /// The objects in doubt.
    pub(crate) doubts: Doubts,
    pub(crate) rules: Rules,
    /// The options; `replace` is sorted.
    pub(crate) options: PlanOptions,
    /// The objects that a partial destroy plan covers. `None` in any other plan.
    pub(crate) going: Option<BTreeSet<ResourceInstance>>,
    /// For a destroy plan, the resources that configurations of providers depend on.
    pub(crate) configuring: BTreeSet<ConfigResource>,
    /// For a refresh-only plan, the resources that apply evaluates.
    pub(crate) refreshed: BTreeSet<ConfigResource>,
}

impl Facts {
    /// Whether a resource has a block.
    pub(crate) fn is_configured(&self, config: &ConfigResource) -> bool {
        self.declared.has(config)
    }

    /// The provider instance that reads or deletes an unwanted object. If its resource has a block, the provider
    /// configuration of the block is used, with the key from the state, as in OpenTofu.
    ///
    /// # Errors
    /// Returns an error if the provider in the state cannot be parsed.
    pub(crate) fn provider_of(
        &self,
        address: &ResourceInstance,
        stored: Stored<'_>,
    ) -> Result<ProviderInstance, Diagnostic> {
        let before = stored.provider()?;
        let Some(used) = self.root.provider_of(address) else { return Ok(before.clone()) };
        let key = match (used.is_keyed, &before.key) {
            // The state does not say which instance to use.
            (true, InstanceKey::None) => return Ok(before.clone()),
            (true, key) => key.clone(),
            (false, _) => InstanceKey::None,
        };
        Ok(ProviderParts { module: used.module, source: used.source, alias: used.alias, key }.into())
    }

    /// The stored address of an object, if the object moved.
    pub(crate) fn previous(&self, address: &ResourceInstance) -> Option<&ResourceInstance> {
        self.moved.get(address)
    }

    /// The selected part of the configuration.
    pub(crate) fn selection(&self) -> &Selection {
        &self.options.selection
    }

    /// Whether the selection covers an instance that may exist only in the state.
    pub(crate) fn is_selected_to_go(&self, address: &ResourceInstance) -> bool {
        self.going.as_ref().is_none_or(|going| going.contains(address))
    }

    /// Whether a destroy plan covers an instance. Unlike `going`, which contains only instances in the state, this also
    /// answers for others: a data source, or an object whose create is in doubt.
    pub(crate) fn covers_to_go(&self, address: &ResourceInstance) -> bool {
        match self.state.get(address) {
            Some(_) => self.is_selected_to_go(address),
            None => self.selection().covers(address),
        }
    }

    /// Whether the plan covers an object that nothing in the configuration wants.
    pub(crate) fn may_go(&self, address: &ResourceInstance) -> bool {
        match self.rules.covers_what_goes {
            true => self.is_selected_to_go(address),
            false => self.selection().covers(address),
        }
    }

    /// Whether the plan destroys objects as the state has them, without reading them. If so, only the providers of
    /// these objects are evaluated.
    pub(crate) fn destroys_unread(&self) -> bool {
        self.rules.empties_state && !self.options.refresh
    }

    /// Whether the plan evaluates only what the providers of objects need.
    pub(crate) fn needs_providers_only(&self) -> bool {
        self.destroys_unread() || self.rules.needs_state && self.state.is_empty()
    }

    /// Whether an instance outside the selection keeps its object.
    pub(crate) fn keeps_left_out(&self, address: &ResourceInstance) -> bool {
        !self.rules.covers_what_goes || !self.is_selected_to_go(address)
    }

    /// Whether the plan starts from the objects as they were read, instead of the state.
    pub(crate) fn begins_with_found(&self) -> bool {
        self.rules.begins_with_found && self.options.refresh
    }

    /// The placeholder for an instance outside the selection: its stored object. `None` if the state has no such
    /// object.
    ///
    /// # Errors
    /// Returns an error if the stored object does not match the schema.
    pub(crate) fn stored_value(
        &self,
        address: &ResourceInstance,
        schema: &Schema,
    ) -> Result<Option<Value>, Diagnostic> {
        self.state.current(address).map(|object| stored_value(address, object, schema)).transpose()
    }

    /// Whether the state has no current object for an instance.
    pub(crate) fn holds_nothing(&self, address: &ResourceInstance) -> bool {
        self.state.current(address).is_none()
    }

    /// An object in the form that operations use.
    pub(crate) fn object(&self, address: &ResourceInstance, prior: &Prior) -> weft_graph_format::graph::PriorObject {
        prior.object(self.state.revision(address))
    }

    /// The previous address that the plan shows for an object.
    pub(crate) fn shown_previous(&self, address: &ResourceInstance) -> Option<ResourceInstance> {
        self.previous(address).filter(|_| !self.begins_with_found()).cloned()
    }

    /// The deposed key for the current object of an instance. The key is derived from the plan, so that two identical
    /// plans have the same key.
    pub(crate) fn deposed_key(&self, address: &ResourceInstance) -> DeposedKey {
        let text = format!("{address} {} {}", self.options.timestamp, self.state.snapshot().serial);
        let hash = blake3::hash(text.as_bytes()).to_hex();
        DeposedKey(hash.as_str()[..DEPOSED_KEY_DIGITS].into())
    }

    /// The reason to forget an object instead of deleting it. `None` if the object is deleted. A `removed` block takes
    /// precedence over the resource's own block and the state, except in a destroy plan. `wanted` says whether the
    /// object is the current object of an instance that the configuration has.
    pub(crate) fn left_alone(
        &self,
        address: &ResourceInstance,
        record: Option<&StateRecord>,
        wanted: bool,
    ) -> Option<Reason> {
        let config = address.config();
        let skips = record.is_some_and(|record| record.skip_destroy);
        if let Some(removal) = self.declared.removal(&config).filter(|_| !self.rules.empties_state) {
            let reason = match skips {
                true => Reason::ForgotBecauseLifecycleDestroyInState,
                false => Reason::DeleteBecauseNoResourceConfig,
            };
            return (removal.destroy != Some(true)).then_some(reason);
        }
        match self.declared.resource(&config).and_then(|block| block.destroy) {
            Some(false) => Some(Reason::ForgotBecauseLifecycleDestroyInConfig),
            // The block of a wanted instance decides, because its record has been updated from the block.
            _ if wanted && (self.rules.makes_objects || self.begins_with_found()) => None,
            _ => skips.then_some(Reason::ForgotBecauseLifecycleDestroyInState),
        }
    }
}

#[cfg(test)]
impl Facts {
    /// Facts for tests: a configuration as text, and stored instances with their dependencies.
    pub(crate) fn for_tests(text: &str, instances: &[(&str, &[&str])], options: PlanOptions) -> Facts {
        use weft_state::{InstanceObject, InstanceRecord, RawJson, Revision, StoredInstance, StoredProvider};
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("main.tf"), text).expect("written");
        let (root, _, problems) = weft_evaluator::config::load_tree(dir.path(), &BTreeMap::new());
        assert!(!weft_graph_format::diagnostic::has_errors(&problems), "{problems:?}");
        let stored = |(address, needs): &(&str, &[&str])| {
            let provider = "provider[\"registry.opentofu.org/x/y\"]";
            let address: ResourceInstance = address.parse().expect("an address");
            let mut record = InstanceRecord::new(address.clone(), StoredProvider::read(provider));
            let dependencies = needs.iter().map(|name| (*name).to_owned()).collect();
            record.current = Some(InstanceObject { dependencies, ..InstanceObject::new(0, RawJson::new("{}")) });
            (address, StoredInstance { record, revision: Revision(1) })
        };
        let snapshot = Arc::new(Snapshot { instances: instances.iter().map(stored).collect(), ..Snapshot::default() });
        Facts {
            memories: Memories::default(),
            doubts: Doubts::default(),
            rules: Rules::of(options.kind),
            declared: Declared::of(&root),
            root,
            environment: Environment::new(dir.path().to_path_buf()),
            counters: Counters::default(),
            original: snapshot.clone(),
            state: PriorState::of(snapshot),
            moved: BTreeMap::new(),
            options,
            going: None,
            configuring: BTreeSet::new(),
            refreshed: BTreeSet::new(),
        }
    }
}

#[cfg(test)]
impl PlanOptions {
    /// The options of a full plan, for tests.
    pub(crate) fn of_kind(kind: crate::inputs::PlanKind) -> PlanOptions {
        let (selection, replace, timestamp) = Default::default();
        PlanOptions { kind, refresh: true, selection, replace, timestamp }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::PlanKind;

    /// Whether an object is kept, by its block, a `removed` block, and its record in state.
    #[test]
    fn an_object_is_kept_by_its_block_a_removed_block_or_its_record() {
        let text = r#"
            resource "a" "kept" {
              lifecycle { destroy = false }
            }
            resource "a" "plain" {}
            removed { from = a.gone }
            removed {
              from = a.destroyed
              lifecycle { destroy = true }
            }
            removed { from = module.m }
        "#;
        let (config, state) =
            (Reason::ForgotBecauseLifecycleDestroyInConfig, Reason::ForgotBecauseLifecycleDestroyInState);
        let no_block = Reason::DeleteBecauseNoResourceConfig;
        for (kind, address, skips, wanted, want) in [
            (PlanKind::Normal, "a.kept", false, true, Some(config)),
            (PlanKind::Normal, "a.plain", false, true, None),
            (PlanKind::Normal, "a.plain", true, true, None),
            (PlanKind::Normal, "a.plain", true, false, Some(state)),
            (PlanKind::Destroy, "a.plain", true, true, None),
            (PlanKind::Destroy, "a.plain", true, false, Some(state)),
            (PlanKind::Normal, "a.gone", false, false, Some(no_block)),
            (PlanKind::Normal, "a.gone", true, false, Some(state)),
            (PlanKind::Destroy, "a.gone", false, false, None),
            (PlanKind::Destroy, "a.gone", true, false, Some(state)),
            (PlanKind::Destroy, "module.m[0].a.x", false, false, None),
            (PlanKind::Normal, "a.destroyed", true, false, None),
            (PlanKind::Normal, "module.m[0].a.x", false, false, Some(no_block)),
            (PlanKind::Normal, "module.n.a.x", false, false, None),
        ] {
            let facts = Facts::for_tests(text, &[], PlanOptions::of_kind(kind));
            let record = StateRecord { skip_destroy: skips, ..StateRecord::default() };
            let found = facts.left_alone(&address.parse().unwrap(), Some(&record), wanted);
            assert_eq!(found, want, "{kind:?} {address} {skips}");
        }
    }
}
