//! `jsonencode` and `jsondecode`. The output has the format of Go's encoder.

use std::fmt::Write;

use weft_graph_format::codec::json;
use weft_graph_format::number::NumberError;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Refinement, Value};

use super::arguments::text;
use super::{CallContext, Function, FunctionError, Parameter, Symbolic, problems};
use crate::refine::definitely_not_null;
use crate::stack;

pub(super) fn functions() -> Vec<Function> {
    vec![
        Function::new("jsonencode", "A value as JSON text.", Symbolic::Opaque)
            .parameter(Parameter::new("val", Type::Dynamic, "The value.").nullable().unknowns().dynamic())
            .returns(Type::String)
            .not_null()
            .calls(jsonencode),
        Function::new("jsondecode", "The value of a JSON text.", Symbolic::Opaque)
            .parameter(Parameter::new("str", Type::String, "The text."))
            .returns_of(jsondecode_type)
            .calls(jsondecode),
    ]
}

fn jsondecode(context: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let source = text(arguments, 0)?;
    context.decoded("jsondecode", &arguments[0], || {
        json::decode_implied(source.as_bytes()).map_err(|error| FunctionError::new(error.problem.to_string()))
    })
}

fn jsonencode(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let value = &arguments[0];
    if value.deep().provider {
        return Err(problems::encoding::cannot_encode_provider("JSON"));
    }
    if value.is_wholly_known() {
        return match json_text(value) {
            Ok(text) => Ok(Value::string(text)),
            Err(e) => Err(FunctionError::new(e.to_string())),
        };
    }
    if !definitely_not_null(value) {
        return Ok(Value::unknown(Type::String));
    }
    let prefix = match value.ty() {
        Type::String => "\"",
        Type::Object(_) | Type::Map(_) => "{",
        Type::Tuple(_) | Type::List(_) | Type::Set(_) => "[",
        Type::Bool | Type::Number | Type::Dynamic | Type::Provider(_) => "",
    };
    Ok(Value::refined(Type::String, Refinement::with_prefix(prefix)))
}

/// A wholly known value as compact JSON. Marks are ignored. Infinities have no JSON form.
pub(super) fn json_text(value: &Value) -> Result<String, NumberError> {
    let mut out = String::new();
    write_value(value, &mut out)?;
    Ok(out)
}

fn write_value(value: &Value, out: &mut String) -> Result<(), NumberError> {
    match value.open().1 {
        // References to providers were rejected before.
        Kind::Null(_) | Kind::Unknown(_) | Kind::Provider(_) => out.push_str("null"),
        Kind::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Kind::Number(number) => out.push_str(&number.to_json()?),
        Kind::String(text) => write_string(text, out),
        Kind::List(s) | Kind::Set(s) | Kind::Tuple(s) => {
            out.push('[');
            for (place, item) in s.items().iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                stack::guarded(|| write_value(item, out))?;
            }
            out.push(']');
        }
        Kind::Map(f) | Kind::Object(f) => {
            out.push('{');
            for (place, (key, item)) in f.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                stack::guarded(|| write_value(item, out))?;
            }
            out.push('}');
        }
    }
    Ok(())
}

/// Writes a JSON string with the escapes of Go's encoder, which also escapes `<`, `>`, `&` and the two line separators.
pub(super) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// The type that the first character of a text implies, if only a prefix of the text is known.
fn jsondecode_type(arguments: &[Value]) -> Result<Type, FunctionError> {
    let Some(known) = arguments[0].refinement() else { return Ok(Type::Dynamic) };
    match known.prefix.trim_start().chars().next() {
        None | Some('{' | '[' | 'n') => Ok(Type::Dynamic),
        Some('"') => Ok(Type::String),
        Some('t' | 'f') => Ok(Type::Bool),
        Some('-' | '0'..='9') => Ok(Type::Number),
        Some(c) => Err(problems::encoding::invalid_json_start(c)),
    }
}
