//! A simulated cloud, and a provider plugin for it.
//!
//! [`cloud`] is the server: regions with latency, request limits and injected failures, objects and their ledger in
//! SQLite, all over HTTP. [`plugin`] is a provider in Rust that speaks plugin protocol 6 as go-plugin does; its source
//! is `weft.test/sim/cloud`. [`package`] installs the built plugin in a filesystem mirror. [`client`] is the HTTP
//! client of the plugin and of the command line. [`flood`] opens connections that a server must refuse; it has nothing
//! to do with the cloud.
//!
//! The cloud and the plugin share only HTTP. The plugin shares only the messages of the protocol with the rest of Weft.
//! It has its own values and its own MessagePack code, so it also checks the wire format independently. `README.md`
//! beside this crate describes the contract, the configuration file and the ledger.

pub mod client;
pub mod cloud;
pub mod flood;
pub mod package;
pub mod plugin;
