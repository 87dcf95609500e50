//! Provider functions: finds the provider of a function, and calls the function.
//!
//! Expression evaluation is synchronous, so a call of a provider blocks its thread.

use std::future::Future;
use std::sync::Arc;

use smol_str::SmolStr;
use tokio::runtime::{Handle, RuntimeFlavor};
use weft_expressions::functions::FunctionError;
use weft_expressions::scope::ProviderFunction;
use weft_expressions::terraform_functions;
use weft_graph_format::address::{ProviderInstance, ProviderSource};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::schema::{FunctionParameter, FunctionSignature};
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::module_node::ModuleNode;
use super::problems::providers as problems;
use super::references::all_references;
use super::repetition_data::RepetitionData;
use crate::config::{CompiledModule, ProviderReference};
use crate::glue::Failed;
use crate::reference::Referent;

/// The parts of `provider::NAME::FUNCTION` and `provider::NAME::ALIAS::FUNCTION`.
struct FunctionName<'a> {
    provider: SmolStr,
    alias: Option<SmolStr>,
    function: &'a str,
}

impl FunctionName<'_> {
    /// A reference to the provider, as in a `provider` argument.
    fn reference(&self) -> ProviderReference {
        ProviderReference {
            local_name: self.provider.clone(),
            alias: self.alias.clone(),
            key: None,
            range: SourceRange::default(),
        }
    }

    fn read(name: &str) -> Option<FunctionName<'_>> {
        let parts: Vec<&str> = name.split("::").collect();
        match parts.as_slice() {
            ["provider", provider, function] => {
                Some(FunctionName { provider: SmolStr::new(*provider), alias: None, function })
            }
            ["provider", provider, alias, function] => {
                Some(FunctionName { provider: SmolStr::new(*provider), alias: Some(SmolStr::new(*alias)), function })
            }
            _ => None,
        }
    }
}

/// Waits for a future in synchronous code. `None` if the runtime does not allow waiting.
fn wait<T>(future: impl Future<Output = T>) -> Option<T> {
    let runtime = Handle::try_current().ok()?;
    match runtime.runtime_flavor() {
        RuntimeFlavor::CurrentThread => None,
        _ => Some(tokio::task::block_in_place(|| runtime.block_on(future))),
    }
}

/// A signature that accepts everything, for unknown functions.
fn anything() -> FunctionSignature {
    let argument = FunctionParameter {
        name: String::from("argument"),
        ty: Type::Dynamic,
        allow_null: true,
        allow_unknown: true,
        description: String::new(),
    };
    FunctionSignature {
        parameters: Vec::new(),
        variadic: Some(argument),
        result: Type::Dynamic,
        summary: String::new(),
        description: String::new(),
        deprecation_message: String::new(),
    }
}

/// Reports calls of functions of providers that the module does not require. Such calls prevent evaluation.
pub(super) fn unknown_providers(root: &Arc<CompiledModule>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for module in root.all() {
        for reference in all_references(&module) {
            if let Referent::ProviderFunction(name, _) = &reference.subject
                && !module.settings.required_providers.contains_key(name)
            {
                found.push(problems::unknown_function_provider(name).at(reference.range.clone()));
            }
        }
    }
    found
}

impl ModuleNode {
    /// Finds a provider function, and its provider, by the name of the function.
    pub(super) fn provider_function(self: &Arc<Self>, name: &str) -> Result<ProviderFunction, Diagnostic> {
        let Some(wanted) = FunctionName::read(name) else {
            return Err(problems::unreadable_function(name));
        };
        if !self.config.settings.required_providers.contains_key(&wanted.provider) {
            return Err(problems::unknown_function_provider(&wanted.provider));
        }
        let source = self.config.provider_source(&wanted.provider);
        let not_here = problems::function_unavailable;
        let found = if source.is_builtin() {
            terraform_functions::signature(wanted.function)
        } else {
            let schema = wait(self.evaluation.glue.provider_schema(&source)).ok_or_else(not_here)??;
            schema.functions.get(wanted.function).cloned()
        };
        let instance = wait(self.function_instance(&wanted, &source)).ok_or_else(not_here)??;
        // Validation accepts unknown functions. The plan reports them.
        let found = found.or_else(|| (!self.evaluation.purpose().has_values()).then(anything));
        let Some(signature) = found else {
            return Err(match source.is_builtin() {
                true => problems::no_builtin_function(name),
                false => problems::no_function(&source, wanted.function),
            });
        };
        Ok(ProviderFunction {
            provider: instance.map_or_else(|| source.into(), ProviderInstance::into),
            function: wanted.function.into(),
            signature: Arc::new(signature),
        })
    }

    /// The configured instance for an alias. Without an alias, the function runs in an unconfigured provider.
    async fn function_instance(
        self: &Arc<Self>,
        wanted: &FunctionName<'_>,
        source: &ProviderSource,
    ) -> Result<Option<ProviderInstance>, Diagnostic> {
        // A function name cannot have the key of an instance.
        let keyed = |(name, alias): &(SmolStr, Option<SmolStr>)| problems::function_of_keyed(name, alias.as_deref());
        let key = (wanted.provider.clone(), wanted.alias.clone());
        let passed = self.caller.as_ref().and_then(|caller| {
            let mut all = caller.call.providers.iter();
            let passed = all.find(|p| p.child_name == key.0 && p.child_alias == key.1)?;
            Some((caller, passed))
        });
        if let Some((caller, passed)) = passed {
            let name = (passed.parent.local_name.clone(), passed.parent.alias.clone());
            let by_name = passed.value.is_none() && caller.parent.caller.is_none();
            if by_name && !caller.parent.config.providers.contains_key(&name) {
                return Err(problems::function_of_unconfigured(&name.0));
            }
            if self.config.has_provider_keys(&key.0, key.1.as_ref()) {
                return Err(keyed(&key));
            }
            if key.1.is_none() || !self.evaluation.purpose().has_values() || source.is_builtin() {
                return Ok(None);
            }
            return match self
                .choose_provider(
                    &key.0,
                    Some(&wanted.reference()),
                    &RepetitionData::default(),
                    (&format!("the call of {}", self.address), &passed.child_range),
                )
                .await
            {
                Ok(chosen) => Ok(Some(chosen.instance)),
                Err(Failed) => Err(problems::function_of_failed(&key.0)),
            };
        }
        let Some(block) = self.config.providers.get(&key) else { return Ok(None) };
        if !self.evaluation.purpose().has_values() || source.is_builtin() {
            return Ok(None);
        }
        if block.for_each.is_some() {
            return Err(keyed(&key));
        }
        if key.1.is_none() {
            return Ok(None);
        }
        match self.provider(&key.0, key.1.as_ref()).await {
            Ok(found) => Ok(found.instances.values().next().cloned()),
            Err(Failed) => Err(problems::function_of_failed(&key.0)),
        }
    }

    /// Calls a function that was found by [`Self::provider_function`].
    pub(super) fn call_provider_function(
        &self,
        function: &ProviderFunction,
        arguments: &[Value],
    ) -> Result<Value, FunctionError> {
        let (source, instance) = (function.provider.source(), function.provider.instance());
        if source.is_builtin() && terraform_functions::signature(&function.function).is_some() {
            return terraform_functions::call(&function.function, arguments);
        }
        if *function.signature == anything() {
            return Ok(Value::unknown(Type::Dynamic));
        }
        let glue = &self.evaluation.glue;
        let calling = glue.provider_function(source, instance, &function.function, arguments.to_vec());
        wait(calling)
            .unwrap_or_else(|| Err(FunctionError::new("this evaluation has no thread that can wait for a provider")))
    }
}
