//! Values as bytes, the same bytes as go-cty's: what provider plugins, state files and JSON functions speak.
//!
//! [`msgpack`] is the wire format of providers, [`json`] the format of state files and of `jsonencode`, and
//! [`type_json`] encodes types for both. A type directs each of them: where it is dynamic, the value comes with its own
//! type.
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

/// How deep values and types may nest.
pub const MAX_DEPTH: usize = DEEPEST_VALUE;

/// The longest input that is decoded, in bytes; what OpenTofu allows for one message of a provider.
pub const MAX_INPUT_LENGTH: usize = 256 << 20;

/// Why a value cannot be written.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}{problem}", at(path))]
pub struct EncodeError {
    /// Where in the value.
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
    #[error("a provider configuration is no data, so it cannot be serialized")]
    Provider,
    /// JSON has no unknown values.
    #[error("value is not known")]
    Unknown,
    /// JSON has no infinities.
    #[error("cannot serialize infinity as JSON")]
    Infinity,
    /// The value is of another type than the one that directs the encoding.
    #[error("{wanted} required, but have {found}")]
    WrongType {
        /// The type in words.
        wanted: String,
        /// The value's type in words.
        found: String,
    },
    /// Deeper than [`MAX_DEPTH`].
    #[error("the value is nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
}

/// Why bytes are no value (or type).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}{problem}", at(path))]
pub struct DecodeError {
    /// Where in the value, as far as it was read.
    pub path: Path,
    /// The problem.
    pub problem: DecodeProblem,
}

/// Why an input cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeProblem {
    /// It ends too early.
    #[error("unexpected end of input")]
    Truncated,
    /// The input continues behind the value.
    #[error("extraneous data after the value")]
    Trailing,
    /// Longer than [`MAX_INPUT_LENGTH`].
    #[error("the input is longer than {MAX_INPUT_LENGTH} bytes")]
    TooLong,
    /// Deeper than [`MAX_DEPTH`].
    #[error("the input is nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// Something else stands where the type wants this.
    #[error("{0} is required")]
    Required(&'static str),
    /// Text is not UTF-8.
    #[error("a string is not valid UTF-8")]
    NotUtf8,
    /// A number that is out of range.
    #[error("{0}")]
    Number(#[from] NumberError),
    /// The number of elements differs from the tuple type's.
    #[error("a tuple of length {wanted} is required ({found} given)")]
    TupleLength {
        /// By the type.
        wanted: usize,
        /// In the input.
        found: usize,
    },
    /// The number of attributes differs from the object type's.
    #[error("an object with {wanted} attributes is required ({found} given)")]
    AttributeCount {
        /// By the type.
        wanted: usize,
        /// In the input.
        found: usize,
    },
    /// An attribute that the type does not have.
    #[error("unsupported attribute {0:?}")]
    UnsupportedAttribute(SmolStr),
    /// The same attribute twice (in JSON without a type: with different types).
    #[error("duplicate {0:?} property in JSON object")]
    DuplicateAttribute(SmolStr),
    /// Elements of one collection with different types.
    #[error("all elements must have the same type")]
    MixedElements,
    /// An unknown value with a refinement that cannot be.
    #[error("invalid refinement of an unknown value: {0}")]
    Refinement(&'static str),
    /// A description of a type that is none.
    #[error("invalid type description: {0}")]
    Type(&'static str),
    /// No JSON.
    #[error("{0}")]
    Syntax(#[from] json_syntax::SyntaxError),
}

fn at(path: &Path) -> String {
    if path.0.is_empty() { String::new() } else { format!("at {path}: ") }
}

/// Where an encoder or decoder is in the value.
#[derive(Default)]
struct Position {
    steps: Vec<ValueStep>,
    depth: usize,
}

impl Position {
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

    /// Enters a level. The callers leave it with [`Position::leave`] or return an error.
    fn enter(&mut self) -> bool {
        self.depth += 1;
        self.depth <= MAX_DEPTH
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }
}

/// Text in the normal form that values and keys have.
fn normal(text: &str) -> SmolStr {
    if text.is_ascii() || is_nfc(text) { SmolStr::new(text) } else { text.nfc().collect() }
}

/// The common type of decoded elements, and the elements with that type. The elements decide where the wanted element
/// type has dynamic parts; nulls and unknowns without a type take the type of the others.
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
