//! The scope of static expressions.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use weft_expressions::call_context::CallContext;
use weft_expressions::function_table::FunctionTable;
use weft_expressions::functions::{self, FunctionError};
use weft_expressions::scope::{ProviderFunction, ResolvedReference, Scope};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::Parameter;
use weft_graph_format::value::Value;
use weft_syntax::{Traversal, Tree};

use super::{StaticValues, problems};
use crate::reference::{Referent, resolve};

/// The named values of one expression.
pub(super) struct StaticScope<'a> {
    pub(super) values: BTreeMap<Referent, Value>,
    pub(super) statics: &'a StaticValues,
}

impl Scope for StaticScope<'_> {
    fn resolve(&self, tree: &Tree, traversal: &Traversal) -> Result<ResolvedReference, Vec<Diagnostic>> {
        let reference = resolve(tree, traversal).map_err(|problem| vec![problem])?;
        match self.values.get(&reference.subject) {
            Some(value) => Ok(ResolvedReference { value: value.clone(), consumed: reference.steps }),
            None => Err(vec![problems::early(reference.range)]),
        }
    }

    fn context(&self) -> CallContext<'_> {
        CallContext {
            base_directory: &self.statics.root_dir,
            ..CallContext::new(&self.statics.occurrences, &self.statics.parameters)
        }
    }

    fn new_parameter(&self) -> Parameter {
        Parameter(self.statics.parameters.fetch_add(1, Ordering::Relaxed))
    }

    fn provider_function(&self, name: &str) -> Result<ProviderFunction, Diagnostic> {
        Err(problems::early_provider_function(name))
    }

    fn call_provider_function(&self, _: &ProviderFunction, _: &[Value]) -> Result<Value, FunctionError> {
        Err(FunctionError::new("functions of providers cannot be called before planning"))
    }

    fn functions(&self) -> Option<&'static FunctionTable> {
        Some(functions::built_in())
    }
}
