//! Values of blocks and module instances that may no longer exist.
//!
//! Destroy-time provisioners are evaluated without a module instance. They can only refer to the object, its key, paths
//! and the workspace.

use std::sync::atomic::{AtomicU32, Ordering};

use weft_expressions::call_context::{CallContext, Impure};
use weft_expressions::evaluate::evaluate;
use weft_expressions::function_table::FunctionTable;
use weft_expressions::functions::{self, FunctionError};
use weft_expressions::scope::{ProviderFunction, ResolvedReference, Scope};
use weft_graph_format::address::InstanceKey;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::Parameter;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_syntax::{Expression, Traversal, Tree};

use super::provisioners::{made_ready, unknown_kinds};
use super::repetition_data::RepetitionData;
use super::scope::{Environment, out_of_scope};
use crate::config::{BodySource, Provisioner};
use crate::evaluation::problems::blocks as problems;
use crate::glue::Provision;
use crate::reference::{Referent, resolve};

/// The first number for impure calls and parameters in these provisioners. Evaluation of modules starts at zero.
const FIRST: u32 = 1 << 31;

/// Unique numbers for impure calls and parameters.
#[derive(Debug)]
pub struct Counters {
    occurrences: AtomicU32,
    parameters: AtomicU32,
}

impl Default for Counters {
    fn default() -> Counters {
        Counters { occurrences: AtomicU32::new(FIRST), parameters: AtomicU32::new(FIRST) }
    }
}

/// An object that is about to be destroyed.
#[derive(Debug)]
pub struct Leaving<'a> {
    /// The environment of the configuration.
    pub environment: &'a Environment,
    /// The module directory, relative to that of the root module.
    pub module_dir: &'a str,
    /// The key of the instance.
    pub key: &'a InstanceKey,
    /// The stored object.
    pub object: Value,
    /// The counters for impure calls and parameters.
    pub counters: &'a Counters,
    /// The value of all other names. Without it, they are errors.
    pub others: Option<Value>,
}

impl Leaving<'_> {
    /// Evaluates the destroy-time provisioners in order. `connection` is the `connection` block of the resource.
    ///
    /// # Errors
    /// Returns an error for each provisioner that would need a plugin.
    pub(crate) fn provisions(
        &self,
        provisioners: &[Provisioner],
        connection: Option<&BodySource>,
    ) -> Result<Vec<Provision>, Vec<Diagnostic>> {
        let own = || provisioners.iter().filter(|found| found.on_destroy);
        let unknown = unknown_kinds(own());
        if !unknown.is_empty() {
            return Err(unknown);
        }
        Ok(own().filter_map(|found| made_ready(found, connection, self)).collect())
    }

    fn value(&self, subject: &Referent) -> Option<Value> {
        let repeated = RepetitionData::of(self.key, None);
        match subject {
            Referent::SelfObject => Some(self.object.clone()),
            Referent::EachKey => repeated.key,
            Referent::CountIndex => repeated.index,
            Referent::Path(name) => Some(match name.as_str() {
                "module" => Value::string(self.module_dir),
                "root" => Value::string(&self.environment.root_path),
                _ => Value::string(self.environment.cwd.to_string_lossy()),
            }),
            Referent::Terraform(_, name) if name == "workspace" => Some(Value::string(&self.environment.workspace)),
            _ => None,
        }
    }
}

/// Evaluates an expression of a module instance that no longer exists. Its names are unknown, except `path` and
/// `terraform`.
pub(crate) fn without_module(
    expression: &Expression,
    module_dir: &str,
    environment: &Environment,
    counters: &Counters,
) -> (Value, Vec<Diagnostic>) {
    let leaving = Leaving {
        environment,
        module_dir,
        key: &InstanceKey::None,
        object: Value::unknown(Type::Dynamic),
        counters,
        others: Some(Value::unknown(Type::Dynamic)),
    };
    evaluate(expression, &leaving)
}

impl Scope for Leaving<'_> {
    fn resolve(&self, tree: &Tree, traversal: &Traversal) -> Result<ResolvedReference, Vec<Diagnostic>> {
        let reference = resolve(tree, traversal).map_err(|problem| vec![problem])?;
        match self.value(&reference.subject).or_else(|| self.others.clone()) {
            Some(value) => Ok(ResolvedReference { value, consumed: reference.steps }),
            None => Err(vec![out_of_scope(&reference)]),
        }
    }

    fn context(&self) -> CallContext<'_> {
        CallContext {
            base_directory: &self.environment.root_dir,
            plan_timestamp: Some(self.environment.timestamp.as_str()).filter(|text| !text.is_empty()),
            impure: Impure::Defer,
            decoded: Some(&self.environment.decoded),
            ..CallContext::new(&self.counters.occurrences, &self.counters.parameters)
        }
    }

    fn new_parameter(&self) -> Parameter {
        Parameter(self.counters.parameters.fetch_add(1, Ordering::Relaxed))
    }

    fn provider_function(&self, name: &str) -> Result<ProviderFunction, Diagnostic> {
        Err(problems::function_at_destroy(name))
    }

    fn call_provider_function(&self, function: &ProviderFunction, _: &[Value]) -> Result<Value, FunctionError> {
        Err(FunctionError::new(format!("{} is not available when an object is destroyed", function.function)))
    }

    fn functions(&self) -> Option<&'static FunctionTable> {
        Some(functions::built_in())
    }
}
