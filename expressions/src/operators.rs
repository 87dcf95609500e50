//! Operators: their operand types, results and formulas.
//!
//! The rules are HCL's. Operands are converted to the operator's type. In general, a null operand is an error, and with
//! an unknown operand, the result is unknown and not null. There are exceptions. `==` and `!=` accept null, and may be
//! decided by the known parts of an operand. If one operand of `&&` or `||` decides the result, the value of the other
//! operand does not matter, even if it is unknown or null. A null operand of `&&` decides like `false`. The bounds of
//! an unknown number may decide a comparison. The result always has the marks of all operands.

mod equality;

use weft_graph_format::formula::{BinaryOperator, Formula, FormulaOp, UnaryOperator};
use weft_graph_format::marks::Marks;
use weft_graph_format::number::Number;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Refinement, Value};

pub use equality::equal;

use crate::convert::convert;
use crate::operator_error::{OperatorError, Side};
use crate::problems::operations as problems;
use crate::symbolic::{self, Passing};

/// The type that operands are converted to.
pub fn operand_type(operator: BinaryOperator) -> Type {
    match operator {
        BinaryOperator::Or | BinaryOperator::And => Type::Bool,
        BinaryOperator::Equal | BinaryOperator::NotEqual => Type::Dynamic,
        _ => Type::Number,
    }
}

/// The type of the result.
pub fn result_type(operator: BinaryOperator) -> Type {
    match operator {
        BinaryOperator::Add
        | BinaryOperator::Subtract
        | BinaryOperator::Multiply
        | BinaryOperator::Divide
        | BinaryOperator::Modulo => Type::Number,
        _ => Type::Bool,
    }
}

/// Evaluates `operator operand`. `range` is the source range of the expression, for the formula.
pub fn unary(operator: UnaryOperator, operand: &Value, range: Option<&SourceRange>) -> Result<Value, OperatorError> {
    let ty = match operator {
        UnaryOperator::Not => Type::Bool,
        UnaryOperator::Negate => Type::Number,
    };
    let converted =
        convert(operand, &ty).map_err(|e| OperatorError::Operand { side: Side::Only, message: e.to_string() })?;
    let (bare, marks) = converted.unmark();
    let result = match (operator, bare.open().1) {
        (_, Kind::Null(_)) => return Err(problems::null_operand()),
        (UnaryOperator::Not, Kind::Bool(flag)) => Value::bool(!flag),
        (UnaryOperator::Negate, Kind::Number(number)) => Value::number(number.neg()),
        _ => Value::refined(ty, Refinement::not_null()),
    };
    let formula = |ty: Type| Formula::new(FormulaOp::Unary(operator, operand.to_formula()), ty, range.cloned());
    Ok(symbolic::attach(result.mark(&marks), std::slice::from_ref(&converted), Passing::Nothing, &formula))
}

/// Converts an operand to the operator's type.
pub fn convert_operand(operator: BinaryOperator, side: Side, operand: &Value) -> Result<Value, OperatorError> {
    convert(operand, &operand_type(operator)).map_err(|e| OperatorError::Operand { side, message: e.to_string() })
}

/// The result of `&&` or `||` if this converted operand alone decides the result. An operand that is `false` or null
/// decides that `&&` is `false`. The operand `true` decides that `||` is `true`. Ignores marks.
pub fn decided_by(operator: BinaryOperator, operand: &Value) -> Option<bool> {
    match (operator, operand.open().1) {
        (BinaryOperator::And, Kind::Bool(false) | Kind::Null(_)) => Some(false),
        (BinaryOperator::Or, Kind::Bool(true)) => Some(true),
        _ => None,
    }
}

