//! The built-in functions. [`crate::function`] defines what a function is.
//!
//! The files under `functions/` group functions by topic. Each file has `pub(super) fn functions() -> Vec<Function>`,
//! and this function appears in the list at the end of this file.

use std::sync::LazyLock;

use weft_graph_format::types::Type;

pub use crate::call_context::{CallContext, DiskFiles, FileKind, Files, ForbiddenFiles, Impure};
pub use crate::call_error::{CountError, FunctionError};
use crate::function::{CallFn, Function, Parameter, Symbolic};
use crate::function_table::FunctionTable;

pub use template::evaluate_template;

/// A function from text to text.
fn text_function(name: &'static str, description: &'static str, call: CallFn) -> Function {
    Function::new(name, description, Symbolic::Opaque)
        .parameter(Parameter::new("str", Type::String, "The text."))
        .returns(Type::String)
        .not_null()
        .calls(call)
}

/// All built-in functions.
pub fn built_in() -> &'static FunctionTable {
    static TABLE: LazyLock<FunctionTable> =
        LazyLock::new(|| FunctionTable::new(TOPICS.iter().flat_map(|topic| topic()).collect()));
    &TABLE
}

/// Looks up a built-in function by name, with or without the prefix `core::`.
pub fn lookup(name: &str) -> Option<&'static Function> {
    built_in().lookup(name)
}

/// All built-in functions, ordered by name.
pub fn all() -> &'static [Function] {
    built_in().all()
}

// Each file has one line in the list of modules and one line in `TOPICS`.
mod charset;
mod choice;
mod control;
mod conversion;
mod crypto;
mod csv;
mod encoding;
mod files;
mod format;
mod hash;
mod json;
mod mapping;
mod marking;
mod network;
mod numeric;
mod regex;
mod search;
mod sequence;
mod set;
mod string;
mod template;
mod time;
mod yaml_reading;
mod yaml_writing;

const TOPICS: &[fn() -> Vec<Function>] = &[
    charset::functions,
    choice::functions,
    control::functions,
    conversion::functions,
    crypto::functions,
    csv::functions,
    encoding::functions,
    files::functions,
    format::functions,
    hash::functions,
    json::functions,
    mapping::functions,
    marking::functions,
    network::functions,
    numeric::functions,
    regex::functions,
    search::functions,
    sequence::functions,
    set::functions,
    string::functions,
    template::functions,
    time::functions,
    yaml_reading::functions,
    yaml_writing::functions,
];

// Shared parts of the functions.
mod arguments;
mod clusters;
mod equality;
mod glob;
mod problems;
mod re2;
mod rsa_key;
