//! Types as the console's `type()` prints them, with nested types on several lines.

use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

/// The indentation of one level.
const INDENT: &str = "    ";

/// The type of a value as text. A missing type is printed as `dynamic`.
pub fn type_text(value: &Value) -> String {
    let mut out = String::new();
    write_type(&value.ty(), 0, &mut out);
    out
}

fn write_type(ty: &Type, depth: usize, out: &mut String) {
    match ty {
        Type::Dynamic => out.push_str("dynamic"),
        Type::Bool => out.push_str("bool"),
        Type::Number => out.push_str("number"),
        Type::String => out.push_str("string"),
        Type::Provider(_) => out.push_str(&ty.to_string()),
        Type::List(element) => collection("list", element, depth, out),
        Type::Set(element) => collection("set", element, depth, out),
        Type::Map(element) => collection("map", element, depth, out),
        Type::Tuple(items) if items.is_empty() => out.push_str("tuple([])"),
        Type::Tuple(items) => {
            out.push_str("tuple([\n");
            for item in items.iter() {
                indent(depth + 1, out);
                write_type(item, depth + 1, out);
                out.push_str(",\n");
            }
            indent(depth, out);
            out.push_str("])");
        }
        Type::Object(object) if object.attributes.is_empty() => out.push_str("object({})"),
        Type::Object(object) => {
            out.push_str("object({\n");
            for (name, attribute) in &object.attributes {
                indent(depth + 1, out);
                // Names are never quoted, whatever they contain, as in OpenTofu.
                out.push_str(name);
                out.push_str(": ");
                write_type(attribute, depth + 1, out);
                out.push_str(",\n");
            }
            indent(depth, out);
            out.push_str("})");
        }
    }
}

fn collection(name: &str, element: &Type, depth: usize, out: &mut String) {
    out.push_str(name);
    if flat(element) {
        out.push('(');
        write_type(element, depth, out);
        out.push(')');
        return;
    }
    out.push_str("(\n");
    indent(depth + 1, out);
    write_type(element, depth + 1, out);
    out.push_str(",\n");
    indent(depth, out);
    out.push(')');
}

/// Whether the type fits on one line.
fn flat(ty: &Type) -> bool {
    match ty {
        Type::Tuple(_) | Type::Object(_) => false,
        Type::List(element) | Type::Set(element) | Type::Map(element) => flat(element),
        _ => true,
    }
}

fn indent(depth: usize, out: &mut String) {
    for _ in 0..depth {
        out.push_str(INDENT);
    }
}
