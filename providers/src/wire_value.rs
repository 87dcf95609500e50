//! Values in the encodings of the protocol.

use weft_graph_format::codec::{DecodeError, EncodeError, json, msgpack};
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_proto::tfplugin6::DynamicValue;

/// Encodes a value without its marks, because providers do not know marks.
pub(crate) fn encode(value: &Value, ty: &Type) -> Result<DynamicValue, EncodeError> {
    let (plain, _marks) = value.unmark_deep();
    let bytes = msgpack::encode(&plain, ty)?;
    Ok(DynamicValue { msgpack: bytes, json: Vec::new() })
}

/// Decodes a value in the encoding that the plugin chose. The result is null if the plugin sent none.
pub(crate) fn decode(value: Option<DynamicValue>, ty: &Type) -> Result<Value, DecodeError> {
    match value {
        Some(value) if !value.msgpack.is_empty() => msgpack::decode(&value.msgpack, ty),
        Some(value) if !value.json.is_empty() => json::decode(&value.json, ty),
        _ => Ok(Value::null(ty.clone())),
    }
}
