//! Values in the format of `output` and `console`: the syntax of the language, with two columns for each level.

use weft_graph_format::codec;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};
use weft_state::OutputRecord;

use super::quoting::quoted;

/// A value including its sensitive parts. Lines after the first one are indented by `indent` columns.
fn revealed(value: &Value, indent: usize) -> String {
    let mut text = String::new();
    write(value, indent, false, &mut text);
    text
}

/// One value. Unless `reveal` is set, a placeholder replaces each known part that is sensitive or ephemeral.
pub fn shown(value: &Value, reveal: bool) -> String {
    let mut text = String::new();
    write(value, 0, !reveal, &mut text);
    text
}

fn write(value: &Value, indent: usize, hide: bool, out: &mut String) {
    let (marks, kind) = value.open();
    let hide_this = hide && value.is_known();
    if hide_this && marks.is_sensitive() {
        return out.push_str("(sensitive value)");
    }
    if hide_this && marks.is_ephemeral() {
        return out.push_str("(ephemeral value)");
    }
    match kind {
        Kind::Null(ty) => null(ty, out),
        Kind::Unknown(_) => out.push_str("(known after apply)"),
        Kind::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Kind::Number(n) => out.push_str(&n.to_string()),
        Kind::String(s) => match heredoc(s, indent) {
            Some(text) => out.push_str(&text),
            None => out.push_str(&quoted(s)),
        },
        Kind::List(s) => items(("tolist([", "])"), s.items(), (indent, hide), out),
        Kind::Tuple(s) => items(("[", "]"), s.items(), (indent, hide), out),
        Kind::Set(s) => items(("toset([", "])"), s.items(), (indent, hide), out),
        Kind::Map(f) => fields(("tomap({", "})"), f.iter(), (indent, hide), out),
        Kind::Object(f) => fields(("{", "}"), f.iter(), (indent, hide), out),
        Kind::Provider(instance) => out.push_str(&format!("({instance})")),
    }
}

/// Writes a null with its type, if it has one.
fn null(ty: &Type, out: &mut String) {
    match ty {
        Type::Dynamic => out.push_str("null"),
        Type::Bool => out.push_str("tobool(null)"),
        Type::Number => out.push_str("tonumber(null)"),
        Type::String => out.push_str("tostring(null)"),
        Type::List(element) => out.push_str(&format!("tolist(null) /* of {} */", element.friendly_name())),
        Type::Set(element) => out.push_str(&format!("toset(null) /* of {} */", element.friendly_name())),
        Type::Map(element) => out.push_str(&format!("tomap(null) /* of {} */", element.friendly_name())),
        Type::Object(_) | Type::Tuple(_) | Type::Provider(_) => {
            out.push_str(&format!("null /* {} */", ty.friendly_name()))
        }
    }
}

/// A text with several lines as a heredoc, or `None` for a single line. The end word is chosen so that no line of the
/// text consists of it alone. A trailing newline is shown as an empty line.
fn heredoc(text: &str, indent: usize) -> Option<String> {
    let lines: Vec<&str> = text.split('\n').collect();
    if lines.len() < 2 {
        return None;
    }
    let mut end = "EOT".to_owned();
    while lines.iter().any(|line| line.trim() == end) {
        end.push('_');
    }
    let space = " ".repeat(indent);
    let mut out = format!("{}{end}\n", if indent == 0 { "<<" } else { "<<-" });
    for line in lines {
        out.push_str(&space);
        out.push_str(line);
        out.push('\n');
    }
    out.push_str(&space);
    out.push_str(&end);
    Some(out)
}

fn items((open, close): (&str, &str), items: &[Value], (indent, hide): (usize, bool), out: &mut String) {
    out.push_str(open);
    if !items.is_empty() {
        out.push('\n');
        for item in items {
            out.push_str(&" ".repeat(indent + 2));
            write(item, indent + 2, hide, out);
            out.push_str(",\n");
        }
        out.push_str(&" ".repeat(indent));
    }
    out.push_str(close);
}

