//! The language: compiles configuration files into modules, and evaluates them on demand.
//!
//! [`config`] has the declarations of a module, [`reference`] the targets of references, [`given_variables`] the values
//! of root variables, [`variable_file`] the files that hold them, [`glue`] the interface to the caller, [`purpose`] what
//! depends on the purpose of an evaluation, [`selection`] partial configurations.
//! [`evaluate_configuration`] evaluates everything, and a [`Session`] stays open for questions. [`decode`] reads bodies
//! by the schemas of providers. A [`drawing`] shows dependencies to people, a [`document`] describes the configuration
//! for tools.

mod attribute_blocks;
mod components;
pub mod config;
mod declared;
pub mod decode;
pub mod document;
pub mod drawing;
mod dynamic;
mod evaluation;
pub mod given_variables;
pub mod glue;
mod problems;
pub mod purpose;
pub mod reference;
pub mod relevant;
pub mod selection;
pub mod variable_file;

pub use declared::{Declared, DeclaredResource, Removal};
pub use evaluation::{
    Answer, Asserted, AssertionVerdict, Begun, Counters, Environment, LOCAL_MODULE, REMOTE_MODULE, Session,
    SessionAnswer, begin_evaluation, create_first, evaluate_configuration, undeclared_in_providers,
};
