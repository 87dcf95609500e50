//! The requirements for an opened ephemeral object.

use weft_graph_format::schema::Block;
use weft_graph_format::value::Value;

use super::plan_problems;

/// The problem of an opened ephemeral object; `None` for a sound one: wholly known, not null, and as configured where
/// it is configured (as for planned values, `plan_valid`). Both values are without marks.
pub fn opened_problem(schema: &Block, config: &Value, result: &Value) -> Option<String> {
    if result.is_null() {
        return Some(String::from("null"));
    }
    if !result.is_wholly_known() {
        return Some(String::from("values that are not known"));
    }
    let before = Value::null(config.ty());
    // Values are not shown: they are ephemeral.
    let found = plan_problems(schema, &before, config, result);
    found.first().map(|problem| format!("another value for {} than the configuration has", problem.path))
}
