//! Binary operators and conditionals. In both, one operand can make an error in another operand irrelevant.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::{BinaryOperator, Formula, FormulaOp};
use weft_graph_format::origin::Origin;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Refinement, Value};
use weft_syntax::ExprId;

use super::{Evaluator, certain_failure, failed, failed_value, fails_for_certain};
use crate::access::Problem;
use crate::conditional;
use crate::convert::is_open;
use crate::operator_error::Side;
use crate::operators;
use crate::problems::operations as problems;
use crate::refine::either;
use crate::symbolic::{self, Passing};

impl Evaluator<'_> {
    pub(super) fn binary(&mut self, operator: BinaryOperator, left_id: ExprId, right_id: ExprId, id: ExprId) -> Value {
        let (left, mut left_problems) = self.apart(|e| e.value(left_id));
        let (right, mut right_problems) = self.apart(|e| e.value(right_id));
        let (left_failed, right_failed) = (failed(&left_problems), failed(&right_problems));
        let left_converted = operators::convert_operand(operator, Side::Left, &left);
        let right_converted = operators::convert_operand(operator, Side::Right, &right);
        if let (Err(error), false) = (&left_converted, left_failed) {
            left_problems.push(self.placed(problems::failed(error), self.span(left_id), id));
        }
        if let (Err(error), false) = (&right_converted, right_failed) {
            right_problems.push(self.placed(problems::failed(error), self.span(right_id), id));
        }
        // If one operand decides the result, errors in the other operand are irrelevant. An unsuitable type is still an
        // error.
        if left_failed != right_failed
            && let (Ok(left_fits), Ok(right_fits)) = (&left_converted, &right_converted)
        {
            let (sound, problems) =
                if right_failed { (left_fits, &mut left_problems) } else { (right_fits, &mut right_problems) };
            let op = || FormulaOp::Binary(operator, left.to_formula(), right.to_formula());
            if let Some(value) = self.forgiven(operator, sound, right_failed, [&left, &right], op, id) {
                self.diagnostics.append(problems);
                return value;
            }
        }
        let (left_fits, right_fits) = (left_converted.is_ok(), right_converted.is_ok());
        let problem = left_problems.iter().chain(&right_problems).find(|p| p.is_error()).cloned();
        self.diagnostics.append(&mut left_problems);
        self.diagnostics.append(&mut right_problems);
        let operands = [left, right];
        let [left, right] = &operands;
        let op = || FormulaOp::Binary(operator, left.to_formula(), right.to_formula());
        if let Some(problem) = problem {
            let provisional = operands.iter().any(|operand| operand.deep().provisional);
            let pairs = [(left, left_failed, right, right_fits), (right, right_failed, left, left_fits)];
            let may_decide = pairs.into_iter().any(|(operand, operand_failed, other, other_fits)| {
                !operand_failed && may_outweigh(operator, operand, other, other_fits)
            });
            return if may_decide {
                self.open_failure(id, &operands, op)
            } else if left_failed || right_failed {
                self.failed_operand(id, &operands, op)
            } else if provisional {
                self.open_failure(id, &operands, op)
            } else {
                failed_value(&problem)
            };
        }
        match operators::binary(operator, left, right, Some(&self.range(id))) {
            Ok(value) => value,
            Err(error) => self.fail_on(problems::failed(&error), self.span(id), id, &operands, op),
        }
    }

    /// The result of an operator if one operand failed. If the other operand, `sound`, decides the result, returns that
    /// result. If `sound` is the unknown left operand of `&&` or `||`, it may decide the result at apply, so returns an
    /// unknown boolean with a formula. `None` if the error stays relevant.
    fn forgiven(
        &self,
        operator: BinaryOperator,
        sound: &Value,
        is_left: bool,
        operands: [&Value; 2],
        op: impl FnOnce() -> FormulaOp,
        id: ExprId,
    ) -> Option<Value> {
        let decided = operators::decided_by(operator, sound);
        let logical = matches!(operator, BinaryOperator::And | BinaryOperator::Or);
        let result = match decided {
            Some(result) => Value::bool(result),
            None if logical && is_left && !sound.is_known() => Value::refined(Type::Bool, Refinement::not_null()),
            None => return None,
        };
        let result = result.mark(sound.marks()).add_origin(sound.origin());
        if decided.is_some() && sound.formula().is_none() {
            return Some(result);
        }
        let formula = Formula::new(op(), Type::Bool, Some(self.range(id)));
        let origin = Origin::union(operands.into_iter().filter_map(Value::deep_origin));
        Some(result.with_formula(Some(formula)).add_origin(origin.as_ref()))
    }

    /// Evaluates a conditional with evaluated branches.
    pub(super) fn conditional(&mut self, condition_id: ExprId, yes: Branch, no: Branch, id: ExprId) -> Value {
        let ty = match conditional::result_type(&yes.value, &no.value) {
            Ok(ty) => ty,
            Err(problem) => return self.without_type(&problem, condition_id, &yes, &no, id),
        };
        let (given, condition_failed) = self.checked(condition_id);
        let all = [given.clone(), yes.value.clone(), no.value.clone()];
        let range = self.range(id);
        let whole = || conditional_op(&all, &Type::Dynamic, &range);
        if condition_failed {
            return certain_failure(&given).unwrap_or_else(|| self.open_failure(id, &all, whole));
        }
        let condition = match conditional::condition_value(&given) {
            Ok(condition) => condition,
            Err(problem) => {
                let failure = self.problem(&problem, self.span(condition_id), id);
                return if given.deep().provisional { self.open_failure(id, &all, whole) } else { failure };
            }
        };
        // The formula converts the chosen branch, and reports errors of the conversion. A failed branch has its error
        // as formula. The common type may be wider than the type of the chosen branch. Provisional tuples may have
        // other lengths at apply, and provisional objects other attributes.
        let provisional = [&yes, &no].iter().any(|branch| branch.value.deep().provisional);
        // If the type of a branch is unknown, the common type is unknown too, even if one type fits both branches now.
        // At apply, the branches may have no common type.
        let open_type = provisional && is_structural(&ty) || [&yes, &no].iter().any(|branch| is_open(&branch.value));
        let formula_type = if open_type { Type::Dynamic } else { ty.clone() };
        let formula = |_: Type| {
            let op = conditional_op(&all, &formula_type, &range);
            Formula::new(op, formula_type.clone(), Some(range.clone()))
        };
        let (bare, marks) = condition.unmark();
        let Some(truth) = bare.as_bool() else {
            let result = either(&yes.value, &no.value, &ty).mark(condition.marks());
            let operands = [condition, yes.value, no.value];
            return symbolic::attach(result, &operands, Passing::Nothing, &formula);
        };
        let yes_result = self.branch_result(&yes, &no.value, &ty, "true", id);
        let no_result = self.branch_result(&no, &yes.value, &ty, "false", id);
        let (chosen, result, other, other_result) =
            if truth { (yes, yes_result, no, no_result) } else { (no, no_result, yes, yes_result) };
        let result = match result {
            Ok(value) => {
                self.diagnostics.extend(chosen.problems);
                value
            }
            Err(problem) => {
                let open =
                    condition.deep().provisional || (chosen.value.deep().formula && !fails_for_certain(&chosen.value));
                self.diagnostics.extend(match chosen.has_failed() {
                    true => chosen.problems,
                    false => vec![problem.clone()],
                });
                return if open { self.open_failure(id, &all, whole) } else { failed_value(&problem) };
            }
        };
        // As in OpenTofu, the result also has the marks of the branch that was not chosen.
        let marks = marks.union(other.value.marks());
        // The types of both branches determine the type of the result. If a type is known only at apply, the type of
        // the result is still open.
        if condition.formula().is_none() && (other_result.is_err() || !open_type) {
            return result.mark(&marks).add_origin(condition.origin());
        }
        let whole = formula(result.ty());
        let [_, yes, no] = &all;
        let origin = symbolic::joined_origin(&[condition, yes.clone(), no.clone()]);
        symbolic::replace_formulas(&result.mark(&marks), &whole).add_origin(origin.as_ref())
    }

    /// A conditional whose branches have no common type.
    fn without_type(
        &mut self,
        problem: &Problem,
        condition_id: ExprId,
        yes: &Branch,
        no: &Branch,
        id: ExprId,
    ) -> Value {
        let subject = self.span(yes.id).through(self.span(no.id));
        let failure = self.problem(problem, subject, id);
        // If a whole branch fails at apply, it has no type that could conflict, so the conditional may still be valid.
        // A branch that fails only in a part still has a type.
        if ![yes, no].iter().any(|branch| branch.value.formula().is_some_and(Formula::can_fail)) {
            return failure;
        }
        let (condition, _) = self.apart(|e| e.value(condition_id));
        let all = [condition, yes.value.clone(), no.value.clone()];
        self.open_failure(id, &all, || conditional_op(&all, &Type::Dynamic, &self.range(id)))
    }

    /// The value of a branch, converted to the common type.
    fn branch_result(
        &self,
        branch: &Branch,
        other: &Value,
        ty: &Type,
        which: &str,
        id: ExprId,
    ) -> Result<Value, Diagnostic> {
        if let Some(problem) = branch.problems.iter().find(|p| p.is_error()) {
            return Err(problem.clone());
        }
        conditional::convert_result(&branch.value, &other.ty(), ty, which)
            .map_err(|problem| self.placed(problem.diagnostic(), self.span(branch.id), id))
    }
}

