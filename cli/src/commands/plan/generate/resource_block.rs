//! A `resource` block for an existing object, with the arguments that describe the object.
//!
//! The block omits what is deprecated, and attributes that only the provider sets. Sensitive arguments have the value
//! `null # sensitive`. A nested block with sensitive values is empty, with the comment `# sensitive`.

use std::fmt::Write as _;

use weft_graph_format::address::{Resource, quoted};
use weft_graph_format::codec::json;
use weft_graph_format::schema::{Attribute, Block, NestedAttributes, NestedBlock, Nesting};
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};
use weft_syntax::is_identifier;

/// The formatted text of a block, without a trailing newline. `provider` is the reference in its `provider` argument,
/// if it needs one. For a null object, the block has no nested blocks. It has every argument that may be set and is not
/// deprecated, usually with the value null.
pub fn text(resource: &Resource, provider: Option<&str>, schema: &Block, object: &Value) -> String {
    let mut out = format!("resource {} {} {{\n", quoted(&resource.type_name), quoted(&resource.name));
    if let Some(provider) = provider {
        let _ = writeln!(out, "provider = {provider}");
    }
    let attributes = schema.attributes.iter().filter(|(name, attribute)| !is_old_id(name, attribute));
    for (name, attribute) in attributes {
        write_attribute(name, attribute, &part(object, name), &mut out);
    }
    write_blocks(schema, object, &mut out);
    out.push('}');
    // Generated text that does not parse would be a bug in this module. It is returned unformatted.
    weft_syntax::format("generated", out.as_str().into()).unwrap_or(out)
}

/// Whether this is the `id` attribute of an older provider. The schema allows it as an argument, but it must not be
/// set.
fn is_old_id(name: &str, attribute: &Attribute) -> bool {
    name == "id" && attribute.optional && attribute.computed
}

/// An attribute of an object. Null if the object is null.
fn part(object: &Value, name: &str) -> Value {
    let found = object.as_fields().and_then(|fields| fields.get(name)).cloned();
    let found = found.unwrap_or_else(|| Value::null(Type::Dynamic));
    if object.marks().is_sensitive() { found.mark(object.marks()) } else { found }
}

fn write_attributes(attributes: &NestedAttributes, object: &Value, out: &mut String) {
    for (name, attribute) in &attributes.attributes {
        write_attribute(name, attribute, &part(object, name), out);
    }
}

fn write_attribute(name: &str, attribute: &Attribute, value: &Value, out: &mut String) {
    let given = attribute.required || attribute.optional;
    if !given || attribute.deprecated {
        return;
    }
    let sensitive = attribute.sensitive || value.contains_sensitive();
    match &attribute.nested {
        Some(nested) => write_nested(name, nested, sensitive, value, out),
        None if attribute.write_only => {
            let _ = writeln!(out, "{name} = null # write-only");
        }
        None if sensitive => {
            let _ = writeln!(out, "{name} = null # sensitive");
        }
        None => {
            let _ = write!(out, "{name} = ");
            match document(value) {
                Some(document) => {
                    out.push_str("jsonencode(");
                    write_value(&document, out);
                    out.push(')');
                }
                None => write_value(value, out),
            }
            out.push('\n');
        }
    }
}

/// The array or object that a text contains as JSON. The generated block contains the value instead of the text,
/// because the value is easier to read.
fn document(value: &Value) -> Option<Value> {
    let document = json::decode_implied(value.as_str()?.as_bytes()).ok()?;
    matches!(document.open().1, Kind::Tuple(_) | Kind::Object(_)).then_some(document)
}

