//! What expressions do.
pub mod access;
pub mod call_context;
pub mod conditional;
pub mod console;
pub mod convert;
pub mod evaluate;
pub mod functions;
pub mod involved;
pub mod iteration;
pub mod operators;
pub mod provider_call;
pub mod refine;
pub mod resource_rules;
mod stack;
pub mod symbolic;
pub mod type_text;
