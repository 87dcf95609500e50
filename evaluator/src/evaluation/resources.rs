//! Evaluates resource blocks and plans their instances.

mod common;
mod direct;
mod redundant;
mod triggers;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::future::{BoxFuture, Shared};
use smol_str::SmolStr;
use weft_expressions::resource_rules::attribute_above;
use weft_graph_format::address::{
    ConfigResource, InstanceKey, ProviderInstance, Resource, ResourceInstance, ResourceMode,
};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::graph::CheckKind;
use weft_graph_format::marks::Marks;
use weft_graph_format::origin::Origin;
use weft_graph_format::plan_file::CheckedKind;
use weft_graph_format::schema::Schema;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

pub(super) use common::unknown_object;
use common::{Common, in_validation};

use super::condition_groups::beside_arguments;
use super::condition_tally::ConditionTally;
use super::conditions::Conditions;
use super::in_elements::wrong_references_first;
use super::instances::{Expanded, assemble, expand};
use super::module_node::{Instances, ModuleNode};
use super::problems::resources as problems;
use super::provider_instances::Chosen;
use super::provider_values::provider_problem;
use super::repetition_data::RepetitionData;
use super::schema_traversal::{unread_parts, wrong_path};
use super::scope::ReadyScope;
use crate::config::{Repetition, ResourceBlock};
use crate::decode::decode;
use crate::glue::{DesiredInstance, ExpansionKind, Failed, Managed};
use crate::reference::{Reference, Referent, references_of};
use crate::selection::Selection;

type PendingInstances = Shared<BoxFuture<'static, Result<Arc<Instances>, Failed>>>;

impl ModuleNode {
    /// All planned instances of a resource.
    pub(crate) fn resource(self: &Arc<Self>, resource: &Resource) -> PendingInstances {
        let (node, key) = (self.clone(), resource.clone());
        self.resources.get(resource.clone(), move || async move {
            let block = node.config.resources.get(&key).ok_or(Failed)?.clone();
            if node.evaluation.purpose().reads_state() || node.is_left_out(&key) {
                return node.stored(&block).await;
            }
            // If a dependency failed, not even the keys of the instances are known.
            if node.evaluation.purpose().waits_for_references() {
                node.block_scope(&block, &RepetitionData::default()).await?;
                node.depends_on_origin(&block.depends_on, Some(&key)).await?;
            } else if node.has_failed_dependency(&block).await {
                return Err(Failed);
            }
            if node.evaluation.purpose().checks_references() && block.provider_value.is_none() {
                // If the provider block of a resource is invalid, nothing is reported for the resource.
                let (alias, at) = node.provider_named_by(&block);
                node.find_provider(&block.provider_local_name(), alias, &at).await?;
            }
            let expanded = match node.expanded(&block).await {
                Ok(expanded) => expanded,
                Err(Failed) => return node.unexpanded(&block).await,
            };
            let absolute = node.absolute(&key);
            node.clear_destroy(&block)?;
            let protection = node.protection(&block).await?;
            let expansion = expanded.expansion();
            node.evaluation.glue.expanded(&absolute, &expansion, protection);
            if expanded.instances.is_empty() && node.evaluation.purpose().lists_bare() {
                node.list_bare(&block, &absolute).await;
            }
            let schema = node.schema_of(&block).await?;
            let depends = node.depends_on_origin(&block.depends_on, Some(&key)).await?;
            let waits = Origin::union([node.waits(), expanded.origin.clone(), depends].into_iter().flatten());
            let direct = node.direct_dependencies(&block).await;
            let Expanded { kind, instances, .. } = expanded;
            let only = Some(kind).filter(|_| instances.len() == 1);
            let known = Common { waits, direct, only, is_expanded: true, ..Common::new(block, schema.clone()) };
            let common = Arc::new(known);
            let is_desired = !instances.is_empty();
            let glue = node.evaluation.glue.clone();
            let values = node.clone().all_instances(common, instances).await;
            node.evaluation.glue.planned_all(&absolute).await?;
            let mut values = values?;
            let left_over = glue.left_over(&absolute, &expansion, &schema);
            if !left_over.is_empty() {
                values.extend(left_over);
                values.sort_by(|(a, _), (b, _)| a.cmp(b));
            }
            for (_, value) in &mut values {
                *value = node.with_deprecations(&key, &schema.block, value);
            }
            let once =
                !node.evaluation.purpose().repeats() && matches!(kind, ExpansionKind::Single | ExpansionKind::Enabled);
            let known = once.then(|| in_validation(&schema.block, kind));
            let in_validation = known.map(|known| node.with_deprecations(&key, &schema.block, &known));
            let repeats = matches!(kind, ExpansionKind::Count | ExpansionKind::ForEach);
            let is_unplanned = repeats && is_desired && values.is_empty();
            let whole = match is_unplanned && node.evaluation.purpose().hides_unplanned_resources() {
                true => Value::unknown(Type::Dynamic),
                false => assemble(kind, values, || schema.block.implied_type(), || glue.gap(&absolute, &schema, kind)),
            };
            Ok(Arc::new(Instances { whole, in_validation }))
        })
    }

