//! Provider plugins: sessions with running plugins, and their packages.
//!
//! Sessions, from the outside in: a [`provider`] is a plugin, or the [`builtin`] provider, or a [`stand_in`] while a
//! configuration is tested. A [`pool`] limits the number of running plugins. A [`session`] is one running plugin with
//! every call of the protocols. [`call`] has the requests, replies and errors. [`ephemeral`] keeps ephemeral objects
//! open. [`launch`] starts a plugin, with [`handshake`], [`tls`] and [`guard`]. [`schema_cache`] stores schemas. Users
//! of this crate see no difference between protocols 5 and 6, and no generated type is in its public interface.
//!
//! Packages: a [`source`], [`version`], [`constraint`] and [`platform`] identify packages. A [`mirror`] is a directory
//! with packages. The [`lock_file`] has the selected versions, and [`packages`] finds the installed packages.
//! [`checksum`] verifies a package. A [`fingerprint`] shows that a package is unchanged when its program starts.
//! [`archive`] unpacks packages. [`settings`] parses files without expressions. The crate `registry` fetches packages.

mod convert;
mod plugin_log;
mod problems;
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
pub mod states;
pub mod tls;

pub use builtin::Builtin;
pub use call::{CallError, CallKind, Deadlines, Reply};
pub use diagnostic::ProviderDiagnostic;
pub use ephemeral::{OpenObject, Renewal};
pub use fingerprint::HashedFiles;
pub use launch::{LaunchError, LaunchSpec};
pub use lock_file::LockFile;
pub use packages::{Package, Requirements};
pub use pool::{InstanceRequest, Plugin, PoolOptions, PooledProvider, ProviderOpenError, ProviderPool, SharedBound};
pub use provider::Provider;
pub use schema_cache::SchemaCache;
pub use session::{ProviderSession, SessionOptions};
pub use stand_in::{StandInExtent, StandIns};
pub use states::{SettingsMismatch, StateBackends, StateReadError};
