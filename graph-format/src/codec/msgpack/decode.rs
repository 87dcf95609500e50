//! Reading values from MessagePack.

use std::collections::{BTreeMap, HashSet};

use rmp::Marker;
use smol_str::SmolStr;

use super::super::{
    DecodeError, DecodeProblem, MAX_INPUT_LENGTH, ValuePosition, list_of, map_of, normal, set_of, type_json,
};
use super::reader::Reader;
use super::{MAX_REFINEMENT_LENGTH, REFINED_EXTENSION, key};
use crate::number::Number;
use crate::path::ValueStep;
use crate::types::{ObjectType, Type};
use crate::value::{Refinement, Value};

/// Decodes bytes that a provider or [`super::encode`] wrote for a value of this type.
pub fn decode(bytes: &[u8], ty: &Type) -> Result<Value, DecodeError> {
    let mut decoder = Decoder { reader: Reader::new(bytes), position: ValuePosition::default() };
    if bytes.len() > MAX_INPUT_LENGTH {
        return Err(decoder.position.decode_error(DecodeProblem::TooLong));
    }
    let value = decoder.value(ty)?;
    if !decoder.reader.is_at_end() {
        return Err(decoder.position.decode_error(DecodeProblem::Trailing));
    }
    Ok(value)
}

struct Decoder<'a> {
    reader: Reader<'a>,
    position: ValuePosition,
}

impl Decoder<'_> {
    fn located<T>(&self, result: Result<T, DecodeProblem>) -> Result<T, DecodeError> {
        result.map_err(|problem| self.position.decode_error(problem))
    }

    fn value(&mut self, ty: &Type) -> Result<Value, DecodeError> {
        if !self.position.enter() {
            return Err(self.position.decode_error(DecodeProblem::TooDeep));
        }
        let extension = self.reader.extension();
        let value = match self.located(extension)? {
            Some((code, payload)) => {
                let value = unknown(code, payload, ty);
                self.located(value)?
            }
            None if self.located(self.reader.peek())? == Marker::Null => {
                let marker = self.reader.marker();
                self.located(marker)?;
                Value::null(ty.clone())
            }
            None => self.known(ty)?,
        };
        self.position.leave();
        Ok(value)
    }

    fn known(&mut self, ty: &Type) -> Result<Value, DecodeError> {
        match ty {
            Type::Dynamic => self.dynamic(),
            Type::Bool => {
                let value = boolean(&mut self.reader);
                self.located(value).map(Value::bool)
            }
            Type::Number => {
                let value = number(&mut self.reader);
                self.located(value).map(Value::number)
            }
            Type::String => {
                let text = self.reader.text("a string");
                self.located(text).map(Value::string)
            }
            Type::List(element) => {
                let items = self.items("a list", element)?;
                self.located(list_of(element, items))
            }
            Type::Set(element) => {
                let items = self.items("a set", element)?;
                self.located(set_of(element, items))
            }
            Type::Map(element) => {
                let entries = self.entries(element)?;
                self.located(map_of(element, entries))
            }
            Type::Tuple(types) => self.tuple(types),
            Type::Object(object) => {
                let value = self.object(object)?;
                value.share_type(ty);
                Ok(value)
            }
            Type::Provider(_) => Err(self.position.decode_error(DecodeProblem::Required("a type that can be encoded"))),
        }
    }

    /// Reads a value of dynamic type: an array of the type as JSON, and the value.
    fn dynamic(&mut self) -> Result<Value, DecodeError> {
        let length = self.reader.array_length("a type with a value");
        if self.located(length)? != 2 {
            return Err(self.position.decode_error(DecodeProblem::Required("a type with a value")));
        }
        let marker = self.reader.marker();
        let marker = self.located(marker)?;
        let bytes = self.reader.bytes_after(marker);
        let ty = match self.located(bytes)? {
            Some(bytes) => self.located(type_json::decode(bytes).map_err(|error| error.problem))?,
            None => return Err(self.position.decode_error(DecodeProblem::Required("a type"))),
        };
        self.value(&ty)
    }

    fn items(&mut self, what: &'static str, element: &Type) -> Result<Vec<Value>, DecodeError> {
        let length = self.reader.array_length(what);
        let length = self.located(length)?;
        let mut items = Vec::with_capacity(length);
        for place in 0..length {
            self.position.steps.push(ValueStep::Index(place as u64));
            items.push(self.value(element)?);
            self.position.steps.pop();
        }
        Ok(items)
    }

    fn entries(&mut self, element: &Type) -> Result<BTreeMap<SmolStr, Value>, DecodeError> {
        let length = self.reader.map_length("a map");
        let length = self.located(length)?;
        let mut entries = BTreeMap::new();
        for _ in 0..length {
            let key = self.reader.text("a string as key");
            let key = normal(self.located(key)?);
            self.position.steps.push(ValueStep::Key(key.clone()));
            let value = self.value(element)?;
            self.position.steps.pop();
            entries.insert(key, value);
        }
        Ok(entries)
    }

    fn tuple(&mut self, types: &[Type]) -> Result<Value, DecodeError> {
        let length = self.reader.array_length("a tuple");
        let found = self.located(length)?;
        if found != types.len() {
            let problem = DecodeProblem::TupleLength { wanted: types.len(), found };
            return Err(self.position.decode_error(problem));
        }
        let mut items = Vec::with_capacity(found);
        for (place, ty) in types.iter().enumerate() {
            self.position.steps.push(ValueStep::Index(place as u64));
            items.push(self.value(ty)?);
            self.position.steps.pop();
        }
        Ok(Value::tuple(items))
    }

    fn object(&mut self, object: &ObjectType) -> Result<Value, DecodeError> {
        let length = self.reader.map_length("an object");
        let found = self.located(length)?;
        if found != object.attributes.len() {
            let problem = DecodeProblem::AttributeCount { wanted: object.attributes.len(), found };
            return Err(self.position.decode_error(problem));
        }
        let mut entries: Vec<(SmolStr, Value)> = Vec::with_capacity(found);
        // Providers usually send the attributes in the order of their names. `seen` is filled only for another order.
        let mut ordered = object.attributes.iter();
        let mut seen: Option<HashSet<SmolStr>> = None;
        for _ in 0..found {
            let text = self.reader.text("a string as key");
            let text = self.located(text)?;
            let (key, ty) = match ordered.next().filter(|(name, _)| seen.is_none() && name.as_str() == text) {
                Some((name, ty)) => (name.clone(), ty),
                None => {
                    let key = normal(text);
                    let Some(ty) = object.attributes.get(&key) else {
                        return Err(self.position.decode_error(DecodeProblem::UnsupportedAttribute(key)));
                    };
                    let seen = seen.get_or_insert_with(|| entries.iter().map(|(name, _)| name.clone()).collect());
                    if !seen.insert(key.clone()) {
                        return Err(self.position.decode_error(DecodeProblem::DuplicateAttribute(key)));
                    }
                    (key, ty)
                }
            };
            self.position.steps.push(ValueStep::Attribute(key.clone()));
            let value = self.value(ty)?;
            self.position.steps.pop();
            entries.push((key, value));
        }
        Ok(Value::object(entries))
    }
}

