//! The functions of the built-in provider `terraform`. They convert between values and the text of variable files.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::quoted;
use weft_graph_format::schema::{FunctionParameter, FunctionSignature};
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};

use crate::call_error::FunctionError;
use crate::constant::evaluate_constant;
use crate::problems::tfvars as problems;

/// The maximum nesting of a value that is written as text.
const DEEPEST: usize = 512;

/// A function and its description for users. Other programs read the descriptions from `providers schema`.
struct Described {
    name: &'static str,
    summary: &'static str,
    description: &'static str,
    parameter: (&'static str, Type, &'static str),
    result: Type,
}

/// All functions, by name.
const ALL: [Described; 3] = [
    Described {
        name: "decode_tfvars",
        summary: "Decode a TFVars file content into an object",
        description: "provider::terraform::decode_tfvars decodes a TFVars file content into an object",
        parameter: ("content", Type::String, "TFVars file content to decode"),
        result: Type::Dynamic,
    },
    Described {
        name: "encode_expr",
        summary: "Takes an arbitrary expression and converts it into a string with valid OpenTofu syntax",
        description: "provider::terraform::encode_expr takes an arbitrary expression and converts it into a string \
                      with valid OpenTofu syntax",
        parameter: ("expr", Type::Dynamic, "expression to encode"),
        result: Type::String,
    },
    Described {
        name: "encode_tfvars",
        summary: "Encode an object into a string with the same format as a TFVars file",
        description: "provider::terraform::encode_tfvars encodes an object into a string with the same format as a \
                      TFVars file",
        parameter: (
            "input",
            Type::Dynamic,
            "Input to encode for TFVars file. Must be an object with key that are valid identifiers",
        ),
        result: Type::String,
    },
];

/// The signatures of all functions, by name. As in OpenTofu, the signature of `encode_expr` does not mention that it
/// accepts null.
pub fn described() -> BTreeMap<SmolStr, FunctionSignature> {
    let told = |function: &Described| {
        let mut signature = function.signature();
        signature.parameters.iter_mut().for_each(|parameter| parameter.allow_null = false);
        (SmolStr::new_static(function.name), signature)
    };
    ALL.iter().map(told).collect()
}

/// The signature of a function, or `None` if there is no function of this name.
pub fn signature(name: &str) -> Option<FunctionSignature> {
    ALL.iter().find(|function| function.name == name).map(Described::signature)
}

impl Described {
    fn signature(&self) -> FunctionSignature {
        let (name, ty, description) = &self.parameter;
        FunctionSignature {
            parameters: vec![FunctionParameter {
                name: (*name).to_owned(),
                ty: ty.clone(),
                allow_null: self.name == "encode_expr",
                allow_unknown: false,
                description: (*description).to_owned(),
            }],
            variadic: None,
            result: self.result.clone(),
            summary: self.summary.to_owned(),
            description: self.description.to_owned(),
            deprecation_message: String::new(),
        }
    }
}

/// Calls a function. The arguments are known, unmarked, and fit the signature.
pub fn call(name: &str, arguments: &[Value]) -> Result<Value, FunctionError> {
    let [input] = arguments else { return Err(problems::one_argument()) };
    match name {
        "decode_tfvars" => decode_tfvars(input),
        "encode_tfvars" => encode_tfvars(input),
        "encode_expr" => Ok(Value::string(written(input)?)),
        _ => Err(problems::no_such_function()),
    }
}

fn decode_tfvars(content: &Value) -> Result<Value, FunctionError> {
    let text: Arc<str> = Arc::from(content.as_str().unwrap_or_default());
    let (tree, problems) = weft_syntax::parse_file("", text);
    if let Some(problem) = problems.first() {
        return Err(problems::undecodable(problem));
    }
    let body = tree.root_body();
    if let Some(block) = body.blocks.first() {
        return Err(problems::block_in_content(&block.block_type.text));
    }
    let mut fields: BTreeMap<SmolStr, Value> = BTreeMap::new();
    for attribute in &body.attributes {
        let (value, problems) = evaluate_constant(&tree.expression(attribute.expression));
        if let Some(problem) = problems.iter().find(|problem| problem.is_error()) {
            return Err(problems::undecodable(problem));
        }
        fields.insert(attribute.name.text.clone(), value);
    }
    Ok(Value::object(fields))
}

