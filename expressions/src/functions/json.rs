//! JSON text: written as Go's encoder writes it, read with exact numbers.

use std::collections::BTreeMap;
use std::fmt::Write;

use smol_str::SmolStr;
use weft_graph_format::number::{Number, NumberError};
use weft_graph_format::types::Type;
use weft_graph_format::value::{DEEPEST_VALUE, Kind, Refinement, Value};

use super::arguments::text;
use super::{CallContext, Function, FunctionError, Parameter, Symbolic};
use crate::refine::definitely_not_null;
use crate::stack;

/// Deepest nesting of JSON that is read: as deep as values can be written to a plan file.
const DEEPEST_NESTING: usize = DEEPEST_VALUE;

pub(super) fn functions() -> Vec<Function> {
    vec![
        Function::new("jsonencode", "A value as JSON text.", Symbolic::Opaque)
            .parameter(Parameter::new("val", Type::Dynamic, "The value.").nullable().unknowns().dynamic())
            .returns(Type::String)
            .not_null()
            .calls(jsonencode),
        Function::new("jsondecode", "The value that JSON text stands for.", Symbolic::Opaque)
            .parameter(Parameter::new("str", Type::String, "The text."))
            .returns_of(jsondecode_type)
            .calls(jsondecode),
    ]
}

fn jsondecode(context: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let source = text(arguments, 0)?;
    context.decoded("jsondecode", &arguments[0], || read_json(source).map_err(FunctionError::new))
}

fn jsonencode(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let value = &arguments[0];
    if value.deep().provider {
        return Err(FunctionError::argument(0, "a provider configuration has no form in JSON"));
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

/// A wholly known value as compact JSON. Marks do not matter. Infinities have no JSON.
pub(super) fn json_text(value: &Value) -> Result<String, NumberError> {
    let mut out = String::new();
    write_value(value, &mut out)?;
    Ok(out)
}

fn write_value(value: &Value, out: &mut String) -> Result<(), NumberError> {
    match value.open().1 {
        // References to providers are refused before.
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

/// A JSON string with the escapes of Go's encoder: also `<`, `>`, `&` and the two line separators.
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

/// What can be told of the type from the first character, where only that is known.
fn jsondecode_type(arguments: &[Value]) -> Result<Type, FunctionError> {
    let Some(known) = arguments[0].refinement() else { return Ok(Type::Dynamic) };
    match known.prefix.trim_start().chars().next() {
        None | Some('{' | '[' | 'n') => Ok(Type::Dynamic),
        Some('"') => Ok(Type::String),
        Some('t' | 'f') => Ok(Type::Bool),
        Some('-' | '0'..='9') => Ok(Type::Number),
        Some(c) => Err(FunctionError::argument(0, format!("a JSON document cannot begin with the character {c:?}"))),
    }
}

/// The value that a JSON document stands for: arrays as tuples, objects as objects.
pub(super) fn read_json(text: &str) -> Result<Value, String> {
    let mut reader = Reader { text, at: 0 };
    reader.space();
    let value = reader.value(0)?;
    reader.space();
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err("extraneous data after JSON object".into()),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn unexpected(&self, place: &str) -> String {
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(c) => format!("invalid character {c:?} {place}"),
            None => "unexpected end of JSON input".into(),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, String> {
        if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(value);
        }
        Err(self.unexpected("looking for beginning of value"))
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth >= DEEPEST_NESTING {
            return Err("exceeded max depth".into());
        }
        match self.peek() {
            Some(b'{') => stack::guarded(|| self.object(depth)),
            Some(b'[') => stack::guarded(|| self.array(depth)),
            Some(b'"') => Ok(Value::string(self.string()?)),
            Some(b't') => self.word("true", Value::bool(true)),
            Some(b'f') => self.word("false", Value::bool(false)),
            Some(b'n') => self.word("null", Value::null(Type::Dynamic)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.unexpected("looking for beginning of value")),
        }
    }

    fn digits(&mut self) -> Result<(), String> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.unexpected("in numeric literal"));
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Value, String> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Number::parse(&self.text[start..self.at]).map(Value::number).map_err(|e| e.to_string())
    }

    fn hex(&mut self) -> Result<u32, String> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|b| char::from(b).to_digit(16));
            let Some(digit) = digit else { return Err(self.unexpected("in \\u hexadecimal character escape")) };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }

    fn string(&mut self) -> Result<String, String> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.bytes().position(|b| b == b'"' || b == b'\\' || b < 0x20).unwrap_or(rest.len());
            out.push_str(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                None => return Err("unexpected end of JSON input".into()),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape(&mut out)?;
                }
                Some(_) => return Err(self.unexpected("in string literal")),
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), String> {
        let c = match self.peek() {
            Some(c @ (b'"' | b'\\' | b'/')) => char::from(c),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                let first = self.hex()?;
                out.push(self.surrogate(first)?);
                return Ok(());
            }
            _ => return Err(self.unexpected("in string escape code")),
        };
        self.at += 1;
        out.push(c);
        Ok(())
    }

    /// The character of a `\u` escape; half a pair without the other half becomes U+FFFD.
    fn surrogate(&mut self, first: u32) -> Result<char, String> {
        if (0xd800..0xdc00).contains(&first) && self.text.as_bytes()[self.at..].starts_with(b"\\u") {
            let back = self.at;
            self.at += 2;
            let second = self.hex()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = back;
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn array(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::tuple(items));
        }
        loop {
            self.space();
            items.push(self.value(depth + 1)?);
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Value::tuple(items));
                }
                _ => return Err(self.unexpected("after array element")),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut entries: BTreeMap<SmolStr, Value> = BTreeMap::new();
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::object(entries));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("looking for beginning of object key string"));
            }
            let name = Value::string(self.string()?);
            let name = SmolStr::new(name.as_str().unwrap_or_default());
            self.space();
            if self.peek() != Some(b':') {
                return Err(self.unexpected("after object key"));
            }
            self.at += 1;
            self.space();
            let value = self.value(depth + 1)?;
            if entries.get(&name).is_some_and(|earlier| earlier.ty() != value.ty()) {
                return Err(format!("duplicate {name:?} property in JSON object"));
            }
            entries.insert(name, value);
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Value::object(entries));
                }
                _ => return Err(self.unexpected("after object key:value pair")),
            }
        }
    }
}