fn write_nested(name: &str, nested: &NestedAttributes, sensitive: bool, value: &Value, out: &mut String) {
    let (open, close) = match nested.nesting {
        Nesting::Single | Nesting::Group | Nesting::Map => ('{', '}'),
        Nesting::List | Nesting::Set => ('[', ']'),
    };
    let _ = match (sensitive, value.is_null()) {
        (true, _) => writeln!(out, "{name} = {open}{close} # sensitive"),
        (false, true) => writeln!(out, "{name} = null"),
        (false, false) => writeln!(out, "{name} = {open}"),
    };
    if sensitive || value.is_null() {
        return;
    }
    match nested.nesting {
        Nesting::Single | Nesting::Group => write_attributes(nested, value, out),
        Nesting::List | Nesting::Set => {
            for item in value.as_items().unwrap_or_default() {
                out.push_str("{\n");
                write_attributes(nested, item, out);
                out.push_str("},\n");
            }
        }
        Nesting::Map => {
            for (key, item) in value.as_fields().into_iter().flat_map(|fields| fields.iter()) {
                let _ = writeln!(out, "{} = {{", written_key(key));
                write_attributes(nested, item, out);
                out.push_str("}\n");
            }
        }
    }
    out.push(close);
    out.push('\n');
}

fn write_blocks(schema: &Block, object: &Value, out: &mut String) {
    for (name, nested) in schema.blocks.iter().filter(|(_, nested)| !nested.block.deprecated) {
        let value = part(object, name);
        if value.contains_sensitive() {
            let _ = writeln!(out, "{name} {{}} # sensitive");
            continue;
        }
        match nested.nesting {
            Nesting::Single | Nesting::Group if !value.is_null() => write_block(name, None, nested, &value, out),
            Nesting::Single | Nesting::Group => {}
            Nesting::List | Nesting::Set => {
                for item in value.as_items().unwrap_or_default() {
                    write_block(name, None, nested, item, out);
                }
            }
            Nesting::Map => {
                for (key, item) in value.as_fields().into_iter().flat_map(|fields| fields.iter()) {
                    write_block(name, Some(key), nested, item, out);
                }
            }
        }
    }
}

fn write_block(name: &str, label: Option<&str>, nested: &NestedBlock, value: &Value, out: &mut String) {
    let label = label.map(|label| format!(" {}", quoted(label))).unwrap_or_default();
    let _ = writeln!(out, "{name}{label} {{");
    for (name, attribute) in &nested.block.attributes {
        write_attribute(name, attribute, &part(value, name), out);
    }
    write_blocks(&nested.block, value, out);
    out.push_str("}\n");
}

/// Writes a value as an expression.
fn write_value(value: &Value, out: &mut String) {
    match value.open().1 {
        Kind::Bool(truth) => {
            let _ = write!(out, "{truth}");
        }
        Kind::Number(number) => {
            let _ = write!(out, "{number}");
        }
        Kind::String(text) => out.push_str(&quoted(text)),
        Kind::List(items) | Kind::Set(items) | Kind::Tuple(items) => {
            out.push('[');
            for (index, item) in items.items().iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write_value(item, out);
            }
            out.push(']');
        }
        Kind::Map(fields) | Kind::Object(fields) if fields.iter().len() == 0 => out.push_str("{}"),
        Kind::Map(fields) | Kind::Object(fields) => {
            out.push_str("{\n");
            for (key, item) in fields.iter() {
                let _ = write!(out, "{} = ", written_key(key));
                write_value(item, out);
                out.push('\n');
            }
            out.push('}');
        }
        // Existing objects have no unknown values.
        Kind::Null(_) | Kind::Unknown(_) | Kind::Provider(_) => out.push_str("null"),
    }
}

