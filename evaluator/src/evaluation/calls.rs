//! Module calls: their instances and values, and the evaluation of everything in them.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use smol_str::SmolStr;
use weft_graph_format::address::{ConfigResource, InstanceKey, Resource};
use weft_graph_format::origin::Origin;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::instances::expand;
use super::module_node::{CallInstances, Caller, ModuleNode};
use super::repetition_data::RepetitionData;
use crate::config::{CompiledModule, Repetition};
use crate::glue::{ExpansionKind, Failed};

impl ModuleNode {
    /// Expands a module call into its instances.
    pub(crate) fn call(
        self: &Arc<Self>,
        name: &SmolStr,
    ) -> Shared<BoxFuture<'static, Result<Arc<CallInstances>, Failed>>> {
        let (node, key) = (self.clone(), name.clone());
        self.calls.get(name.clone(), move || async move {
            let call = node.config.calls.get(&key).ok_or(Failed)?.clone();
            let child = node.config.children.get(&key).ok_or(Failed)?.clone();
            if call.depends_on.iter().any(|reference| node.is_unsound(&reference.range)) {
                return Err(Failed);
            }
            let expanded = expand(&node, &call.repetition, false).await?;
            let depends = node.depends_on_origin(&call.depends_on, None).await?;
            node.evaluation.glue.module_expanded(&node.address, &key, &expanded.expansion());
            let waits = Origin::union([node.waits(), expanded.origin.clone(), depends].into_iter().flatten());
            let kind = expanded.kind;
            let nodes = expanded
                .instances
                .into_iter()
                .map(|(instance_key, repeated)| {
                    let repeated =
                        if !node.evaluation.purpose().repeats() { RepetitionData::anything() } else { repeated };
                    let address = node.address.child(&key, instance_key.clone());
                    let caller = Caller { parent: node.clone(), call: call.clone(), repeated, waits: waits.clone() };
                    let child = ModuleNode::new(node.evaluation.clone(), address, child.clone(), Some(caller));
                    (instance_key, Arc::new(child))
                })
                .collect();
            Ok(Arc::new(CallInstances { kind, nodes }))
        })
    }

    /// The value of `module.NAME`: objects with all outputs, or with the outputs in `named`. A reference to the whole
    /// module fails if anything in the module has failed, even if no output needs it.
    pub(crate) fn call_value(
        self: &Arc<Self>,
        name: SmolStr,
        named: Option<BTreeSet<SmolStr>>,
    ) -> BoxFuture<'static, Result<Value, Failed>> {
        let node = self.clone();
        async move {
            let child = node.config.children.get(&name).ok_or(Failed)?;
            let is_output = |name: &SmolStr| child.outputs.contains_key(name);
            // An output that does not exist needs nothing. It is reported when the attribute is looked up.
            if named.as_ref().is_some_and(|named| !named.iter().any(is_output)) {
                return node.missing_outputs(&name, child);
            }
            let instances = node.call(&name).await?;
            if named.is_none() {
                for instance in instances.nodes.values() {
                    instance.content().await?;
                }
            }
            // If a name is not an output, the message lists all outputs. Their values do not matter.
            let lists_all = named.as_ref().is_none_or(|named| !named.iter().all(is_output));
            let is_needed = |name: &SmolStr| named.as_ref().is_none_or(|named| named.contains(name));
            let names: Vec<SmolStr> =
                child.outputs.keys().filter(|name| lists_all || is_needed(name)).cloned().collect();
            let mut objects: Vec<(InstanceKey, Value)> = Vec::new();
            for (key, instance) in &instances.nodes {
                let pending: Vec<_> = names.iter().map(|name| is_needed(name).then(|| instance.output(name))).collect();
                let mut fields = Vec::new();
                for (output, value) in names.iter().zip(pending) {
                    let value = match value {
                        Some(value) => value.await?,
                        None => Value::unknown(Type::Dynamic),
                    };
                    fields.push((output.clone(), value));
                }
                objects.push((key.clone(), Value::object(fields)));
            }
            if node.evaluation.purpose().checks_references() {
                let alone = matches!(instances.kind, ExpansionKind::Single | ExpansionKind::Enabled);
                if let Some(instance) = instances.nodes.values().next().filter(|_| alone) {
                    return Ok(instance.anything_of(names));
                }
                let object = Type::object(names.into_iter().map(|name| (name, Type::Dynamic)));
                return Ok(Value::unknown(match instances.kind {
                    ExpansionKind::Single | ExpansionKind::Enabled => object,
                    ExpansionKind::Count => Type::list(object),
                    ExpansionKind::ForEach => Type::map(object),
                }));
            }
            // As in OpenTofu, outputs alone show which instances a module has.
            if child.outputs.is_empty() && matches!(instances.kind, ExpansionKind::Count | ExpansionKind::ForEach) {
                objects.clear();
            }
            Ok(super::instances::assemble(instances.kind, objects, || Type::Dynamic, || Value::null(Type::Dynamic)))
        }
        .boxed()
    }

    /// The value of a module for names that are not outputs. Nothing is evaluated for it.
    fn missing_outputs(&self, name: &SmolStr, child: &CompiledModule) -> Result<Value, Failed> {
        let call = self.config.calls.get(name).ok_or(Failed)?;
        let object = Type::object(child.outputs.keys().map(|name| (name.clone(), Type::Dynamic)));
        let single = matches!(call.repetition, Repetition::Single | Repetition::Enabled(_));
        if single && !self.evaluation.purpose().checks_references() {
            let anything = child.outputs.keys().map(|name| (name.clone(), Value::unknown(Type::Dynamic)));
            return Ok(Value::object(anything));
        }
        Ok(Value::unknown(match call.repetition {
            Repetition::Single | Repetition::Enabled(_) => object,
            Repetition::Count(_) => Type::list(object),
            Repetition::ForEach(_) => Type::map(object),
        }))
    }

    /// The outputs of a single module instance during validation. Only their deprecation is known.
    fn anything_of(&self, names: Vec<SmolStr>) -> Value {
        let anything = Value::unknown(Type::Dynamic);
        let deprecation = |name: &SmolStr| self.config.outputs.get(name).and_then(|output| self.deprecation(output));
        if names.iter().all(|name| deprecation(name).is_none()) {
            return Value::unknown(Type::object(names.into_iter().map(|name| (name, Type::Dynamic))));
        }
        Value::object(names.into_iter().map(|name| {
            let value = deprecation(&name).map_or_else(|| anything.clone(), |marks| anything.mark(&marks));
            (name, value)
        }))
    }

    /// Evaluates this module and its descendants.
    pub(crate) fn everything(self: &Arc<Self>) -> BoxFuture<'static, Result<(), Failed>> {
        let node = self.clone();
        async move {
            if node.evaluation.selected.is_some() {
                return node.selected_part().await;
            }
            if node.evaluation.purpose().reads_state() {
                return node.named_values().await;
            }
            let mut failed = false;
            let mut pending = node.declarations();
            for (name, alias) in node.wanted_providers() {
                pending.push(node.provider(&name, alias.as_ref()).map(|r| r.map(|_| ())).boxed());
            }
            for block in node.config.checks.values() {
                let (node, block) = (node.clone(), block.clone());
                pending.push(async move { node.check(&block).await }.boxed());
            }
            let calls: Vec<_> = node.config.children.keys().map(|name| node.call(name)).collect();
            for call in calls {
                match call.await {
                    Ok(instances) => pending.extend(instances.nodes.values().map(|child| child.everything())),
                    Err(Failed) => failed = true,
                }
            }
            for one in pending {
                failed |= one.await.is_err();
            }
            if failed { Err(Failed) } else { Ok(()) }
        }
        .boxed()
    }

    /// Starts to evaluate the variables, locals, resources and outputs. Check blocks evaluate their data sources
    /// themselves.
    fn declarations(self: &Arc<Self>) -> Vec<BoxFuture<'static, Result<(), Failed>>> {
        let ignore = |f: Shared<BoxFuture<'static, Result<Value, Failed>>>| f.map(|r| r.map(|_| ())).boxed();
        let mut pending: Vec<_> = self.config.variables.keys().map(|name| ignore(self.variable(name))).collect();
        pending.extend(self.config.locals.keys().map(|name| ignore(self.local(name))));
        let resources = self.config.resources.iter().filter(|(_, block)| block.check.is_none());
        pending.extend(resources.map(|(resource, _)| self.resource(resource).map(|r| r.map(|_| ())).boxed()));
        pending.extend(self.config.outputs.keys().map(|name| ignore(self.output(name))));
        pending
    }

    /// Evaluates the selected parts of this module and its descendants: resources, variables with validations, and
    /// outputs of the root module. Also evaluates the provider configurations that stored objects may need, and all
    /// variables of the root module, because a plan lists these variables even if nothing uses them.
    async fn selected_part(self: &Arc<Self>) -> Result<(), Failed> {
        let node = self.clone();
        let Some(selected) = &node.evaluation.selected else { return Ok(()) };
        let mut pending: Vec<BoxFuture<'static, Result<(), Failed>>> = Vec::new();
        for (resource, block) in &node.config.resources {
            let config = ConfigResource { module: node.config.path.clone(), resource: resource.clone() };
            if selected.resources.contains(&config) {
                pending.push(node.resource(resource).map(|r| r.map(|_| ())).boxed());
            } else if selected.protected.contains(&config) {
                pending.push(node.clone().note_protection(block.clone()).boxed());
            }
        }
        let ruled = node.config.variables.values().filter(|variable| {
            let place = (node.config.path.clone(), variable.name.clone());
            !variable.validations.is_empty() && selected.variables.contains(&place)
        });
        pending.extend(ruled.map(|variable| node.variable(&variable.name).map(|r| r.map(|_| ())).boxed()));
        for (name, alias) in node.wanted_providers() {
            pending.push(node.provider(&name, alias.as_ref()).map(|r| r.map(|_| ())).boxed());
        }
        if node.caller.is_none() {
            let outputs = node.config.outputs.keys().filter(|name| selected.outputs.contains(*name));
            pending.extend(outputs.map(|name| node.output(name).map(|r| r.map(|_| ())).boxed()));
            pending.extend(node.config.variables.keys().map(|name| node.variable(name).map(|r| r.map(|_| ())).boxed()));
        }
        let mut failed = false;
        for (name, child) in &node.config.children {
            if !selected.enters(&child.path) {
                continue;
            }
            match node.call(name).await {
                Ok(instances) => pending.extend(instances.nodes.values().map(|child| child.everything())),
                Err(Failed) => failed = true,
            }
        }
        for one in pending {
            failed |= one.await.is_err();
        }
        if failed { Err(Failed) } else { Ok(()) }
    }

    /// The provider configurations of this module that stored objects may need, by local name and alias. These are the
    /// provider blocks, and in the root module also default configurations without a block.
    fn wanted_providers(&self) -> Vec<(SmolStr, Option<SmolStr>)> {
        let wanted = &self.evaluation.brief.wanted_providers;
        let here = wanted.iter().filter(|w| w.module == self.config.path);
        here.filter_map(|w| {
            let declared = self.config.settings.required_providers.iter().find(|(_, r)| r.source == w.source);
            let name = declared.map_or_else(|| w.source.type_name.clone(), |(name, _)| name.clone());
            if self.config.provider_source(&name) != w.source {
                return None;
            }
            let has_block = self.config.providers.contains_key(&(name.clone(), w.alias.clone()));
            (has_block || (self.config.path.is_root() && w.alias.is_none())).then_some((name, w.alias.clone()))
        })
        .collect()
    }

    /// The origins that `depends_on` waits for. `own` is the resource that has this `depends_on`. The resource does not
    /// wait for itself. References to missing objects are skipped, because their problems have been reported.
    pub(crate) async fn depends_on_origin(
        self: &Arc<Self>,
        references: &[crate::reference::Reference],
        own: Option<&Resource>,
    ) -> Result<Option<Origin>, Failed> {
        use crate::reference::Referent;
        if references.iter().any(|reference| self.is_unsound(&reference.range)) {
            return Err(Failed);
        }
        let mut origins = Vec::new();
        for reference in references {
            match &reference.subject {
                Referent::Resource(resource) if Some(resource) == own => {}
                Referent::Resource(resource) if !self.config.resources.contains_key(resource) => {}
                Referent::Variable(name) if !self.config.variables.contains_key(name) => {}
                Referent::Resource(resource) => {
                    origins.extend(self.resource(resource).await?.whole.deep_origin());
                }
                // An output that does not exist needs nothing, not even the instances of the module.
                Referent::Module(name, output) if !self.config.has_output(name, output.as_ref()) => {}
                Referent::Local(name) if !self.config.locals.contains_key(name) => {}
                Referent::Module(name, output) => {
                    for child in self.call(name).await?.nodes.values() {
                        match output {
                            Some(output) => {
                                origins.extend(child.waits());
                                origins.extend(child.output(output).await?.deep_origin());
                            }
                            None => {
                                child.content().await?;
                                origins.extend(child.whole_origin().await?);
                            }
                        }
                    }
                }
                Referent::Variable(name) => origins.extend(self.variable(name).await?.deep_origin()),
                Referent::Local(name) => origins.extend(self.local(name).await?.deep_origin()),
                _ => {}
            }
        }
        Ok(Origin::union(origins))
    }

    /// Evaluates what references to the whole module wait for: its variables, locals, resources, outputs and calls.
    /// Evaluated once, because many blocks may refer to the module. If only a part of the configuration is evaluated,
    /// nothing waits.
    fn content(self: &Arc<Self>) -> Shared<BoxFuture<'static, Result<(), Failed>>> {
        let node = self.clone();
        self.content.get((), move || async move {
            let purpose = node.evaluation.purpose();
            if node.evaluation.selected.is_some() || purpose.reads_state() || purpose.tolerates_failures() {
                return Ok(());
            }
            for one in node.declarations() {
                one.await?;
            }
            for name in node.config.children.keys() {
                for child in node.call(name).await?.nodes.values() {
                    child.content().await?;
                }
            }
            Ok(())
        })
    }

    /// The origins of everything in the module. Computed once, because many blocks may depend on the module.
    fn whole_origin(self: &Arc<Self>) -> Shared<BoxFuture<'static, Result<Option<Origin>, Failed>>> {
        let node = self.clone();
        self.whole_origin.get((), move || async move {
            let mut origins: Vec<Origin> = node.waits().into_iter().collect();
            // The data source of a check block is read after everything else, so nothing outside of the block waits.
            let resources = node.config.resources.iter().filter(|(_, block)| block.check.is_none());
            for (resource, _) in resources {
                origins.extend(node.resource(resource).await?.whole.deep_origin());
            }
            for output in node.config.outputs.keys() {
                origins.extend(node.output(output).await?.deep_origin());
            }
            for name in node.config.children.keys() {
                for child in node.call(name).await?.nodes.values() {
                    origins.extend(child.whole_origin().await?);
                }
            }
            Ok(Origin::union(origins))
        })
    }

    /// The managed resources that `depends_on` refers to, in this module and in called modules.
    pub(crate) fn depends_on_resources(
        self: &Arc<Self>,
        references: Vec<crate::reference::Reference>,
    ) -> BoxFuture<'static, Vec<weft_graph_format::address::AbsResource>> {
        use crate::reference::Referent;
        let node = self.clone();
        async move {
            let mut found = Vec::new();
            for reference in references {
                match &reference.subject {
                    Referent::Resource(resource) => found.push(node.absolute(resource)),
                    // A reference to a single output adds nothing: `Dependencies::awaited` already contains the
                    // resources that this output needs.
                    Referent::Module(_, Some(_)) => {}
                    Referent::Module(name, _) => {
                        if let Ok(instances) = node.call(name).await {
                            for child in instances.nodes.values() {
                                found.extend(child.all_resources().await);
                            }
                        }
                    }
                    _ => {}
                }
            }
            found
        }
        .boxed()
    }

    fn all_resources(self: &Arc<Self>) -> BoxFuture<'static, Vec<weft_graph_format::address::AbsResource>> {
        let node = self.clone();
        async move {
            let resources = node.config.resources.iter().filter(|(_, block)| block.check.is_none());
            let mut found: Vec<_> = resources.map(|(resource, _)| node.absolute(resource)).collect();
            for name in node.config.children.keys() {
                if let Ok(instances) = node.call(name).await {
                    for child in instances.nodes.values() {
                        found.extend(child.all_resources().await);
                    }
                }
            }
            found
        }
        .boxed()
    }
}
