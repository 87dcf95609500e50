//! What expressions do.
pub mod call_context;
pub mod convert;
pub mod functions;
pub mod operators;
pub mod refine;
mod stack;
pub mod symbolic;
