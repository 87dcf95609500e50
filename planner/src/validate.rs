//! Validation: evaluates the configuration with unknown values. Providers are asked only to validate.

use std::sync::Arc;

use async_trait::async_trait;
use weft_evaluator::config::CompiledModule;
use weft_evaluator::given_variables::GivenVariables;
use weft_evaluator::glue::{
    Brief, DesiredInstance, Expansion, Failed, Glue, Managed, OpenCheck, Protection, RootOutput, ValueName,
};
use weft_evaluator::purpose::Purpose;
use weft_evaluator::{Environment, evaluate_configuration};
use weft_expressions::functions::FunctionError;
use weft_graph_format::address::{AbsResource, ModuleInstance, ProviderInstance, ProviderSource, ResourceMode};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::origin::Origin;
use weft_graph_format::schema::ProviderSchema;
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::Value;

use weft_providers::ProviderDiagnostic;

use crate::diagnostics::{call_failed, placed};
use crate::prior::without_provenance;
use crate::providers::ProviderSet;
use crate::report::Report;

/// Validates a configuration for any values of its variables.
pub async fn validate(
    root: Arc<CompiledModule>,
    environment: Environment,
    providers: Arc<ProviderSet>,
) -> Vec<Diagnostic> {
    let validation = Arc::new(Validation { providers, report: Report::default() });
    let _ = evaluate_configuration(root, validation.clone(), environment, GivenVariables::new()).await;
    let (mut found, _) = validation.report.take();
    found.sort_by(|a, b| (&a.subject, &a.summary).cmp(&(&b.subject, &b.summary)));
    found.dedup();
    found
}

struct Validation {
    providers: Arc<ProviderSet>,
    report: Report,
}

impl Validation {
    fn accept(&self, problems: Vec<Diagnostic>) -> Result<(), Failed> {
        let failed = problems.iter().any(Diagnostic::is_error);
        self.report.add(problems);
        if failed { Err(Failed) } else { Ok(()) }
    }

    async fn check(&self, desired: &DesiredInstance) -> Result<Value, Failed> {
        let text = desired.address.to_string();
        let places = &desired.block.places;
        let in_use = match self.providers.unconfigured(&desired.provider.source).await {
            Ok(in_use) => in_use,
            Err(problems) => return self.accept(problems).and(Err(Failed)),
        };
        let config = without_provenance(&desired.config.unmark_deep().0);
        let type_name = &desired.address.resource.type_name;
        let mode = desired.address.resource.mode;
        match in_use.provider.validate_config(mode, type_name, &config).await {
            // The built-in managed type reports no attribute paths.
            Ok(said) if desired.provider.source.is_builtin() && mode == ResourceMode::Managed => {
                self.accept(said.iter().map(ProviderDiagnostic::to_diagnostic).collect())?;
            }
            Ok(said) => self.accept(placed(&said, Some(places), &text))?,
            Err(error) => self.accept(vec![call_failed(&error, Some(places), &text)])?,
        }
        Ok(weft_expressions::resource_rules::all_unknown(&desired.schema.block, &config))
    }
}

#[async_trait]
impl Glue for Validation {
    fn brief(&self) -> Brief {
        Brief::new(Purpose::Validate)
    }

    async fn provider_schema(&self, source: &ProviderSource) -> Result<Arc<ProviderSchema>, Diagnostic> {
        self.providers.schema(source).await
    }

    async fn provider_instance(&self, _: &ProviderInstance, _: &Value, _: &SourceRange) -> Result<(), Failed> {
        Ok(())
    }

    async fn managed(&self, desired: DesiredInstance) -> Result<Managed, Failed> {
        self.check(&desired).await.map(|value| Managed { value, created: false })
    }

    async fn data(&self, desired: DesiredInstance) -> Result<Value, Failed> {
        self.check(&desired).await
    }

    async fn ephemeral(&self, desired: DesiredInstance) -> Result<Value, Failed> {
        self.check(&desired).await
    }

    fn expanded(&self, _: &AbsResource, _: &Expansion, _: Option<Protection>) {}

    fn module_expanded(&self, _: &ModuleInstance, _: &str, _: &Expansion) {}

    fn named(&self, _: &ValueName, value: Value) -> Value {
        value
    }

    fn open_check(&self, _: OpenCheck) -> Option<Origin> {
        None
    }

    fn root_output(&self, _: RootOutput) {}

    async fn provider_function(
        &self,
        source: &ProviderSource,
        _: Option<&ProviderInstance>,
        function: &str,
        arguments: Vec<Value>,
    ) -> Result<Value, FunctionError> {
        self.providers.call_function(source, None, function, &arguments).await
    }

    fn report(&self, diagnostic: Diagnostic) {
        self.report.add(vec![diagnostic]);
    }
}
