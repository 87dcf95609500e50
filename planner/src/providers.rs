//! The provider instances of planning. They are opened when first needed, and the number of concurrent calls is
//! limited.

mod ephemerals;
mod gate;

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use weft_expressions::functions::FunctionError;
use weft_graph_format::address::{ProviderInstance, ProviderSource};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::origin::Origin;
use weft_graph_format::schema::ProviderSchema;
use weft_graph_format::source::SourceRange;
use weft_graph_format::value::Value;
use weft_providers::{Builtin, InstanceRequest, Plugin, Provider, ProviderOpenError, ProviderPool};

use ephemerals::OpenObjects;

use crate::problems;

pub use ephemerals::OpenedHere;
pub use gate::ReadGate;

/// Finds the plugin of a provider.
pub type PluginSource = Arc<dyn Fn(&ProviderSource) -> Result<Plugin, Diagnostic> + Send + Sync>;

/// A registered provider instance.
#[derive(Clone, Debug)]
pub struct Registered {
    /// The configuration with formulas, marks and origins.
    pub config: Value,
    /// The range of the block.
    pub range: SourceRange,
    /// The operations that all operations of the provider wait for.
    pub origin: Option<Origin>,
}

/// All providers of one command.
pub struct ProviderSet {
    plugins: PluginSource,
    pool: ProviderPool,
    calls: Semaphore,
    /// The gate that limits reads.
    gate: Option<Arc<dyn ReadGate>>,
    registered: Mutex<BTreeMap<ProviderInstance, Arc<Registered>>>,
    schemas: Mutex<BTreeMap<ProviderSource, Arc<ProviderSchema>>>,
    warned: Mutex<BTreeMap<ProviderInstance, ()>>,
    /// The open ephemeral objects.
    ephemerals: OpenObjects,
}

/// A provider in use. It holds a permit for one call at a time.
pub struct InUse<'a> {
    /// The provider.
    pub provider: Provider,
    /// The warnings that the provider returned about its configuration.
    pub warnings: Vec<Diagnostic>,
    _room: Option<tokio::sync::SemaphorePermit<'a>>,
}

impl ProviderSet {
    /// Creates a set of providers with at most `parallelism` concurrent calls.
    pub fn new(plugins: PluginSource, pool: ProviderPool, parallelism: usize) -> ProviderSet {
        ProviderSet {
            plugins,
            pool,
            calls: Semaphore::new(parallelism.max(1)),
            gate: None,
            registered: Mutex::default(),
            schemas: Mutex::default(),
            warned: Mutex::default(),
            ephemerals: OpenObjects::default(),
        }
    }

    /// Limits reads with a gate.
    pub fn with_gate(self, gate: Option<Arc<dyn ReadGate>>) -> ProviderSet {
        ProviderSet { gate, ..self }
    }

    /// The schema of a provider.
    pub async fn schema(&self, source: &ProviderSource) -> Result<Arc<ProviderSchema>, Diagnostic> {
        if source.is_builtin() {
            return self.builtin(source).map(|_| Builtin::schema());
        }
        if let Some(found) = self.schemas.lock().get(source) {
            return Ok(found.clone());
        }
        let plugin = (self.plugins)(source)?;
        match self.pool.schema(&plugin).await {
            Ok(schema) => {
                self.schemas.lock().insert(source.clone(), schema.clone());
                Ok(schema)
            }
            Err(error) => Err(problems::schema_missing(source, &error)),
        }
    }

    /// All schemas that were requested.
    pub fn schemas(&self) -> BTreeMap<ProviderSource, Arc<ProviderSchema>> {
        self.schemas.lock().clone()
    }

    /// Registers a configuration.
    pub fn register(&self, instance: &ProviderInstance, config: &Value, range: &SourceRange) {
        let registered = Registered { config: config.clone(), range: range.clone(), origin: config.deep_origin() };
        self.registered.lock().insert(instance.clone(), Arc::new(registered));
    }

    /// The registered configuration.
    pub fn registered(&self, instance: &ProviderInstance) -> Option<Arc<Registered>> {
        self.registered.lock().get(instance).cloned()
    }