fn written_key(key: &str) -> String {
    if is_identifier(key) { key.to_owned() } else { quoted(key) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use weft_graph_format::address::ResourceMode;
    use weft_graph_format::marks::Marks;

    use smol_str::SmolStr;

    use super::*;

    fn optional(ty: Type) -> Attribute {
        Attribute { optional: true, ..Attribute::new(ty) }
    }

    fn nested(nesting: Nesting) -> Attribute {
        let attributes = BTreeMap::from([
            ("a".into(), optional(Type::String)),
            ("set".into(), Attribute { computed: true, ..Attribute::new(Type::String) }),
        ]);
        Attribute { nested: Some(Box::new(NestedAttributes { attributes, nesting })), ..optional(Type::Dynamic) }
    }

    fn block(nesting: Nesting) -> NestedBlock {
        let block = Block { attributes: BTreeMap::from([("n".into(), optional(Type::Number))]), ..Block::default() };
        NestedBlock { block, nesting, min_items: 0, max_items: 0 }
    }

    fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
        Value::object(fields.map(|(name, value)| (SmolStr::new(name), value)))
    }

    fn written(schema: &Block, value: &Value) -> String {
        let resource = Resource { mode: ResourceMode::Managed, type_name: "lab_thing".into(), name: "x".into() };
        let text = text(&resource, None, schema, value);
        let body = text.strip_prefix("resource \"lab_thing\" \"x\" {\n").and_then(|text| text.strip_suffix('}'));
        body.expect("a block").to_owned()
    }

    #[test]
    fn only_settable_arguments_are_generated() {
        let schema = Block {
            attributes: BTreeMap::from([
                ("id".into(), Attribute { computed: true, ..optional(Type::String) }),
                ("color".into(), optional(Type::String)),
                ("gone".into(), Attribute { deprecated: true, ..optional(Type::String) }),
                ("made".into(), Attribute { computed: true, ..Attribute::new(Type::String) }),
                ("secret".into(), Attribute { sensitive: true, ..optional(Type::String) }),
                ("once".into(), Attribute { write_only: true, ..optional(Type::String) }),
                ("list".into(), optional(Type::Dynamic)),
            ]),
            ..Block::default()
        };
        let value = object([
            ("id", Value::string("i")),
            ("color", Value::string("[1]")),
            ("gone", Value::string("g")),
            ("made", Value::string("m")),
            ("secret", Value::string("hush")),
            ("list", Value::tuple(vec![Value::string("${x}"), object([("a b", Value::bool(true))])])),
        ]);
        let expected = "  color = jsonencode([1])\n  list = [\"$${x}\", {\n    \"a b\" = true\n  }]\n  \
            once   = null # write-only\n  secret = null # sensitive\n";
        assert_eq!(written(&schema, &value), expected);
    }

    #[test]
    fn nested_attributes_and_blocks_follow_their_nesting() {
        let schema = Block {
            attributes: BTreeMap::from([
                ("l".into(), nested(Nesting::List)),
                ("m".into(), nested(Nesting::Map)),
                ("s".into(), nested(Nesting::Single)),
                ("z".into(), nested(Nesting::Set)),
            ]),
            blocks: BTreeMap::from([
                ("by_key".into(), block(Nesting::Map)),
                ("many".into(), block(Nesting::List)),
                ("none".into(), block(Nesting::Single)),
            ]),
            ..Block::default()
        };
        let one = || object([("a", Value::string("1")), ("set", Value::string("2"))]);
        let n = |n: u64| object([("n", Value::number(n.into()))]);
        let value = object([
            ("l", Value::tuple(vec![one(), one()])),
            ("m", object([("k", one()), ("k l", one())])),
            ("s", one()),
            ("by_key", object([("k", n(1))])),
            ("many", Value::tuple(vec![n(1), n(2)])),
        ]);
        let expected = "  l = [\n    {\n      a = \"1\"\n    },\n    {\n      a = \"1\"\n    },\n  ]\n  m = {\n    \
            k = {\n      a = \"1\"\n    }\n    \"k l\" = {\n      a = \"1\"\n    }\n  }\n  s = {\n    a = \"1\"\n  }\n  \
            z = null\n  by_key \"k\" {\n    n = 1\n  }\n  many {\n    n = 1\n  }\n  many {\n    n = 2\n  }\n";
        assert_eq!(written(&schema, &value), expected);
    }

    #[test]
    fn sensitive_values_are_omitted() {
        let schema = Block {
            attributes: BTreeMap::from([("l".into(), nested(Nesting::List)), ("s".into(), nested(Nesting::Single))]),
            blocks: BTreeMap::from([("many".into(), block(Nesting::List))]),
            ..Block::default()
        };
        let hidden = |value: Value| value.mark(&Marks::SENSITIVE);
        let value = object([
            ("l", Value::tuple(vec![object([("a", hidden(Value::string("hush")))])])),
            ("s", hidden(object([("a", Value::string("hush"))]))),
            ("many", Value::tuple(vec![object([("n", hidden(Value::number(7_u64.into())))])])),
        ]);
        let expected = "  l = []  # sensitive\n  s = {}  # sensitive\n  many {} # sensitive\n";
        assert_eq!(written(&schema, &value), expected);
    }
}
