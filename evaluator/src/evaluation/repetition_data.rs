//! The values of `each`, `count` and `self` in an instance.

use weft_graph_format::address::InstanceKey;
use weft_graph_format::number::Number;
use weft_graph_format::types::Type;
use weft_graph_format::value::{Refinement, Value};

/// The values of `each`, `count` and `self` in an instance.
#[derive(Clone, Debug, Default)]
pub(crate) struct RepetitionData {
    /// The value of `count.index`.
    pub(crate) index: Option<Value>,
    /// The value of `each.key`.
    pub(crate) key: Option<Value>,
    /// The value of `each.value`.
    pub(crate) value: Option<Value>,
    /// The value of `self`.
    pub(crate) self_object: Option<Value>,
}

impl RepetitionData {
    /// The data of one instance.
    pub(crate) fn of(key: &InstanceKey, value: Option<Value>) -> RepetitionData {
        match key {
            InstanceKey::None => RepetitionData::default(),
            InstanceKey::Int(i) => {
                RepetitionData { index: Some(Value::number(Number::from_i64(*i))), ..RepetitionData::default() }
            }
            InstanceKey::String(s) => {
                let key = Value::string(s);
                RepetitionData {
                    value: value.or_else(|| Some(key.clone())),
                    key: Some(key),
                    ..RepetitionData::default()
                }
            }
        }
    }

    /// The data of a module instance during validation. The plan checks the repetition of the call.
    pub(crate) fn anything() -> RepetitionData {
        RepetitionData { index: RepetitionData::unknown(true).index, ..RepetitionData::unknown(false) }
    }

    /// The data of an instance during validation, with unknown values.
    pub(crate) fn unknown(count: bool) -> RepetitionData {
        if count {
            let index = Value::refined(Type::Number, Refinement::not_null());
            return RepetitionData { index: Some(index), ..RepetitionData::default() };
        }
        RepetitionData {
            key: Some(Value::refined(Type::String, Refinement::not_null())),
            value: Some(Value::unknown(Type::Dynamic)),
            ..RepetitionData::default()
        }
    }

    /// Adds the object that `self` refers to.
    pub(crate) fn with_self(&self, object: Value) -> RepetitionData {
        RepetitionData { self_object: Some(object), ..self.clone() }
    }
}
