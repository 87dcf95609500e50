//! Values in MessagePack, in the form of the protocol. Unknown values are extensions of type 0, or of type 12 if they
//! have refinements. This provider ignores refinements. Numbers are integers, floats or decimal strings.

use rmp::Marker;
use rmp::decode::RmpRead;
use rmp::encode;

use super::value::{Attributes, Value};

/// The maximum nesting depth. Values of this provider have at most two levels. The limit protects the stack.
pub const MAX_DEPTH: usize = 16;

/// Why bytes cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end too early.
    #[error("the value is cut off")]
    Truncated,
    /// Bytes are left over.
    #[error("{0} bytes follow the value")]
    Trailing(usize),
    /// A string is not UTF-8.
    #[error("a string is not UTF-8")]
    Utf8,
    /// The type does not occur in values of this provider.
    #[error("unexpected {0}")]
    Unexpected(&'static str),
    /// The value is nested deeper than [`MAX_DEPTH`].
    #[error("nested too deeply")]
    TooDeep,
}

/// Decodes one value, which must use all bytes.
pub fn decode(mut bytes: &[u8]) -> Result<Value, DecodeError> {
    let value = read(&mut bytes, 0)?;
    if bytes.is_empty() { Ok(value) } else { Err(DecodeError::Trailing(bytes.len())) }
}

fn read(bytes: &mut &[u8], depth: usize) -> Result<Value, DecodeError> {
    if depth > MAX_DEPTH {
        return Err(DecodeError::TooDeep);
    }
    let marker = rmp::decode::read_marker(bytes).map_err(|_| DecodeError::Truncated)?;
    Ok(match marker {
        Marker::Null => Value::Null,
        Marker::True => Value::Bool(true),
        Marker::False => Value::Bool(false),
        Marker::FixPos(number) => Value::Number(f64::from(number)),
        Marker::FixNeg(number) => Value::Number(f64::from(number)),
        Marker::U8 => Value::Number(unsigned(bytes, 1)? as f64),
        Marker::U16 => Value::Number(unsigned(bytes, 2)? as f64),
        Marker::U32 => Value::Number(unsigned(bytes, 4)? as f64),
        Marker::U64 => Value::Number(unsigned(bytes, 8)? as f64),
        Marker::I8 => Value::Number(f64::from(unsigned(bytes, 1)? as u8 as i8)),
        Marker::I16 => Value::Number(f64::from(unsigned(bytes, 2)? as u16 as i16)),
        Marker::I32 => Value::Number(f64::from(unsigned(bytes, 4)? as u32 as i32)),
        Marker::I64 => Value::Number(unsigned(bytes, 8)? as i64 as f64),
        Marker::F32 => Value::Number(f64::from(f32::from_bits(unsigned(bytes, 4)? as u32))),
        Marker::F64 => Value::Number(f64::from_bits(unsigned(bytes, 8)?)),
        Marker::FixStr(length) => text(bytes, u64::from(length))?,
        Marker::Str8 | Marker::Bin8 => sized(bytes, 1, text)?,
        Marker::Str16 | Marker::Bin16 => sized(bytes, 2, text)?,
        Marker::Str32 | Marker::Bin32 => sized(bytes, 4, text)?,
        Marker::FixArray(length) => list(bytes, u64::from(length), depth)?,
        Marker::Array16 => sized(bytes, 2, |bytes, length| list(bytes, length, depth))?,
        Marker::Array32 => sized(bytes, 4, |bytes, length| list(bytes, length, depth))?,
        Marker::FixMap(length) => map(bytes, u64::from(length), depth)?,
        Marker::Map16 => sized(bytes, 2, |bytes, length| map(bytes, length, depth))?,
        Marker::Map32 => sized(bytes, 4, |bytes, length| map(bytes, length, depth))?,
        Marker::FixExt1 => extension(bytes, 1)?,
        Marker::FixExt2 => extension(bytes, 2)?,
        Marker::FixExt4 => extension(bytes, 4)?,
        Marker::FixExt8 => extension(bytes, 8)?,
        Marker::FixExt16 => extension(bytes, 16)?,
        Marker::Ext8 => sized(bytes, 1, extension)?,
        Marker::Ext16 => sized(bytes, 2, extension)?,
        Marker::Ext32 => sized(bytes, 4, extension)?,
        Marker::Reserved => return Err(DecodeError::Unexpected("reserved byte")),
    })
}

/// Reads a big-endian number of up to eight bytes.
fn unsigned(bytes: &mut &[u8], width: usize) -> Result<u64, DecodeError> {
    let mut number = 0;
    for _ in 0..width {
        number = number << 8 | u64::from(bytes.read_u8().map_err(|_| DecodeError::Truncated)?);
    }
    Ok(number)
}