/// Whether an operand may decide the result at apply, so that an error in the other operand is irrelevant. If the type
/// of the other operand is unsuitable, the other operand must be able to fail, because a failed operand has no type.
fn may_outweigh(operator: BinaryOperator, operand: &Value, other: &Value, other_fits: bool) -> bool {
    let deep = operand.deep();
    matches!(operator, BinaryOperator::And | BinaryOperator::Or)
        && (deep.unknown || deep.provisional || operators::decided_by(operator, operand).is_some())
        && (other_fits || other.to_formula().can_fail())
}

/// An evaluated branch of a conditional.
pub(super) struct Branch {
    /// The expression of the branch.
    pub(super) id: ExprId,
    /// Its value.
    pub(super) value: Value,
    /// The diagnostics of the branch.
    pub(super) problems: Vec<Diagnostic>,
}

impl Branch {
    fn has_failed(&self) -> bool {
        self.problems.iter().any(Diagnostic::is_error)
    }
}

/// The formula of a conditional over its condition and both results. The result has the marks of both results. They are
/// added outside, because a mark on an untyped null changes the common type.
fn conditional_op([condition, yes, no]: &[Value; 3], ty: &Type, range: &SourceRange) -> FormulaOp {
    let op = FormulaOp::Conditional { condition: condition.to_formula(), yes: yes.to_formula(), no: no.to_formula() };
    let marks = yes.marks().union(no.marks());
    if marks.is_empty() {
        return op;
    }
    FormulaOp::Mark(Formula::new(op, ty.clone(), Some(range.clone())), marks)
}

/// Whether the type determines the number of parts, at any level.
fn is_structural(ty: &Type) -> bool {
    matches!(ty, Type::Tuple(_) | Type::Object(_)) || ty.element().is_some_and(is_structural)
}
