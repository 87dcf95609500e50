//! The order in which the elements of a set stand, the same as cty's.

use std::cmp::Ordering;
use std::fmt::Write;

use super::{Kind, Value};

/// Strings by bytes, numbers by size, false before true; other types by a text made from their content. Unknown
/// elements come after null ones, and both after all others.
pub fn compare_for_set(a: &Value, b: &Value) -> Ordering {
    fn rank(v: &Value) -> u8 {
        match v.kind {
            Kind::Unknown(_) => 2,
            Kind::Null(_) => 1,
            _ => 0,
        }
    }
    match (&a.kind, &b.kind) {
        (Kind::String(x), Kind::String(y)) => x.cmp(y),
        (Kind::Number(x), Kind::Number(y)) => x.cmp(y),
        (Kind::Bool(x), Kind::Bool(y)) => x.cmp(y),
        _ => rank(a).cmp(&rank(b)).then_with(|| order_text(a).cmp(&order_text(b))),
    }
}

/// The text that orders elements which are not primitive. `?` stands for unknown, `~` for null.
fn order_text(value: &Value) -> String {
    let mut text = String::new();
    write_order_text(value, &mut text);
    text
}

fn write_order_text(value: &Value, text: &mut String) {
    match &value.kind {
        Kind::Unknown(_) => text.push('?'),
        Kind::Null(_) => text.push('~'),
        Kind::Bool(true) => text.push('T'),
        Kind::Bool(false) => text.push('F'),
        Kind::Number(n) => {
            let _ = write!(text, "{n}");
        }
        Kind::String(s) => {
            let _ = write!(text, "{:?}", s.as_str());
        }
        Kind::List(s) | Kind::Set(s) => {
            text.push('[');
            for item in s.items() {
                write_order_text(item, text);
                text.push(';');
            }
            text.push(']');
        }
        Kind::Map(f) => {
            text.push('{');
            for (key, item) in f.iter() {
                let _ = write!(text, "{:?}:", key.as_str());
                write_order_text(item, text);
                text.push(';');
            }
            text.push('}');
        }
        Kind::Tuple(s) => {
            text.push('<');
            for item in s.items() {
                write_order_text(item, text);
                text.push(';');
            }
            text.push('>');
        }
        Kind::Object(f) => {
            text.push('<');
            for (_, item) in f.iter() {
                write_order_text(item, text);
                text.push(';');
            }
            text.push('>');
        }
    }
}
