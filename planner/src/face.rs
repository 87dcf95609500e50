//! The implementation of the interface that evaluation calls.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use smol_str::SmolStr;
use weft_evaluator::glue::{
    Brief, DesiredInstance, Expansion, ExpansionKind, Failed, Glue, Managed, NameKind, OpenCheck, Protection,
    ProviderBasis, Provision, RootOutput, ValueName,
};
use weft_evaluator::purpose::Purpose;
use weft_expressions::functions::FunctionError;
use weft_graph_format::address::{
    AbsResource, InstanceKey, Module, ModuleInstance, ProviderConfig, ProviderInstance, ProviderSource,
    ResourceInstance,
};
use weft_graph_format::bare::BareResource;
use weft_graph_format::diagnostic::{Diagnostic, checked_by};
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::origin::Origin;
use weft_graph_format::plan_file::{CheckResult, CheckedKind};
use weft_graph_format::schema::{ProviderSchema, Schema};
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Transform, Value};

use crate::agenda::planned::PlannedCheck;
use crate::inputs::PlanKind;
use crate::kind::Gap;
use crate::planner::Planner;
use crate::prior::with_schema_marks;
use crate::problems::{self, Problems};
use crate::whole::orphans::{first_surplus, left_over, protected_surplus};
use crate::whole::protection::{problems_of, protection, verdict};
use crate::whole::selecting::{nothing, replacements_without_instance};

impl Planner {
    /// Reports each protected object that the configuration no longer has. As in OpenTofu, a destroy that refreshes
    /// begins with the normal plan, which fails at such an object before anything reads its resource.
    fn heed_protected_surplus(&self, resource: &AbsResource) -> Result<(), Failed> {
        let surplus = protected_surplus(&self.facts, &self.evaluated(), resource);
        let mut outcome = Ok(());
        for orphan in surplus {
            let found = protection(&self.evaluated(), &self.facts, &orphan.address);
            let allowed = verdict(found.as_ref(), &orphan.address, "destroyed").allowed();
            outcome = self.reported(allowed).and(outcome);
        }
        outcome
    }

    /// Reports the problems of an instance. The rest of planning continues.
    fn reported<T>(&self, outcome: Result<T, Problems>) -> Result<T, Failed> {
        outcome.map_err(|problems| {
            self.report.add(problems);
            Failed
        })
    }

    /// The stored value of an instance. `None` if the instance has no object. Unknown if the state has an invalid
    /// object, which is reported.
    fn stored_value(&self, address: &ResourceInstance, schema: &Schema) -> Option<Value> {
        self.facts.stored_value(address, schema).unwrap_or_else(|problem| {
            self.report.add(vec![problem]);
            Some(Value::unknown(schema.block.implied_type()))
        })
    }
}

#[async_trait]
impl Glue for Planner {
    fn brief(&self) -> Brief {
        // A partial plan ignores the providers of objects outside the selection, because the blocks of these providers
        // may be invalid.
        let objects = || self.facts.state.managed().filter(|(address, _)| self.facts.may_go(address));
        let providers_only = self.facts.needs_providers_only();
        // Evaluation does not reach every object that a partial destroy deletes.
        let leaving = match providers_only || self.facts.going.is_some() {
            true => objects().map(|(address, _)| address.config()).collect(),
            false => BTreeSet::new(),
        };
        let wanted: BTreeSet<ProviderConfig> = objects()
            .filter_map(|(address, stored)| Some(self.facts.provider_of(address, stored).ok()?.config()))
            .collect();
        Brief {
            selection: self.facts.selection().clone(),
            wanted_providers: wanted.into_iter().collect(),
            providers_only,
            leaving,
            ..Brief::new(Purpose::Plan(self.kind().planning()))
        }
    }

    async fn provider_schema(&self, source: &ProviderSource) -> Result<Arc<ProviderSchema>, Diagnostic> {
        self.ask.providers.schema(source).await
    }

    async fn provider_instance(
        &self,
        instance: &ProviderInstance,
        config: &Value,
        range: &SourceRange,
    ) -> Result<(), Failed> {
        // As in OpenTofu, the command `import` does not use a provider whose configuration depends on an apply.
        if self.facts.options.kind == PlanKind::Import && !config.unmark_deep().0.is_wholly_known() {
            self.report.add(vec![problems::unknown_provider_configuration(instance).at(range.clone())]);
            return Err(Failed);
        }
        self.ask.providers.register(instance, config, range);
        Ok(())
    }

