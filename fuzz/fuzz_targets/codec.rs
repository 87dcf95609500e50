//! Decodes arbitrary bytes as plan files, MessagePack and JSON. Every value that was decoded from MessagePack can be
//! encoded and decoded again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weft_graph_format::codec::{json, msgpack};
use weft_graph_format::plan_file::PlanReader;
use weft_graph_format::types::Type;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(reader) = PlanReader::from_bytes(bytes) {
        let _ = reader.whole();
    }
    let types = [
        Type::Dynamic,
        Type::list(Type::Dynamic),
        Type::map(Type::String),
        Type::set(Type::Number),
        Type::object([("a", Type::String), ("b", Type::tuple([Type::Bool, Type::Dynamic]))]),
    ];
    for ty in &types {
        if let Ok(value) = msgpack::decode(bytes, ty) {
            let written = msgpack::encode(&value, ty).expect("what was read can be written");
            let again = msgpack::decode(&written, ty).expect("and read again");
            assert_eq!(msgpack::encode(&again, ty), Ok(written));
        }
        let _ = json::decode(bytes, ty);
    }
});
