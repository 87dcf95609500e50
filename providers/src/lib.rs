//! Provider plugins: sessions with running ones, and the packages that they come in.
//!
//! Sessions, from the outside in: [`pool`] keeps as many plugins running as it may; [`session`] is one of them, with
//! every call that the protocols have ([`call`] has requests, replies and errors); [`launch`] starts it
//! ([`handshake`], [`tls`], [`guard`]); [`schema_cache`] saves asking for what is known. Protocols 5 and 6 look the same
//! from outside of this crate, and none of their generated types is seen there.

mod archive;
mod convert;
mod plugin_log;
mod process;
mod settings;
mod wire;
mod wire_value;

pub mod call;
pub mod checksum;
pub mod constraint;
pub mod diagnostic;
pub mod guard;
pub mod handshake;
pub mod launch;
pub mod platform;
pub mod pool;
pub mod schema_cache;
pub mod session;
pub mod source;
pub mod tls;
pub mod version;

pub use call::{CallError, CallKind, Deadlines, Reply};
pub use diagnostic::ProviderDiagnostic;
pub use launch::{LaunchError, LaunchSpec};
pub use pool::{Lease, OpenError, Plugin, PoolOptions, ProviderPool, Wanted};
pub use schema_cache::SchemaCache;
pub use session::{ProviderSession, SessionOptions};