fn encode_tfvars(input: &Value) -> Result<Value, FunctionError> {
    let (Kind::Object(fields) | Kind::Map(fields)) = input.open().1 else {
        return Err(problems::no_object());
    };
    let mut text = String::new();
    for (name, value) in fields.iter() {
        if !weft_syntax::is_identifier(name) {
            return Err(problems::invalid_name(name));
        }
        text.push_str(&format!("{name} = {}\n", written(value)?));
    }
    Ok(Value::string(text))
}

/// The value as an expression in canonical style.
fn written(value: &Value) -> Result<String, FunctionError> {
    const BEFORE: &str = "x = ";
    let mut text = String::from(BEFORE);
    write(value, &mut text, DEEPEST)?;
    text.push('\n');
    let styled = weft_syntax::format("", Arc::from(text.as_str())).unwrap_or(text);
    Ok(styled.strip_prefix(BEFORE).unwrap_or(&styled).trim_end().to_owned())
}

fn write(value: &Value, out: &mut String, depth: usize) -> Result<(), FunctionError> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(problems::too_deep());
    };
    match value.open().1 {
        Kind::Null(_) => out.push_str("null"),
        Kind::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Kind::Number(number) => out.push_str(&number.to_string()),
        Kind::Provider(_) => return Err(problems::provider_in_value()),
        Kind::String(text) => out.push_str(&quoted(text)),
        Kind::List(items) | Kind::Set(items) | Kind::Tuple(items) => {
            out.push('[');
            for (index, item) in items.items().iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write(item, out, depth)?;
            }
            out.push(']');
        }
        Kind::Map(fields) | Kind::Object(fields) => {
            out.push('{');
            for (index, (name, item)) in fields.iter().enumerate() {
                if index == 0 {
                    out.push('\n');
                }
                if weft_syntax::is_identifier(name) {
                    out.push_str(name);
                } else {
                    out.push_str(&quoted(name));
                }
                out.push_str(" = ");
                write(item, out, depth)?;
                out.push('\n');
            }
            out.push('}');
        }
        Kind::Unknown(_) => return Err(problems::unknown_value()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constant(text: &str) -> Value {
        let place = weft_graph_format::source::Position::START;
        let (expression, problems) = weft_syntax::parse_expression("", Arc::from(text), place);
        assert!(problems.is_empty(), "{text}");
        evaluate_constant(&expression).0
    }

    #[test]
    fn values_are_encoded_as_text() {
        for (function, input, expected) in [
            ("encode_expr", r#"[1, "a$${b}", true]"#, r#"[1, "a$${b}", true]"#),
            ("encode_expr", "null", "null"),
            ("encode_expr", "{}", "{}"),
            ("encode_expr", "{ a = 1, \"b c\" = [] }", "{\n  a     = 1\n  \"b c\" = []\n}"),
            ("encode_tfvars", "{ a = 1, b = [\"x\"], c = { d = null } }", "a = 1\nb = [\"x\"]\nc = {\n  d = null\n}\n"),
        ] {
            let found = call(function, &[constant(input)]).map(|value| value.as_str().map(str::to_owned));
            assert_eq!(found, Ok(Some(expected.to_owned())), "{function}({input})");
        }
    }

    #[test]
    fn text_is_decoded_as_values() {
        let found = call("decode_tfvars", &[Value::string("a = 1\nb = [true]\n")]);
        assert_eq!(found, Ok(constant("{ a = 1, b = [true] }")));
        assert!(call("decode_tfvars", &[Value::string("a = ")]).is_err());
        assert!(call("decode_tfvars", &[Value::string("a {}")]).is_err());
        assert!(call("encode_tfvars", &[Value::string("a")]).is_err());
    }
}
