//! Commands and uploads on other machines, over SSH.
//!
//! [`RemoteTarget`] describes a machine and the way to it. [`RemoteTarget::prepare`] reads its keys and finds what is wrong with
//! them. [`Prepared::connect`] connects, with retries until the timeout, and changes nothing. A [`RemoteSession`] runs commands and
//! uploads files. It uses `scp` on the other machine for uploads, as OpenTofu does.

#![forbid(unsafe_code)]

mod agent;
mod authentication;
mod channel;
mod connect;
mod error;
mod handshake;
mod host_key;
mod keys;
mod lines;
mod proxy;
mod retry;
mod scp;
mod session;
mod target;

pub use connect::Prepared;
pub use error::{ConnectError, RemoteCallError, SetupError};
pub use session::{RemoteSession, script_path};
pub use target::{Agent, DEFAULT_PORT, Endpoint, Platform, Proxy, ProxyScheme, RemoteTarget};
pub use weft_sealing::Secret;
