//! Variables that must not be null, with unknown arguments.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_expressions::convert::or_default;
use weft_expressions::operators::binary;
use weft_graph_format::formula::BinaryOperator;
use weft_graph_format::graph::CheckKind;
use weft_graph_format::source::SourceRange;
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
            return Ok(or_default(&value, &default));
        }
        let message = problems::null_argument(variable, at.clone()).detail;
        let check = OpenCheck {
            address: SmolStr::from(self.name_of(&format!("var.{}", variable.name))),
            kind: CheckKind::Precondition,
            condition: given,
            message: Value::string(message),
            message_range: None,
            range: at,
            rule: None,
            waits: None,
            again: false,
        };
        let checked = self.evaluation.glue.open_check(check);
        Ok(value.add_origin(checked.as_ref()))
    }
}
