//! Assertions of tests: conditions over the root module and its outputs, after a plan or an apply.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use smol_str::SmolStr;
use weft_expressions::convert::convert;
use weft_expressions::error_message::message_text;
use weft_expressions::scope::Scope;
use weft_graph_format::address::{Module, ResourceMode};
use weft_graph_format::diagnostic::{Diagnostic, Severity, has_errors};
use weft_graph_format::types::Type;
use weft_graph_format::value::{PlainValue, Value};
use weft_syntax::{BinaryOperator, ExprKind, Expression};

use super::conditions::message_problem;
use super::module_node::ModuleNode;
use super::problems::{conditions, values};
use super::references::check_condition;
use super::repetition_data::RepetitionData;
use super::scope::ReadyScope;
use super::session::Session;
use crate::config::Condition;
use crate::glue::{ExpansionKind, Failed};
use crate::reference::{Reference, Referent, references_of};

/// The first name of references to outputs.
const OUTPUT: &str = "output";

/// The result of an assertion.
#[derive(Clone, Debug)]
pub struct Asserted {
    /// The verdict.
    pub verdict: AssertionVerdict,
    /// The diagnostics.
    pub problems: Vec<Diagnostic>,
}

/// The verdict of an assertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssertionVerdict {
    /// The condition is true.
    Holds,
    /// The condition is false.
    Fails,
    /// The assertion could not be evaluated.
    Unsound,
}

/// The two sides of an equality comparison, if both can be shown.
fn compared(condition: &Expression, scope: &dyn Scope) -> Option<Box<(PlainValue, PlainValue)>> {
    let ExprKind::Binary { operator: BinaryOperator::Equal, left, right, .. } = condition.kind() else { return None };
    let side = |id| {
        let (value, _) = weft_expressions::evaluate::evaluate(&condition.child(id), scope);
        (!value.deep().marked).then(|| PlainValue::from(&value))
    };
    Some(Box::new((side(*left)?, side(*right)?)))
}

/// The output of a reference.
fn output_named(reference: &Reference) -> Option<&SmolStr> {
    match &reference.subject {
        Referent::Resource(resource) if resource.mode == ResourceMode::Managed && resource.type_name == OUTPUT => {
            Some(&resource.name)
        }
        _ => None,
    }
}

/// The values that assertions of a run see, apart from those that the session evaluates.
#[derive(Clone, Copy, Debug)]
pub struct AssertionValues<'a> {
    /// The stored outputs. `None` after a plan: outputs are evaluated then.
    pub outputs: Option<&'a BTreeMap<SmolStr, Value>>,
    /// The given values of variables, before they are converted to the declared types.
    pub variables: &'a BTreeMap<SmolStr, Value>,
    /// The names that the selection of the run needs.
    pub needed: &'a NeededNames,
}

/// The names that the selection of a run needs. By default, everything is selected.
#[derive(Clone, Debug, Default)]
pub struct NeededNames {
    /// Locals of the root module whose values are unknown, because nothing in the selection needs them.
    idle_locals: BTreeSet<SmolStr>,
    /// The outputs of called modules that something in the selection needs. `None` if everything is selected.
    module_outputs: Option<BTreeSet<(Module, SmolStr)>>,
}

impl Session {
    /// The names that the selection needs.
    pub fn needed_names(&self) -> NeededNames {
        let root = &self.root;
        let Some(selected) = &root.evaluation.selected else { return NeededNames::default() };
        let idle = root.config.locals.keys().filter(|name| root.locals.peek(name).is_none());
        NeededNames { idle_locals: idle.cloned().collect(), module_outputs: Some(selected.module_outputs.clone()) }
    }

    /// Evaluates an assertion.
    pub async fn assert(&self, assertion: &Condition, values: &AssertionValues<'_>) -> Asserted {
        // Assertions can name resources outside of the selection. Their values are those of the state.
        self.root.evaluation.late.store(true, Ordering::Relaxed);
        match self.asserted(assertion, values).await {
            Ok(asserted) => asserted,
            Err(problems) => Asserted { verdict: AssertionVerdict::Unsound, problems },
        }
    }

