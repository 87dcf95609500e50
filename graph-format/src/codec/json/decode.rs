//! Reading values from JSON.

use std::collections::BTreeMap;

use smol_str::SmolStr;

use super::super::json_syntax::{Json, parse};
use super::super::{DecodeError, DecodeProblem, ValuePosition, list_of, map_of, normal, set_of, type_json};
use crate::number::Number;
use crate::path::ValueStep;
use crate::types::{ObjectType, Type};
use crate::value::Value;

/// Decodes JSON as a value of this type, like cty's `json.Unmarshal`: strings are accepted for numbers and bools, and
/// numbers and bools for strings. Missing attributes are null, and superfluous attributes are errors. For a dynamic
/// type, an object with `type` and `value` is expected.
pub fn decode(text: &[u8], ty: &Type) -> Result<Value, DecodeError> {
    let json = parse(text)?;
    Decoder { position: ValuePosition::default() }.value(&json, ty)
}

/// Decodes any JSON, like `jsondecode`: objects become objects, arrays become tuples, and null has no type. If a key
/// occurs twice, the last value is used. If the values of the key have different types, this is an error.
pub fn decode_implied(text: &[u8]) -> Result<Value, DecodeError> {
    let json = parse(text)?;
    Decoder { position: ValuePosition::default() }.implied(&json)
}

/// The type of [`decode_implied`]'s result.
pub fn implied_type(text: &[u8]) -> Result<Type, DecodeError> {
    decode_implied(text).map(|value| value.ty())
}

/// A decoder. Its recursion is as deep as the JSON, or twice as deep through dynamic values. The parser limits the
/// depth.
struct Decoder {
    position: ValuePosition,
}

impl Decoder {
    fn fail<T>(&self, problem: impl Into<DecodeProblem>) -> Result<T, DecodeError> {
        Err(self.position.decode_error(problem.into()))
    }

    fn number(&self, text: &str) -> Result<Value, DecodeError> {
        Number::parse(text).map(Value::number).or_else(|error| self.fail(error))
    }

    fn value(&mut self, json: &Json<'_>, ty: &Type) -> Result<Value, DecodeError> {
        match (ty, json) {
            (_, Json::Null) => Ok(Value::null(ty.clone())),
            (Type::Dynamic, Json::Object(entries)) => self.dynamic(entries),
            (Type::Bool, Json::Bool(b)) => Ok(Value::bool(*b)),
            (Type::Bool, Json::String(s)) => match s.as_str() {
                "true" | "1" => Ok(Value::bool(true)),
                "false" | "0" => Ok(Value::bool(false)),
                _ => self.fail(DecodeProblem::Required("a bool")),
            },
            (Type::Number, Json::Number(text)) => self.number(text),
            (Type::Number, Json::String(text)) => self.number(text),
            (Type::String, Json::String(s)) => Ok(Value::string(s)),
            (Type::String, Json::Number(text)) => Ok(Value::string(text)),
            (Type::String, Json::Bool(b)) => Ok(Value::string(if *b { "true" } else { "false" })),
            (Type::List(element), Json::Array(items)) => {
                let items = self.items(items, |_| Some(&**element))?;
                list_of(element, items).or_else(|problem| self.fail(problem))
            }
            (Type::Set(element), Json::Array(items)) => {
                let items = self.items(items, |_| Some(&**element))?;
                set_of(element, items).or_else(|problem| self.fail(problem))
            }
            (Type::Tuple(types), Json::Array(items)) if items.len() == types.len() => {
                Ok(Value::tuple(self.items(items, |place| types.get(place))?))
            }
            (Type::Tuple(types), Json::Array(items)) => {
                self.fail(DecodeProblem::TupleLength { wanted: types.len(), found: items.len() })
            }
            (Type::Map(element), Json::Object(entries)) => {
                let mut values = BTreeMap::new();
                for (key, json) in entries {
                    let key = normal(key);
                    let value = self.step(ValueStep::Key(key.clone()), |this| this.value(json, element))?;
                    values.insert(key, value);
                }
                map_of(element, values).or_else(|problem| self.fail(problem))
            }
            (Type::Object(object), Json::Object(entries)) => {
                let value = self.object(entries, object)?;
                value.share_type(ty);
                Ok(value)
            }
            (wanted, _) => self.fail(DecodeProblem::Required(words(wanted))),
        }
    }

