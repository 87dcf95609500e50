//! Writes YAML: block style, with strings in quotes or as literal blocks, in the layout of libyaml's emitter.

use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};

use super::{CallContext, Function, FunctionError, Parameter, Symbolic, problems};
use crate::stack;

/// The column after which a quoted string continues on the next line, at a space.
const BEST_WIDTH: usize = 80;

/// The indentation of one level.
const INDENT: usize = 2;

/// The maximum length in bytes of a key without a preceding question mark.
const LONGEST_SIMPLE_KEY: usize = 128;

pub(super) fn functions() -> Vec<Function> {
    vec![
        Function::new("yamlencode", "A value as YAML text.", Symbolic::Opaque)
            .parameter(Parameter::new("value", Type::Dynamic, "The value.").nullable().unknowns().dynamic())
            .returns(Type::String)
            .calls(yamlencode),
    ]
}

fn yamlencode(_: &CallContext<'_>, arguments: &[Value], _: &Type) -> Result<Value, FunctionError> {
    let value = &arguments[0];
    if value.deep().provider {
        return Err(problems::encoding::cannot_encode_provider("YAML"));
    }
    if !value.is_wholly_known() {
        return Ok(Value::unknown(Type::String));
    }
    let mut writer = Writer { out: String::new(), column: 0 };
    writer.node(value, None, false);
    if writer.column > 0 {
        writer.line_end();
    }
    // A plain scalar at the root could continue on the next line, so its end is marked.
    if matches!(value.open().1, Kind::Null(_) | Kind::Bool(_) | Kind::Number(_)) {
        writer.out.push_str("...\n");
    }
    Ok(Value::string(writer.out))
}

struct Writer {
    out: String,
    column: usize,
}

impl Writer {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    fn line_end(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    fn new_line(&mut self, indent: usize) {
        if self.column > 0 {
            self.line_end();
        }
        self.put(&" ".repeat(indent));
    }

    /// Writes a value. `indent` is the indentation of the surrounding collection, or `None` at the root. `in_mapping`
    /// says whether the value follows a simple key of a mapping. In this case, the value begins on a new line if it is
    /// a collection that is not empty, and sequences are not indented further.
    fn node(&mut self, value: &Value, indent: Option<usize>, in_mapping: bool) {
        let deeper = indent.map_or(0, |indent| indent + INDENT);
        match value.open().1 {
            Kind::List(s) | Kind::Set(s) | Kind::Tuple(s) if s.is_empty() => self.put("[]"),
            Kind::Map(f) | Kind::Object(f) if f.is_empty() => self.put("{}"),
            Kind::List(s) | Kind::Set(s) | Kind::Tuple(s) => {
                let own = if in_mapping { indent.unwrap_or(0) } else { deeper };
                for (place, item) in s.items().iter().enumerate() {
                    // The first item of a nested sequence is on the line of the outer dash.
                    if in_mapping || place > 0 {
                        self.new_line(own);
                    }
                    self.put("- ");
                    stack::guarded(|| self.node(item, Some(own), false));
                }
            }
            Kind::Map(f) | Kind::Object(f) => {
                for (place, (key, item)) in f.iter().enumerate() {
                    if in_mapping || place > 0 {
                        self.new_line(deeper);
                    }
                    self.entry(key, item, deeper);
                }
            }
            Kind::String(text) => self.string(text, indent.map_or(INDENT, |indent| indent + INDENT), false),
            // References to providers were rejected before.
            Kind::Null(_) | Kind::Unknown(_) | Kind::Provider(_) => self.put("null"),
            Kind::Bool(flag) => self.put(if *flag { "true" } else { "false" }),
            Kind::Number(number) if number.is_infinite() => {
                self.put(if number.has_minus_sign() { "-.inf" } else { ".inf" });
            }
            Kind::Number(number) => self.put(&number.to_string()),
        }
    }

    fn entry(&mut self, key: &str, value: &Value, indent: usize) {
        let simple = !key.contains('\n') && key.len() <= LONGEST_SIMPLE_KEY;
        if simple {
            self.string(key, indent + INDENT, true);
        } else {
            self.put("? ");
            self.string(key, indent + INDENT, false);
            self.new_line(indent);
        }
        self.put(":");
        let block = match value.open().1 {
            Kind::List(s) | Kind::Set(s) | Kind::Tuple(s) => !s.is_empty(),
            Kind::Map(f) | Kind::Object(f) => !f.is_empty(),
            _ => false,
        };
        if !block || !simple {
            self.put(" ");
        }
        // After a question mark, the value starts on the same line. Otherwise a block starts on a new line.
        stack::guarded(|| self.node(value, Some(indent), simple));
    }

    fn string(&mut self, text: &str, indent: usize, key: bool) {
        if !key && text.contains('\n') && may_be_block(text) {
            self.literal(text, indent);
        } else {
            self.quoted(text, indent, key);
        }
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.put("|");
        if text.starts_with([' ', '\n']) {
            self.put(&INDENT.to_string());
        }
        match text.strip_suffix('\n') {
            None => self.put("-"),
            Some(before) if before.is_empty() || before.ends_with('\n') => self.put("+"),
            Some(_) => {}
        }
        self.line_end();
        let body = text.strip_suffix('\n').unwrap_or(text);
        for (place, line) in body.split('\n').enumerate() {
            if place > 0 {
                self.line_end();
            }
            if !line.is_empty() {
                self.put(&" ".repeat(indent));
                self.put(line);
            }
        }
        if text.ends_with('\n') {
            self.line_end();
        }
    }

    fn quoted(&mut self, text: &str, indent: usize, key: bool) {
        self.put("\"");
        let mut after_space = false;
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let next = chars.peek().map(|(_, c)| *c);
            if let Some(escape) = escaped(c) {
                self.put(&escape);
                after_space = false;
            } else if c == ' ' {
                if !key && !after_space && self.column > BEST_WIDTH && at > 0 && next.is_some() {
                    self.new_line(indent);
                    if next == Some(' ') {
                        self.put("\\");
                    }
                } else {
                    self.put(" ");
                }
                after_space = true;
            } else {
                self.put(c.encode_utf8(&mut [0; 4]));
                after_space = false;
            }
        }
        self.put("\"");
    }
}

/// Whether a character needs no escape.
fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}') && c != '\u{feff}'
}

/// Whether a text can be a literal block. All characters must be printable, and no space may precede a line end or the
/// end of the text.
fn may_be_block(text: &str) -> bool {
    text.chars().all(is_printable) && !text.contains(" \n") && !text.ends_with(' ')
}

/// The escape of a character in double quotes, if it needs one.
fn escaped(c: char) -> Option<String> {
    let short = match c {
        '\0' => "\\0",
        '\u{7}' => "\\a",
        '\u{8}' => "\\b",
        '\t' => "\\t",
        '\n' => "\\n",
        '\u{b}' => "\\v",
        '\u{c}' => "\\f",
        '\r' => "\\r",
        '\u{1b}' => "\\e",
        '"' => "\\\"",
        '\\' => "\\\\",
        '\u{85}' => "\\N",
        '\u{2028}' => "\\L",
        '\u{2029}' => "\\P",
        c if is_printable(c) => return None,
        c => {
            let code = c as u32;
            return Some(match code {
                0..=0xff => format!("\\x{code:02X}"),
                0x100..=0xffff => format!("\\u{code:04X}"),
                _ => format!("\\U{code:08X}"),
            });
        }
    };
    Some(short.into())
}
