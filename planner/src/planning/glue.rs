//! The face that evaluation sees.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use smol_str::SmolStr;
use weft_evaluator::glue::{
    Construct, DesiredInstance, Expansion, ExpansionKind, Failed, Glue, OpenCheck, Protection, Provision, Purpose,
    RootOutput,
};
use weft_evaluator::selection::Selection;
use weft_expressions::functions::FunctionError;
use weft_graph_format::address::{
    AbsResource, ModuleInstance, ProviderConfig, ProviderInstance, ProviderSource, ResourceInstance, ResourceMode,
};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::origin::Origin;
use weft_graph_format::plan_file::{CheckResult, CheckStatus, CheckedKind};
use weft_graph_format::schema::{ProviderSchema, Schema};
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Transform, Value};

use super::Planning;
use super::selecting::nothing;

#[async_trait]
impl Glue for Planning {
    fn purpose(&self) -> Purpose {
        Purpose::Plan
    }

    fn begins(&self) {
        self.began.store(true, Ordering::Relaxed);
    }

    async fn provider_schema(&self, source: &ProviderSource) -> Result<Arc<ProviderSchema>, Diagnostic> {
        self.providers.schema(source).await
    }

    async fn provider_instance(
        &self,
        instance: &ProviderInstance,
        config: &Value,
        range: &SourceRange,
    ) -> Result<(), Failed> {
        self.providers.register(instance, config, range);
        Ok(())
    }

    fn selection(&self) -> Selection {
        self.options.selection.clone()
    }

    fn left_out(&self, address: &ResourceInstance, schema: &Schema) -> Option<Value> {
        if !self.options.destroy || !self.is_selected_to_go(address) {
            self.desired.lock().insert(address.clone());
        }
        self.stored_value(address, schema)
    }

    fn is_absent(&self, address: &ResourceInstance) -> bool {
        address.resource.mode == ResourceMode::Managed && self.options.refresh_only && self.is_missing(address)
    }

    fn gap(&self, schema: &Schema, kind: ExpansionKind) -> Value {
        match (self.options.refresh_only && !self.options.importing, kind) {
            // Nothing will make it, so its attributes have no type either.
            (true, ExpansionKind::Single) => Value::unknown(Type::Dynamic),
            (true, _) => Value::unknown(schema.block.implied_type()),
            (false, _) => {
                let gap = nothing(schema);
                self.gaps.lock().extend(gap.formula().cloned());
                gap
            }
        }
    }

    fn imports(&self) -> bool {
        !self.options.destroy && (!self.options.refresh_only || self.options.importing)
    }

    fn wanted_providers(&self) -> Vec<ProviderConfig> {
        let wanted: BTreeSet<ProviderConfig> = self
            .snapshot
            .instances
            .values()
            .filter(|stored| stored.record.mode == weft_state::ResourceMode::Managed)
            .filter_map(|stored| stored.record.provider.parse::<ProviderInstance>().ok())
            .map(|instance| instance.config())
            .collect();
        wanted.into_iter().collect()
    }

    fn is_created(&self, address: &ResourceInstance) -> bool {
        self.created.lock().contains_key(address)
    }

    fn provision(&self, address: &ResourceInstance, provisions: Vec<Provision>) -> Option<Origin> {
        self.draft_provisions(address, provisions)
    }

    fn supports(&self, construct: Construct) -> bool {
        use Construct::{Check, Ephemeral, Import, Moved, Removed};
        matches!(construct, Moved | Removed | Import | Check | Ephemeral)
    }

    fn checked(&self, result: CheckResult) {
        if matches!(result.status, CheckStatus::Fail | CheckStatus::Error) {
            self.providers.hush(&result.address);
        }
        self.checks.lock().insert((result.kind, result.address.clone()), result);
    }

    async fn managed(&self, mut desired: DesiredInstance) -> Result<Value, Failed> {
        self.desired.lock().insert(desired.address.clone());
        desired.config = self.impure_apart(&desired.address.to_string(), desired.config);
        let outcome = match (self.options.destroy, self.options.refresh_only) {
            (true, _) if !self.is_selected_to_go(&desired.address) => {
                let stored = self.stored_value(&desired.address, &desired.schema);
                Ok(stored.unwrap_or_else(|| nothing(&desired.schema)))
            }
            (false, true) if desired.import.is_none() && self.holds_nothing(&desired.address) => {
                Ok(Value::unknown(desired.schema.block.implied_type()))
            }
            _ => match self.check_meta(&desired.address, &desired.provider.source) {
                Ok(()) => self.look_after(desired).await,
                Err(problems) => Err(problems),
            },
        };
        outcome.map_err(|problems| {
            self.report_all(problems);
            Failed
        })
    }

