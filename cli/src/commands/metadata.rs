//! `weft metadata functions -json`: the signatures of all built-in functions, for editors and other tools.

use serde_json::{Map, Value as Json};
use weft_expressions::function::{Function, Parameter, ResultType};
use weft_expressions::functions;
use weft_graph_format::codec::type_json;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use crate::command::{self, Command, Invocation, OnMistake};
use crate::commands::problems;
use crate::exit::Exit;

/// The version of the document.
const FORMAT: &str = "1.0";
/// Functions that always fail. The document does not list them.
const GONE: [&str; 2] = ["list", "map"];

/// The command.
pub const FUNCTIONS: Command = Command {
    words: &["metadata", "functions"],
    alias: None,
    operands: "",
    about: "Print the signatures of all functions",
    main: false,
    flags: &[command::VIEW, command::JSON_DOCUMENT],
    mixed: false,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: false,
    run: |invocation| functions(invocation).unwrap_or_else(|exit| exit),
};

fn functions(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    // As in OpenTofu, operands have no effect.
    if !invocation.arguments.switch("json", false) {
        return Err(invocation.mistake(&problems::functions_without_json()));
    }
    invocation.view.document(&(document().to_string() + "\n"));
    Ok(Exit::DONE)
}

/// The document with the signatures of all functions, under their names with and without `core::`.
fn document() -> Json {
    let known = functions::all().iter().filter(|function| !GONE.contains(&function.name));
    let mut names: Vec<(String, &Function)> = known
        .flat_map(|function| [(function.name.to_owned(), function), (format!("core::{}", function.name), function)])
        .collect();
    names.sort_by(|a, b| a.0.cmp(&b.0));
    let signatures: Map<String, Json> = names.into_iter().map(|(name, function)| (name, signature(function))).collect();
    let mut document = Map::new();
    document.insert("format_version".to_owned(), FORMAT.into());
    document.insert("function_signatures".to_owned(), signatures.into());
    document.into()
}

fn signature(function: &Function) -> Json {
    let mut object = Map::new();
    if !function.description.is_empty() {
        object.insert("description".to_owned(), function.description.into());
    }
    object.insert("return_type".to_owned(), json(&result(function)));
    if !function.parameters.is_empty() {
        object
            .insert("parameters".to_owned(), function.parameters.iter().map(|one| parameter(one, function)).collect());
    }
    if let Some(variadic) = &function.variadic {
        object.insert("variadic_parameter".to_owned(), parameter(variadic, function));
    }
    object.into()
}

fn parameter(parameter: &Parameter, function: &Function) -> Json {
    let mut object = Map::new();
    object.insert("name".to_owned(), parameter.name.into());
    if !parameter.description.is_empty() {
        object.insert("description".to_owned(), parameter.description.into());
    }
    // The arguments of a lazy function are not evaluated before the call, and cannot be null.
    if parameter.allow_null && !function.lazy {
        object.insert("is_nullable".to_owned(), true.into());
    }
    object.insert("type".to_owned(), json(&parameter.ty));
    object.into()
}

/// The type of the result, as far as the types of the parameters determine it.
fn result(function: &Function) -> Type {
    let parameters: Vec<&Parameter> = function.parameters.iter().chain(&function.variadic).collect();
    // A parameter of any type leaves the result type open, unless the function accepts arguments of unknown type.
    let open = parameters.iter().any(|parameter| parameter.ty == Type::Dynamic && !parameter.allow_dynamic);
    match &function.result_type {
        _ if open && !function.lazy => Type::Dynamic,
        ResultType::Fixed(ty) => ty.clone(),
        ResultType::Of(of) => {
            let unknown: Vec<Value> = parameters.iter().map(|p| Value::unknown(p.ty.clone())).collect();
            of(&unknown).unwrap_or(Type::Dynamic)
        }
    }
}

/// A type, in the JSON form of types.
fn json(ty: &Type) -> Json {
    serde_json::from_str(&type_json::encode(ty)).unwrap_or(Json::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_as_recorded() {
        let document = document();
        let of = |name: &str| {
            let mut found = document["function_signatures"][name].clone();
            if let Some(object) = found.as_object_mut() {
                object.shift_remove("description");
                for key in ["parameters", "variadic_parameter"] {
                    match object.get_mut(key) {
                        Some(Json::Array(all)) => {
                            all.iter_mut()
                                .filter_map(Json::as_object_mut)
                                .for_each(|p| drop(p.shift_remove("description")));
                        }
                        Some(Json::Object(one)) => drop(one.shift_remove("description")),
                        _ => {}
                    }
                }
            }
            found.to_string()
        };
        assert_eq!(document["format_version"], "1.0");
        assert_eq!(of("abs"), r#"{"return_type":"number","parameters":[{"name":"num","type":"number"}]}"#);
        assert_eq!(of("core::abs"), of("abs"));
        assert_eq!(
            of("split"),
            concat!(
                r#"{"return_type":["list","string"],"parameters":[{"name":"separator","type":"string"},"#,
                r#"{"name":"str","type":"string"}]}"#
            )
        );
        assert_eq!(
            of("merge"),
            r#"{"return_type":"dynamic","variadic_parameter":{"name":"maps","is_nullable":true,"type":"dynamic"}}"#
        );
        assert_eq!(
            of("contains"),
            concat!(
                r#"{"return_type":"dynamic","parameters":[{"name":"list","type":"dynamic"},"#,
                r#"{"name":"value","type":"dynamic"}]}"#
            )
        );
        assert_eq!(of("can"), r#"{"return_type":"bool","parameters":[{"name":"expression","type":"dynamic"}]}"#);
        assert_eq!(of("list"), "null");
    }
}
