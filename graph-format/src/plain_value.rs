//! Values as plain data in plan files: content, types and marks, without formulas and origins.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::address::ProviderInstance;
use crate::marks::Marks;
use crate::number::Number;
use crate::refinement::Refinement;
use crate::types::Type;

/// A value as plain data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlainValue {
    /// A null: see [`crate::value::Kind::Null`].
    Null(Type),
    /// An unknown value: see [`crate::value::Kind::Unknown`].
    Unknown(Type, Box<Refinement>),
    /// A truth value: see [`crate::value::Kind::Bool`].
    Bool(bool),
    /// A number: see [`crate::value::Kind::Number`].
    Number(Number),
    /// A string: see [`crate::value::Kind::String`].
    String(SmolStr),
    /// A list: see [`crate::value::Kind::List`].
    List(Type, Vec<PlainValue>),
    /// A set: see [`crate::value::Kind::Set`].
    Set(Type, Vec<PlainValue>),
    /// A tuple: see [`crate::value::Kind::Tuple`].
    Tuple(Vec<PlainValue>),
    /// A map: see [`crate::value::Kind::Map`].
    Map(Type, BTreeMap<SmolStr, PlainValue>),
    /// An object: see [`crate::value::Kind::Object`].
    Object(BTreeMap<SmolStr, PlainValue>),
    /// A value with marks.
    Marked(Marks, Box<PlainValue>),
    /// A configured provider: see [`crate::value::Kind::Provider`].
    Provider(Box<ProviderInstance>),
}
