//! Writing values as MessagePack.

use std::iter::repeat;

use rmp::Marker;
use smol_str::SmolStr;

use super::super::{EncodeError, EncodeProblem, ValuePosition, is_untyped, type_json};
use super::{MAX_PREFIX_LENGTH, REFINED_EXTENSION, key};
use crate::number::Number;
use crate::path::ValueStep;
use crate::types::Type;
use crate::value::{Fields, Kind, Refinement, Sequence, Unknown, Value};

/// The length in bytes that most encoded objects do not exceed. The first allocation has room for it.
const USUAL_LENGTH: usize = 512;

/// Encodes a value as this type, byte for byte like cty.
pub fn encode(value: &Value, ty: &Type) -> Result<Vec<u8>, EncodeError> {
    let mut encoder = Encoder { out: Vec::with_capacity(USUAL_LENGTH), position: ValuePosition::default() };
    encoder.value(value, ty)?;
    Ok(encoder.out)
}

struct Encoder {
    out: Vec<u8>,
    position: ValuePosition,
}

impl Encoder {
    fn value(&mut self, value: &Value, ty: &Type) -> Result<(), EncodeError> {
        if !self.position.enter() {
            return Err(self.position.encode_error(EncodeProblem::TooDeep));
        }
        let (marks, kind) = value.open();
        if !marks.is_empty() {
            return Err(self.position.encode_error(EncodeProblem::Marked));
        }
        if *ty == Type::Dynamic && !is_untyped(value) {
            let ty = value.ty();
            write_array_length(&mut self.out, 2);
            write_binary(&mut self.out, type_json::encode(&ty).as_bytes());
            self.value(value, &ty)?;
        } else {
            self.typed(value, kind, ty)?;
        }
        self.position.leave();
        Ok(())
    }

    fn typed(&mut self, value: &Value, kind: &Kind, ty: &Type) -> Result<(), EncodeError> {
        match (kind, ty) {
            (Kind::Null(_), _) => self.out.push(Marker::Null.to_u8()),
            (Kind::Unknown(unknown), ty) if is_untyped(value) || conforms(&unknown.ty, ty) => {
                write_unknown(&mut self.out, unknown);
            }
            (Kind::Bool(b), Type::Bool) => write_bool(&mut self.out, *b),
            (Kind::Number(n), Type::Number) => write_number(&mut self.out, n),
            (Kind::String(s), Type::String) => write_text(&mut self.out, s),
            (Kind::List(s), Type::List(element)) | (Kind::Set(s), Type::Set(element)) => {
                self.items(s, repeat(&**element))?;
            }
            (Kind::Tuple(s), Type::Tuple(types)) if s.len() == types.len() => {
                self.items(s, types.iter())?;
            }
            (Kind::Map(f), Type::Map(element)) => self.fields(f, ValueStep::Key, repeat(&**element))?,
            (Kind::Object(f), Type::Object(object))
                if f.len() == object.attributes.len()
                    && f.iter().zip(object.attributes.keys()).all(|((n, _), m)| n == m) =>
            {
                self.fields(f, ValueStep::Attribute, object.attributes.values())?;
            }
            (Kind::Provider(_), _) => return Err(self.position.encode_error(EncodeProblem::Provider)),
            _ => return Err(self.position.wrong_type(ty, value)),
        }
        Ok(())
    }

    /// Writes items. `types` has the type of each item.
    fn items<'t>(&mut self, items: &Sequence, types: impl Iterator<Item = &'t Type>) -> Result<(), EncodeError> {
        write_array_length(&mut self.out, items.len());
        for ((place, item), ty) in items.items().iter().enumerate().zip(types) {
            self.position.steps.push(ValueStep::Index(place as u64));
            self.value(item, ty)?;
            self.position.steps.pop();
        }
        Ok(())
    }

    /// Writes entries. `types` has the type of each entry, in the order of the names.
    fn fields<'t>(
        &mut self,
        fields: &Fields,
        step: fn(SmolStr) -> ValueStep,
        types: impl Iterator<Item = &'t Type>,
    ) -> Result<(), EncodeError> {
        write_map_length(&mut self.out, fields.len());
        for ((name, item), ty) in fields.iter().zip(types) {
            write_text(&mut self.out, name);
            self.position.steps.push(step(name.clone()));
            self.value(item, ty)?;
            self.position.steps.pop();
        }
        Ok(())
    }
}