fn boolean(reader: &mut Reader<'_>) -> Result<bool, DecodeProblem> {
    match reader.marker()? {
        Marker::True => Ok(true),
        Marker::False => Ok(false),
        _ => Err(DecodeProblem::Required("a bool")),
    }
}

/// Reads a number: an integer, a float, or decimal text.
fn number(reader: &mut Reader<'_>) -> Result<Number, DecodeProblem> {
    const WHAT: DecodeProblem = DecodeProblem::Required("a number");
    match reader.marker()? {
        Marker::F32 => Number::from_f64(reader.f32()?.into()).ok_or(WHAT),
        Marker::F64 => Number::from_f64(reader.f64()?).ok_or(WHAT),
        marker => {
            if let Some(value) = reader.integer_after(marker)? {
                let signed = i64::try_from(value).map(Number::from_i64);
                return signed.or_else(|_| u64::try_from(value).map(Number::from_u64)).map_err(|_| WHAT);
            }
            let bytes = reader.bytes_after(marker)?.ok_or(WHAT)?;
            let text = std::str::from_utf8(bytes).map_err(|_| WHAT)?;
            Ok(Number::parse(text)?)
        }
    }
}

/// Decodes an unknown value. If the payload has at most one byte, any extension type is accepted; otherwise only the
/// extension type of refinements.
fn unknown(code: i8, payload: &[u8], ty: &Type) -> Result<Value, DecodeProblem> {
    if payload.len() <= 1 {
        return Ok(Value::unknown(ty.clone()));
    }
    if code != REFINED_EXTENSION {
        return Err(DecodeProblem::Refinement("unknown extension"));
    }
    if payload.len() > MAX_REFINEMENT_LENGTH {
        return Err(DecodeProblem::Refinement("too long"));
    }
    // Like cty, this ignores bytes after the map, because a later version may add data there.
    let mut reader = Reader::new(payload);
    let length = reader.map_length("a map of refinements")?;
    if *ty == Type::Dynamic {
        return Ok(Value::unknown(Type::Dynamic));
    }
    let (mut known, mut null) = (Refinement::default(), false);
    for _ in 0..length {
        let marker = reader.marker()?;
        let key = reader.integer_after(marker)?.ok_or(DecodeProblem::Required("an integer as key"))?;
        match i64::try_from(key).unwrap_or_default() {
            key::NULLNESS => {
                null = boolean(&mut reader)?;
                known.not_null = !null;
            }
            key::PREFIX if *ty == Type::String => known.prefix = reader.text("a prefix")?.into(),
            bound @ (key::NUMBER_MIN | key::NUMBER_MAX) if *ty == Type::Number => {
                if reader.array_length("a bound")? != 2 {
                    return Err(DecodeProblem::Refinement("a bound has two parts"));
                }
                let limit = Some((number(&mut reader)?, boolean(&mut reader)?));
                if bound == key::NUMBER_MIN { known.min = limit } else { known.max = limit }
            }
            bound @ (key::LENGTH_MIN | key::LENGTH_MAX) if ty.is_collection() => {
                let marker = reader.marker()?;
                let length = reader.integer_after(marker)?.ok_or(DecodeProblem::Required("a length"))?;
                let length = u64::try_from(length).map_err(|_| DecodeProblem::Refinement("a negative length"))?;
                if bound == key::LENGTH_MIN { known.length_min = length } else { known.length_max = Some(length) }
            }
            key::PREFIX..=key::LENGTH_MAX => return Err(DecodeProblem::Refinement("unsuitable for the type")),
            _ => reader.skip()?,
        }
    }
    if null {
        return Ok(Value::null(ty.clone()));
    }
    if known.length_max.is_some_and(|most| most < known.length_min) {
        return Err(DecodeProblem::Refinement("no length within the bounds"));
    }
    if let (Some((low, low_included)), Some((high, high_included))) = (&known.min, &known.max)
        && (low > high || (low == high && !(*low_included && *high_included)))
    {
        return Err(DecodeProblem::Refinement("no number within the bounds"));
    }
    Ok(Value::refined(ty.clone(), known))
}
