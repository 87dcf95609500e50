//! The values of expressions in test files. Expressions can refer to variables as `var`, and to outputs of earlier runs
//! as `run`.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use smol_str::SmolStr;
use weft_expressions::call_context::CallContext;
use weft_expressions::evaluate::evaluate;
use weft_expressions::function_table::FunctionTable;
use weft_expressions::functions::{self, FunctionError};
use weft_expressions::scope::{ProviderFunction, ResolvedReference, Scope};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::formula::Parameter;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_syntax::{Expression, StepKind, Traversal, Tree};

use crate::config::{Condition, problems};

/// An expression of a test file.
#[derive(Clone, Debug)]
pub struct TestExpression {
    expression: Expression,
}

impl TestExpression {
    pub(super) fn new(expression: Expression) -> TestExpression {
        TestExpression { expression }
    }

    /// The source range of the expression.
    pub fn range(&self) -> SourceRange {
        self.expression.range()
    }

    /// The value of the expression.
    ///
    /// # Errors
    /// Returns the errors of the evaluation.
    pub fn value(&self, names: &TestNames) -> Result<Value, Vec<Diagnostic>> {
        let (value, problems) = evaluate(&self.expression, &TestScope(names));
        if has_errors(&problems) { Err(problems) } else { Ok(value) }
    }
}

/// The names that expressions of a test file can refer to.
#[derive(Debug)]
pub struct TestNames {
    variables: Value,
    runs: Value,
    occurrences: AtomicU32,
    parameters: AtomicU32,
}

impl TestNames {
    /// Creates the names. `variables` is the object `var`, and `runs` is the object `run`.
    pub fn new(variables: Value, runs: Value) -> TestNames {
        TestNames { variables, runs, occurrences: AtomicU32::new(0), parameters: AtomicU32::new(0) }
    }
}

/// The scope of expressions in test files.
struct TestScope<'n>(&'n TestNames);

impl Scope for TestScope<'_> {
    fn resolve(&self, tree: &Tree, traversal: &Traversal) -> Result<ResolvedReference, Vec<Diagnostic>> {
        let value = match traversal.root.text.as_str() {
            "var" => &self.0.variables,
            "run" => &self.0.runs,
            name => return Err(vec![problems::test_file::unknown_name(name, tree.range(traversal.root.span))]),
        };
        Ok(ResolvedReference { value: value.clone(), consumed: 0 })
    }

    fn context(&self) -> CallContext<'_> {
        CallContext { base_directory: Path::new("."), ..CallContext::new(&self.0.occurrences, &self.0.parameters) }
    }

    fn new_parameter(&self) -> Parameter {
        Parameter(self.0.parameters.fetch_add(1, Ordering::Relaxed))
    }

    fn provider_function(&self, name: &str) -> Result<ProviderFunction, Diagnostic> {
        Err(problems::test_file::provider_function(name))
    }

    fn call_provider_function(&self, _: &ProviderFunction, _: &[Value]) -> Result<Value, FunctionError> {
        Ok(Value::unknown(Type::Dynamic))
    }

    fn functions(&self) -> Option<&'static FunctionTable> {
        Some(functions::built_in())
    }
}

impl Condition {
    /// The names of the variables that the expression refers to.
    pub fn variables(&self) -> BTreeSet<SmolStr> {
        let mut names = BTreeSet::new();
        for expression in [&self.condition, &self.error_message] {
            for traversal in weft_syntax::references(expression).into_iter().filter(|found| found.root.text == "var") {
                if let Some(StepKind::Attribute(name)) = traversal.steps.first().map(|step| &step.kind) {
                    names.insert(name.clone());
                }
            }
        }
        names
    }
}