fn sized(
    bytes: &mut &[u8],
    width: usize,
    then: impl Fn(&mut &[u8], u64) -> Result<Value, DecodeError>,
) -> Result<Value, DecodeError> {
    let length = unsigned(bytes, width)?;
    then(bytes, length)
}

fn take<'a>(bytes: &mut &'a [u8], length: u64) -> Result<&'a [u8], DecodeError> {
    let length = usize::try_from(length).map_err(|_| DecodeError::Truncated)?;
    let (head, tail) = bytes.split_at_checked(length).ok_or(DecodeError::Truncated)?;
    *bytes = tail;
    Ok(head)
}

fn text(bytes: &mut &[u8], length: u64) -> Result<Value, DecodeError> {
    let text = std::str::from_utf8(take(bytes, length)?).map_err(|_| DecodeError::Utf8)?;
    Ok(Value::Text(text.to_owned()))
}

// Reserves no memory for the claimed length: reading ends at the first missing element.
fn list(bytes: &mut &[u8], length: u64, depth: usize) -> Result<Value, DecodeError> {
    let mut elements = Vec::new();
    for _ in 0..length {
        elements.push(read(bytes, depth + 1)?);
    }
    Ok(Value::List(elements))
}

fn map(bytes: &mut &[u8], length: u64, depth: usize) -> Result<Value, DecodeError> {
    let mut elements = std::collections::BTreeMap::new();
    for _ in 0..length {
        let Value::Text(key) = read(bytes, depth + 1)? else {
            return Err(DecodeError::Unexpected("map key that is no string"));
        };
        elements.insert(key, read(bytes, depth + 1)?);
    }
    Ok(Value::Map(elements))
}

fn extension(bytes: &mut &[u8], length: u64) -> Result<Value, DecodeError> {
    match unsigned(bytes, 1)? {
        0 | 12 => take(bytes, length).map(|_| Value::Unknown),
        _ => Err(DecodeError::Unexpected("extension")),
    }
}

/// The length in bytes that most encoded objects do not exceed.
const USUAL_LENGTH: usize = 256;

/// Encodes a value.
pub fn encode(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(USUAL_LENGTH);
    write(&mut bytes, value);
    bytes
}

/// Encodes an object.
pub fn encode_object(object: &Attributes) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(USUAL_LENGTH);
    write_map(&mut bytes, object);
    bytes
}

/// Writes a value. Writing to memory does not fail, so the results are ignored.
fn write(bytes: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => bytes.push(Marker::Null.to_u8()),
        // An extension of type 0 with one byte, as other providers send it.
        Value::Unknown => bytes.extend([0xd4, 0, 0]),
        Value::Bool(true) => bytes.push(Marker::True.to_u8()),
        Value::Bool(false) => bytes.push(Marker::False.to_u8()),
        Value::Number(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
            let _ = encode::write_sint(bytes, *number as i64);
        }
        Value::Number(number) => {
            let _ = encode::write_f64(bytes, *number);
        }
        Value::Text(text) => write_text(bytes, text),
        Value::List(elements) => {
            let _ = encode::write_array_len(bytes, elements.len() as u32);
            elements.iter().for_each(|element| write(bytes, element));
        }
        Value::Map(elements) => write_map(bytes, elements),
    }
}

fn write_map(bytes: &mut Vec<u8>, elements: &Attributes) {
    let _ = encode::write_map_len(bytes, elements.len() as u32);
    for (key, element) in elements {
        write_text(bytes, key);
        write(bytes, element);
    }
}

fn write_text(bytes: &mut Vec<u8>, text: &str) {
    let _ = encode::write_str(bytes, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Value {
        let list = Value::List(vec![Value::Unknown, Value::Null, Value::Bool(true), Value::Number(-300.0)]);
        let long = Value::Text("x".repeat(70_000));
        let numbers = [0.0, 127.0, 128.0, 65_536.0, 5e9, -1.0, -129.0, 1.5].map(Value::Number).to_vec();
        let elements = [("list", list), ("long", long), ("numbers", Value::List(numbers))];
        Value::Map(elements.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    #[test]
    fn values_round_trip() {
        assert_eq!(decode(&encode(&sample())), Ok(sample()));
    }

    #[test]
    fn refined_unknowns_are_unknown() {
        assert_eq!(decode(&[0xc7, 3, 12, 0x81, 1, 0xc2]), Ok(Value::Unknown));
    }

    #[test]
    fn cut_off_bytes_are_errors() {
        let whole = encode(&sample());
        for end in (0..200).chain([whole.len() - 1]) {
            assert!(decode(&whole[..end]).is_err(), "{end}");
        }
        assert_eq!(decode(&[0xc0, 0]), Err(DecodeError::Trailing(1)));
        assert_eq!(decode(&[0xdd, 0xff, 0xff, 0xff, 0xff]), Err(DecodeError::Truncated));
        assert_eq!(decode(&[0x91; 100]), Err(DecodeError::TooDeep));
    }
}
