//! Values as `output`, `console` and `show` write them: in the language's own syntax.

use weft_graph_format::address::quoted;
use weft_graph_format::value::{Kind, Value};

/// One value; lines after the first are indented by `indent` columns. Sensitive parts are hidden.
pub fn human(value: &Value, indent: usize) -> String {
    let mut text = String::new();
    write(value, indent, false, &mut text);
    text
}

/// The same with sensitive parts shown.
pub fn revealed(value: &Value, indent: usize) -> String {
    let mut text = String::new();
    write(value, indent, true, &mut text);
    text
}

fn write(value: &Value, indent: usize, reveal: bool, out: &mut String) {
    let (marks, kind) = value.open();
    if marks.is_sensitive() && !reveal {
        out.push_str("(sensitive value)");
        return;
    }
    match kind {
        Kind::Null(_) => out.push_str("null"),
        Kind::Unknown(_) => out.push_str("(known after apply)"),
        Kind::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Kind::Number(n) => out.push_str(&n.to_string()),
        Kind::String(s) if s.contains('\n') => heredoc(s, indent, out),
        Kind::String(s) => out.push_str(&quoted(s)),
        Kind::List(s) => items(s.items(), "[", "]", indent, reveal, out),
        Kind::Tuple(s) => items(s.items(), "[", "]", indent, reveal, out),
        Kind::Set(s) => items(s.items(), "toset([", "])", indent, reveal, out),
        Kind::Map(f) => fields(f.iter(), true, indent, reveal, out),
        Kind::Object(f) => fields(f.iter(), false, indent, reveal, out),
    }
}

fn heredoc(text: &str, indent: usize, out: &mut String) {
    let space = " ".repeat(indent);
    out.push_str(if indent == 0 { "<<EOT\n" } else { "<<-EOT\n" });
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        out.push_str(&space);
        out.push_str(line);
        out.push('\n');
    }
    out.push_str(&space);
    out.push_str("EOT");
}

fn items(items: &[Value], open: &str, close: &str, indent: usize, reveal: bool, out: &mut String) {
    out.push_str(open);
    if !items.is_empty() {
        out.push('\n');
        for item in items {
            out.push_str(&" ".repeat(indent + 2));
            write(item, indent + 2, reveal, out);
            out.push_str(",\n");
        }
        out.push_str(&" ".repeat(indent));
    }
    out.push_str(close);
}

fn fields<'a>(
    fields: impl ExactSizeIterator<Item = (&'a smol_str::SmolStr, &'a Value)>,
    _map: bool,
    indent: usize,
    reveal: bool,
    out: &mut String,
) {
    if fields.len() == 0 {
        out.push_str("{}");
        return;
    }
    out.push_str("{\n");
    for (name, value) in fields {
        out.push_str(&" ".repeat(indent + 2));
        out.push_str(&quoted(name));
        out.push_str(" = ");
        write(value, indent + 2, reveal, out);
        out.push('\n');
    }
    out.push_str(&" ".repeat(indent));
    out.push('}');
}

/// An output as stored: the value in the language's syntax, `<sensitive>` where it is hidden.
pub fn stored(output: &weft_state::OutputRecord, reveal: bool) -> String {
    if output.sensitive && !reveal {
        return "<sensitive>".to_owned();
    }
    match decoded(output) {
        Some(value) => revealed(&value, 0),
        None => output.value.as_str().to_owned(),
    }
}

/// The value of an output as stored, typed; none when the record is damaged.
pub fn decoded(output: &weft_state::OutputRecord) -> Option<Value> {
    use weft_graph_format::codec;
    let ty = codec::type_json::decode(output.value_type.as_str().as_bytes()).ok()?;
    codec::json::decode(output.value.as_str().as_bytes(), &ty).ok()
}
