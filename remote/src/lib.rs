//! Commands and uploads on other machines, over SSH.
//!
//! [`RemoteTarget`] describes a machine and how to reach it. [`RemoteTarget::prepare`] reads the keys of the target,
//! and checks that the SSH agent responds. [`Prepared::connect`] connects, with retries until the timeout, and changes
//! nothing on the machine. A [`RemoteSession`] runs commands and uploads files. For uploads, it uses `scp` on the
//! machine, as OpenTofu does.

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
pub use error::{
    AttemptError, AuthenticationError, ConnectError, RemoteCallError, RsaKeyError, SetupError, SignError, TcpError,
    TunnelError,
};
pub use session::{RemoteSession, script_path};
pub use target::{Agent, DEFAULT_PORT, Endpoint, Platform, Proxy, ProxyScheme, RemoteTarget};
pub use weft_sealing::Secret;
