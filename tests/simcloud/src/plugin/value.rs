//! The values that this provider needs: no sets, no dynamic types, and whole numbers instead of other numbers.

use std::collections::BTreeMap;

use serde_json::Value as Json;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// Not known yet.
    Unknown,
    /// A bool.
    Bool(bool),
    /// A number. All numbers of this provider fit exactly into a float.
    Number(f64),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// A map or an object.
    Map(BTreeMap<String, Value>),
}

/// The attributes of an object.
pub type Attributes = BTreeMap<String, Value>;

/// The types of this provider's attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// `string`
    Text,
    /// `number`, whole
    Number,
    /// `bool`
    Bool,
    /// `list(string)`
    Texts,
    /// `map(string)`
    TextMap,
}

impl Type {
    /// The JSON form of the type in the protocol.
    pub fn wire(self) -> &'static [u8] {
        match self {
            Type::Text => br#""string""#,
            Type::Number => br#""number""#,
            Type::Bool => br#""bool""#,
            Type::Texts => br#"["list","string"]"#,
            Type::TextMap => br#"["map","string"]"#,
        }
    }

    /// Whether a value, possibly unknown or null, has this type.
    pub fn holds(self, value: &Value) -> bool {
        let text = |value: &Value| Type::Text.holds(value);
        match (self, value) {
            (_, Value::Null | Value::Unknown)
            | (Type::Text, Value::Text(_))
            | (Type::Number, Value::Number(_))
            | (Type::Bool, Value::Bool(_)) => true,
            (Type::Texts, Value::List(elements)) => elements.iter().all(text),
            (Type::TextMap, Value::Map(elements)) => elements.values().all(text),
            _ => false,
        }
    }
}

impl Value {
    /// A value from an optional text.
    pub fn text(text: Option<&str>) -> Value {
        text.map_or(Value::Null, |text| Value::Text(text.to_owned()))
    }

    /// The text of a known, non-null string.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number of a known, non-null number.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Whether no part of the value is unknown.
    pub fn is_known(&self) -> bool {
        match self {
            Value::Unknown => false,
            Value::List(elements) => elements.iter().all(Value::is_known),
            Value::Map(elements) => elements.values().all(Value::is_known),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => true,
        }
    }

    /// Converts a value from JSON.
    pub fn from_json(json: &Json) -> Value {
        match json {
            Json::Null => Value::Null,
            Json::Bool(bool) => Value::Bool(*bool),
            Json::Number(number) => number.as_f64().map_or(Value::Null, Value::Number),
            Json::String(text) => Value::Text(text.clone()),
            Json::Array(elements) => Value::List(elements.iter().map(Value::from_json).collect()),
            Json::Object(elements) => {
                Value::Map(elements.iter().map(|(name, value)| (name.clone(), Value::from_json(value))).collect())
            }
        }
    }

    /// Converts the value to JSON. Unknown parts become null.
    pub fn to_json(&self) -> Json {
        match self {
            Value::Null | Value::Unknown => Json::Null,
            Value::Bool(bool) => Json::Bool(*bool),
            Value::Number(number) if number.fract() == 0.0 && number.abs() < 1e15 => Json::from(*number as i64),
            Value::Number(number) => Json::from(*number),
            Value::Text(text) => Json::String(text.clone()),
            Value::List(elements) => Json::Array(elements.iter().map(Value::to_json).collect()),
            Value::Map(elements) => {
                Json::Object(elements.iter().map(|(name, value)| (name.clone(), value.to_json())).collect())
            }
        }
    }
}
