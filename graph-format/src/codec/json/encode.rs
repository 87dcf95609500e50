//! Writing values as JSON.

use smol_str::SmolStr;

use super::super::json_syntax::write_string;
use super::super::{EncodeError, EncodeProblem, ValuePosition, is_untyped, type_json};
use crate::path::ValueStep;
use crate::types::Type;
use crate::value::{Fields, Kind, Sequence, Value};

/// Encodes a value as JSON text, which [`super::decode`] reads with the same type. Where the type is dynamic, the text
/// contains `{"value":VALUE,"type":TYPE}`. Attributes and map keys are sorted, and there are no spaces.
pub fn encode(value: &Value, ty: &Type) -> Result<String, EncodeError> {
    let mut encoder = Encoder { out: String::new(), position: ValuePosition::default() };
    encoder.value(value, Some(ty))?;
    Ok(encoder.out)
}

/// Encodes a value as JSON text by its own type, as `jsonencode` does.
pub fn encode_plain(value: &Value) -> Result<String, EncodeError> {
    let mut encoder = Encoder { out: String::new(), position: ValuePosition::default() };
    encoder.value(value, None)?;
    Ok(encoder.out)
}

struct Encoder {
    out: String,
    position: ValuePosition,
}

impl Encoder {
    /// Writes a value. Without `ty`, the value's own type is used.
    fn value(&mut self, value: &Value, ty: Option<&Type>) -> Result<(), EncodeError> {
        if !self.position.enter() {
            return Err(self.position.encode_error(EncodeProblem::TooDeep));
        }
        let (marks, kind) = value.open();
        if !marks.is_empty() {
            return Err(self.position.encode_error(EncodeProblem::Marked));
        }
        if matches!(kind, Kind::Unknown(_)) {
            return Err(self.position.encode_error(EncodeProblem::Unknown));
        }
        if ty == Some(&Type::Dynamic) && !is_untyped(value) {
            self.dynamic(value)?;
        } else {
            self.typed(value, kind, ty)?;
        }
        self.position.leave();
        Ok(())
    }

    fn dynamic(&mut self, value: &Value) -> Result<(), EncodeError> {
        let ty = value.ty();
        self.out.push_str("{\"value\":");
        self.value(value, Some(&ty))?;
        self.out.push_str(",\"type\":");
        type_json::write(&ty, &mut self.out);
        self.out.push('}');
        Ok(())
    }

    fn typed(&mut self, value: &Value, kind: &Kind, ty: Option<&Type>) -> Result<(), EncodeError> {
        match (kind, ty) {
            (Kind::Null(_), _) => self.out.push_str("null"),
            (Kind::Bool(b), None | Some(Type::Bool)) => self.out.push_str(if *b { "true" } else { "false" }),
            (Kind::Number(n), None | Some(Type::Number)) => {
                let text = n.to_json().map_err(|_| self.position.encode_error(EncodeProblem::Infinity))?;
                self.out.push_str(&text);
            }
            (Kind::String(s), None | Some(Type::String)) => write_string(s, &mut self.out),
            (Kind::List(s), Some(Type::List(e))) | (Kind::Set(s), Some(Type::Set(e))) => {
                self.items(s, |_| Some(&**e))?
            }
            (Kind::List(s) | Kind::Set(s) | Kind::Tuple(s), None) => self.items(s, |_| None)?,
            (Kind::Tuple(s), Some(Type::Tuple(types))) if s.len() == types.len() => self.items(s, |i| types.get(i))?,
            (Kind::Map(f), Some(Type::Map(element))) => {
                self.fields(f, ValueStep::Key, |_| Some(&**element))?;
            }
            (Kind::Map(f) | Kind::Object(f), None) => self.fields(f, ValueStep::Attribute, |_| None)?,
            (Kind::Object(f), Some(Type::Object(object)))
                if f.len() == object.attributes.len() && f.iter().all(|(n, _)| object.attributes.contains_key(n)) =>
            {
                self.fields(f, ValueStep::Attribute, |name| object.attributes.get(name))?;
            }
            (Kind::Provider(_), _) => return Err(self.position.encode_error(EncodeProblem::Provider)),
            (_, Some(ty)) => return Err(self.position.wrong_type(ty, value)),
            (Kind::Unknown(_), None) => return Err(self.position.encode_error(EncodeProblem::Unknown)),
        }
        Ok(())
    }

    fn items<'t>(&mut self, items: &Sequence, ty: impl Fn(usize) -> Option<&'t Type>) -> Result<(), EncodeError> {
        self.out.push('[');
        for (place, item) in items.items().iter().enumerate() {
            if place > 0 {
                self.out.push(',');
            }
            self.position.steps.push(ValueStep::Index(place as u64));
            self.value(item, ty(place))?;
            self.position.steps.pop();
        }
        self.out.push(']');
        Ok(())
    }

    fn fields<'t>(
        &mut self,
        fields: &Fields,
        step: fn(SmolStr) -> ValueStep,
        ty: impl Fn(&str) -> Option<&'t Type>,
    ) -> Result<(), EncodeError> {
        self.out.push('{');
        for (place, (name, item)) in fields.iter().enumerate() {
            if place > 0 {
                self.out.push(',');
            }
            write_string(name, &mut self.out);
            self.out.push(':');
            self.position.steps.push(step(name.clone()));
            self.value(item, ty(name))?;
            self.position.steps.pop();
        }
        self.out.push('}');
        Ok(())
    }
}
