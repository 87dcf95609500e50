//! Encodes values as go-cty does, byte for byte: for provider plugins, state files and JSON functions.
//!
//! [`msgpack`] is the wire format of providers, [`json`] the format of state files and of `jsonencode`, and
//! [`type_json`] encodes types for both formats. The caller passes the expected type. Where the expected type is
//! dynamic, the encoded value also contains its own type.
//!
//! Encoders refuse marked values (the caller removes and keeps the marks) and values that do not conform to the type
//! (the caller converts them). Decoders accept any input: they never panic, stop at [`MAX_DEPTH`] and
//! [`MAX_INPUT_LENGTH`], and allocate memory in proportion to the input.

pub mod json;
mod json_syntax;
pub mod msgpack;
pub mod type_json;

use std::collections::BTreeMap;

use smol_str::SmolStr;
use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::number::NumberError;
use crate::path::{Path, ValueStep};
use crate::types::Type;
use crate::value::{DEEPEST_VALUE, Kind, Value};

/// The maximum depth of values and types.
pub const MAX_DEPTH: usize = DEEPEST_VALUE;

/// The maximum length of an encoded value, in bytes. The same as OpenTofu's limit for one message of a provider.
pub const MAX_INPUT_LENGTH: usize = 256 << 20;

/// Why a value cannot be encoded, and the part of the value with the problem.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}{problem}", at(path))]
pub struct EncodeError {
    /// The path to the part with the problem.
    pub path: Path,
    /// The problem.
    pub problem: EncodeProblem,
}

/// Why a value cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeProblem {
    /// Marks have no written form.
    #[error("value has marks, so it cannot be serialized")]
    Marked,
    /// References to providers have no written form.
    #[error("a provider configuration is not data, so it cannot be serialized")]
    Provider,
    /// JSON has no unknown values.
    #[error("value is not known")]
    Unknown,
    /// JSON has no infinities.
    #[error("cannot serialize infinity as JSON")]
    Infinity,
    /// The value does not have the expected type.
    #[error("{wanted} required, but have {found}")]
    WrongType {
        /// The expected type, as text.
        wanted: String,
        /// The type of the value, as text.
        found: String,
    },
    /// The value is deeper than [`MAX_DEPTH`].
    #[error("the value is nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
}

/// Why an input cannot be decoded, and the part of the value with the problem.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}{problem}", at(path))]
pub struct DecodeError {
    /// The path to the value where the problem was found.
    pub path: Path,
    /// The problem.
    pub problem: DecodeProblem,
}

