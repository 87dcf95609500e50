//! The scope of expressions: the evaluated values of names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use smol_str::SmolStr;
use weft_expressions::call_context::{CallContext, Impure};
use weft_expressions::decoded::Decoded;
use weft_expressions::function_table::FunctionTable;
use weft_expressions::functions::{self, FunctionError};
use weft_expressions::scope::{ProviderFunction, ResolvedReference, Scope};
use weft_graph_format::address::ResourceMode;
use weft_graph_format::diagnostic::{Cause, Diagnostic, has_errors};
use weft_graph_format::formula::{Formula, Parameter};
use weft_graph_format::marks::Marks;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_syntax::{Expression, Traversal, Tree};

use super::Evaluation;
use super::module_node::{Instances, ModuleNode};
use super::repetition_data::RepetitionData;
use super::undeclared::undeclared;
use crate::evaluation::problems::blocks as problems;
use crate::glue::Failed;
use crate::reference::{Reference, Referent, references_of, resolve};

/// The environment of an evaluation.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The directory of the root module.
    pub root_dir: PathBuf,
    /// The value of `path.root`.
    pub root_path: SmolStr,
    /// The working directory in which the command was started.
    pub cwd: PathBuf,
    /// The workspace.
    pub workspace: SmolStr,
    /// The time of the plan, in RFC 3339 format. Empty during validation.
    pub timestamp: String,
    /// Decoded files, by path.
    pub decoded: Arc<Decoded>,
}

/// The values of all names that some expressions use.
pub(crate) struct ReadyScope {
    values: BTreeMap<Referent, Value>,
    /// References to providers, by local name and alias.
    providers: BTreeMap<(SmolStr, Option<SmolStr>), Value>,
    repeated: RepetitionData,
    module_path: String,
    /// The module whose expressions are evaluated.
    node: Arc<ModuleNode>,
    evaluation: Arc<Evaluation>,
}

impl ReadyScope {
    /// The value of a name.
    pub(crate) fn get(&self, subject: &Referent) -> Option<Value> {
        self.values.get(subject).cloned()
    }

    /// Adds the value of a name whose cell is still being computed.
    pub(crate) fn insert(&mut self, subject: Referent, value: Value) {
        self.values.insert(subject, value);
    }

    fn value(&self, reference: &Reference) -> Option<Value> {
        let text = |path: &std::path::Path| Value::string(path.to_string_lossy());
        match &reference.subject {
            Referent::EachKey => self.repeated.key.clone(),
            Referent::EachValue => self.repeated.value.clone(),
            Referent::CountIndex => self.repeated.index.clone(),
            Referent::SelfObject => self.repeated.self_object.clone(),
            Referent::Path(name) => Some(match name.as_str() {
                "module" => Value::string(&self.module_path),
                "root" => Value::string(&self.evaluation.environment.root_path),
                _ => text(&self.evaluation.environment.cwd),
            }),
            Referent::Terraform(_, name) if name == "workspace" => {
                Some(Value::string(&self.evaluation.environment.workspace))
            }
            Referent::Terraform(_, name) if name == "applying" && self.evaluation.purpose().has_values() => {
                // During the plan, `terraform.applying` is false. Its formula, which only apply evaluates, yields true.
                let applying = Formula::constant(Value::bool(true));
                Some(Value::bool(false).with_formula(Some(applying)).mark(&Marks::EPHEMERAL))
            }
            Referent::Terraform(_, name) if self.evaluation.purpose().hides_terraform() => {
                Some(match name.as_str() {
                    "applying" => Value::unknown(Type::Bool).mark(&Marks::EPHEMERAL),
                    // A missing object is reported when references are checked.
                    _ => Value::unknown(Type::Dynamic),
                })
            }
            Referent::Module(name, _) => self.values.get(&Referent::Module(name.clone(), None)).cloned(),
            subject => self.values.get(subject).cloned(),
        }
    }
}

impl Scope for ReadyScope {
    fn resolve(&self, tree: &Tree, traversal: &Traversal) -> Result<ResolvedReference, Vec<Diagnostic>> {
        let reference = resolve(tree, traversal).map_err(|problem| vec![problem])?;
        if let Some(named) = self.node.config.provider_named(&reference) {
            let consumed = reference.steps + usize::from(named.1.is_some());
            let value = self.providers.get(&named).cloned().ok_or_else(|| vec![out_of_scope(&reference)])?;
            return Ok(ResolvedReference { value, consumed });
        }
        if let Some(wrong) = self.evaluation.in_elements.get().and_then(|found| found.get(&reference.range)) {
            return Err(vec![wrong.clone()]);
        }
        match self.value(&reference) {
            Some(value) => Ok(ResolvedReference { value, consumed: reference.steps }),
            // References are not checked in a block that nothing in the configuration uses, so the problem is reported
            // here.
            None => Err(vec![undeclared(&self.node.config, &reference).unwrap_or_else(|| out_of_scope(&reference))]),
        }
    }

