//! The provider plugin. Modules in reading order:
//!
//! - [`value`] and [`msgpack`]: values and their encoding.
//! - [`catalog`]: the types of the provider. [`schema`]: their schemas for the protocol.
//! - [`check`] validates, and [`plan`] plans.
//! - [`backend`] applies, over HTTP ([`api`]) or in memory ([`offline`]).
//! - [`problem`]: the diagnostics.
//! - [`provider`]: the provider service.
//! - [`launch`]: the start of a plugin process. [`standing`]: the services that every plugin has.

pub mod api;
pub mod backend;
pub mod catalog;
pub mod check;
pub mod launch;
pub mod msgpack;
pub mod offline;
pub mod plan;
pub mod problem;
pub mod provider;
pub mod schema;
pub mod setup;
pub mod standing;
pub mod value;
