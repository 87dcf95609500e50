//! The errors that the parsers report: one function for each error.
//!
//! The functions return errors without a source range. The caller knows the source range and adds it to the error.

pub(crate) mod bodies;
pub(crate) mod collections;
pub(crate) mod expressions;
pub(crate) mod json;
pub(crate) mod strings;
pub(crate) mod templates;
pub(crate) mod text;