    async fn asserted(&self, assertion: &Condition, seen: &AssertionValues<'_>) -> Result<Asserted, Vec<Diagnostic>> {
        let mut problems = Vec::new();
        let mut references = references_of(&assertion.condition, &mut problems);
        references.extend(references_of(&assertion.error_message, &mut problems));
        let (outputs, others): (Vec<Reference>, Vec<Reference>) =
            references.into_iter().partition(|reference| output_named(reference).is_some());
        let root = &self.root;
        problems.extend(check_condition(&root.evaluation, &root.config, &others, assertion).await);
        for reference in &outputs {
            let name = output_named(reference).filter(|name| !root.config.outputs.contains_key(*name));
            problems.extend(name.map(|name| values::undeclared_output(name, reference.range.clone())));
        }
        if has_errors(&problems) {
            return Err(problems);
        }
        let is_idle = |reference: &Reference| match &reference.subject {
            Referent::Local(name) => seen.needed.idle_locals.contains(name),
            _ => false,
        };
        let (idle, others): (Vec<Reference>, Vec<Reference>) = others.into_iter().partition(is_idle);
        let Ok(mut scope) = root.scope_of(&others, &RepetitionData::default(), true).await else {
            problems.push(values::condition_without_value(assertion.condition.range()));
            return Err(problems);
        };
        for reference in idle {
            scope.insert(reference.subject, Value::unknown(Type::Dynamic));
        }
        if let Some(needed) = &seen.needed.module_outputs {
            root.leave_out_outputs(&others, needed, &mut scope).await;
        }
        for reference in &others {
            let Referent::Variable(name) = &reference.subject else { continue };
            let (Some(given), Some(variable)) = (seen.variables.get(name), root.config.variables.get(name)) else {
                continue;
            };
            scope.insert(reference.subject.clone(), variable.unconverted(given));
        }
        for reference in &outputs {
            let Some(name) = output_named(reference) else { continue };
            let is_selected = root.evaluation.selected.as_ref().is_none_or(|selected| selected.outputs.contains(name));
            let value = match seen.outputs {
                Some(given) => given.get(name).cloned().unwrap_or_else(|| Value::null(Type::Dynamic)),
                None if !is_selected => Value::null(Type::Dynamic),
                // A planned state contains no unknown values: values that only apply can know are null.
                None => match root.output(name).await {
                    Ok(value) => value.unknown_as_null(),
                    // An output whose precondition failed has no planned value.
                    Err(Failed) => Value::null(Type::Dynamic),
                },
            };
            scope.insert(reference.subject.clone(), value);
        }
        let (value, found) = weft_expressions::evaluate::evaluate(&assertion.condition, &scope);
        let (message, of_message) = weft_expressions::evaluate::evaluate(&assertion.error_message, &scope);
        let (value, warnings) = root.deprecated_in(&value, &|_, _| assertion.condition.range(), "");
        let (message, of_use) = root.deprecated_in(&message, &|_, _| assertion.error_message.range(), "");
        problems.extend(of_message);
        if !has_errors(&problems) {
            problems.extend(message_problem(&message, assertion, &scope, Severity::Warning).1);
        }
        problems.extend(found);
        problems.extend(warnings.into_iter().chain(of_use));
        if has_errors(&problems) {
            return Err(problems);
        }
        judged(assertion, &value, &message, &scope, problems)
    }
}

impl ModuleNode {
    /// Removes outputs that the selection does not need from the values of modules.
    async fn leave_out_outputs(
        self: &Arc<Self>,
        references: &[Reference],
        needed: &BTreeSet<(Module, SmolStr)>,
        scope: &mut ReadyScope,
    ) {
        for reference in references {
            let Referent::Module(name, _) = &reference.subject else { continue };
            let subject = Referent::Module(name.clone(), None);
            if let Some(value) = scope.get(&subject) {
                scope.insert(subject, self.needed_outputs(name, needed, value).await);
            }
        }
    }

    /// `module.NAME` as assertions see it. As in OpenTofu, it has only the outputs that the selection needs. If the
    /// selection needs none of them, all outputs of a single module are unknown, and a repeated module has no
    /// instances.
    async fn needed_outputs(
        self: &Arc<Self>,
        name: &SmolStr,
        needed: &BTreeSet<(Module, SmolStr)>,
        value: Value,
    ) -> Value {
        let (Some(child), Ok(instances)) = (self.config.children.get(name), self.call(name).await) else {
            return value;
        };
        let is_needed = |output: &SmolStr| needed.contains(&(child.path.clone(), output.clone()));
        let any = child.outputs.keys().any(is_needed);
        let kept = |object: &Value| match object.as_fields() {
            Some(fields) => Value::object(fields.iter().filter(|(output, _)| is_needed(output)).map(named)),
            None => object.clone(),
        };
        match instances.kind {
            ExpansionKind::Single | ExpansionKind::Enabled if any => kept(&value),
            ExpansionKind::Single | ExpansionKind::Enabled => {
                Value::object(child.outputs.keys().map(|output| (output.clone(), Value::unknown(Type::Dynamic))))
            }
            ExpansionKind::Count if any => match value.as_items() {
                Some(items) => Value::tuple(items.iter().map(kept).collect()),
                None => value,
            },
            ExpansionKind::Count => Value::tuple(Vec::new()),
            ExpansionKind::ForEach if any => match value.as_fields() {
                Some(fields) => Value::object(fields.iter().map(|(key, object)| (key.clone(), kept(object)))),
                None => value,
            },
            ExpansionKind::ForEach => Value::object(Vec::<(SmolStr, Value)>::new()),
        }
    }
}

/// An entry of an object.
fn named((name, value): (&SmolStr, &Value)) -> (SmolStr, Value) {
    (name.clone(), value.clone())
}

/// The result of an evaluated condition.
fn judged(
    assertion: &Condition,
    value: &Value,
    message: &Value,
    scope: &dyn Scope,
    mut problems: Vec<Diagnostic>,
) -> Result<Asserted, Vec<Diagnostic>> {
    let at = assertion.condition.range();
    let involved = || weft_expressions::involved::values(&assertion.condition, &[], scope);
    let unsound = |problem: Diagnostic| Diagnostic { values: involved(), ..problem };
    let problem = match convert(value, &Type::Bool) {
        Ok(value) if value.is_null() => unsound(conditions::null_test_condition(at)),
        Ok(value) => match value.as_bool() {
            Some(true) => return Ok(Asserted { verdict: AssertionVerdict::Holds, problems }),
            Some(false) => {
                let failed = unsound(conditions::test_failed(&message_text(message), at));
                problems.push(Diagnostic { compared: compared(&assertion.condition, scope), ..failed });
                return Ok(Asserted { verdict: AssertionVerdict::Fails, problems });
            }
            None => unsound(conditions::unknown_test_condition(at)),
        },
        Err(problem) => unsound(conditions::unsuitable_test_condition(&problem.with_path(), at)),
    };
    problems.push(problem);
    Err(problems)
}
