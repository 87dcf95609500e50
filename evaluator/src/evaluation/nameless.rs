//! Conditions with invalid references. Like OpenTofu, Weft still evaluates these conditions, in a scope without values.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use weft_expressions::call_context::CallContext;
use weft_expressions::evaluate::evaluate;
use weft_expressions::function_table::FunctionTable;
use weft_expressions::functions::{self, FunctionError};
use weft_expressions::scope::{ProviderFunction, ResolvedReference, Scope};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::Parameter;
use weft_graph_format::value::Value;
use weft_syntax::{Expression, Traversal, Tree};

use crate::evaluation::problems::blocks as problems;

/// The code of the errors of [`unknown_names`].
const NAMELESS: &str = "nameless";

/// A scope without values.
#[derive(Default)]
struct Nameless {
    occurrences: AtomicU32,
    parameters: AtomicU32,
}

impl Scope for Nameless {
    fn resolve(&self, tree: &Tree, traversal: &Traversal) -> Result<ResolvedReference, Vec<Diagnostic>> {
        let name = traversal.root.text.as_str();
        Err(vec![problems::nameless(name, tree.range(traversal.root.span)).code(NAMELESS)])
    }

    fn context(&self) -> CallContext<'_> {
        CallContext { base_directory: Path::new("."), ..CallContext::new(&self.occurrences, &self.parameters) }
    }

    fn new_parameter(&self) -> Parameter {
        Parameter(self.parameters.fetch_add(1, Ordering::Relaxed))
    }

    fn provider_function(&self, name: &str) -> Result<ProviderFunction, Diagnostic> {
        Err(problems::nameless_function(name))
    }

    fn call_provider_function(&self, _: &ProviderFunction, _: &[Value]) -> Result<Value, FunctionError> {
        Ok(Value::unknown(weft_graph_format::types::Type::Dynamic))
    }

    fn functions(&self) -> Option<&'static FunctionTable> {
        Some(functions::built_in())
    }
}

/// An error for each name in an expression.
pub(super) fn unknown_names(expression: &Expression) -> Vec<Diagnostic> {
    let (_, said) = evaluate(expression, &Nameless::default());
    said.into_iter().filter(|problem| problem.code == NAMELESS).collect()
}
