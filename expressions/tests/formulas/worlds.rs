//! The scopes that expressions are evaluated in, and the results that formulas use.

use std::collections::BTreeMap;
use std::path::Path as FilePath;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use weft_expressions::compile::{Fault, ResultSource};
use weft_expressions::function_table::FunctionTable;
use weft_expressions::functions::{self, CallContext, FunctionError};
use weft_expressions::scope::{ProviderFunction, ResolvedReference, Scope};
use weft_graph_format::address::FunctionProvider;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::{Occurrence, Parameter};
use weft_graph_format::graph::OperationId;
use weft_graph_format::schema::{FunctionParameter, FunctionSignature};
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_syntax::{Traversal, Tree};

use crate::inputs::{Inputs, planned};

/// The base directory of relative file names.
const BASE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/conformance");

#[derive(Default)]
struct Numbers {
    occurrences: AtomicU32,
    parameters: AtomicU32,
}

impl Numbers {
    fn context(&self) -> CallContext<'_> {
        CallContext {
            base_directory: FilePath::new(BASE),
            plan_timestamp: Some("2024-02-29T12:00:00Z"),
            ..CallContext::new(&self.occurrences, &self.parameters)
        }
    }
}

/// The only provider function: it repeats a text.
fn twice() -> ProviderFunction {
    let parameter = FunctionParameter {
        name: "text".into(),
        ty: Type::String,
        allow_null: false,
        allow_unknown: false,
        description: String::new(),
    };
    let signature = FunctionSignature {
        parameters: vec![parameter],
        variadic: None,
        result: Type::String,
        summary: String::new(),
        description: String::new(),
        deprecation_message: String::new(),
    };
    ProviderFunction {
        provider: "h/n/p".parse().expect("a source"),
        function: "twice".into(),
        signature: Arc::new(signature),
    }
}

fn call_twice(arguments: &[Value]) -> Result<Value, FunctionError> {
    match arguments.first().and_then(Value::as_str) {
        Some("") => Err(FunctionError::new("nothing twice is nothing")),
        Some(text) => Ok(Value::string(text.repeat(2))),
        None => Err(FunctionError::new("a text is wanted")),
    }
}

/// The names `r` and `provisional`.
pub struct PlanScope {
    roots: BTreeMap<&'static str, Value>,
    numbers: Numbers,
}

impl PlanScope {
    /// Creates a scope. If `known` is set, the results are known. Otherwise, they are as at plan.
    pub fn new(inputs: &Inputs, known: bool) -> PlanScope {
        let mut plain = Vec::new();
        let mut provisional = Vec::new();
        for (at, (name, value)) in inputs {
            let value = if known { value.clone() } else { planned(*at, name, value) };
            match name.strip_prefix("provisional.") {
                Some(name) => provisional.push((name, value)),
                None => plain.push((*name, value)),
            }
        }
        let roots = BTreeMap::from([("r", Value::object(plain)), ("provisional", Value::object(provisional))]);
        PlanScope { roots, numbers: Numbers::default() }
    }
}

impl Scope for PlanScope {
    fn resolve(&self, _: &Tree, traversal: &Traversal) -> Result<ResolvedReference, Vec<Diagnostic>> {
        match self.roots.get(traversal.root.text.as_str()) {
            Some(value) => Ok(ResolvedReference { value: value.clone(), consumed: 0 }),
            None => Err(vec![Diagnostic::error("Unknown name", traversal.root.text.to_string())]),
        }
    }

    fn context(&self) -> CallContext<'_> {
        self.numbers.context()
    }

    fn new_parameter(&self) -> Parameter {
        Parameter(self.numbers.parameters.fetch_add(1, Ordering::Relaxed))
    }

    fn provider_function(&self, _: &str) -> Result<ProviderFunction, Diagnostic> {
        Ok(twice())
    }

    fn call_provider_function(&self, _: &ProviderFunction, arguments: &[Value]) -> Result<Value, FunctionError> {
        call_twice(arguments)
    }

    fn functions(&self) -> Option<&'static FunctionTable> {
        Some(functions::built_in())
    }
}

/// The results at apply.
pub struct ApplyResults {
    inputs: Inputs,
    numbers: Numbers,
}

impl ApplyResults {
    pub fn new(inputs: &Inputs) -> ApplyResults {
        ApplyResults { inputs: inputs.clone(), numbers: Numbers::default() }
    }
}

impl ResultSource for ApplyResults {
    fn result(&self, operation: OperationId) -> Result<Value, Fault> {
        let (_, value) = self.inputs.get(&operation.0).ok_or(Fault::Skipped)?;
        Ok(value.unmark().0)
    }

    fn name(&self, _: OperationId) -> Option<String> {
        None
    }

    fn input(&self, _: &str) -> Result<Value, Fault> {
        Err(Fault::Skipped)
    }

    fn impure(&self, _: Occurrence) -> Option<Value> {
        None
    }

    fn context(&self) -> CallContext<'_> {
        self.numbers.context()
    }

    fn provider_function(&self, _: &FunctionProvider, _: &str) -> Result<ProviderFunction, Diagnostic> {
        Ok(twice())
    }

    fn call_provider_function(&self, _: &ProviderFunction, arguments: &[Value]) -> Result<Value, FunctionError> {
        call_twice(arguments)
    }
}
