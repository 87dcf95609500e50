//! Runs the formulas of a shard over the available results.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use tokio::runtime::Handle;
use weft_expressions::call_context::CallContext;
use weft_expressions::compile::{Fault, ResultSource, run};
use weft_expressions::functions::{FunctionError, Impure};
use weft_expressions::scope::ProviderFunction;
use weft_graph_format::address::FunctionProvider;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::{Formula, FormulaOp, Occurrence};
use weft_graph_format::graph::{FormulaIndex, FormulaTable, OperationId};
use weft_graph_format::path::Path;
use weft_graph_format::value::Value;

use super::functions::FunctionCaller;
use super::{LiveValues, Shard};
use crate::host::Host;
use crate::problems;
use crate::subject::{DiagnosticSubject, Problems};

/// For each row of a table, whether running the row calls a provider. Passes over the table once.
pub(crate) fn call_providers(table: &FormulaTable) -> Vec<bool> {
    let mut found: Vec<bool> = Vec::with_capacity(table.rows.len());
    for row in &table.rows {
        let mut calls = matches!(row.op, FormulaOp::ProviderCall { .. });
        row.op.operands(&mut |operand: &FormulaIndex| {
            calls |= found.get(operand.0 as usize).copied().unwrap_or_default();
        });
        found.push(calls);
    }
    found
}

/// The surroundings of one run of a formula.
struct Environment<'a> {
    shard: &'a Shard,
    host: &'a Host,
    functions: Option<FunctionCaller<'a>>,
    occurrences: AtomicU32,
    parameters: AtomicU32,
    live: LiveValues,
}

impl ResultSource for Environment<'_> {
    fn result(&self, operation: OperationId) -> Result<Value, Fault> {
        let live = self.live.get(&operation.0).cloned();
        live.or_else(|| self.shard.result(operation)).ok_or(Fault::Skipped)
    }

    fn name(&self, operation: OperationId) -> Option<String> {
        Some(self.shard.operation(operation)?.address())
    }

    fn input(&self, name: &str) -> Result<Value, Fault> {
        self.shard.input(name).cloned().ok_or_else(|| Fault::Failed(vec![problems::missing_input(name)]))
    }

    fn impure(&self, _: Occurrence) -> Option<Value> {
        // Results of impure functions from earlier runs are read as results of operations.
        None
    }

    fn context(&self) -> CallContext<'_> {
        CallContext {
            files: &*self.host.options.files,
            base_directory: &self.host.options.base_directory,
            plan_timestamp: self.shard.plan_timestamp(),
            impure: Impure::Run,
            template_depth: 0,
            occurrences: &self.occurrences,
            parameters: &self.parameters,
            steps: None,
            decoded: None,
        }
    }

    fn provider_function(&self, provider: &FunctionProvider, function: &str) -> Result<ProviderFunction, Diagnostic> {
        match &self.functions {
            Some(caller) => caller.signature(provider, function),
            None => Err(problems::no_provider_here()),
        }
    }

    fn call_provider_function(&self, function: &ProviderFunction, arguments: &[Value]) -> Result<Value, FunctionError> {
        match &self.functions {
            Some(caller) => caller.call(function, arguments),
            None => Err(FunctionError::new("functions of providers cannot be called in this part of the plan")),
        }
    }
}

impl Shard {
    /// The value of a formula: wholly known, with its marks. Opens the ephemeral objects that it needs.
    pub(crate) async fn evaluate(
        self: &Arc<Shard>,
        host: &Arc<Host>,
        index: FormulaIndex,
        address: &str,
    ) -> Result<Value, Problems> {
        let live = self.live_values(host, index).await?;
        self.run(host, index, address, live).await
    }

    /// Like `evaluate`, but keeps unknown parts that the plan expects to stay unknown.
    pub(crate) async fn evaluate_in_part(
        self: &Arc<Shard>,
        host: &Arc<Host>,
        index: FormulaIndex,
        address: &str,
    ) -> Result<Value, Problems> {
        let live = self.live_values(host, index).await?;
        self.run_in_part(host, index, address, live).await.map(|value| value.without_provenance())
    }

    /// Runs a formula with the live values that it needs. The result is wholly known.
    pub(crate) async fn run(
        self: &Arc<Shard>,
        host: &Arc<Host>,
        index: FormulaIndex,
        address: &str,
        live: LiveValues,
    ) -> Result<Value, Problems> {
        let value = self.run_in_part(host, index, address, live).await?;
        if value.is_wholly_known() {
            return Ok(value);
        }
        let subject = DiagnosticSubject { address, config: self.formula(index) };
        Err(vec![problems::unknown_value(&subject)])
    }

    /// Runs a formula with the live values that it needs.
    async fn run_in_part(
        self: &Arc<Shard>,
        host: &Arc<Host>,
        index: FormulaIndex,
        address: &str,
        live: LiveValues,
    ) -> Result<Value, Problems> {
        let Some(formula) = self.formula(index) else {
            return Err(vec![problems::no_formula(address, index.0)]);
        };
        let subject = DiagnosticSubject { address, config: Some(formula) };
        let outcome = if self.calls_providers(index) {
            let (shard, host, formula) = (self.clone(), host.clone(), formula.clone());
            let runtime = Handle::current();
            let blocking = tokio::task::spawn_blocking(move || {
                let functions = Some(FunctionCaller::new(&shard, &host, runtime));
                evaluate(&formula, &shard, &host, functions, live)
            });
            blocking.await.unwrap_or(Err(Fault::Skipped))
        } else {
            evaluate(formula, self, host, None, live)
        };
        match outcome {
            Ok(value) => Ok(value),
            Err(Fault::Failed(problems)) => {
                // A problem that already has a position keeps this position, as in planning.
                let placed = |problem: Diagnostic| match problem.subject {
                    Some(_) => problem,
                    None => subject.place(problem, &Path::ROOT),
                };
                Err(problems.into_iter().map(placed).collect())
            }
            Err(Fault::Skipped) => Err(vec![problems::missing_result(&subject)]),
        }
    }
}

fn evaluate(
    formula: &Formula,
    shard: &Shard,
    host: &Host,
    functions: Option<FunctionCaller<'_>>,
    live: LiveValues,
) -> Result<Value, Fault> {
    if let FormulaOp::Constant(value) = formula.op() {
        return Ok(value.clone());
    }
    let environment =
        Environment { shard, host, functions, occurrences: AtomicU32::new(0), parameters: AtomicU32::new(0), live };
    run(formula, &environment)
}