/// Evaluates `left operator right`. `range` is the source range of the expression, for the formula.
pub fn binary(
    operator: BinaryOperator,
    left: &Value,
    right: &Value,
    range: Option<&SourceRange>,
) -> Result<Value, OperatorError> {
    let (given_left, given_right) = (left, right);
    let left = convert_operand(operator, Side::Left, left)?;
    let right = convert_operand(operator, Side::Right, right)?;
    let result = match operator {
        BinaryOperator::Equal | BinaryOperator::NotEqual => {
            let (a, mut marks) = left.unmark_deep();
            let (b, more) = right.unmark_deep();
            marks = marks.union(&more);
            let result = match equal(&a, &b) {
                None => Value::refined(Type::Bool, Refinement::not_null()),
                Some(same) => Value::bool(same == (operator == BinaryOperator::Equal)),
            };
            result.mark(&marks)
        }
        BinaryOperator::And | BinaryOperator::Or => logical(operator, &left, &right)?,
        _ => numeric(operator, &left, &right)?,
    };
    let operands = [left, right];
    let formula = |ty: Type| {
        let op = FormulaOp::Binary(operator, given_left.to_formula(), given_right.to_formula());
        Formula::new(op, ty, range.cloned())
    };
    // A known left operand that decides the result leaves nothing to compute, even if the right operand is provisional.
    let [left, _] = &operands;
    if decided_by(operator, left).is_some() && !left.deep().formula {
        return Ok(result.add_origin(symbolic::joined_origin(&operands).as_ref()));
    }
    Ok(symbolic::attach(result, &operands, Passing::Nothing, &formula))
}

fn logical(operator: BinaryOperator, left: &Value, right: &Value) -> Result<Value, OperatorError> {
    let marks = left.marks().union(right.marks());
    let decided = decided_by(operator, left).or_else(|| decided_by(operator, right));
    let result = match decided {
        Some(result) => Value::bool(result),
        None if !left.is_known() || !right.is_known() => Value::refined(Type::Bool, Refinement::not_null()),
        None => match (left.as_bool(), right.as_bool()) {
            (Some(a), Some(b)) => Value::bool(if operator == BinaryOperator::And { a && b } else { a || b }),
            _ => return Err(problems::null_operand()),
        },
    };
    Ok(result.mark(&marks))
}

fn numeric(operator: BinaryOperator, left: &Value, right: &Value) -> Result<Value, OperatorError> {
    if left.is_null() || right.is_null() {
        return Err(problems::null_operand());
    }
    let marks: Marks = left.marks().union(right.marks());
    let result = match (left.as_number(), right.as_number()) {
        (Some(a), Some(b)) => compute(operator, a, b)?,
        _ => match known_comparison(operator, left, right) {
            Some(result) => Value::bool(result),
            None => Value::refined(result_type(operator), Refinement::not_null()),
        },
    };
    Ok(result.mark(&marks))
}

fn compute(operator: BinaryOperator, a: &Number, b: &Number) -> Result<Value, OperatorError> {
    Ok(match operator {
        BinaryOperator::Less => Value::bool(a < b),
        BinaryOperator::LessOrEqual => Value::bool(a <= b),
        BinaryOperator::Greater => Value::bool(a > b),
        BinaryOperator::GreaterOrEqual => Value::bool(a >= b),
        BinaryOperator::Add => Value::number(a.add(b)?),
        BinaryOperator::Subtract => Value::number(a.sub(b)?),
        BinaryOperator::Multiply => Value::number(a.mul(b)?),
        BinaryOperator::Divide => Value::number(a.div(b)?),
        BinaryOperator::Modulo => Value::number(a.rem(b)?),
        BinaryOperator::Or | BinaryOperator::And | BinaryOperator::Equal | BinaryOperator::NotEqual => {
            return Err(problems::no_numeric_operation());
        }
    })
}

/// Decides a comparison by the bounds of unknown numbers, if possible. Like cty, it treats bounds as exclusive.
fn known_comparison(operator: BinaryOperator, left: &Value, right: &Value) -> Option<bool> {
    let (left_min, left_max) = bounds(left);
    let (right_min, right_max) = bounds(right);
    let below = |a: Option<Number>, b: Option<Number>| matches!((a, b), (Some(a), Some(b)) if a < b);
    let less = below(left_max, right_min.clone());
    let greater = below(right_max, left_min);
    match operator {
        BinaryOperator::Less | BinaryOperator::LessOrEqual if less => Some(true),
        BinaryOperator::Less | BinaryOperator::LessOrEqual if greater => Some(false),
        BinaryOperator::Greater | BinaryOperator::GreaterOrEqual if greater => Some(true),
        BinaryOperator::Greater | BinaryOperator::GreaterOrEqual if less => Some(false),
        _ => None,
    }
}

fn bounds(value: &Value) -> (Option<Number>, Option<Number>) {
    match value.open().1 {
        Kind::Number(number) => (Some(number.clone()), Some(number.clone())),
        Kind::Unknown(unknown) => (
            unknown.refinement.min.as_ref().map(|(n, _)| n.clone()),
            unknown.refinement.max.as_ref().map(|(n, _)| n.clone()),
        ),
        _ => (None, None),
    }
}