    /// Whether a resource is outside the selection and therefore read from state.
    fn is_left_out(&self, resource: &Resource) -> bool {
        let config = || ConfigResource { module: self.config.path.clone(), resource: resource.clone() };
        // With targets, only late outputs refer to resources outside the selection. With exclusions, the
        // `prevent_destroy` of an object that goes can also refer to them.
        let may_be = self.evaluation.late.load(Ordering::Relaxed)
            || matches!(self.evaluation.brief.selection, Selection::AllBut(_));
        may_be && self.evaluation.selected.as_ref().is_some_and(|selected| !selected.resources.contains(&config()))
    }

    /// Handles a resource whose instances are unknown. Validation still checks the rest of the block.
    async fn unexpanded(self: &Arc<Self>, block: &Arc<ResourceBlock>) -> Result<Arc<Instances>, Failed> {
        let Some(expression) = block.repetition.expression().filter(|_| !self.evaluation.purpose().repeats()) else {
            return Err(Failed);
        };
        // If this failure follows from a failed dependency, report no further problems.
        let own = Referent::Resource(block.resource.clone());
        let mut others = references_of(expression, &mut Vec::new());
        // A wrong reference is no failed dependency, so the rest of the block is checked.
        others.retain(|reference| reference.subject != own && !self.is_unsound(&reference.range));
        self.scope(&others, &RepetitionData::default()).await?;
        let common = Common::new(block.clone(), self.schema_of(block).await?);
        let repeated = RepetitionData::unknown(block.repetition.is_count());
        Box::pin(self.instance(&common, InstanceKey::None, repeated)).await?;
        Err(Failed)
    }

    /// Plans all instances, even if one of them fails.
    ///
    /// Each future is boxed only when its task starts. Many futures never wait, and end before the next one starts.
    async fn all_instances(
        self: Arc<Self>,
        common: Arc<Common>,
        mut instances: BTreeMap<InstanceKey, RepetitionData>,
    ) -> Result<Vec<(InstanceKey, Value)>, Failed> {
        if instances.len() == 1
            && let Some((key, repeated)) = instances.pop_first()
        {
            let value = Box::pin(self.instance(&common, key.clone(), repeated)).await?;
            return Ok(value.map(|value| (key, value)).into_iter().collect());
        }
        let tasks: Vec<_> = instances
            .into_iter()
            .map(|(key, repeated)| {
                let (node, common) = (self.clone(), common.clone());
                let of = key.clone();
                (key, tokio::spawn(async move { Box::pin(node.instance(&common, of, repeated)).await }))
            })
            .collect();
        let mut values = Vec::with_capacity(tasks.len());
        let mut failed = false;
        for (key, task) in tasks {
            match task.await.unwrap_or(Err(Failed)) {
                Ok(value) => values.extend(value.map(|value| (key, value))),
                Err(Failed) => failed = true,
            }
        }
        if failed { Err(Failed) } else { Ok(values) }
    }