fn fields<'a>(
    (open, close): (&str, &str),
    fields: impl ExactSizeIterator<Item = (&'a smol_str::SmolStr, &'a Value)>,
    (indent, hide): (usize, bool),
    out: &mut String,
) {
    out.push_str(open);
    if fields.len() > 0 {
        out.push('\n');
        for (name, value) in fields {
            out.push_str(&" ".repeat(indent + 2));
            out.push_str(&quoted(name));
            out.push_str(" = ");
            write(value, indent + 2, hide, out);
            out.push('\n');
        }
        out.push_str(&" ".repeat(indent));
    }
    out.push_str(close);
}

/// An output in the state: its value in the language's syntax, or `<sensitive>`.
pub fn stored(output: &OutputRecord, reveal: bool) -> String {
    if output.sensitive && !reveal {
        return "<sensitive>".to_owned();
    }
    match decoded(output) {
        Some(value) => revealed(&value, 0),
        None => output.value.as_str().to_owned(),
    }
}

/// The decoded value of an output in the state. `None` if the record is damaged.
pub fn decoded(output: &OutputRecord) -> Option<Value> {
    let ty = codec::type_json::decode(output.value_type.as_str().as_bytes()).ok()?;
    codec::json::decode(output.value.as_str().as_bytes(), &ty).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_state::RawJson;

    fn output(value: &str, ty: &str) -> OutputRecord {
        OutputRecord { value: RawJson::new(value), value_type: RawJson::new(ty), sensitive: false, deprecated: None }
    }

    /// The text of the recorded case `workflow/output`.
    #[test]
    fn values_are_shown_as_recorded() {
        let outputs = [
            (
                "empty",
                output(
                    r#"{"list":[],"map":{},"text":""}"#,
                    r#"["object",{"list":["tuple",[]],"map":["object",{}],"text":"string"}]"#,
                ),
            ),
            ("list", output(r#"["a",1,null]"#, r#"["tuple",["string","number","dynamic"]]"#)),
            ("map", output(r#"{"a":{"c":"x"},"b":2}"#, r#"["object",{"a":["object",{"c":"string"}],"b":"number"}]"#)),
            ("number", output("1.5", "\"number\"")),
            ("set", output(r#"["a","b"]"#, r#"["set","string"]"#)),
            ("text", output(r#""line one\nline \"two\"""#, "\"string\"")),
        ];
        let lines = outputs.iter().map(|(name, output)| format!("{name} = {}\n", stored(output, false)));
        let text: String = lines.collect();
        let expected = "empty = {\n  \"list\" = []\n  \"map\" = {}\n  \"text\" = \"\"\n}\nlist = [\n  \"a\",\n  1,\n  null,\n]\n\
            map = {\n  \"a\" = {\n    \"c\" = \"x\"\n  }\n  \"b\" = 2\n}\nnumber = 1.5\nset = toset([\n  \"a\",\n  \
            \"b\",\n])\ntext = <<EOT\nline one\nline \"two\"\nEOT\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn sensitive_outputs_are_hidden() {
        let secret = OutputRecord { sensitive: true, ..output("\"hush\"", "\"string\"") };
        assert_eq!(stored(&secret, false), "<sensitive>");
        assert_eq!(stored(&secret, true), "\"hush\"");
    }

    /// The hidden parts are shown as in the console.
    #[test]
    fn hidden_parts_are_named() {
        use weft_graph_format::marks::Marks;
        let secret = Value::string("s").mark(&Marks::SENSITIVE);
        let passing = Value::string("e").mark(&Marks::EPHEMERAL);
        let value = Value::object([("p", secret), ("q", Value::tuple(vec![passing, Value::unknown(Type::Dynamic)]))]);
        let hidden =
            "{\n  \"p\" = (sensitive value)\n  \"q\" = [\n    (ephemeral value),\n    (known after apply),\n  ]\n}";
        assert_eq!(shown(&value, false), hidden);
        assert!(shown(&value, true).contains("\"s\""));
        assert_eq!(shown(&Value::null(Type::list(Type::String)), false), "tolist(null) /* of string */");
    }

    #[test]
    fn the_end_word_of_a_heredoc_does_not_occur_in_it() {
        assert_eq!(revealed(&Value::string("a\nEOT\nb"), 2), "<<-EOT_\n  a\n  EOT\n  b\n  EOT_");
    }
}
