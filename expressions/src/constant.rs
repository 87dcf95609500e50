//! Expressions that may contain neither references nor function calls: defaults of optional attributes, and variable
//! files.

use std::sync::atomic::{AtomicU32, Ordering};

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::Parameter;
use weft_graph_format::value::Value;
use weft_syntax::{Expression, Traversal, Tree};

use crate::call_context::{CallContext, ForbiddenFiles};
use crate::call_error::FunctionError;
use crate::evaluate::evaluate;
use crate::function_table::FunctionTable;
use crate::problems;
use crate::scope::{ProviderFunction, ResolvedReference, Scope};

/// A scope without names.
#[derive(Debug, Default)]
struct ConstantScope {
    occurrences: AtomicU32,
    parameters: AtomicU32,
}

impl Scope for ConstantScope {
    fn resolve(&self, tree: &Tree, traversal: &Traversal) -> Result<ResolvedReference, Vec<Diagnostic>> {
        Err(vec![problems::references::not_allowed().at(tree.range(traversal.root.span))])
    }

    fn context(&self) -> CallContext<'_> {
        CallContext { files: &ForbiddenFiles, ..CallContext::new(&self.occurrences, &self.parameters) }
    }

    fn new_parameter(&self) -> Parameter {
        Parameter(self.parameters.fetch_add(1, Ordering::Relaxed))
    }

    fn functions(&self) -> Option<&'static FunctionTable> {
        None
    }

    fn provider_function(&self, _: &str) -> Result<ProviderFunction, Diagnostic> {
        Err(problems::calls::not_allowed())
    }

    fn call_provider_function(&self, _: &ProviderFunction, _: &[Value]) -> Result<Value, FunctionError> {
        Err(problems::calls::not_callable())
    }
}

/// Evaluates an expression that may contain neither references nor function calls.
///
/// In the JSON syntax, strings are literals here and not templates, because a template could not refer to anything.
pub fn evaluate_constant(expression: &Expression) -> (Value, Vec<Diagnostic>) {
    evaluate(&expression.without_templates(), &ConstantScope::default())
}
