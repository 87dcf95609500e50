//! Inspection: evaluates expressions over the objects in the state, for commands such as `console`. Providers are asked
//! only for schemas, functions, and upgrades of stored objects.

use std::sync::Arc;

use async_trait::async_trait;
use weft_evaluator::config::CompiledModule;
use weft_evaluator::given_variables::GivenVariables;
use weft_evaluator::glue::{
    Brief, DesiredInstance, Expansion, Failed, Glue, Managed, OpenCheck, Protection, RootOutput, ValueName,
};
use weft_evaluator::purpose::Purpose;
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

use crate::prior::problems::stored_object_unreadable;
use crate::prior::{Reading, marks_of, read_prior, with_schema_marks};
use crate::prior_state::PriorState;
use crate::progress::ProgressSender;
use crate::providers::ProviderSet;
use crate::report::Report;

/// The inputs of an inspection.
pub struct Inspected {
    /// The configuration.
    pub root: Arc<CompiledModule>,
    /// Paths and the workspace of the configuration.
    pub environment: Environment,
    /// The given values of root variables. Missing values are unknown.
    pub given: GivenVariables,
    /// The state.
    pub snapshot: Arc<Snapshot>,
    /// The providers.
    pub providers: Arc<ProviderSet>,
    /// Whether the configuration was just applied. If so, resources without objects have no instances.
    pub settled: bool,
}

/// Starts an inspection: evaluates every named value once, over the state. The session is `None` if the configuration
/// as a whole cannot be evaluated. Other problems do not prevent queries.
pub async fn inspect(inspected: Inspected) -> (Option<Session>, Vec<Diagnostic>) {
    let Inspected { root, environment, given, snapshot, providers, settled } = inspected;
    let inspection =
        Arc::new(Inspection { state: PriorState::of(snapshot), providers, settled, report: Report::default() });
    let session = Session::begin(root, inspection.clone(), environment, given).ok();
    if let Some(session) = &session {
        // A failure needs no handling here: its cause is among the reported problems.
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
    /// A stored object, typed by the current schema.
    async fn object(
        &self,
        address: &ResourceInstance,
        source: &ProviderSource,
        schema: &Schema,
        object: &InstanceObject,
    ) -> Result<Value, Vec<Diagnostic>> {
        // An object stored with the current schema version needs no upgrade by its provider.
        if object.schema_version == schema.version && object.attributes_flat.is_none() {
            let text = object.attributes.as_str().as_bytes();
            if let Ok(value) = json::decode(text, &schema.block.implied_type()) {
                return Ok(with_schema_marks(&value, schema).mark_paths(&marks_of(object, &address.to_string())));
            }
        }
        if address.resource.mode != ResourceMode::Managed {
            return Err(vec![stored_object_unreadable(address)]);
        }
        let in_use = self.providers.unconfigured(source).await?;
        let reading =
            Reading { provider: &in_use.provider, refresh: false, meta: None, progress: &ProgressSender::none() };
        let (prior, _) = read_prior(address.into(), object, schema, reading).await?;
        Ok(prior.value)
    }
}

#[async_trait]
impl Glue for Inspection {
    fn brief(&self) -> Brief {
        Brief::new(Purpose::Inspect { settled: self.settled })
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

    /// An inspection plans no instances.
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
