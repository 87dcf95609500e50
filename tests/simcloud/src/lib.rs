//! A simulated cloud, and the provider plugin that works it.
//!
//! [`cloud`] is the server: regions with latency, request limits and injected failures, objects and their ledger in
//! SQLite, all over HTTP. [`plugin`] is a provider in Rust that speaks plugin protocol 6 as go-plugin does, source
//! `weft.test/sim/cloud`. [`package`] lays the built plugin out as a filesystem mirror has it. [`client`] is the HTTP
//! client of the plugin and of the command line.
//!
//! The two sides share nothing but HTTP, and the plugin shares nothing with the rest of Weft but the protocol's own
//! messages: it has its own values and its own MessagePack, so that it also is a second opinion on the wire format.
//! `README.md` beside this crate has the contract, the configuration file and the ledger.

pub mod client;
pub mod cloud;
pub mod package;
pub mod plugin;
