//! The language: compiles configuration files into modules, and evaluates them on demand.
//!
//! The main modules:
//!
//! - [`config`]: the declarations of a module. [`reference`]: the targets of references.
//! - [`given_variables`]: the values of root variables. [`variable_file`]: the files that contain them.
//! - [`purpose`]: the purpose of an evaluation, and everything that depends on it. [`selection`]: partial
//!   configurations.
//! - [`glue`]: the interface that the caller implements.
//! - [`decode`]: reads bodies by the schemas of providers.
//! - [`drawing`]: the dependencies as a graph for display. [`document`]: a description of the configuration for tools.
//!
//! [`evaluate_configuration`] evaluates everything. A [`Session`] stays open to answer questions.

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
mod root_template;
pub mod selection;
pub mod variable_file;

pub use declared::{Declared, DeclaredResource, Removal};
pub use evaluation::{
    Answer, Asserted, AssertionValues, AssertionVerdict, Begun, Counters, Environment, LOCAL_MODULE, NeededNames,
    REMOTE_MODULE, Session, SessionAnswer, begin_evaluation, create_first, evaluate_configuration,
    undeclared_in_providers, unknown_provisioners,
};
