//! Conversion of values to plain data for plan files, and the values for which that is not possible.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use super::{Entries, Kind, Value};
use crate::plain_value::PlainValue;

impl From<&Value> for PlainValue {
    fn from(value: &Value) -> PlainValue {
        let items = |items: &[Value]| items.iter().map(PlainValue::from).collect::<Vec<_>>();
        let fields =
            |fields: &Entries| fields.iter().map(|(k, v)| (k.clone(), PlainValue::from(v))).collect::<BTreeMap<_, _>>();
        let (marks, kind) = value.open();
        let plain = match kind {
            Kind::Null(t) => PlainValue::Null(t.clone()),
            Kind::Unknown(u) => PlainValue::Unknown(u.ty.clone(), Box::new(u.refinement.clone())),
            Kind::Bool(b) => PlainValue::Bool(*b),
            Kind::Number(n) => PlainValue::Number(n.clone()),
            Kind::String(s) => PlainValue::String(s.clone()),
            Kind::List(s) => PlainValue::List(s.element_type(), items(s.items())),
            Kind::Set(s) => PlainValue::Set(s.element_type(), items(s.items())),
            Kind::Tuple(s) => PlainValue::Tuple(items(s.items())),
            Kind::Map(f) => PlainValue::Map(f.element_type(), fields(f.entries())),
            Kind::Object(f) => PlainValue::Object(fields(f.entries())),
            Kind::Provider(instance) => PlainValue::Provider(Box::new((**instance).clone())),
        };
        if marks.is_empty() { plain } else { PlainValue::Marked(marks.clone(), Box::new(plain)) }
    }
}

impl From<PlainValue> for Value {
    fn from(plain: PlainValue) -> Value {
        let items = |items: Vec<PlainValue>| items.into_iter().map(Value::from).collect::<Vec<_>>();
        match plain {
            PlainValue::Null(t) => Value::null(t),
            PlainValue::Unknown(t, r) => Value::refined(t, *r),
            PlainValue::Bool(b) => Value::bool(b),
            PlainValue::Number(n) => Value::number(n),
            PlainValue::String(s) => Value::string(s),
            PlainValue::List(t, i) => Value::list(t, items(i)),
            PlainValue::Set(t, i) => Value::set(t, items(i)),
            PlainValue::Tuple(i) => Value::tuple(items(i)),
            PlainValue::Map(t, f) => Value::map(t, f.into_iter().map(|(k, v)| (k, Value::from(v))).collect()),
            PlainValue::Object(f) => Value::object(f.into_iter().map(|(k, v)| (k, Value::from(v)))),
            PlainValue::Marked(marks, inner) => Value::from(*inner).mark(&marks),
            PlainValue::Provider(instance) => Value::provider(*instance),
        }
    }
}

/// The maximum depth of a value in a file or a message. All code that walks a value is recursive, on threads with
/// stacks of two megabytes. No schema or document that people write is nearly this deep. Deeper values are refused.
pub const DEEPEST_VALUE: usize = 256;

/// Why a value cannot be serialized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unwritable {
    /// The value contains known ephemeral content.
    #[error("an ephemeral value is never stored")]
    Ephemeral,
    /// The value is nested too deeply.
    #[error("the value is nested deeper than {DEEPEST_VALUE} levels")]
    TooDeep,
}

impl Value {
    /// Whether serializing the value would store known ephemeral content.
    pub fn stores_ephemeral(&self) -> bool {
        self.deep().ephemeral && writable(self, false, 1) == Err(Unwritable::Ephemeral)
    }
}

/// Checks that the value can be serialized. This check keeps ephemeral values out of all files.
fn writable(value: &Value, ephemeral: bool, depth: usize) -> Result<(), Unwritable> {
    let (marks, kind) = value.open();
    let ephemeral = ephemeral || marks.is_ephemeral();
    if depth > DEEPEST_VALUE {
        return Err(Unwritable::TooDeep);
    }
    match kind {
        // Unknown values and nulls reveal no content. Write-only arguments are planned as null.
        Kind::Unknown(_) | Kind::Null(_) => Ok(()),
        _ if ephemeral => Err(Unwritable::Ephemeral),
        Kind::Bool(_) | Kind::Number(_) | Kind::String(_) | Kind::Provider(_) => Ok(()),
        Kind::List(s) | Kind::Set(s) | Kind::Tuple(s) => {
            s.items().iter().try_for_each(|part| writable(part, ephemeral, depth + 1))
        }
        Kind::Map(f) | Kind::Object(f) => {
            f.entries().values().try_for_each(|part| writable(part, ephemeral, depth + 1))
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        writable(self, false, 1).map_err(S::Error::custom)?;
        PlainValue::from(self).serialize(serializer)
    }
}

/// Whether the refinement of an unknown part permits only one value, so that the part would become that value. A writer
/// never writes such parts. A reader refuses them, because a few bytes could stand for a thousand elements.
fn collapses(plain: &PlainValue) -> bool {
    match plain {
        PlainValue::Unknown(ty, refinement) => refinement.leaves_one_value(ty),
        PlainValue::Null(_)
        | PlainValue::Bool(_)
        | PlainValue::Number(_)
        | PlainValue::String(_)
        | PlainValue::Provider(_) => false,
        PlainValue::List(_, parts) | PlainValue::Set(_, parts) | PlainValue::Tuple(parts) => {
            parts.iter().any(collapses)
        }
        PlainValue::Map(_, parts) | PlainValue::Object(parts) => parts.values().any(collapses),
        PlainValue::Marked(_, inner) => collapses(inner),
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        let plain = PlainValue::deserialize(deserializer)?;
        if collapses(&plain) {
            return Err(D::Error::custom("an unknown value that is not unknown"));
        }
        Ok(Value::from(plain))
    }
}