    fn context(&self) -> CallContext<'_> {
        let environment = &self.evaluation.environment;
        CallContext {
            base_directory: &environment.root_dir,
            plan_timestamp: (!environment.timestamp.is_empty()).then_some(environment.timestamp.as_str()),
            impure: if self.evaluation.purpose().runs_impure_functions() { Impure::Run } else { Impure::Defer },
            decoded: Some(&environment.decoded),
            ..CallContext::new(&self.evaluation.numbers.occurrences, &self.evaluation.numbers.parameters)
        }
    }

    fn new_parameter(&self) -> Parameter {
        Parameter(self.evaluation.numbers.parameters.fetch_add(1, Ordering::Relaxed))
    }

    fn provider_function(&self, name: &str) -> Result<ProviderFunction, Diagnostic> {
        self.node.provider_function(name)
    }

    fn call_provider_function(&self, function: &ProviderFunction, arguments: &[Value]) -> Result<Value, FunctionError> {
        self.node.call_provider_function(function, arguments)
    }

    fn functions(&self) -> Option<&'static FunctionTable> {
        Some(functions::built_in())
    }
}

/// The error for a name that has no value at its position.
pub(super) fn out_of_scope(reference: &Reference) -> Diagnostic {
    let at = reference.range.clone();
    let problem = match &reference.subject {
        Referent::CountIndex => problems::count_out_of_scope(at),
        Referent::EachValue => problems::each_value_out_of_scope(at),
        Referent::EachKey => problems::each_key_out_of_scope(at),
        Referent::SelfObject => problems::self_out_of_scope(at),
        Referent::Terraform(..) => problems::unsupported_name(at),
        _ => problems::undeclared_object(at),
    };
    match &reference.subject {
        Referent::CountIndex | Referent::EachValue | Referent::EachKey | Referent::SelfObject => {
            problem.cause(Cause::WrongObject)
        }
        _ => problem,
    }
}

/// The targets of references. Each target occurs once.
struct ReferenceTargets<'a> {
    subjects: BTreeSet<&'a Referent>,
    /// Module calls with the named outputs; `None` for the whole module.
    outputs: BTreeMap<&'a SmolStr, Option<BTreeSet<SmolStr>>>,
    /// Providers as values, each with the range of its first reference.
    providers: BTreeMap<(SmolStr, Option<SmolStr>), &'a SourceRange>,
}

impl<'a> ReferenceTargets<'a> {
    fn by(node: &ModuleNode, references: &'a [Reference]) -> ReferenceTargets<'a> {
        let mut wanted =
            ReferenceTargets { subjects: BTreeSet::new(), outputs: BTreeMap::new(), providers: BTreeMap::new() };
        for reference in references {
            if let Some(named) = node.config.provider_named(reference) {
                wanted.providers.entry(named).or_insert(&reference.range);
                continue;
            }
            match &reference.subject {
                Referent::Module(name, output) if node.config.calls.contains_key(name) => {
                    let entry = wanted.outputs.entry(name).or_insert_with(|| Some(BTreeSet::new()));
                    match (output, entry.as_mut()) {
                        (Some(output), Some(named)) => drop(named.insert(output.clone())),
                        _ => *entry = None,
                    }
                }
                subject if node.declares(subject) => drop(wanted.subjects.insert(subject)),
                // A name that is not declared is reported only if its value is used.
                _ => {}
            }
        }
        wanted
    }
}

/// The handling of failures while values are collected.
struct FailureHandling {
    /// Whether a failed value becomes unknown. Otherwise, a failed value fails the whole scope.
    lenient: bool,
    failed: bool,
}

impl FailureHandling {
    fn take(&mut self, value: Result<Value, Failed>) -> Option<Value> {
        match value {
            Ok(value) => Some(value),
            Err(Failed) if self.lenient => Some(Value::unknown(Type::Dynamic)),
            Err(Failed) => {
                self.failed = true;
                None
            }
        }
    }
}

impl ModuleNode {
    /// Waits for all targets of the references, and builds their scope.
    pub(crate) async fn scope(
        self: &Arc<Self>,
        references: &[Reference],
        repeated: &RepetitionData,
    ) -> Result<ReadyScope, Failed> {
        // Inspections show what is available despite failures.
        self.scope_of(references, repeated, self.evaluation.purpose().tolerates_failures()).await
    }

