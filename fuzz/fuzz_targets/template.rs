//! Parses and evaluates templates. No variables are defined.
#![no_main]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64};

use libfuzzer_sys::fuzz_target;
use weft_expressions::functions::evaluate_template;
use weft_expressions::functions::{CallContext, ForbiddenFiles, Impure};
use weft_expressions::limits::MOST_STEPS;

/// The maximum number of evaluation steps for one input.
const STEPS: u64 = 200_000;

fuzz_target!(|source: &str| {
    let numbers = [AtomicU32::new(0), AtomicU32::new(0)];
    let steps = AtomicU64::new(MOST_STEPS - STEPS);
    let context = CallContext::new(&numbers[0], &numbers[1]);
    let context = CallContext { files: &ForbiddenFiles, impure: Impure::Defer, steps: Some(&steps), ..context };
    let _ = evaluate_template(&context, "x", source, &BTreeMap::new());
});
