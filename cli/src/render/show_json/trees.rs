//! Values as JSON trees: their contents, their unknown parts, and their sensitive parts.

use serde_json::{Map, Value as Json, json};
use weft_graph_format::number::Number;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};
use weft_state::RawJson;

/// Parses JSON text. Numbers keep all digits.
pub fn parsed(raw: &RawJson) -> Json {
    serde_json::from_str(raw.as_str()).unwrap_or(Json::Null)
}

/// A type in the JSON format for types.
pub fn type_form(ty: &Type) -> Json {
    serde_json::from_str(&weft_graph_format::codec::type_json::encode(ty)).unwrap_or(Json::Null)
}

/// The contents of a value. Unknown attributes and entries are omitted, and unknown elements are null. Sensitive parts
/// are included: [`sensitive`] marks them.
pub fn known(value: &Value) -> Json {
    match value.open().1 {
        Kind::Unknown(_) | Kind::Null(_) => Json::Null,
        Kind::Bool(b) => (*b).into(),
        Kind::Number(n) => number(n),
        Kind::String(s) => s.as_str().into(),
        Kind::Provider(instance) => instance.to_string().into(),
        Kind::List(s) | Kind::Set(s) | Kind::Tuple(s) => s.items().iter().map(known).collect(),
        Kind::Map(f) | Kind::Object(f) => Json::Object(
            f.iter().filter(|(_, part)| part.is_known()).map(|(name, part)| (name.to_string(), known(part))).collect(),
        ),
    }
}

/// A number with all its digits. JSON has no infinity.
fn number(number: &Number) -> Json {
    number.to_json().ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Json::Null)
}

/// The tree with `true` for each unknown part.
pub fn unknown(value: &Value) -> Json {
    tree(value, &|part| !part.is_known())
}

/// The tree with `true` for each sensitive part.
pub fn sensitive(value: &Value) -> Json {
    tree(value, &|part| part.marks().is_sensitive())
}

/// The two sides of a failed comparison, as events of tests contain them.
pub fn compared(before: &Value, after: &Value) -> Json {
    let after_unknown = if after.is_wholly_known() { false.into() } else { unknown(after) };
    json!({
        "before": known(before),
        "after": known(after),
        "after_unknown": after_unknown,
        "before_sensitive": sensitive(before),
        "after_sensitive": sensitive(after),
    })
}

fn tree(value: &Value, holds: &dyn Fn(&Value) -> bool) -> Json {
    if holds(value) {
        return true.into();
    }
    match value.open().1 {
        // The type of an unknown value decides the shape of the tree.
        Kind::Unknown(_) => match value.ty() {
            Type::List(_) | Type::Set(_) | Type::Tuple(_) => Json::Array(Vec::new()),
            Type::Map(_) | Type::Object(_) => Json::Object(Map::new()),
            _ => false.into(),
        },
        Kind::List(s) | Kind::Set(s) | Kind::Tuple(s) => s.items().iter().map(|part| tree(part, holds)).collect(),
        Kind::Map(f) | Kind::Object(f) => {
            let parts = f.iter().map(|(name, part)| (name.to_string(), tree(part, holds)));
            Json::Object(parts.filter(|(_, part)| *part != Json::Bool(false)).collect::<Map<_, _>>())
        }
        _ => false.into(),
    }
}
