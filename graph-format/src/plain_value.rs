//! Values as plain data, as plan files hold them: content, types and marks, without formula and origin.

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
    /// See [`crate::value::Kind::Null`].
    Null(Type),
    /// See [`crate::value::Kind::Unknown`].
    Unknown(Type, Box<Refinement>),
    /// See [`crate::value::Kind::Bool`].
    Bool(bool),
    /// See [`crate::value::Kind::Number`].
    Number(Number),
    /// See [`crate::value::Kind::String`].
    String(SmolStr),
    /// See [`crate::value::Kind::List`].
    List(Type, Vec<PlainValue>),
    /// See [`crate::value::Kind::Set`].
    Set(Type, Vec<PlainValue>),
    /// See [`crate::value::Kind::Tuple`].
    Tuple(Vec<PlainValue>),
    /// See [`crate::value::Kind::Map`].
    Map(Type, BTreeMap<SmolStr, PlainValue>),
    /// See [`crate::value::Kind::Object`].
    Object(BTreeMap<SmolStr, PlainValue>),
    /// A value with marks.
    Marked(Marks, Box<PlainValue>),
    /// See [`crate::value::Kind::Provider`].
    Provider(Box<ProviderInstance>),
}