    fn provider_basis(&self, instance: &ProviderInstance, basis: ProviderBasis) {
        self.evaluated().bases.insert(instance.clone(), basis);
    }

    fn former_keys(&self, block: &ProviderInstance) -> Vec<(SmolStr, Value)> {
        self.facts.memories.former_keys(block)
    }

    fn left_out(&self, address: &ResourceInstance, schema: &Schema) -> Option<Value> {
        if self.facts.keeps_left_out(address) {
            self.evaluated().desired.insert(address.clone());
        }
        self.stored_value(address, schema)
    }

    fn left_over(&self, resource: &AbsResource, expansion: &Expansion, schema: &Schema) -> Vec<(InstanceKey, Value)> {
        let kept = left_over(&self.facts, resource, expansion);
        let valued = |address: &ResourceInstance| Some((address.key.clone(), self.stored_value(address, schema)?));
        kept.into_iter().filter_map(valued).collect()
    }

    fn is_absent(&self, address: &ResourceInstance) -> bool {
        self.kind().is_absent(self, address)
    }

    fn gap(&self, resource: &AbsResource, schema: &Schema, kind: ExpansionKind) -> Value {
        match self.kind().gap(&self.facts, resource, schema, kind) {
            Gap::Unknown(value) => value,
            Gap::Nothing => {
                let gap = nothing(schema);
                if let Some(formula) = gap.formula() {
                    self.evaluated().gaps.add(formula.clone());
                }
                gap
            }
        }
    }

    fn missing(&self) -> Value {
        let nothing = Formula::constant(Value::null(Type::Dynamic));
        self.evaluated().gaps.add(nothing.clone());
        Value::unknown(Type::Dynamic).with_formula(Some(nothing))
    }

    async fn stored(&self, resource: &AbsResource, _: &ProviderSource, schema: &Schema) -> Vec<(InstanceKey, Value)> {
        let object = |address: &ResourceInstance| match self.facts.stored_value(address, schema) {
            Ok(value) => value,
            Err(problem) => {
                self.report.add(vec![problem]);
                None
            }
        };
        let all = self.facts.state.of_resource(resource);
        all.filter_map(|address| Some((address.key.clone(), object(address)?))).collect()
    }

    fn provision(&self, address: &ResourceInstance, provisions: Vec<Provision>) -> Option<Origin> {
        self.take_provisions(address, provisions)
    }

    fn checked(&self, result: CheckResult) {
        self.note_check(result);
    }

    async fn managed(&self, mut desired: DesiredInstance) -> Result<Managed, Failed> {
        self.evaluated().desired.insert(desired.address.clone());
        desired.config = self.impure_apart(&desired.address, desired.config);
        if let Some(value) = self.reported(self.heed_doubt(&desired))? {
            return Ok(Managed { value: with_schema_marks(&value, &desired.schema), created: false });
        }
        self.reported(self.kind().plan_managed(self, desired).await)
    }

    async fn data(&self, mut desired: DesiredInstance) -> Result<Value, Failed> {
        self.evaluated().desired.insert(desired.address.clone());
        desired.config = self.impure_apart(&desired.address, desired.config);
        match desired.block.check.clone() {
            Some(check) => self.plan_check_data(&desired, &check).await,
            None => self.reported(self.plan_data(&desired).await),
        }
    }

    async fn ephemeral(&self, desired: DesiredInstance) -> Result<Value, Failed> {
        self.reported(self.plan_ephemeral(&desired).await)
    }

    fn bare(&self, resource: &AbsResource, provider: ProviderConfig) {
        self.found().bare.insert(BareResource { resource: resource.clone(), provider });
    }

    fn expanded(&self, resource: &AbsResource, expansion: &Expansion, protection: Option<Protection>) {
        let facts = &self.facts;
        if facts.rules.makes_objects || facts.begins_with_found() {
            // Readers of the resource wait until these instances are deleted.
            let surplus = first_surplus(&facts.state, facts.selection(), resource, expansion);
            if let Some(address) = surplus {
                let mut agenda = self.agenda();
                agenda.effects.happens_to(address);
                if facts.rules.reads_first {
                    agenda.effects.takes_part(resource.clone());
                }
            }
        }
        let needed = protection.as_ref().filter(|_| facts.rules.makes_objects && !expansion.keys.is_empty());
        self.report.add(needed.map(problems_of).unwrap_or_default());
        for warning in replacements_without_instance(&facts.options.replace, resource, expansion) {
            self.report.remark(warning);
        }
        let mut evaluated = self.evaluated();
        if let Some(protection) = protection {
            evaluated.protect(resource, protection);
        }
        evaluated.resources.insert(resource.clone(), expansion.clone());
    }

