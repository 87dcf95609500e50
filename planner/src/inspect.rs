//! Inspection: the face of planning for questions. Objects are what state has of them, and nothing is asked of any
//! provider but its schemas, functions, and to bring stored objects to their present form.

use std::sync::Arc;

use async_trait::async_trait;
use weft_evaluator::config::CompiledModule;
use weft_evaluator::glue::{
    Brief, DesiredInstance, Expansion, Failed, GivenVariables, Glue, Managed, OpenCheck, Protection, Purpose,
    RootOutput, ValueName,
};
use weft_evaluator::{Environment, Session};
use weft_expressions::functions::FunctionError;
use weft_graph_format::address::{
    AbsResource, InstanceKey, ModuleInstance, ProviderInstance, ProviderSource, ResourceInstance, ResourceMode,
};
use weft_graph_format::codec::json;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::origin::Origin;
use weft_graph_format::schema::{ProviderSchema, Schema};
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_state::{InstanceObject, Snapshot};

use crate::instance::prior::{Reading, marks_of, read_prior, with_schema_marks};
use crate::prior_state::PriorState;
use crate::providers::ProviderSet;
use crate::report::Report;
use crate::watch::Watch;

/// What questions are about.
pub struct Inspected {
    /// The configuration.
    pub root: Arc<CompiledModule>,
    /// Its place.
    pub environment: Environment,
    /// Root variables as given; those that are missing are unknown.
    pub given: GivenVariables,
    /// State.
    pub snapshot: Arc<Snapshot>,
    /// Providers.
    pub providers: Arc<ProviderSet>,
    /// The configuration was just applied: resources without objects have none.
    pub settled: bool,
}

/// Begins an inspection: everything named is evaluated once, over what state has. The session is none when the
/// configuration as a whole cannot be evaluated; what is wrong otherwise keeps no question from being asked.
pub async fn inspect(inspected: Inspected) -> (Option<Session>, Vec<Diagnostic>) {
    let Inspected { root, environment, given, snapshot, providers, settled } = inspected;
    let inspection =
        Arc::new(Inspection { state: PriorState::of(snapshot), providers, settled, report: Report::default() });
    let session = Session::begin(root, inspection.clone(), environment, given).ok();
    if let Some(session) = &session {
        // Why it failed is among the problems.
        let _ = session.everything().await;
    }
    let (mut found, _) = inspection.report.take();
    found.sort_by(|a, b| (&a.subject, &a.summary).cmp(&(&b.subject, &b.summary)));
    found.dedup();
    (session, found)
}

struct Inspection {
    state: PriorState,
    providers: Arc<ProviderSet>,
    settled: bool,
    report: Report,
}

impl Inspection {
    /// An object of state, typed by the present schema.
    async fn object(
        &self,
        address: &ResourceInstance,
        source: &ProviderSource,
        schema: &Schema,
        object: &InstanceObject,
    ) -> Result<Value, Vec<Diagnostic>> {
        // What was stored by this very schema needs no provider.
        if object.schema_version == schema.version && object.attributes_flat.is_none() {
            let text = object.attributes.as_str().as_bytes();
            if let Ok(value) = json::decode(text, &schema.block.implied_type()) {
                return Ok(with_schema_marks(&value, schema).mark_paths(&marks_of(object, &address.to_string())));
            }
        }
        if address.resource.mode != ResourceMode::Managed {
            return Err(vec![
                Diagnostic::error(
                    "Failed to decode resource from state",
                    format!("What is stored of {address} does not fit the present schema of its type."),
                )
                .about(address.to_string()),
            ]);
        }
        let in_use = self.providers.unconfigured(source).await?;
        let reading = Reading { provider: &in_use.provider, refresh: false, meta: None, watch: &Watch::none() };
        let (prior, _) = read_prior(address, object, schema, reading).await?;
        Ok(prior.value)
    }
}

#[async_trait]
impl Glue for Inspection {
    fn brief(&self) -> Brief {
        Brief { settled: self.settled, ..Brief::new(Purpose::Inspect) }
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

    async fn stored(
        &self,
        resource: &AbsResource,
        source: &ProviderSource,
        schema: &Schema,
    ) -> Vec<(InstanceKey, Value)> {
        let mut found = Vec::new();
        for address in self.state.of_resource(resource) {
            let Some(object) = self.state.current(address) else { continue };
            let value = match self.object(address, source, schema, object).await {
                Ok(value) => value,
                Err(problems) => {
                    self.report.add(problems);
                    Value::unknown(Type::Dynamic)
                }
            };
            found.push((address.key.clone(), value));
        }
        found
    }

    /// Nothing is desired when questions are asked.
    async fn managed(&self, _: DesiredInstance) -> Result<Managed, Failed> {
        Err(Failed)
    }

    async fn ephemeral(&self, _: DesiredInstance) -> Result<Value, Failed> {
        Err(Failed)
    }

    async fn data(&self, _: DesiredInstance) -> Result<Value, Failed> {
        Err(Failed)
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
        instance: Option<&ProviderInstance>,
        function: &str,
        arguments: Vec<Value>,
    ) -> Result<Value, FunctionError> {
        self.providers.call_function(source, instance, function, &arguments).await
    }

    fn report(&self, diagnostic: Diagnostic) {
        self.report.add(vec![diagnostic]);
    }
}
