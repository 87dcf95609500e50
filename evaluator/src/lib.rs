//! The language: configuration files become compiled modules, and those become values, evaluated on demand.
//!
//! Reading order: [`config`] is what a module declares; [`reference`] is what expressions name; [`glue`] is what
//! evaluation asks of whoever uses it, [`selection`] which part of it all; [`evaluate_configuration`] evaluates
//! everything, a [`Session`] stays open for questions; [`decode`] reads bodies by the schemas of providers; a
//! [`drawing`] shows people what waits for what, a [`document`] tells tools what is declared.

mod attribute_blocks;
pub mod config;
mod declared;
pub mod decode;
pub mod document;
pub mod drawing;
mod dynamic;
mod evaluation;
pub mod glue;
pub mod reference;
pub mod relevant;
pub mod selection;

pub use declared::{Declared, DeclaredResource, Removal};
pub use evaluation::{
    Answer, Asserted, Begun, Counters, Environment, LOCAL_MODULE, REMOTE_MODULE, Said, Session, Verdict,
    begin_evaluation, create_first, evaluate_configuration,
};