    async fn data(&self, mut desired: DesiredInstance) -> Result<Value, Failed> {
        self.desired.lock().insert(desired.address.clone());
        desired.config = self.impure_apart(&desired.address.to_string(), desired.config);
        if desired.block.check.is_some() {
            return self.plan_check_data(desired).await;
        }
        self.plan_data(&desired).await.map_err(|problems| {
            self.report_all(problems);
            Failed
        })
    }

    async fn ephemeral(&self, desired: DesiredInstance) -> Result<Value, Failed> {
        self.plan_ephemeral(&desired).await.map_err(|problems| {
            self.report_all(problems);
            Failed
        })
    }

    fn expanded(&self, resource: &AbsResource, expansion: &Expansion, protection: Option<Protection>) {
        self.note_surplus(resource, expansion);
        if let Some(protection) = protection {
            if !expansion.keys.is_empty() {
                self.check_protection(&protection);
            }
            self.protected.lock().insert(resource.clone(), protection);
        }
        self.remark_replace_wishes(resource, expansion);
        self.resources.lock().insert(resource.clone(), expansion.clone());
    }

    fn module_expanded(&self, parent: &ModuleInstance, call: &str, expansion: &Expansion) {
        self.modules.lock().insert((parent.clone(), SmolStr::new(call)), expansion.clone());
    }

    /// Each part whose computing can fail becomes an `evaluate`, and readers take its result.
    fn named(&self, name: &str, value: Value) -> Value {
        if let Some(variable) = name.strip_prefix("var.") {
            self.variables.lock().insert(SmolStr::new(variable), value.clone());
        }
        // Nothing but configurations of providers is computed when a plan that makes nothing is carried out.
        if !value.deep().formula || self.options.destroy || self.options.refresh_only {
            return value;
        }
        value.transform(&mut |path, part| {
            let Some(formula) = part.formula() else { return Transform::Descend };
            if !formula.can_fail() {
                return Transform::Replace(part.clone());
            }
            let label = if path.0.is_empty() { SmolStr::new(name) } else { SmolStr::from(format!("{name}{path}")) };
            Transform::Replace(self.evaluated(label, part, formula))
        })
    }

    fn open_check(&self, check: OpenCheck) -> Option<Origin> {
        if self.options.destroy {
            // An apply that only destroys looks at no conditions.
            return None;
        }
        if self.options.refresh_only && !check.condition.is_known() {
            // Nothing is made that would tell.
            return None;
        }
        let waits = Origin::union(
            [check.waits, check.condition.deep_origin(), check.message.deep_origin()].into_iter().flatten(),
        );
        let operation = self.builder.check(
            check.address,
            check.kind,
            check.condition.to_formula(),
            check.message.to_formula(),
            Some(check.range),
            waits,
        );
        Some(Origin::after(operation.id()))
    }

    fn is_failed_check(&self, address: &str) -> bool {
        self.checks.lock().contains_key(&(CheckedKind::Check, address.to_owned()))
    }

    fn root_output(&self, mut output: RootOutput) {
        output.value = self.calls_apart(&format!("output.{}", output.name), output.value);
        self.outputs.lock().insert(output.name.clone(), output);
    }

    fn module_output(&self, module: &ModuleInstance, name: &SmolStr) {
        self.module_outputs.lock().insert((module.clone(), name.clone()));
    }

    async fn provider_function(
        &self,
        source: &ProviderSource,
        instance: Option<&ProviderInstance>,
        function: &str,
        arguments: Vec<Value>,
    ) -> Result<Value, FunctionError> {
        self.providers.call_function(source, instance, function, &arguments).await
    }

    fn report(&self, diagnostic: Diagnostic) {
        // A plan to destroy evaluates only to look at everything once more: nobody asked what is to be said of that.
        let aside = self.options.destroy && self.began.load(Ordering::Relaxed) && !diagnostic.is_error();
        if !aside {
            self.diagnostics.lock().push(diagnostic);
        }
    }

    fn only_looks(&self) -> bool {
        self.options.refresh_only
    }

    fn is_lenient(&self) -> bool {
        self.options.destroy || self.options.refresh_only
    }
}
