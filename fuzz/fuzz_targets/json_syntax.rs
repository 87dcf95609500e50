//! Parses a text as configuration in JSON syntax, as a type, as a state file, and as a JSON value.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use weft_graph_format::codec::{json, type_json};
use weft_state::tfstate::StateFile;

fuzz_target!(|source: &str| {
    let (tree, _) = weft_syntax::parse_json_file("x", Arc::from(source));
    let _ = tree.arguments(tree.root_id(), &|_| false);
    let _ = type_json::decode(source.as_bytes());
    let _ = StateFile::parse(source.as_bytes(), "x");
    if let Ok(value) = json::decode_implied(source.as_bytes())
        && let Ok(written) = json::encode_plain(&value)
    {
        assert_eq!(json::decode_implied(written.as_bytes()), Ok(value));
    }
});
