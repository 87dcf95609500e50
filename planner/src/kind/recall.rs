//! Recalls provider instances that have disappeared: rebuilds them from their memories in the state.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_evaluator::glue::{RootPart, RootTemplate, RootVariable};
use weft_expressions::convert::convert;
use weft_expressions::evaluate::joined;
use weft_graph_format::address::{InstanceKey, ProviderInstance};
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::schema::ProviderSchema;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use crate::memory::{Hidden, Memory, digest};
use crate::planner::Planner;
use crate::problems::{self, Problems};
use crate::whole::orphans::has_calls;

impl Planner {
    /// Registers a provider instance that has disappeared together with its module instance. Does nothing if the
    /// instance exists, or if the state has no memory of the instance.
    ///
    /// If the provider block still exists and only the key of the instance has disappeared, evaluation has already
    /// configured and registered the instance. In this case, this function only reports that the plan uses the state's
    /// memory.
    ///
    /// # Errors
    /// Returns an error if a part of the provider configuration is not stored and cannot be found elsewhere.
    pub(crate) async fn recall(&self, instance: &ProviderInstance) -> Result<(), Problems> {
        let Some(memory) = self.facts.memories.get(instance) else { return Ok(()) };
        let providers = &self.ask.providers;
        if providers.registered(instance).is_some() {
            let keyed = instance.key != InstanceKey::None;
            if keyed && !self.evaluated().bases.contains_key(instance) {
                self.note_recalled(instance);
            }
            return Ok(());
        }
        if !self.is_module_gone(instance) {
            // Parts of `each.value` of the instance may be missing from the memory. If parts are missing and the
            // provider block still exists, this is an error. If the block was removed, evaluation reports the usual
            // error.
            let hidden = memory.hidden_of_value();
            let lost = self.facts.root.has_provider_block(&instance.config()) && !hidden.is_empty();
            return if lost { Err(vec![problems::hidden_value(instance, &hidden)]) } else { Ok(()) };
        }
        if memory.configuration.is_none() {
            return Ok(());
        }
        let schema = providers.schema(&instance.source).await.map_err(|problem| vec![problem])?;
        let config = self.recalled_configuration(instance, memory, &schema)?;
        providers.register(instance, &config, &SourceRange::default());
        self.note_recalled(instance);
        Ok(())
    }

    fn note_recalled(&self, instance: &ProviderInstance) {
        if self.evaluated().recalled.insert(instance.clone()) {
            self.report.remark(problems::recalled_instance(instance));
        }
    }

    /// Whether the module instance of a provider is no longer called.
    fn is_module_gone(&self, instance: &ProviderInstance) -> bool {
        !has_calls(&self.facts.root, &instance.module) || self.evaluated().has_module(&instance.module) == Some(false)
    }

    /// The remembered configuration, converted to the schema. Its secrets are the current values of their variables.
    fn recalled_configuration(
        &self,
        instance: &ProviderInstance,
        memory: &Memory,
        schema: &Arc<ProviderSchema>,
    ) -> Result<Value, Problems> {
        let mut fields =
            memory.configuration.as_ref().and_then(Value::as_fields).map(|f| f.to_map()).unwrap_or_default();
        for (path, hidden) in memory.hidden_arguments() {
            let Some(template) = &hidden.template else {
                return Err(vec![problems::hidden_argument(instance, path, &hidden.variables)]);
            };
            fields.insert(path.clone(), self.put_together(instance, path, template)?);
        }
        let Type::Object(object) = schema.provider.block.implied_type() else { return Ok(Value::object(fields)) };
        let mut arguments: Vec<(SmolStr, Value)> = Vec::new();
        for (name, ty) in &object.attributes {
            let value = match fields.get(name) {
                Some(value) => convert(value, ty)
                    .map_err(|error| vec![problems::unsuitable_memory(instance, name, &error.with_path())])?,
                None => Value::null(ty.clone()),
            };
            let hidden = memory.hidden.get(name);
            if let Some(Hidden { template: Some(template), digest: Some(wanted), .. }) = hidden
                && digest(instance, &value).as_ref() != Some(wanted)
            {
                return Err(vec![problems::changed_variables(instance, name, template)]);
            }
            arguments.push((name.clone(), value));
        }
        Ok(Value::object(arguments))
    }

    /// The current value of an argument that is made of root variables.
    fn put_together(
        &self,
        instance: &ProviderInstance,
        argument: &str,
        template: &RootTemplate,
    ) -> Result<Value, Problems> {
        if let Some(variable) = template.as_variable() {
            return self.variable_part(instance, argument, variable);
        }
        let part = |part: &RootPart| match part {
            RootPart::Text(text) => Ok(Value::string(text)),
            RootPart::Variable(variable) => self.variable_part(instance, argument, variable),
        };
        let parts: Vec<Value> = template.0.iter().map(part).collect::<Result<_, Problems>>()?;
        joined(&parts).map_err(|problem| {
            vec![problems::unsuitable_memory(instance, argument, problem.detail.trim_end_matches('.'))]
        })
    }

    /// The current value of a variable, or of a part of it.
    fn variable_part(
        &self,
        instance: &ProviderInstance,
        argument: &str,
        variable: &RootVariable,
    ) -> Result<Value, Problems> {
        let lost = |problem| Err(vec![problem]);
        if !self.facts.root.variables.contains_key(&variable.name) {
            return lost(problems::undeclared_variable(instance, argument, variable));
        }
        let value = self.evaluated().variables.get(&variable.name).cloned();
        let path = Path(variable.attributes.iter().cloned().map(ValueStep::Attribute).collect());
        match value.and_then(|value| value.at_path(&path).ok()) {
            Some(part) if !part.is_null() => Ok(part),
            _ => lost(problems::unset_variable(instance, argument, variable)),
        }
    }
}
