//! Functions of providers, called while a formula runs. Formulas do not await, so a formula that calls a provider runs
//! on a thread that may block.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use weft_expressions::functions::FunctionError;
use weft_expressions::scope::ProviderFunction;
use weft_expressions::terraform_functions;
use weft_graph_format::address::{FunctionProvider, ProviderSource};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::value::Value;
use weft_providers::{InstanceRequest, PooledProvider, Provider};

use super::Shard;
use crate::host::Host;
use crate::problems;
use crate::problems::reasons::NoFunction;
use crate::subject::DiagnosticSubject;

/// Calls functions for one run of a formula. Plugins that the caller started stay in use until the caller is dropped.
pub(crate) struct FunctionCaller<'a> {
    shard: &'a Arc<Shard>,
    host: &'a Arc<Host>,
    runtime: Handle,
    open: Mutex<BTreeMap<FunctionProvider, Arc<Provider>>>,
}

impl<'a> FunctionCaller<'a> {
    pub(crate) fn new(shard: &'a Arc<Shard>, host: &'a Arc<Host>, runtime: Handle) -> FunctionCaller<'a> {
        FunctionCaller { shard, host, runtime, open: Mutex::default() }
    }

    /// A process of this provider: the instance of the shard, or a process without a configuration.
    fn provider(&self, name: &FunctionProvider) -> Result<Arc<Provider>, Diagnostic> {
        if let Some(found) = self.open.lock().get(name) {
            return Ok(found.clone());
        }
        let provider = self.start(name)?;
        self.open.lock().insert(name.clone(), provider.clone());
        Ok(provider)
    }

    fn start(&self, name: &FunctionProvider) -> Result<Arc<Provider>, Diagnostic> {
        if let Some(slot) = self.shard.providers().find(|slot| Some(&slot.instance) == name.instance()) {
            let opened = self.runtime.block_on(slot.acquire(self.shard, self.host));
            return match opened {
                Ok(opened) => Ok(opened.provider),
                Err(problems) => Err(problems
                    .into_iter()
                    .next()
                    .unwrap_or_else(|| problems::unavailable_function(name, &NoFunction::NotStarted))),
            };
        }
        let source = name.source();
        if source.is_builtin() {
            return Err(problems::unavailable_function(name, &NoFunction::NoFunctions));
        }
        let plugin = self.host.options.packages.find(&self.shard.package(source))?;
        let key = format!("{source} (functions)");
        let wanted = InstanceRequest { key, plugin, config: None, bound: None };
        let text = name.to_string();
        let subject = DiagnosticSubject { address: &text, config: None };
        let lease = self.runtime.block_on(self.host.pool.open(wanted)).map_err(|error| {
            let first = problems::open_failed(&subject, &error).into_iter().next();
            first.unwrap_or_else(|| problems::unavailable_function(name, &NoFunction::NotStarted))
        })?;
        Ok(Arc::new(Provider::Plugin(lease)))
    }

    /// The signature of a function.
    pub(crate) fn signature(
        &self,
        provider: &FunctionProvider,
        function: &str,
    ) -> Result<ProviderFunction, Diagnostic> {
        let unknown = || problems::unavailable_function(provider, &NoFunction::Unknown(function.to_owned()));
        let failed = |error| problems::unavailable_function(provider, &NoFunction::Call(error));
        if is_terraform(provider) {
            let signature = terraform_functions::signature(function).ok_or_else(unknown)?;
            let signature = Arc::new(signature);
            return Ok(ProviderFunction { provider: provider.clone(), function: function.into(), signature });
        }
        let found = self.provider(provider)?;
        let schema = self.runtime.block_on(found.schema()).map_err(failed)?;
        let signature = match (schema.functions.get(function), lease_of(&found)) {
            (Some(signature), _) => signature.clone(),
            (None, Some(lease)) => {
                let functions = self.runtime.block_on(lease.get_functions()).map_err(failed)?.value;
                functions.get(function).cloned().ok_or_else(unknown)?
            }
            (None, None) => return Err(problems::unavailable_function(provider, &NoFunction::NoFunctions)),
        };
        Ok(ProviderFunction { provider: provider.clone(), function: function.into(), signature: Arc::new(signature) })
    }

    /// Calls a function.
    pub(crate) fn call(&self, function: &ProviderFunction, arguments: &[Value]) -> Result<Value, FunctionError> {
        if is_terraform(&function.provider) {
            return terraform_functions::call(&function.function, arguments);
        }
        let provider = self.provider(&function.provider).map_err(|problem| FunctionError::new(problem.detail))?;
        let Some(lease) = lease_of(&provider) else {
            return Err(FunctionError::new(NoFunction::NoFunctions.to_string()));
        };
        match self.runtime.block_on(lease.call_function(&function.function, arguments)) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(failure)) => Err(FunctionError {
                argument: failure.argument.and_then(|index| usize::try_from(index).ok()),
                message: failure.text,
            }),
            Err(error) => Err(FunctionError::new(error.to_string())),
        }
    }
}

/// Whether this is the built-in provider, whose functions need no process.
fn is_terraform(provider: &FunctionProvider) -> bool {
    provider.instance().is_none() && *provider.source() == ProviderSource::builtin("terraform")
}

fn lease_of(provider: &Provider) -> Option<&PooledProvider> {
    provider.plugin()
}
