//! The provider plugin, in reading order: [`value`] and [`msgpack`] are what travels; [`catalog`] is what the provider
//! has, and [`schema`] says so in the protocol's words; [`check`] validates; [`plan`] decides; [`backend`] carries out,
//! over HTTP ([`api`]) or in memory ([`offline`]); [`problem`] is what goes wrong; [`provider`] is the service;
//! [`launch`] is how a plugin process starts, and [`standing`] what every one serves besides.

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
