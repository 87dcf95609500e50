//! Provider plugins: sessions with running ones, and the packages that they come in.
//!
//! Sessions, from the outside in: [`provider`] is a plugin or what is [`builtin`]; [`pool`] keeps as many plugins
//! running as it may; a [`stand_in`] answers in its place while a configuration is tested; [`session`] is one of them, with every call that the protocols have ([`call`] has requests,
//! replies and errors), [`ephemeral`] an object that is kept open; [`launch`] starts it ([`handshake`], [`tls`], [`guard`]); [`schema_cache`] saves asking for
//! what is known. Protocols 5 and 6 look the same from outside of this crate, and none of their generated types is
//! seen there.
//!
//! Packages: [`source`] addresses, [`version`] and [`constraint`], and the [`platform`] name them; a [`mirror`] is a
//! directory that has some, the [`lock_file`] says which are selected, [`packages`] finds them. [`checksum`] proves that
//! a package is the one meant and its [`fingerprint`] that it still is when its program starts, [`archive`] unpacks it, [`settings`] reads files without expressions. Where packages come
//! from, over a network or not, is the matter of `registry`.

mod convert;
mod plugin_log;
mod process;
mod wire;
mod wire_value;

pub mod archive;
pub mod builtin;
pub mod call;
pub mod checksum;
pub mod constraint;
pub mod diagnostic;
pub mod ephemeral;
pub mod fingerprint;
pub mod guard;
pub mod handshake;
pub mod launch;
pub mod lock_file;
pub mod mirror;
pub mod packages;
pub mod platform;
pub mod pool;
pub mod provider;
pub mod schema_cache;
pub mod session;
pub mod settings;
pub mod source;
pub mod stand_in;
pub mod tls;

pub use builtin::Builtin;
pub use call::{CallError, CallKind, Deadlines, Reply};
pub use diagnostic::ProviderDiagnostic;
pub use ephemeral::{OpenObject, Renewal};
pub use fingerprint::Fingerprint;
pub use launch::{LaunchError, LaunchSpec};
pub use lock_file::LockFile;
pub use packages::{Package, Requirements};
pub use pool::{Lease, OpenError, Plugin, PoolOptions, ProviderPool, Wanted};
pub use provider::Provider;
pub use schema_cache::SchemaCache;
pub use session::{ProviderSession, SessionOptions};
pub use stand_in::{StandInExtent, StandIns};
