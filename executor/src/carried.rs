//! The encoding of values between workers and in the journal.
//!
//! The first byte says what follows. [`VALUE`] is followed by the marks (postcard: paths and marks) and the value as
//! MessagePack with its type. [`WITHHELD`] is followed by nothing: it stands for a value that must not leave its
//! process. The codec limits the depth of values in both directions.

use std::collections::BTreeMap;

use weft_graph_format::codec::{DecodeError, EncodeError, msgpack};
use weft_graph_format::marks::Marks;
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::types::Type;
use weft_graph_format::value::{Kind, Value};

/// A value follows.
const VALUE: u8 = 1;
/// The value is not sent.
const WITHHELD: u8 = 2;

/// Why a value cannot be encoded or decoded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CarryError {
    /// The value cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The value cannot be decoded.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The marks cannot be encoded or decoded.
    #[error("the marks of a value are damaged")]
    Marks,
    /// The bytes are of another version, or not a value.
    #[error("not a value")]
    NoValue,
}

/// Encodes a value with its marks, for inputs, exports and local results.
///
/// # Errors
/// Returns an error if the value is nested too deeply.
pub fn encode_value(value: &Value) -> Result<Vec<u8>, CarryError> {
    let (bare, marks) = value.unmark_with_paths();
    let mut out = vec![VALUE];
    out.extend(postcard::to_stdvec(&marks).map_err(|_| CarryError::Marks)?);
    out.extend(msgpack::encode(&bare, &Type::Dynamic)?);
    Ok(out)
}

/// Decodes the bytes of [`encode_value`].
///
/// # Errors
/// Returns an error if the bytes contain no value, or stand for a value that must not leave its process (`withheld`).
pub fn decode_value(bytes: &[u8]) -> Result<Value, CarryError> {
    carried(bytes)?.ok_or(CarryError::NoValue)
}

/// The bytes in place of a value that must not leave its process.
pub(crate) fn withheld() -> Vec<u8> {
    vec![WITHHELD]
}

/// Decodes a value. `None` if the value was withheld.
pub(crate) fn carried(bytes: &[u8]) -> Result<Option<Value>, CarryError> {
    match bytes.split_first() {
        Some((&WITHHELD, [])) => Ok(None),
        Some((&VALUE, rest)) => {
            let (marks, rest) = postcard::take_from_bytes::<Vec<(Path, Marks)>>(rest).map_err(|_| CarryError::Marks)?;
            Ok(Some(msgpack::decode(rest, &Type::Dynamic)?.mark_paths(&marks)))
        }
        _ => Err(CarryError::NoValue),
    }
}

/// The value, reduced to the parts that the paths lead to. Each part keeps its path. Other attributes and keys are
/// removed. Other elements of lists and tuples become null, or are removed at the end. For example, the path `[1]`
/// reduces `["a", "b", "c"]` to `[null, "b"]`.
pub(crate) fn only(value: &Value, paths: &[Path]) -> Value {
    let steps: Vec<&[ValueStep]> = paths.iter().map(|path| path.0.as_slice()).collect();
    only_steps(value, &steps)
}

fn only_steps(value: &Value, paths: &[&[ValueStep]]) -> Value {
    if paths.iter().any(|path| path.is_empty()) {
        return value.clone();
    }
    let below = |fits: &dyn Fn(&ValueStep) -> bool| -> Vec<&[ValueStep]> {
        paths.iter().filter_map(|path| path.split_first()).filter(|(s, _)| fits(s)).map(|(_, rest)| rest).collect()
    };
    let named =
        |name: &str| below(&|step| matches!(step, ValueStep::Attribute(n) | ValueStep::Key(n) if n.as_str() == name));
    let kept = match value.open().1 {
        Kind::Object(fields) | Kind::Map(fields) => {
            let mut entries = BTreeMap::new();
            for path in paths {
                let Some(ValueStep::Attribute(name) | ValueStep::Key(name)) = path.first() else { continue };
                if let Some(part) = fields.get(name)
                    && !entries.contains_key(name)
                {
                    entries.insert(name.clone(), only_steps(part, &named(name)));
                }
            }
            // The reduced elements of a map may have different types, which a map cannot contain. The same paths are
            // valid in an object.
            Value::object(entries)
        }
        Kind::List(items) | Kind::Tuple(items) => {
            let last = paths.iter().filter_map(|path| match path.first() {
                Some(ValueStep::Index(i)) => usize::try_from(*i).ok(),
                _ => None,
            });
            let length = last.filter(|i| *i < items.len()).max().map_or(0, |i| i + 1);
            let parts = items.items().iter().take(length).enumerate().map(|(i, part)| {
                let below = below(&|step| matches!(step, ValueStep::Index(n) if *n == i as u64));
                if below.is_empty() { Value::null(Type::Dynamic) } else { only_steps(part, &below) }
            });
            Value::tuple(parts.collect())
        }
        _ => return value.clone(),
    };
    value.carry_onto(&kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object() -> Value {
        Value::object([
            ("id", Value::string("x")),
            ("secret", Value::string("s").mark(&Marks::SENSITIVE)),
            ("nothing", Value::null(Type::String)),
            ("list", Value::list(Type::Number, vec![Value::int(1), Value::int(2), Value::int(3)])),
            ("tags", Value::map(Type::String, BTreeMap::from([("a".into(), Value::string("b"))]))),
            ("set", Value::set(Type::String, vec![Value::string("q").mark(&Marks::SENSITIVE)])),
        ])
    }

    #[test]
    fn values_round_trip_with_their_marks() {
        for value in [object(), Value::null(Type::Dynamic), Value::int(3), Value::unknown(Type::String)] {
            assert_eq!(decode_value(&encode_value(&value).unwrap()).unwrap(), value);
        }
        assert_eq!(carried(&withheld()), Ok(None));
        assert_eq!(decode_value(&[]), Err(CarryError::NoValue));
        assert_eq!(decode_value(&[9, 1]), Err(CarryError::NoValue));
        assert!(decode_value(&[VALUE, 0xff]).is_err());
    }

    #[test]
    fn the_parts_that_are_kept_can_be_read() {
        let at = |names: &[&str]| Path(names.iter().map(|n| ValueStep::Attribute((*n).into())).collect());
        let second = at(&["list"]).with(ValueStep::Index(1));
        let paths = [at(&["id"]), at(&["secret"]), second, at(&["tags", "a"]), at(&["nothing", "x"])];
        let left = only(&object(), &paths);
        for path in &paths {
            assert_eq!(left.at_path(path).ok(), object().at_path(path).ok(), "{path}");
        }
        assert!(left.at_path(&at(&["set"])).is_err());
        assert_eq!(left.at_path(&at(&["list"])).unwrap().as_items().map(<[Value]>::len), Some(2));
        assert_eq!(only(&object(), &[Path::ROOT]), object());
    }
}
