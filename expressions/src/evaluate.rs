//! Evaluates an expression in a scope.
//!
//! Evaluation reports all errors of an expression at once. If values are unknown or provisional, results have formulas
//! that compute them at apply. [`crate::symbolic`] lists the invariants. The value of a failed expression is unknown
//! and has the error as its formula. So the error has no effect in a branch that is not chosen.
//!
//! Reading order: the [`Scope`] of an expression, [`evaluate`], and then one file per kind of node: constructors,
//! templates, conditionals, `for` and splat, calls.

mod calls;
mod constructors;
mod loops;
mod operations;
mod templates;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use smol_str::SmolStr;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::{Formula, FormulaOp, UnaryOperator};
use weft_graph_format::number::Number;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Extent, Value};
use weft_syntax::{ExprId, ExprKind, Expression, Key, Literal, Span, StepKind, Traversal, TraversalStep, Tree};

use self::operations::Branch;
use crate::access::{self, Problem};
use crate::involved;
use crate::limits;
use crate::operators;
use crate::problems;
use crate::scope::Scope;
use crate::stack;
use crate::symbolic;

pub(crate) use constructors::constructor_key;
pub(crate) use templates::join_parts;
pub use templates::joined;

/// Evaluates an expression. If there are errors, the value consists of the parts without errors.
pub fn evaluate(expression: &Expression, scope: &dyn Scope) -> (Value, Vec<Diagnostic>) {
    Evaluator::new(&expression.tree, scope).run(expression.id)
}

/// Evaluates an expression with additional names, such as those that `dynamic` blocks declare.
pub fn evaluate_with(
    expression: &Expression,
    scope: &dyn Scope,
    variables: &[(SmolStr, Value)],
) -> (Value, Vec<Diagnostic>) {
    let mut evaluator = Evaluator::new(&expression.tree, scope);
    evaluator.variables = variables.to_vec();
    evaluator.run(expression.id)
}

/// Checks the names of all references in the expression. As in OpenTofu, callers check references before they evaluate
/// anything, so `try` does not catch these errors.
pub fn check_references(expression: &Expression, scope: &dyn Scope) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for traversal in weft_syntax::references(expression) {
        if let Err(problems) = scope.resolve(&expression.tree, traversal) {
            found.extend(problems);
        }
    }
    found
}

/// The value of a failed expression.
fn failed_value(problem: &Diagnostic) -> Value {
    let formula = Formula::new(FormulaOp::Failure(Box::new(problem.clone())), Type::Dynamic, problem.subject.clone());
    Value::unknown(Type::Dynamic).with_formula(Some(formula))
}

/// Whether a failed expression also fails at apply, for all values that its parts may then have. This is the case if a
/// part of `value`, the value of the expression, is an error.
fn fails_for_certain(value: &Value) -> bool {
    certain_failure(value).is_some()
}

/// If a part of `value` is an error, returns an unknown value that has this error as its formula. This value replaces
/// everything that contains `value`.
fn certain_failure(value: &Value) -> Option<Value> {
    if !value.deep().formula {
        return None;
    }
    let mut found = None;
    value.visit(&mut |_, part| {
        if let (None, Some(formula)) = (&found, part.formula())
            && matches!(formula.op(), FormulaOp::Failure(_))
        {
            found = Some(Value::unknown(Type::Dynamic).with_formula(Some(formula.clone())));
        }
    });
    found
}

/// One evaluation.
struct Evaluator<'s> {
    tree: &'s Arc<Tree>,
    scope: &'s dyn Scope,
    /// The names that the surrounding `for` expressions declare, innermost last.
    variables: Vec<(SmolStr, Value)>,
    /// The elements of the surrounding splats, innermost last.
    elements: Vec<(ExprId, Value)>,
    diagnostics: Vec<Diagnostic>,
    /// The number of steps, including those of the expression around a template. See [`limits`].
    steps: u64,
    /// The error that ends the evaluation after too many steps.
    exhausted: Option<Diagnostic>,
}