/// Why an input cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeProblem {
    /// The input ends too early.
    #[error("unexpected end of input")]
    Truncated,
    /// The input continues after the value.
    #[error("extraneous data after the value")]
    Trailing,
    /// The input is longer than [`MAX_INPUT_LENGTH`].
    #[error("the input is longer than {MAX_INPUT_LENGTH} bytes")]
    TooLong,
    /// The value is deeper than [`MAX_DEPTH`].
    #[error("the input is nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// The input lacks something that the type requires. Contains what is missing.
    #[error("{0} is required")]
    Required(&'static str),
    /// Text is not UTF-8.
    #[error("a string is not valid UTF-8")]
    NotUtf8,
    /// A number that is out of range.
    #[error("{0}")]
    Number(#[from] NumberError),
    /// The number of elements differs from that of the tuple type.
    #[error("a tuple of length {wanted} is required ({found} given)")]
    TupleLength {
        /// The number of elements of the type.
        wanted: usize,
        /// The number of elements in the input.
        found: usize,
    },
    /// The number of attributes differs from that of the object type.
    #[error("an object with {wanted} attributes is required ({found} given)")]
    AttributeCount {
        /// The number of attributes of the type.
        wanted: usize,
        /// The number of attributes in the input.
        found: usize,
    },
    /// An attribute that is not in the type.
    #[error("unsupported attribute {0:?}")]
    UnsupportedAttribute(SmolStr),
    /// The same attribute twice (in JSON without a type: with different types).
    #[error("duplicate {0:?} property in JSON object")]
    DuplicateAttribute(SmolStr),
    /// Elements of one collection with different types.
    #[error("all elements must have the same type")]
    MixedElements,
    /// An unknown value with an invalid refinement.
    #[error("invalid refinement of an unknown value: {0}")]
    Refinement(&'static str),
    /// An invalid description of a type.
    #[error("invalid type description: {0}")]
    Type(&'static str),
    /// The input is not JSON.
    #[error("{0}")]
    Syntax(#[from] json_syntax::SyntaxError),
}

fn at(path: &Path) -> String {
    if path.0.is_empty() { String::new() } else { format!("at {path}: ") }
}

/// The position of an encoder or decoder in the value.
#[derive(Default)]
struct ValuePosition {
    steps: Vec<ValueStep>,
    depth: usize,
}

impl ValuePosition {
    fn encode_error(&self, problem: EncodeProblem) -> EncodeError {
        EncodeError { path: Path(self.steps.clone()), problem }
    }

    fn decode_error(&self, problem: DecodeProblem) -> DecodeError {
        DecodeError { path: Path(self.steps.clone()), problem }
    }

    fn wrong_type(&self, wanted: &Type, value: &Value) -> EncodeError {
        let (wanted, found) = (wanted.friendly_name(), value.ty().friendly_name());
        self.encode_error(EncodeProblem::WrongType { wanted, found })
    }

    /// Enters a level of the value. Returns `false` if the level is too deep. The caller leaves the level with
    /// [`ValuePosition::leave`], or returns an error.
    fn enter(&mut self) -> bool {
        self.depth += 1;
        self.depth <= MAX_DEPTH
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }
}

/// Text in the normal form of strings and keys.
fn normal(text: &str) -> SmolStr {
    if text.is_ascii() || is_nfc(text) { SmolStr::new(text) } else { text.nfc().collect() }
}

/// The common type of decoded elements, and the elements themselves. If the wanted element type has dynamic parts, the
/// elements determine the type. Nulls and unknowns without a type get the type of the other elements.
fn same_type(wanted: &Type, mut items: Vec<Value>) -> Result<(Type, Vec<Value>), DecodeProblem> {
    if !wanted.has_dynamic() || items.is_empty() {
        return Ok((wanted.clone(), items));
    }
    let mut found = Type::Dynamic;
    for item in &items {
        let ty = item.ty();
        if found == Type::Dynamic {
            found = ty;
        } else if ty != Type::Dynamic && ty != found {
            return Err(DecodeProblem::MixedElements);
        }
    }
    for item in &mut items {
        let (_, kind) = item.open();
        match kind {
            Kind::Null(Type::Dynamic) => *item = Value::null(found.clone()),
            Kind::Unknown(unknown) if unknown.ty == Type::Dynamic => *item = Value::unknown(found.clone()),
            _ => {}
        }
    }
    Ok((found, items))
}

fn list_of(element: &Type, items: Vec<Value>) -> Result<Value, DecodeProblem> {
    same_type(element, items).map(|(element, items)| Value::list(element, items))
}

fn set_of(element: &Type, items: Vec<Value>) -> Result<Value, DecodeProblem> {
    same_type(element, items).map(|(element, items)| Value::set(element, items))
}

fn map_of(element: &Type, entries: BTreeMap<SmolStr, Value>) -> Result<Value, DecodeProblem> {
    let (keys, items): (Vec<SmolStr>, Vec<Value>) = entries.into_iter().unzip();
    let (element, items) = same_type(element, items)?;
    Ok(Value::map(element, keys.into_iter().zip(items).collect()))
}

/// Whether the value has no type: a null or unknown of dynamic type.
fn is_untyped(value: &Value) -> bool {
    match value.open().1 {
        Kind::Null(ty) => *ty == Type::Dynamic,
        Kind::Unknown(unknown) => unknown.ty == Type::Dynamic,
        _ => false,
    }
}