/// Whether a value of type `found` may be used where `wanted` is expected.
fn conforms(found: &Type, wanted: &Type) -> bool {
    match (found, wanted) {
        (_, Type::Dynamic) => true,
        (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) | (Type::Map(a), Type::Map(b)) => conforms(a, b),
        (Type::Tuple(a), Type::Tuple(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| conforms(a, b)),
        (Type::Object(a), Type::Object(b)) => {
            a.attributes.len() == b.attributes.len()
                && a.attributes.iter().zip(&b.attributes).all(|((m, a), (n, b))| m == n && conforms(a, b))
        }
        (a, b) => a == b,
    }
}

fn write_bool(out: &mut Vec<u8>, value: bool) {
    out.push(if value { Marker::True } else { Marker::False }.to_u8());
}

fn write_number(out: &mut Vec<u8>, number: &Number) {
    if let Some(value) = number.to_i64() {
        write_integer(out, value);
    } else if let Some(value) = number.to_exact_f64().filter(|_| !number.is_integer()) {
        out.push(Marker::F64.to_u8());
        out.extend(value.to_be_bytes());
    } else {
        write_text(out, &number.to_string());
    }
}

/// Writes an integer in its shortest form. Numbers that are not negative are written as unsigned.
fn write_integer(out: &mut Vec<u8>, value: i64) {
    let signed = |out: &mut Vec<u8>, marker: Marker, bytes: &[u8]| {
        out.push(marker.to_u8());
        out.extend(bytes);
    };
    if let Ok(value) = u64::try_from(value) {
        write_unsigned(out, value);
    } else if let Ok(value) = i8::try_from(value) {
        match value {
            -32.. => out.push(Marker::FixNeg(value).to_u8()),
            _ => signed(out, Marker::I8, &value.to_be_bytes()),
        }
    } else if let Ok(value) = i16::try_from(value) {
        signed(out, Marker::I16, &value.to_be_bytes());
    } else if let Ok(value) = i32::try_from(value) {
        signed(out, Marker::I32, &value.to_be_bytes());
    } else {
        signed(out, Marker::I64, &value.to_be_bytes());
    }
}

fn write_unsigned(out: &mut Vec<u8>, value: u64) {
    match u8::try_from(value) {
        Ok(small @ 0..0x80) => out.push(Marker::FixPos(small).to_u8()),
        _ => write_length(out, [Some(Marker::U8), Some(Marker::U16), Some(Marker::U32), Some(Marker::U64)], value),
    }
}

/// Writes `value` after its marker. The `markers` are for numbers of one, two, four and eight bytes. `None` means that
/// there is no form for this size, so the next marker is used.
fn write_length(out: &mut Vec<u8>, markers: [Option<Marker>; 4], value: u64) {
    match markers {
        [Some(marker), ..] if value <= u64::from(u8::MAX) => {
            out.push(marker.to_u8());
            out.push(value as u8);
        }
        [_, Some(marker), ..] if value <= u64::from(u16::MAX) => {
            out.push(marker.to_u8());
            out.extend((value as u16).to_be_bytes());
        }
        [_, _, Some(marker), ..] if value <= u64::from(u32::MAX) => {
            out.push(marker.to_u8());
            out.extend((value as u32).to_be_bytes());
        }
        [_, _, _, Some(marker)] => {
            out.push(marker.to_u8());
            out.extend(value.to_be_bytes());
        }
        _ => {}
    }
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    match u8::try_from(text.len()) {
        Ok(length @ 0..32) => out.push(Marker::FixStr(length).to_u8()),
        _ => {
            let markers = [Some(Marker::Str8), Some(Marker::Str16), Some(Marker::Str32), None];
            write_length(out, markers, text.len() as u64);
        }
    }
    out.extend(text.as_bytes());
}

fn write_binary(out: &mut Vec<u8>, bytes: &[u8]) {
    write_length(out, [Some(Marker::Bin8), Some(Marker::Bin16), Some(Marker::Bin32), None], bytes.len() as u64);
    out.extend(bytes);
}

fn write_array_length(out: &mut Vec<u8>, length: usize) {
    match u8::try_from(length) {
        Ok(length @ 0..16) => out.push(Marker::FixArray(length).to_u8()),
        _ => write_length(out, [None, Some(Marker::Array16), Some(Marker::Array32), None], length as u64),
    }
}

fn write_map_length(out: &mut Vec<u8>, length: usize) {
    match u8::try_from(length) {
        Ok(length @ 0..16) => out.push(Marker::FixMap(length).to_u8()),
        _ => write_length(out, [None, Some(Marker::Map16), Some(Marker::Map32), None], length as u64),
    }
}

fn write_unknown(out: &mut Vec<u8>, unknown: &Unknown) {
    let (count, body) = refinement(&unknown.ty, &unknown.refinement);
    if count == 0 {
        out.extend([Marker::FixExt1.to_u8(), 0, 0]);
        return;
    }
    let mut payload = Vec::with_capacity(body.len() + 1);
    write_map_length(&mut payload, count);
    payload.extend(body);
    match payload.len() {
        2 => out.push(Marker::FixExt2.to_u8()),
        4 => out.push(Marker::FixExt4.to_u8()),
        8 => out.push(Marker::FixExt8.to_u8()),
        16 => out.push(Marker::FixExt16.to_u8()),
        length => {
            write_length(out, [Some(Marker::Ext8), Some(Marker::Ext16), Some(Marker::Ext32), None], length as u64)
        }
    }
    out.extend(REFINED_EXTENSION.to_be_bytes());
    out.extend(payload);
}

/// The entries of the refinement map and their number. A dynamic type has none.
fn refinement(ty: &Type, known: &Refinement) -> (usize, Vec<u8>) {
    let (mut count, mut out) = (0, Vec::new());
    if *ty == Type::Dynamic {
        return (count, out);
    }
    let mut entry = |key: i64, write: &dyn Fn(&mut Vec<u8>)| {
        write_integer(&mut out, key);
        write(&mut out);
        count += 1;
    };
    if known.not_null {
        entry(key::NULLNESS, &|out| write_bool(out, false));
    }
    match ty {
        Type::Number => {
            for (key, bound) in [(key::NUMBER_MIN, &known.min), (key::NUMBER_MAX, &known.max)] {
                if let Some((bound, inclusive)) = bound
                    && !bound.is_infinite()
                {
                    entry(key, &|out| {
                        write_array_length(out, 2);
                        write_number(out, bound);
                        write_bool(out, *inclusive);
                    });
                }
            }
        }
        Type::String => {
            let prefix = shortened(&known.prefix);
            if !prefix.is_empty() {
                entry(key::PREFIX, &|out| write_text(out, prefix));
            }
        }
        Type::List(_) | Type::Set(_) | Type::Map(_) => {
            // cty writes the largest Go `int` where there is no upper bound.
            let length = |bound: u64| i64::try_from(bound).unwrap_or(i64::MAX);
            if known.length_min != 0 {
                entry(key::LENGTH_MIN, &|out| write_integer(out, length(known.length_min)));
            }
            if let Some(bound) = known.length_max.map(length)
                && bound != i64::MAX
            {
                entry(key::LENGTH_MAX, &|out| write_integer(out, bound));
            }
        }
        _ => {}
    }
    (count, out)
}

/// Shortens a prefix if it is too long. The cut is before an ASCII character or after ASCII punctuation, so that no
/// following character can combine with the end.
fn shortened(prefix: &str) -> &str {
    if prefix.len() <= MAX_PREFIX_LENGTH {
        return prefix;
    }
    let end = prefix.floor_char_boundary(MAX_PREFIX_LENGTH - 1);
    let cut = &prefix[..end];
    match cut.rfind(|c: char| c.is_ascii()) {
        None => "",
        Some(last) if last + 1 == end && cut.as_bytes()[last].is_ascii_punctuation() => cut,
        Some(last) => &cut[..last],
    }
}
