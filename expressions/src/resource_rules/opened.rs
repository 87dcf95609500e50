//! Checks the result of opening an ephemeral object.

use weft_graph_format::schema::Block;
use weft_graph_format::value::Value;

use super::plan_problems;

/// Describes why the result of opening an ephemeral object is invalid, or returns `None`. A valid result is wholly
/// known, not null, and matches the configuration by the rules for planned values (`plan_valid`). `config` and `result`
/// are unmarked.
pub fn opened_problem(schema: &Block, config: &Value, result: &Value) -> Option<String> {
    if result.is_null() {
        return Some(String::from("null"));
    }
    if !result.is_wholly_known() {
        return Some(String::from("values that are not known"));
    }
    let before = Value::null(config.ty());
    // The message omits the values, because they are ephemeral.
    let found = plan_problems(schema, &before, config, result);
    found.first().map(|problem| format!("another value for {} than the configuration has", problem.path))
}