    fn protected(&self, resource: &AbsResource, protection: Protection) {
        self.evaluated().protect(resource, protection);
    }

    async fn planned_all(&self, resource: &AbsResource) -> Result<(), Failed> {
        if self.facts.rules.begins_with_found && self.facts.options.refresh {
            return self.heed_protected_surplus(resource);
        }
        if !self.facts.rules.makes_objects {
            return Ok(());
        }
        let surplus = protected_surplus(&self.facts, &self.evaluated(), resource);
        let mut outcome = Ok(());
        for orphan in surplus {
            let address = orphan.address.clone();
            self.evaluated().surplus.insert(address.clone());
            let planned = self.reported(self.plan_orphan(orphan).await);
            if planned.is_err() || self.report.refuses(&address) {
                outcome = Err(Failed);
            }
        }
        outcome
    }

    fn module_expanded(&self, parent: &ModuleInstance, call: &str, expansion: &Expansion) {
        self.evaluated().modules.insert((parent.clone(), SmolStr::new(call)), expansion.clone());
    }

    /// Each part whose computation can fail becomes an `evaluate` operation. Readers use its result. Parts that apply
    /// cannot compute stay as they are.
    fn named(&self, name: &ValueName, value: Value) -> Value {
        if name.kind == NameKind::Variable && name.module.is_root() {
            self.evaluated().variables.insert(name.name.clone(), value.clone());
        }
        if !value.deep().formula || !self.facts.rules.makes_objects {
            return value;
        }
        value.transform(&mut |path, part| {
            let Some(formula) = part.formula() else { return Transform::Descend };
            if !formula.can_fail() || self.evaluated().gaps.reach(formula) {
                return Transform::Replace(part.clone());
            }
            Transform::Replace(self.computed(SmolStr::from(format!("{name}{path}")), part, formula))
        })
    }

    fn open_check(&self, check: OpenCheck) -> Option<Origin> {
        // Apply does not know instances that the selection leaves out, so it cannot decide conditions about them.
        if !self.kind().opens_check(&check) || self.evaluated().gaps.reach(&check.condition.to_formula()) {
            return None;
        }
        let (condition, given) = match self.kind().settled_check(&check) {
            Some((condition, message)) => (condition, message),
            None => (check.condition, check.message),
        };
        let reads = [check.waits, condition.deep_origin(), given.deep_origin()];
        let message = given.to_formula();
        let message = match &check.rule {
            // Apply does not know the rules, so the message contains the source range.
            Some(rule) => {
                let parts = vec![message, Formula::constant(Value::string(checked_by(rule)))];
                Formula::new(FormulaOp::Template(parts), Type::String, check.message_range)
            }
            None => message.placed(check.message_range),
        };
        let mut agenda = self.agenda();
        let result = agenda.reserve();
        agenda.checks.push(PlannedCheck {
            result,
            address: check.address,
            kind: check.kind,
            condition: condition.to_formula(),
            message,
            range: check.range,
            waits: Origin::union(reads.into_iter().flatten()),
        });
        Some(Origin::after(result))
    }

    fn is_failed_check(&self, address: &str) -> bool {
        self.evaluated().checks.contains_key(&(CheckedKind::Check, address.to_owned()))
    }

    fn root_output(&self, mut output: RootOutput) {
        output.value = self.calls_apart(&format_args!("output.{}", output.name), output.value);
        self.evaluated().outputs.insert(output.name.clone(), output);
    }

    fn module_output(&self, module: &ModuleInstance, name: &SmolStr, is_null: bool) {
        let mut evaluated = self.evaluated();
        evaluated.has_module_outputs = true;
        if !is_null {
            evaluated.module_outputs.insert((module.clone(), name.clone()));
        }
    }

    fn not_reached(&self, module: &Module, variable: &SmolStr) {
        self.evaluated().not_reached.insert((module.clone(), variable.clone()));
    }

    async fn provider_function(
        &self,
        source: &ProviderSource,
        instance: Option<&ProviderInstance>,
        function: &str,
        arguments: Vec<Value>,
    ) -> Result<Value, FunctionError> {
        self.ask.providers.call_function(source, instance, function, &arguments).await
    }

    fn report(&self, diagnostic: Diagnostic) {
        self.report.evaluated(diagnostic);
    }
}
