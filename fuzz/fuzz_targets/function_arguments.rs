//! Calls functions with strings, numbers and lists. The input selects the function by a number. The arguments are
//! separated by NUL bytes.
#![no_main]

use std::sync::atomic::AtomicU32;

use libfuzzer_sys::fuzz_target;
use weft_expressions::functions::{self, CallContext, ForbiddenFiles};
use weft_graph_format::formula::Formula;
use weft_graph_format::number::Number;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

fn argument(text: &str) -> Value {
    match text.strip_prefix('#').map(Number::parse) {
        Some(Ok(number)) => Value::number(number),
        _ if text.contains('\n') => Value::list(Type::String, text.split('\n').map(Value::string).collect()),
        _ => Value::string(text),
    }
}

fuzz_target!(|input: (u8, &str)| {
    let (which, text) = input;
    let all = functions::all();
    let function = &all[usize::from(which) % all.len()];
    let arguments: Vec<Value> = text.split('\0').map(argument).collect();
    // `bcrypt` is slow on purpose.
    if function.name == "bcrypt" || function.check_count(arguments.len()).is_err() {
        return;
    }
    let numbers = [AtomicU32::new(0), AtomicU32::new(0)];
    let context = CallContext { files: &ForbiddenFiles, ..CallContext::new(&numbers[0], &numbers[1]) };
    let _ = function.invoke(&context, &arguments, &|ty| Formula::constant(Value::null(ty)));
});
