//! The provider configurations of all modules, and the provider configuration that each resource uses.
//!
//! A provider configuration that a module receives from its caller is not listed separately. Resources that use it
//! refer to the original provider configuration.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};
use weft_graph_format::address::{Module, ProviderSource};

use super::expressions::of_body;
use super::{DocumentInputs, add, providers_of};
use crate::config::CompiledModule;

/// The key of a configuration: `module.a.module.b:aws.west`, without the module part in the root module.
pub(super) fn key(module: &Module, local_name: &str, alias: Option<&str>) -> String {
    let name = alias.map_or_else(|| local_name.to_owned(), |alias| format!("{local_name}.{alias}"));
    if module.is_root() { name } else { format!("{module}:{name}") }
}

/// A provider configuration.
#[derive(Default)]
struct Config {
    /// The source address of the provider.
    source: String,
    /// The key of the caller's configuration, if the configuration is passed.
    from: Option<String>,
    /// Its description.
    members: Map<String, Json>,
}

/// All configurations by key.
#[derive(Default)]
pub(super) struct ProviderConfigs(BTreeMap<String, Config>);

impl ProviderConfigs {
    /// Collects the provider configurations of a module and its descendants.
    pub(super) fn of(root: &CompiledModule, inputs: &DocumentInputs<'_>) -> ProviderConfigs {
        let mut found = ProviderConfigs::default();
        // A caller comes before the modules that it calls, so passed configurations are known.
        let mut pending = vec![(root, None)];
        while let Some((module, caller)) = pending.pop() {
            found.module(module, caller, inputs);
            if inputs.alone {
                break;
            }
            for (name, child) in &module.children {
                found.passed(module, name, child);
                pending.push((child, Some(&module.path)));
            }
        }
        found
    }

    /// If a caller passes the provider configuration with this key, the key of the original configuration. Otherwise,
    /// `key` itself.
    pub(super) fn used(&self, key: &str) -> String {
        let from = self.0.get(key).and_then(|config| config.from.as_ref());
        from.filter(|from| self.0.contains_key(*from)).map_or(key, String::as_str).to_owned()
    }

    /// The members of `provider_config`.
    pub(super) fn into_json(self) -> Map<String, Json> {
        let own = self.0.into_iter().filter(|(_, config)| config.from.is_none());
        own.map(|(key, config)| (key, Json::Object(config.members))).collect()
    }

    /// Adds the configurations that a module has or declares.
    fn module(&mut self, module: &CompiledModule, caller: Option<&Module>, inputs: &DocumentInputs<'_>) {
        let constraints = (inputs.constraints)(module);
        let constraint = |source: &ProviderSource| constraints.get(source).cloned().unwrap_or_default();
        for ((local_name, alias), block) in &module.providers {
            let source = module.provider_source(local_name);
            let mut config = config(local_name, &source, &module.path);
            add(&mut config.members, "alias", alias.as_deref());
            add(&mut config.members, "version_constraint", constraint(&source));
            if let Some(schemas) = inputs.schemas.get(&source).filter(|_| !inputs.alone) {
                add(&mut config.members, "expressions", of_body(&block.body, &schemas.provider.block));
            }
            self.0.insert(key(&module.path, local_name, alias.as_deref()), config);
        }
        for (local_name, required) in &module.settings.required_providers {
            for (name, alias) in &required.configuration_aliases {
                self.0.entry(key(&module.path, name, alias.as_deref())).or_insert_with(|| {
                    let mut config = config(local_name, &required.source, &module.path);
                    add(&mut config.members, "version_constraint", constraint(&required.source));
                    config
                });
            }
            let own = key(&module.path, local_name, None);
            if !self.0.contains_key(&own) {
                let mut config = config(local_name, &required.source, &module.path);
                add(&mut config.members, "version_constraint", constraint(&required.source));
                config.from = caller.and_then(|caller| self.origin(&key(caller, local_name, None), &config.source));
                self.0.insert(own, config);
            }
        }
        for source in providers_of(module) {
            let own = key(&module.path, &source.type_name, None);
            if !self.0.contains_key(&own) {
                let mut config = config(&source.type_name, &source, &module.path);
                config.from =
                    caller.and_then(|caller| self.origin(&key(caller, &source.type_name, None), &config.source));
                self.0.insert(own, config);
            }
        }
    }

    /// Adds the configurations that a call passes on.
    fn passed(&mut self, module: &CompiledModule, call: &str, child: &CompiledModule) {
        let Some(call) = module.calls.get(call) else { return };
        for passed in &call.providers {
            let source = child.provider_source(&passed.child_name);
            let alias = passed.child_alias.as_deref();
            let own = key(&child.path, &passed.child_name, alias);
            let name = key(&Module::default(), &passed.child_name, alias);
            let mut config = config(&name, &source, &child.path);
            let parent = key(&module.path, &passed.parent.local_name, passed.parent.alias.as_deref());
            config.from = self.origin(&parent, &config.source);
            self.0.insert(own, config);
        }
    }

    /// The original of a configuration.
    fn origin(&self, start: &str, source: &str) -> Option<String> {
        let mut found = None;
        let mut next = Some(start);
        while let Some((key, config)) = next.and_then(|key| self.0.get_key_value(key)) {
            if config.source != source {
                break;
            }
            found = Some(key.clone());
            next = config.from.as_deref();
        }
        found
    }
}

fn config(name: &str, source: &ProviderSource, module: &Module) -> Config {
    let mut members = Map::new();
    add(&mut members, "name", name);
    add(&mut members, "full_name", source.to_string());
    add(&mut members, "module_address", module.to_string());
    Config { source: source.to_string(), from: None, members }
}
