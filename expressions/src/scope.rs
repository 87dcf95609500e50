//! The environment of expressions: what names refer to, and which functions exist.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::FunctionProvider;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::Parameter;
use weft_graph_format::schema::FunctionSignature;
use weft_graph_format::value::Value;
use weft_syntax::{Traversal, Tree};

use crate::call_context::CallContext;
use crate::call_error::FunctionError;
use crate::function_table::FunctionTable;

/// The value that the beginning of a traversal refers to.
#[derive(Clone, Debug)]
pub struct ResolvedReference {
    /// The value.
    pub value: Value,
    /// The number of steps of the traversal that lead to the value. Evaluation follows the remaining steps.
    pub consumed: usize,
}

/// A provider function that a name refers to.
#[derive(Clone, Debug)]
pub struct ProviderFunction {
    /// The provider of the function, as formulas contain it.
    pub provider: FunctionProvider,
    /// The name of the function.
    pub function: SmolStr,
    /// The signature of the function.
    pub signature: Arc<FunctionSignature>,
}

/// The environment of an evaluation.
pub trait Scope {
    /// Resolves the beginning of a traversal: the steps that name an object (`var.x`, `aws_vpc.main`). Evaluation
    /// itself resolves names that a surrounding `for` declares.
    fn resolve(&self, tree: &Tree, traversal: &Traversal) -> Result<ResolvedReference, Vec<Diagnostic>>;

    /// The environment of function calls.
    fn context(&self) -> CallContext<'_>;

    /// Returns a parameter that was not returned before in this session.
    fn new_parameter(&self) -> Parameter;

    /// Looks up a provider function by name: `provider::NAME::FUNCTION` or `provider::NAME::ALIAS::FUNCTION`.
    fn provider_function(&self, name: &str) -> Result<ProviderFunction, Diagnostic>;

    /// Calls a provider function. The arguments have no marks, and are wholly known where the signature requires it.
    fn call_provider_function(&self, function: &ProviderFunction, arguments: &[Value]) -> Result<Value, FunctionError>;

    /// The built-in functions that expressions can call; `None` if calls are not allowed.
    fn functions(&self) -> Option<&'static FunctionTable>;
}