    fn builtin(&self, source: &ProviderSource) -> Result<Builtin, Diagnostic> {
        if source.type_name == "terraform" {
            return Ok(self.pool.builtin());
        }
        Err(problems::no_such_builtin(source))
    }

    /// An unconfigured provider, for validation.
    pub async fn unconfigured(&self, source: &ProviderSource) -> Result<InUse<'_>, Vec<Diagnostic>> {
        if source.is_builtin() {
            let provider = Provider::Builtin(self.builtin(source).map_err(|p| vec![p])?);
            return Ok(InUse { provider, warnings: Vec::new(), _room: None });
        }
        let plugin = (self.plugins)(source).map_err(|p| vec![p])?;
        let room = self.calls.acquire().await.ok();
        let wanted = InstanceRequest {
            key: format!("{} (not configured)", plugin.spec.name),
            plugin,
            config: None,
            bound: None,
        };
        match self.pool.open(wanted).await {
            Ok(lease) => Ok(InUse { provider: Provider::Plugin(lease), warnings: Vec::new(), _room: room }),
            Err(error) => Err(crate::diagnostics::open_failed(&error, &source.for_display(), None)),
        }
    }

    /// Calls a function of a configured instance, or of an unconfigured provider.
    pub async fn call_function(
        &self,
        source: &ProviderSource,
        instance: Option<&ProviderInstance>,
        function: &str,
        arguments: &[Value],
    ) -> Result<Value, FunctionError> {
        let opened = match instance {
            Some(instance) => self.open(instance).await,
            None => self.unconfigured(source).await,
        };
        let in_use = opened.map_err(|problems| {
            let problem = problems.into_iter().next().map(|problem| problem.summary);
            FunctionError::new(problem.unwrap_or_else(|| String::from("the provider cannot be started")))
        })?;
        let Some(lease) = in_use.provider.plugin() else {
            return Err(FunctionError::new("the provider has no functions"));
        };
        match lease.call_function(function, arguments).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(failure)) => Err(FunctionError {
                argument: failure.argument.and_then(|index| usize::try_from(index).ok()),
                message: failure.text,
            }),
            Err(error) => Err(FunctionError::new(error.to_string())),
        }
    }

    /// The configured instance, started if necessary.
    pub async fn open(&self, instance: &ProviderInstance) -> Result<InUse<'_>, Vec<Diagnostic>> {
        if instance.source.is_builtin() {
            let provider = Provider::Builtin(self.builtin(&instance.source).map_err(|p| vec![p])?);
            let provider = provider.standing_in(instance, self.pool.stand_ins());
            return Ok(InUse { provider, warnings: Vec::new(), _room: None });
        }
        let Some(registered) = self.registered(instance) else {
            return Err(vec![problems::missing_instance(instance)]);
        };
        let plugin = (self.plugins)(&instance.source).map_err(|p| vec![p])?;
        let room = self.calls.acquire().await.ok();
        let (config, _) = registered.config.unmark_deep();
        let config = Some(config).filter(|_| !self.pool.is_stood_in_for(instance));
        let wanted = InstanceRequest { key: instance.to_string(), plugin, config, bound: None };
        let failed = |error: ProviderOpenError| {
            crate::diagnostics::open_failed(&error, &instance.to_string(), Some(&registered.range))
        };
        let lease = self.pool.open(wanted).await.map_err(failed)?;
        let mut warnings = Vec::new();
        if !lease.warnings.is_empty() && self.warned.lock().insert(instance.clone(), ()).is_none() {
            warnings.extend(lease.warnings.iter().map(|w| {
                let mut warning = w.to_diagnostic();
                warning.subject = Some(registered.range.clone());
                warning
            }));
        }
        let provider = Provider::Plugin(lease).standing_in(instance, self.pool.stand_ins());
        Ok(InUse { provider, warnings, _room: room })
    }

    /// Closes the open ephemeral objects and stops all processes.
    pub async fn close(&self) {
        for problem in self.close_ephemerals().await {
            tracing::warn!("{}: {}", problem.summary, problem.detail);
        }
        self.pool.close_all().await;
    }

    /// Asks running calls to stop.
    pub async fn stop(&self) {
        self.pool.stop_all().await;
    }
}