    /// Like `scope`, but if `lenient` is set, the values that failed are unknown.
    pub(super) async fn scope_of(
        self: &Arc<Self>,
        references: &[Reference],
        repeated: &RepetitionData,
        lenient: bool,
    ) -> Result<ReadyScope, Failed> {
        if let Some(unsound) = self.evaluation.invalid.references.get().filter(|unsound| !unsound.is_empty())
            && references.iter().any(|reference| unsound.contains(&reference.range))
        {
            return Err(Failed);
        }
        let ReferenceTargets { subjects, outputs, providers } = ReferenceTargets::by(self, references);
        let mut results = FailureHandling { lenient, failed: false };
        let mut values: BTreeMap<Referent, Value> = BTreeMap::new();
        // All tasks are started before the first is awaited.
        let pending: Vec<_> = subjects.into_iter().map(|subject| (subject, self.start(subject))).collect();
        let modules: Vec<_> =
            outputs.into_iter().map(|(name, named)| (name.clone(), self.call_value(name.clone(), named))).collect();
        for (subject, value) in pending {
            values.extend(results.take(value.await).map(|value| (subject.clone(), value)));
        }
        for (name, value) in modules {
            values.extend(results.take(value.await).map(|value| (Referent::Module(name, None), value)));
        }
        let mut provider_values = BTreeMap::new();
        for (named, at) in providers {
            let value = self.provider_value(&named.0, named.1.as_ref(), at).await;
            provider_values.extend(results.take(value).map(|value| (named, value)));
        }
        if results.failed {
            return Err(Failed);
        }
        Ok(ReadyScope {
            values,
            providers: provider_values,
            repeated: repeated.clone(),
            module_path: self.config.dir.clone(),
            node: self.clone(),
            evaluation: self.evaluation.clone(),
        })
    }

    /// Whether this module declares the target of a reference.
    pub(super) fn declares(&self, subject: &Referent) -> bool {
        match subject {
            Referent::Variable(name) => self.config.variables.contains_key(name),
            Referent::Local(name) => self.config.locals.contains_key(name),
            Referent::Resource(resource) => {
                self.config.resources.contains_key(resource) || self.config.outside.contains_key(resource)
            }
            _ => false,
        }
    }

    pub(super) fn start(
        self: &Arc<Self>,
        subject: &Referent,
    ) -> futures::future::BoxFuture<'static, Result<Value, Failed>> {
        use futures::FutureExt;
        match subject {
            Referent::Variable(name) if !self.evaluation.purpose().has_values() => {
                let (node, name) = (self.clone(), name.clone());
                async move { node.variable_in_validation(&name).await }.boxed()
            }
            Referent::Variable(name) => self.variable(name).boxed(),
            Referent::Local(name) => self.local(name).boxed(),
            Referent::Resource(resource) if self.config.outside.contains_key(resource) => {
                futures::future::ready(self.config.outside.get(resource).cloned().ok_or(Failed)).boxed()
            }
            Referent::Resource(resource) => {
                let instances = self.resource(resource);
                let validating = !self.evaluation.purpose().repeats();
                let marks = if resource.mode == ResourceMode::Ephemeral { Marks::EPHEMERAL } else { Marks::default() };
                async move {
                    let instances: Arc<Instances> = instances.await?;
                    Ok(match (validating, &instances.in_validation) {
                        (false, _) => instances.whole.clone(),
                        (true, Some(known)) => known.mark(&marks),
                        // Validation does not know the instances of `count` and `for_each`, not even their types.
                        (true, None) => Value::unknown(Type::Dynamic).mark(&marks),
                    })
                }
                .boxed()
            }
            _ => futures::future::ready(Err(Failed)).boxed(),
        }
    }

    /// Evaluates an expression, and reports deprecated values that it uses.
    pub(crate) async fn evaluate(
        self: &Arc<Self>,
        expression: &Expression,
        repeated: &RepetitionData,
    ) -> Result<Value, Failed> {
        let value = self.evaluated(expression, repeated).await?;
        Ok(self.tell_deprecated(value, &|| expression.range()))
    }

    /// Evaluates an expression.
    pub(crate) async fn evaluated(
        self: &Arc<Self>,
        expression: &Expression,
        repeated: &RepetitionData,
    ) -> Result<Value, Failed> {
        let (value, problems) = self.attempted(expression, repeated).await?;
        let failed = has_errors(&problems);
        problems.into_iter().for_each(|p| self.evaluation.glue.report(p));
        if failed { Err(Failed) } else { Ok(value) }
    }

    /// Evaluates an expression. Returns its value, as far as it could be computed, and its problems.
    pub(super) async fn attempted(
        self: &Arc<Self>,
        expression: &Expression,
        repeated: &RepetitionData,
    ) -> Result<(Value, Vec<Diagnostic>), Failed> {
        let mut problems = Vec::new();
        let references = references_of(expression, &mut problems);
        if !problems.is_empty() {
            return self.report_all(problems);
        }
        let scope = self.scope(&references, repeated).await?;
        Ok(weft_expressions::evaluate::evaluate(expression, &scope))
    }

    /// Reports all problems and fails.
    pub(crate) fn report_all<T>(&self, problems: Vec<Diagnostic>) -> Result<T, Failed> {
        problems.into_iter().for_each(|p| self.evaluation.glue.report(p));
        Err(Failed)
    }

    /// Reports one problem and fails.
    pub(crate) fn fail<T>(&self, problem: Diagnostic) -> Result<T, Failed> {
        self.report_all(vec![problem])
    }
}
