//! The server. Modules in reading order:
//!
//! - [`config`]: the configuration file.
//! - [`object`]: the kinds of objects. [`range`]: ranges of IPv4 addresses.
//! - [`world`]: the rules of the cloud, as plain functions over data.
//! - [`store`]: makes effects durable.
//! - [`fault`] and [`limit`]: injected failures and rate limits.
//! - [`route`] and [`reply`]: HTTP requests and responses as data.
//! - [`service`]: processes a request with all of these.
//! - [`server`]: listens and serves.

pub mod config;
pub mod fault;
pub mod limit;
pub mod object;
pub mod range;
pub mod reply;
pub mod route;
pub mod server;
pub mod service;
pub mod store;
pub mod world;
