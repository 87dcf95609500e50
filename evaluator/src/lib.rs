//! The language: configuration files become compiled modules, and those become values, evaluated on demand.
//!
//! Reading order: [`config`] is what a module declares; [`reference`] is what expressions name.

pub mod config;
pub mod reference;