    fn step<T>(
        &mut self,
        step: ValueStep,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        self.position.steps.push(step);
        let result = read(self)?;
        self.position.steps.pop();
        Ok(result)
    }

    fn items<'t>(
        &mut self,
        items: &[Json<'_>],
        ty: impl Fn(usize) -> Option<&'t Type>,
    ) -> Result<Vec<Value>, DecodeError> {
        let mut values = Vec::with_capacity(items.len());
        for (place, json) in items.iter().enumerate() {
            let ty = ty(place).unwrap_or(&Type::Dynamic);
            values.push(self.step(ValueStep::Index(place as u64), |this| this.value(json, ty))?);
        }
        Ok(values)
    }

    fn object(&mut self, entries: &[(String, Json<'_>)], object: &ObjectType) -> Result<Value, DecodeError> {
        let mut values: BTreeMap<SmolStr, Value> = BTreeMap::new();
        for (key, json) in entries {
            let key = normal(key);
            let Some(ty) = object.attributes.get(&key) else {
                return self.fail(DecodeProblem::UnsupportedAttribute(key));
            };
            let value = self.step(ValueStep::Attribute(key.clone()), |this| this.value(json, ty))?;
            values.insert(key, value);
        }
        for (name, ty) in &object.attributes {
            if !values.contains_key(name) {
                values.insert(name.clone(), Value::null(ty.clone()));
            }
        }
        Ok(Value::object(values))
    }

    fn dynamic(&mut self, entries: &[(String, Json<'_>)]) -> Result<Value, DecodeError> {
        let (mut ty, mut content) = (None, None);
        for (key, json) in entries {
            match key.as_str() {
                "type" => ty = Some(type_json::from_json(json).or_else(|problem| self.fail(problem))?),
                "value" => content = Some(json),
                _ => return self.fail(DecodeProblem::UnsupportedAttribute(key.into())),
            }
        }
        match (ty, content) {
            (Some(ty), Some(content)) => self.value(content, &ty),
            (None, _) => self.fail(DecodeProblem::Required("the type of a dynamically-typed value")),
            (_, None) => self.fail(DecodeProblem::Required("the value of a dynamically-typed value")),
        }
    }

    fn implied(&mut self, json: &Json<'_>) -> Result<Value, DecodeError> {
        match json {
            Json::Null => Ok(Value::null(Type::Dynamic)),
            Json::Bool(b) => Ok(Value::bool(*b)),
            Json::Number(text) => self.number(text),
            Json::String(s) => Ok(Value::string(s)),
            Json::Array(items) => {
                let mut values = Vec::with_capacity(items.len());
                for (place, item) in items.iter().enumerate() {
                    values.push(self.step(ValueStep::Index(place as u64), |this| this.implied(item))?);
                }
                Ok(Value::tuple(values))
            }
            Json::Object(entries) => {
                let mut values: BTreeMap<SmolStr, Value> = BTreeMap::new();
                for (key, item) in entries {
                    let key = normal(key);
                    let value = self.step(ValueStep::Attribute(key.clone()), |this| this.implied(item))?;
                    if let Some(earlier) = values.get(&key)
                        && earlier.ty() != value.ty()
                    {
                        return self.fail(DecodeProblem::DuplicateAttribute(key));
                    }
                    values.insert(key, value);
                }
                Ok(Value::object(values))
            }
        }
    }
}

/// The kind of a type, as error messages name it.
fn words(ty: &Type) -> &'static str {
    match ty {
        Type::Dynamic => "an object with type and value",
        Type::Bool => "a bool",
        Type::Number => "a number",
        Type::String => "a string",
        Type::List(_) => "a list",
        Type::Set(_) => "a set",
        Type::Map(_) => "a map",
        Type::Tuple(_) => "a tuple",
        Type::Object(_) => "an object",
        Type::Provider(_) => "a type that can be encoded",
    }
}