    /// The alias of the provider that a block refers to, with its range.
    pub(super) fn provider_named_by<'b>(&self, block: &'b ResourceBlock) -> (Option<&'b SmolStr>, SourceRange) {
        match &block.provider {
            Some(provider) => (provider.alias.as_ref(), provider.range.clone()),
            None => (None, block.range.clone()),
        }
    }

    pub(super) async fn schema_of(self: &Arc<Self>, block: &ResourceBlock) -> Result<Arc<Schema>, Failed> {
        let source = self.config.provider_source(&block.provider_local_name());
        let schema = match self.evaluation.glue.provider_schema(&source).await {
            Ok(schema) => schema,
            Err(mut problem) => {
                problem.subject.get_or_insert_with(|| block.range.clone());
                return self.fail(problem);
            }
        };
        let types = schema.types(block.resource.mode);
        match types.get(&block.resource.type_name) {
            Some(found) => Ok(found.clone()),
            None => {
                let known = types.keys().map(|n| n.as_str());
                self.fail(problems::unknown_type(&source, &block.resource, known, block.range.clone()))
            }
        }
    }

    /// The value of an instance. `None` if the instance does not exist and is not planned.
    async fn instance(
        self: &Arc<Self>,
        common: &Common,
        key: InstanceKey,
        repeated: RepetitionData,
    ) -> Result<Option<Value>, Failed> {
        let lifecycle = &common.block.lifecycle;
        let address = self.absolute(&common.block.resource).instance(key);
        if self.evaluation.brief.selection.leaves_out(&address) {
            return Ok(self.evaluation.glue.left_out(&address, &common.schema));
        }
        let conditions = lifecycle.preconditions.len() + lifecycle.postconditions.len();
        let mut tally = ConditionTally::new(CheckedKind::Resource, SmolStr::from(address.to_string()), conditions);
        let outcome = self.planned_instance(common, address.clone(), &repeated, &mut tally).await;
        let absent = self.evaluation.glue.is_absent(&address);
        if conditions > 0 && self.evaluation.purpose().decides_conditions() {
            self.evaluation.glue.checked(tally.result());
        }
        if self.evaluation.purpose().checks_references() && self.has_wrong_lifecycle(common) {
            return Err(Failed);
        }
        outcome.map(|value| Some(value).filter(|_| !absent))
    }

    /// The arguments of an instance. During validation, also reports problems of its provisioners.
    async fn arguments(
        self: &Arc<Self>,
        common: &Common,
        address: &ResourceInstance,
        repeated: &RepetitionData,
    ) -> Result<Value, Failed> {
        let block = &common.block;
        let mut failed = false;
        if !self.evaluation.purpose().plans_provisioners() {
            let repeated = repeated.with_self(common.own_in_validation());
            failed |= self.validate_provisioners(block, &repeated).await.is_err();
        }
        let checks = self.evaluation.purpose().checks_references();
        let scope = match checks {
            true => {
                let mut unread = unread_parts(&block.body, &common.schema.block);
                // Wrong references beside the arguments do not prevent the check of the arguments.
                unread.extend(beside_arguments(block));
                let read = |reference: &&Reference| !unread.iter().any(|range| range.holds(&reference.range));
                let references: Vec<Reference> = block.references.iter().filter(read).cloned().collect();
                self.scope_in_block(block, &references, repeated).await
            }
            false => self.block_scope(block, repeated).await,
        };
        let invalid = &self.evaluation.invalid.arguments;
        let Ok(scope) = scope else {
            invalid.lock().insert(address.config());
            return Err(Failed);
        };
        let (config, mut problems) = decode(&block.body, &common.schema.block, &scope);
        wrong_references_first(&mut problems);
        if has_errors(&problems) {
            failed = true;
            invalid.lock().insert(address.config());
        } else if checks && !invalid.lock().contains(&address.config()) {
            problems.extend(self.redundant_ignored(common));
        }
        problems.into_iter().for_each(|p| self.evaluation.glue.report(p));
        // The warnings are about the arguments without problems.
        let config = self.tell_deprecated_in_body(config, &block.body, &address.to_string());
        if failed {
            return Err(Failed);
        }
        let stored = ephemeral_problems(&config, &common.schema, block, &address.to_string());
        if !stored.is_empty() {
            invalid.lock().insert(address.config());
            return self.report_all(stored);
        }
        if let Some(problem) = provider_problem(&config, |path| block.body.locate(path)) {
            return self.fail(problem);
        }
        Ok(config)
    }

    /// Whether the check of references reports an entry of `ignore_changes` or `replace_triggered_by`.
    fn has_wrong_lifecycle(&self, common: &Common) -> bool {
        let (block, schema) = (&common.block, &common.schema.block);
        block.trigger_references.iter().any(|reference| self.is_unsound(&reference.range))
            || block.lifecycle.ignore_changes.iter().any(|(path, range)| wrong_path(schema, path, range).is_some())
    }

    async fn planned_instance(
        self: &Arc<Self>,
        common: &Common,
        address: ResourceInstance,
        repeated: &RepetitionData,
        tally: &mut ConditionTally,
    ) -> Result<Value, Failed> {
        let block = &common.block;
        let chosen = self.provider_of_instance(block, &address, repeated).await?;
        if self.evaluation.purpose().waits_for_references() && self.block_scope(block, repeated).await.is_err() {
            tally.dependency_failed();
            return Err(Failed);
        }
        let conditions = Conditions {
            blocks: &block.lifecycle.preconditions,
            kind: CheckKind::Precondition,
            repeated,
            waits: common.waits.clone(),
        };
        let checked = self.conditions(conditions, tally).await;
        let validating = self.evaluation.purpose().checks_references();
        let mut failed = checked.is_err();
        if failed && !validating {
            return Err(Failed);
        }
        let checked = checked.unwrap_or_default();
        let waits = [common.waits.clone(), chosen.origin.clone(), checked.reads];
        let waits = Origin::union(waits.into_iter().flatten());
        let planned = async {
            let desired = self.desired(common, &address, common.shared(chosen.instance), repeated, waits).await?;
            let desired = DesiredInstance { checked: checked.results, ..desired };
            match block.resource.mode {
                ResourceMode::Managed => self.managed(common, desired, repeated).await,
                ResourceMode::Data => self.evaluation.glue.data(desired).await,
                ResourceMode::Ephemeral => Ok(self.evaluation.glue.ephemeral(desired).await?.mark(&Marks::EPHEMERAL)),
            }
        };
        let value = match planned.await {
            // Validation reports the problems of the arguments and of all conditions.
            Err(Failed) if validating => {
                failed = true;
                Value::unknown(Type::Dynamic)
            }
            planned => planned?,
        };
        let value = self.after_postconditions(common, value, repeated, tally).await?;
        if failed { Err(Failed) } else { Ok(value) }
    }

    /// The provider of an instance.
    async fn provider_of_instance(
        self: &Arc<Self>,
        block: &ResourceBlock,
        address: &ResourceInstance,
        repeated: &RepetitionData,
    ) -> Result<Chosen, Failed> {
        let local_name = block.provider_local_name();
        let (_, at) = self.provider_named_by(block);
        match &block.provider_value {
            Some(expression) => self.provider_of_value(expression, repeated, &local_name).await,
            None => {
                let user = address.to_string();
                self.choose_provider(&local_name, block.provider.as_ref(), repeated, (&user, &at)).await
            }
        }
    }

    /// The desired instance. `waits` are the origins that its block waits for.
    async fn desired(
        self: &Arc<Self>,
        common: &Common,
        address: &ResourceInstance,
        provider: ProviderInstance,
        repeated: &RepetitionData,
        waits: Option<Origin>,
    ) -> Result<DesiredInstance, Failed> {
        let block = &common.block;
        let evaluation = &self.evaluation;
        let idle = block.resource.mode == ResourceMode::Managed && !evaluation.purpose().evaluates_arguments();
        let (config, (triggers, triggering)) = match idle {
            true => {
                self.block_scope(block, repeated).await?;
                (Value::null(common.schema.block.implied_type()), (Vec::new(), None))
            }
            false => (self.arguments(common, address, repeated).await?, self.triggers(block, repeated).await?),
        };
        let config_address = address.config();
        let config_text = config_address.to_string();
        let mut waits = Origin::join(waits.as_ref(), triggering.as_ref());
        if common.rules.is_provisioned && !idle && evaluation.purpose().plans_provisioners() {
            // The provisioners run right after the object changes, so the values that they refer to must be available
            // before the change.
            let unknown = Value::unknown(common.schema.block.implied_type());
            let own = common.whole(&address.key, &unknown);
            let provisions = self.provisions(block, own, &repeated.with_self(unknown)).await?;
            let named = provisions.iter().filter_map(|provision| provision.config.deep_origin());
            waits = Origin::union(waits.into_iter().chain(named));
        }
        let import = match evaluation.imported.contains(config_text.as_str()) {
            true => self.root_node().imports_of(&config_text).await?.get(address).cloned(),
            false => None,
        };
        Ok(DesiredInstance {
            address: address.clone(),
            provider,
            config,
            schema: common.schema.clone(),
            block: common.rules.clone(),
            waits,
            checked: None,
            dependencies: evaluation.dependencies.all.get(&config_address).cloned().unwrap_or_else(|| Arc::from([])),
            create_first: evaluation.create_first.contains(config_text.as_str()),
            direct: common.direct.clone(),
            awaited: evaluation.dependencies.awaited.get(&config_address).cloned().unwrap_or_else(|| Arc::from([])),
            import,
            triggers,
        })
    }

    /// The value of a managed instance, after its create-time provisioners.
    async fn managed(
        self: &Arc<Self>,
        common: &Common,
        desired: DesiredInstance,
        repeated: &RepetitionData,
    ) -> Result<Value, Failed> {
        let address = desired.address.clone();
        let Managed { value, created } = self.evaluation.glue.managed(desired).await?;
        if !created {
            return Ok(value);
        }
        let own = common.whole(&address.key, &value);
        let provisions = self.provisions(&common.block, own, &repeated.with_self(value.clone())).await?;
        let ended = self.evaluation.glue.provision(&address, provisions);
        Ok(value.add_origin(ended.as_ref()))
    }

    /// The value of an instance, after the postconditions of its block.
    async fn after_postconditions(
        self: &Arc<Self>,
        common: &Common,
        value: Value,
        repeated: &RepetitionData,
        tally: &mut ConditionTally,
    ) -> Result<Value, Failed> {
        if common.block.lifecycle.postconditions.is_empty() {
            return Ok(value);
        }
        let own =
            if self.evaluation.purpose().decides_conditions() { value.clone() } else { common.own_in_validation() };
        let conditions = Conditions {
            blocks: &common.block.lifecycle.postconditions,
            kind: CheckKind::Postcondition,
            repeated: &repeated.with_self(own),
            waits: value.deep_origin(),
        };
        let settled = self.conditions(conditions, tally).await?;
        Ok(value.add_origin(settled.results.as_ref()))
    }

    /// Expands the repetition of a block. A self-reference in the repetition is an error, because its evaluation would
    /// wait for itself.
    async fn expanded(self: &Arc<Self>, block: &ResourceBlock) -> Result<Expanded, Failed> {
        let references = block.repetition.expression().map(|e| references_of(e, &mut Vec::new())).unwrap_or_default();
        let own = Referent::Resource(block.resource.clone());
        match references.iter().find(|reference| reference.subject == own) {
            // A self-reference without a key is reported when references are checked.
            Some(circle)
                if circle.attribute.is_some()
                    && circle.key.is_none()
                    && !matches!(block.repetition, Repetition::Enabled(_)) =>
            {
                Err(Failed)
            }
            Some(circle) => self.fail(problems::refers_to_itself(&block.resource, &circle.range)),
            None => expand(self, &block.repetition, true).await,
        }
    }

    /// The values of the references in a block's arguments. A self-reference has no value.
    async fn block_scope(
        self: &Arc<Self>,
        block: &ResourceBlock,
        repeated: &RepetitionData,
    ) -> Result<ReadyScope, Failed> {
        let own = Referent::Resource(block.resource.clone());
        match block.references.iter().find(|r| r.subject == own) {
            Some(circle) if !self.evaluation.purpose().checks_references() => {
                self.fail(problems::refers_to_itself(&block.resource, &circle.range))
            }
            _ => self.scope_in_block(block, &block.references, repeated).await,
        }
    }

    /// The values of references in a block. The object of the block itself is unknown, because waiting for it would
    /// never end.
    pub(super) async fn scope_in_block(
        self: &Arc<Self>,
        block: &ResourceBlock,
        references: &[Reference],
        repeated: &RepetitionData,
    ) -> Result<ReadyScope, Failed> {
        let own = Referent::Resource(block.resource.clone());
        if references.iter().all(|reference| reference.subject != own) {
            return self.scope(references, repeated).await;
        }
        let others: Vec<_> = references.iter().filter(|r| r.subject != own).cloned().collect();
        let mut scope = self.scope(&others, repeated).await?;
        scope.insert(own, Value::unknown(Type::Dynamic));
        Ok(scope)
    }
}

/// Reports ephemeral values in attributes that are stored.
fn ephemeral_problems(config: &Value, schema: &Schema, block: &ResourceBlock, address: &str) -> Vec<Diagnostic> {
    if !config.deep().ephemeral || block.resource.mode == ResourceMode::Ephemeral {
        return Vec::new();
    }
    let (_, marks) = config.unmark_with_paths();
    let ephemeral = marks.iter().filter(|(_, marks)| marks.is_ephemeral());
    let stored = ephemeral.filter_map(|(path, _)| match attribute_above(&schema.block, path) {
        Some((attribute, _)) if attribute.write_only => None,
        Some((_, path)) => Some(path),
        None => Some(path.clone()),
    });
    stored.map(|path| problems::ephemeral_stored(&path, address, block.body.locate(&path))).collect()
}