impl<'s> Evaluator<'s> {
    fn new(tree: &'s Arc<Tree>, scope: &'s dyn Scope) -> Evaluator<'s> {
        let steps = scope.context().steps.map_or(0, |steps| steps.load(Ordering::Relaxed));
        Evaluator {
            tree,
            scope,
            variables: Vec::new(),
            elements: Vec::new(),
            diagnostics: Vec::new(),
            steps,
            exhausted: None,
        }
    }

    fn run(mut self, id: ExprId) -> (Value, Vec<Diagnostic>) {
        let value = self.value(id);
        if let Some(steps) = self.scope.context().steps {
            steps.store(self.steps, Ordering::Relaxed);
        }
        match self.exhausted {
            Some(problem) => (failed_value(&problem), vec![problem]),
            None => (value, self.diagnostics),
        }
    }

    /// Counts steps for the expression `id`. Returns whether the limit is exceeded. If so, evaluation stops.
    fn spend(&mut self, steps: u64, id: ExprId) -> bool {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > limits::MOST_STEPS && self.exhausted.is_none() {
            let problem = problems::limits::too_many_steps(limits::MOST_STEPS).diagnostic().at(self.range(id));
            self.diagnostics.push(problem.clone());
            self.exhausted = Some(problem);
        }
        self.exhausted.is_some()
    }

    /// The result of an expression that builds a value, or an error if the value exceeds the size limits.
    fn bounded(&mut self, value: Value, id: ExprId) -> Value {
        match value.excess() {
            None => value,
            Some(excess) => {
                let problem = problems::limits::too_large(excess).diagnostic().at(self.range(id));
                let failure = failed_value(&problem);
                self.diagnostics.push(problem);
                failure
            }
        }
    }

    fn range(&self, id: ExprId) -> SourceRange {
        self.tree.range(self.tree.node(id).span)
    }

    fn span(&self, id: ExprId) -> Span {
        self.tree.node(id).span
    }

    /// Records an error at `subject` in the expression `id`, and returns the value that replaces the failed expression.
    fn fail(&mut self, problem: Diagnostic, subject: Span, id: ExprId) -> Value {
        let problem = self.placed(problem, subject, id);
        let value = failed_value(&problem);
        self.diagnostics.push(problem);
        value
    }

    fn problem(&mut self, problem: &Problem, subject: Span, id: ExprId) -> Value {
        self.fail(problem.diagnostic(), subject, id)
    }

    /// Like [`Evaluator::fail`], for an operation on operands. If an operand is provisional, or its type is known only
    /// at apply, the operation may still succeed at apply. In this case, the returned value has the formula of the
    /// operation.
    fn fail_on(
        &mut self,
        problem: Diagnostic,
        subject: Span,
        id: ExprId,
        operands: &[Value],
        op: impl FnOnce() -> FormulaOp,
    ) -> Value {
        let failure = self.fail(problem, subject, id);
        let open = operands.iter().any(|operand| operand.deep().provisional || crate::convert::is_open(operand));
        if open && !operands.iter().any(fails_for_certain) { self.open_failure(id, operands, op) } else { failure }
    }

    /// The value of an operation with a failed operand.
    fn failed_operand(&self, id: ExprId, operands: &[Value], op: impl FnOnce() -> FormulaOp) -> Value {
        operands.iter().find_map(certain_failure).unwrap_or_else(|| self.open_failure(id, operands, op))
    }

    fn open_failure(&self, id: ExprId, operands: &[Value], op: impl FnOnce() -> FormulaOp) -> Value {
        let formula = Formula::new(op(), Type::Dynamic, Some(self.range(id)));
        Value::unknown(Type::Dynamic).with_formula(Some(formula)).add_origin(symbolic::joined_origin(operands).as_ref())
    }

    fn placed(&self, problem: Diagnostic, subject: Span, id: ExprId) -> Diagnostic {
        let mut problem = problem.at(self.tree.range(subject)).within(self.range(id));
        problem.values = involved::values(&self.tree.expression(id), &self.variables, self.scope);
        problem
    }

    /// Runs `inner`, and returns the diagnostics that it added instead of recording them.
    fn apart<R>(&mut self, inner: impl FnOnce(&mut Self) -> R) -> (R, Vec<Diagnostic>) {
        let before = std::mem::take(&mut self.diagnostics);
        let result = inner(self);
        let own = std::mem::replace(&mut self.diagnostics, before);
        (result, own)
    }

    /// The value of a node, and whether it has an error. Errors are recorded.
    fn checked(&mut self, id: ExprId) -> (Value, bool) {
        let before = self.diagnostics.len();
        let value = self.value(id);
        let failed = self.diagnostics.get(before..).is_some_and(|new| new.iter().any(Diagnostic::is_error));
        (value, failed)
    }

    fn value(&mut self, id: ExprId) -> Value {
        if let Some(problem) = &self.exhausted {
            return failed_value(problem);
        }
        let value = stack::guarded(|| self.node_value(id));
        match &self.tree.node(id).kind {
            ExprKind::Tuple { .. }
            | ExprKind::Object { .. }
            | ExprKind::For(_)
            | ExprKind::Splat(_)
            | ExprKind::Call(_)
            | ExprKind::Conditional { .. } => self.bounded(value, id),
            _ => value,
        }
    }

    fn node_value(&mut self, id: ExprId) -> Value {
        let tree = self.tree;
        let node = tree.node(id);
        match &node.kind {
            ExprKind::Literal(literal) => self.literal(literal, id),
            ExprKind::Template(template) => self.template(template, id),
            ExprKind::TemplateWrap { inner } | ExprKind::Parentheses { inner } => self.value(*inner),
            ExprKind::Traversal(traversal) => self.traversal(traversal, id),
            ExprKind::RelativeTraversal { source, steps } => {
                let (value, failed) = self.checked(*source);
                if failed { self.failed_steps(value, steps, id) } else { self.steps(value, steps, id) }
            }
            ExprKind::Index { collection, key, brackets } => self.index(*collection, *key, *brackets, id),
            ExprKind::Splat(splat) => self.splat(splat, id),
            ExprKind::AnonymousElement => {
                let found = self.elements.iter().rev().find(|(element, _)| *element == id);
                found.map_or_else(|| Value::unknown(Type::Dynamic), |(_, value)| value.clone())
            }
            ExprKind::Tuple { items } => self.tuple(items),
            ExprKind::Object { items } => self.object(items, id),
            ExprKind::For(parts) => self.for_expression(&loops::ForParts::of(parts), id),
            ExprKind::Call(call) => self.call(call, id),
            ExprKind::Unary { operator, operand, .. } => self.unary(*operator, *operand, id),
            ExprKind::Binary { operator, left, right, .. } => self.binary(*operator, *left, *right, id),
            ExprKind::Conditional { condition, then, otherwise } => {
                let (yes, no) = (self.branch(*then), self.branch(*otherwise));
                self.conditional(*condition, yes, no, id)
            }
            ExprKind::Error => self.unreadable(id),
        }
    }

    /// Evaluates a branch of a conditional. Its diagnostics are collected separately.
    fn branch(&mut self, id: ExprId) -> Branch {
        let (value, problems) = self.apart(|e| e.value(id));
        Branch { id, value, problems }
    }

    fn index(&mut self, collection: ExprId, key: ExprId, brackets: Span, id: ExprId) -> Value {
        let (collection, failed) = self.checked(collection);
        let (key, key_failed) = self.checked(key);
        let operands = [collection, key];
        let [collection, key] = &operands;
        let op = || FormulaOp::Index(collection.to_formula(), key.to_formula());
        if failed || key_failed {
            return self.failed_operand(id, &operands, op);
        }
        match access::index(collection, key, Some(&self.range(id))) {
            Ok(value) => value,
            Err(problem) => self.fail_on(problem.diagnostic(), brackets, id, &operands, op),
        }
    }

    fn tuple(&mut self, items: &[ExprId]) -> Value {
        let mut values = Vec::with_capacity(items.len());
        let mut extent = Extent::default();
        for item in items {
            let value = self.value(*item);
            extent = extent.and(value.extent());
            values.push(value);
            // The result so far already exceeds a limit, so the remaining items are skipped.
            if extent.excess().is_some() {
                break;
            }
        }
        Value::tuple(values)
    }

    fn unary(&mut self, operator: UnaryOperator, operand: ExprId, id: ExprId) -> Value {
        let (value, failed) = self.checked(operand);
        let op = || FormulaOp::Unary(operator, value.to_formula());
        if failed {
            return self.failed_operand(id, std::slice::from_ref(&value), op);
        }
        match operators::unary(operator, &value, Some(&self.range(id))) {
            Ok(value) => value,
            Err(error) => {
                let subject = self.span(if error.side().is_some() { operand } else { id });
                self.fail_on(problems::operations::failed(&error), subject, id, std::slice::from_ref(&value), op)
            }
        }
    }

    /// An expression that the parser could not read. The parser has reported the error, except in strings of the JSON
    /// syntax, which need not be templates.
    fn unreadable(&mut self, id: ExprId) -> Value {
        let mut problem = problems::operations::unreadable().at(self.range(id));
        for found in self.tree.expression(id).template_problems() {
            problem = found;
            self.diagnostics.push(problem.clone());
        }
        failed_value(&problem)
    }

    fn literal(&mut self, literal: &Literal, id: ExprId) -> Value {
        match literal {
            Literal::Null => Value::null(Type::Dynamic),
            Literal::Bool(flag) => Value::bool(*flag),
            Literal::Number(text) => match Number::parse(text) {
                Ok(number) => Value::number(number),
                Err(error) => self.fail(problems::operations::invalid_number(&error), self.span(id), id),
            },
        }
    }

    fn traversal(&mut self, traversal: &Traversal, id: ExprId) -> Value {
        let local = self.variables.iter().rev().find(|(name, _)| *name == traversal.root.text);
        if let Some((_, value)) = local {
            let value = value.clone();
            return self.steps(value, &traversal.steps, id);
        }
        match self.scope.resolve(self.tree, traversal) {
            Ok(resolved) => {
                let rest = traversal.steps.get(resolved.consumed..).expect("a scope consumes steps of the traversal");
                self.steps(resolved.value, rest, id)
            }
            Err(problems) => {
                let value = match problems.iter().find(|p| p.is_error()) {
                    Some(problem) => failed_value(problem),
                    None => Value::unknown(Type::Dynamic),
                };
                self.diagnostics.extend(problems);
                value
            }
        }
    }

    fn steps(&mut self, start: Value, steps: &[TraversalStep], id: ExprId) -> Value {
        let mut value = start;
        for (place, step) in steps.iter().enumerate() {
            let range = self.tree.range(step.span);
            let next = match &step.kind {
                StepKind::Attribute(name) => access::attribute(&value, name, Some(&range)),
                StepKind::Index(Key::String(key)) => access::index(&value, &Value::string(key), Some(&range)),
                StepKind::Index(Key::Bool(key)) => access::index(&value, &Value::bool(*key), Some(&range)),
                StepKind::Index(Key::Null) => access::index(&value, &Value::null(Type::Dynamic), Some(&range)),
                StepKind::Index(Key::Number(digits)) | StepKind::LegacyIndex(digits) => match Number::parse(digits) {
                    Ok(number) => access::index(&value, &Value::number(number), Some(&range)),
                    Err(error) => Err(problems::access::unsuitable_number(&error)),
                },
            };
            match next {
                Ok(next) => value = next,
                Err(problem) => {
                    let failure = self.problem(&problem, step.span, id);
                    if !value.deep().provisional {
                        return failure;
                    }
                    return self.failed_steps(value, &steps[place..], id);
                }
            }
        }
        value
    }

    /// The result of steps that a failed or provisional value does not have during planning. The value may have them at
    /// apply.
    fn failed_steps(&self, start: Value, steps: &[TraversalStep], id: ExprId) -> Value {
        if let Some(certain) = certain_failure(&start) {
            return certain;
        }
        let mut formula = start.to_formula();
        for step in steps {
            let key = match &step.kind {
                StepKind::Attribute(name) => {
                    let op = FormulaOp::Attribute(formula, name.clone());
                    formula = Formula::new(op, Type::Dynamic, Some(self.tree.range(step.span)));
                    continue;
                }
                StepKind::Index(Key::String(key)) => Value::string(key),
                StepKind::Index(Key::Bool(key)) => Value::bool(*key),
                StepKind::Index(Key::Null) => Value::null(Type::Dynamic),
                StepKind::Index(Key::Number(digits)) | StepKind::LegacyIndex(digits) => {
                    Number::parse(digits).map_or_else(|_| Value::null(Type::Number), Value::number)
                }
            };
            let op = FormulaOp::Index(formula, Formula::constant(key));
            formula = Formula::new(op, Type::Dynamic, Some(self.range(id)));
        }
        Value::unknown(Type::Dynamic).with_formula(Some(formula)).add_origin(start.deep_origin().as_ref())
    }
}

fn failed(problems: &[Diagnostic]) -> bool {
    problems.iter().any(Diagnostic::is_error)
}
