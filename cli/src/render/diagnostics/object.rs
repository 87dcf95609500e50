//! A diagnostic as a JSON object.

use serde_json::{Map, Value as Json, json};
use weft_expressions::function::{Parameter, ResultType};
use weft_expressions::functions;
use weft_graph_format::codec::type_json;
use weft_graph_format::diagnostic::{Diagnostic, Severity};
use weft_graph_format::explain;
use weft_graph_format::source::{Position, SourceRange};
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::super::show_json::compared;
use super::SourceLines;
use super::snippet::Snippet;

/// The diagnostic as an element of `diagnostics`, and as the object in `diagnostic` events.
pub fn object(problem: &Diagnostic, sources: &dyn SourceLines) -> Json {
    let mut object = Map::new();
    let severity = match problem.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    object.insert("severity".into(), severity.into());
    object.insert("summary".into(), problem.summary.clone().into());
    if let Some(code) = explain::code(problem) {
        object.insert("code".into(), code.into());
    }
    object.insert("detail".into(), problem.detail.clone().into());
    if let Some(address) = &problem.address {
        object.insert("address".into(), address.clone().into());
    }
    if let Some(range) = &problem.subject {
        object.insert("range".into(), range_object(range));
        if let Some(snippet) = Snippet::of(problem, sources) {
            let values: Vec<Json> = problem
                .values
                .iter()
                .map(|value| json!({"traversal": value.traversal, "statement": value.statement}))
                .collect();
            let mut shown = json!({
                "context": sources.block(&range.file, range.start.byte),
                "code": snippet.text(),
                "start_line": snippet.first,
                "highlight_start_offset": snippet.start,
                "highlight_end_offset": snippet.end,
                "values": values,
            });
            if !problem.function.is_empty()
                && let Some(fields) = shown.as_object_mut()
            {
                fields.insert("function_call".into(), call(&problem.function));
            }
            object.insert("snippet".into(), shown);
        }
    }
    if let Some(sides) = &problem.compared {
        let (before, after) = (Value::from(sides.0.clone()), Value::from(sides.1.clone()));
        object.insert("difference".into(), compared(&before, &after));
    }
    Json::Object(object)
}

/// The failed function call, with the signature if the function is built in.
fn call(called_as: &str) -> Json {
    let mut call = Map::new();
    call.insert("called_as".into(), called_as.into());
    if let Some(function) = functions::lookup(called_as.strip_prefix("core::").unwrap_or(called_as)) {
        let parameter = |parameter: &Parameter| {
            json!({"name": parameter.name, "type": type_object(&parameter.ty), "description": parameter.description,
                   "description_kind": "plain"})
        };
        let mut signature = Map::new();
        signature.insert("name".into(), function.name.into());
        signature.insert("params".into(), function.parameters.iter().map(parameter).collect());
        if let Some(variadic) = &function.variadic {
            signature.insert("variadic_param".into(), parameter(variadic));
        }
        let result = match &function.result_type {
            ResultType::Fixed(ty) => ty.clone(),
            ResultType::Of(_) => Type::Dynamic,
        };
        signature.insert("return_type".into(), type_object(&result));
        signature.insert("description".into(), function.description.into());
        signature.insert("description_kind".into(), "plain".into());
        call.insert("signature".into(), signature.into());
    }
    call.into()
}

/// A type in the JSON form of types.
fn type_object(ty: &Type) -> Json {
    serde_json::from_str(&type_json::encode(ty)).unwrap_or(Json::Null)
}

fn range_object(range: &SourceRange) -> Json {
    let position = |p: Position| json!({"line": p.line, "column": p.column, "byte": p.byte});
    // An empty range marks the character at its position.
    let end = if range.end <= range.start {
        Position { byte: range.start.byte + 1, column: range.start.column + 1, ..range.start }
    } else {
        range.end
    };
    json!({"filename": range.file.as_str(), "start": position(range.start), "end": position(end)})
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_graph_format::diagnostic::InvolvedValue;

    struct Text;

    impl SourceLines for Text {
        fn line(&self, _: &str, number: u32) -> Option<String> {
            ["resource \"a\" \"b\" {", "  c = é + d", "}"].get(number as usize - 1).map(|line| (*line).to_owned())
        }

        fn block(&self, _: &str, _: u32) -> Option<String> {
            Some("resource \"a\" \"b\"".to_owned())
        }
    }

    #[test]
    fn offsets_are_bytes_of_the_code() {
        let position = |byte, line, column| Position { byte, line, column };
        let range = |start, end| SourceRange { file: "m.tf".into(), start, end };
        let mut problem = Diagnostic::error("S", "D")
            .about("a.b")
            .at(range(position(30, 2, 11), position(31, 2, 12)))
            .within(range(position(21, 2, 3), position(31, 2, 12)));
        problem.values.push(InvolvedValue { traversal: "d".into(), statement: "is 1".into() });
        let expected = json!({
            "severity": "error", "summary": "S", "detail": "D", "address": "a.b",
            "range": {"filename": "m.tf", "start": {"line": 2, "column": 11, "byte": 30},
                      "end": {"line": 2, "column": 12, "byte": 31}},
            "snippet": {"context": "resource \"a\" \"b\"", "code": "  c = é + d", "start_line": 2,
                        "highlight_start_offset": 11, "highlight_end_offset": 12,
                        "values": [{"traversal": "d", "statement": "is 1"}]},
        });
        assert_eq!(object(&problem, &Text), expected);
    }
}
