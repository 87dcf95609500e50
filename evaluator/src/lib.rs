//! The language: configuration files become compiled modules, and those become values, evaluated on demand.
//!
//! Reading order: [`config`] is what a module declares; [`reference`] is what expressions name; [`glue`] is what
//! evaluation asks of whoever uses it, [`selection`] which part of it all; [`evaluate_configuration`] evaluates
//! everything; [`decode`] reads bodies by the schemas of providers.

mod attribute_blocks;
pub mod config;
pub mod decode;
mod dynamic;
mod evaluation;
pub mod glue;
pub mod reference;
pub mod selection;

pub use evaluation::{Environment, evaluate_configuration};
