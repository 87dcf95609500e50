//! Variables that must not be null, with unknown arguments.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_expressions::operators::binary;
use weft_graph_format::formula::{BinaryOperator, Formula, FormulaOp};
use weft_graph_format::graph::CheckKind;
use weft_graph_format::source::SourceRange;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::module_node::ModuleNode;
use super::problems::values as problems;
use crate::config::Variable;
use crate::glue::{Failed, OpenCheck};

impl ModuleNode {
    /// The value of a variable that must not be null, converted from an argument at `at`. If only apply can decide
    /// whether the argument is null, apply replaces null with the default. Without a default, apply reports the null.
    pub(super) async fn not_null(
        self: &Arc<Self>,
        variable: &Variable,
        value: Value,
        at: SourceRange,
    ) -> Result<Value, Failed> {
        if variable.nullable || value.is_known() || !self.evaluation.purpose().has_values() {
            return Ok(value);
        }
        let nothing = Value::null(value.ty());
        let Ok(given) = binary(BinaryOperator::NotEqual, &value, &nothing, Some(&at)) else { return Ok(value) };
        if given.is_known() {
            return Ok(value);
        }
        if let Some(default) = self.default_of(variable).await? {
            let (condition, yes, no) = (given.to_formula(), value.to_formula(), default.to_formula());
            if default.ty() == value.ty() {
                let formula = Formula::new(FormulaOp::Conditional { condition, yes, no }, value.ty(), Some(at));
                return Ok(value.with_formula(Some(formula)));
            }
            // A conditional would convert both results to one type. An index selects a result as it is.
            let number = |number| Value::int(number).to_formula();
            let chosen = FormulaOp::Conditional { condition, yes: number(1), no: number(0) };
            let chosen = Formula::new(chosen, Type::Number, Some(at.clone()));
            let both = Type::tuple([default.ty(), value.ty()]);
            let both = Formula::new(FormulaOp::Tuple(vec![no, yes]), both, Some(at.clone()));
            let formula = Formula::new(FormulaOp::Index(both, chosen), Type::Dynamic, Some(at));
            let unknown = Value::unknown(Type::Dynamic).mark(value.marks()).add_origin(value.origin());
            return Ok(unknown.with_formula(Some(formula)));
        }
        let message = problems::null_argument(variable, at.clone()).detail;
        let check = OpenCheck {
            address: SmolStr::from(self.name_of(&format!("var.{}", variable.name))),
            kind: CheckKind::Precondition,
            condition: given,
            message: Value::string(message),
            range: at,
            rule: None,
            waits: None,
            again: false,
        };
        let checked = self.evaluation.glue.open_check(check);
        Ok(value.add_origin(checked.as_ref()))
    }
}
