//! What comes from the network: provider packages and modules, and the documents that lead to them.
//!
//! [`http`] is the client that everything goes through. [`cli_config`] and [`environment`] say where things may come
//! from; [`discovery`] finds the services of a [`host`], [`credentials`] open them.
//!
//! Providers: [`sources`] are all methods of installation together: [`provider_registry`] with [`signature`]s,
//! [`network_mirror`], [`oci`]. Each makes an [`offer`] or says what [`problem`] there is. [`install`] settles versions
//! and brings packages here ([`fetched`]), into the data directory, telling of it by [`install_event`];
//! [`settle`] writes the lock file.
//!
//! [`modules`] fetches modules, and unpacks each [`archive`] of them.

mod plugin_cache;
mod select;

pub mod archive;
pub mod cli_config;
pub mod credentials;
pub mod discovery;
pub mod environment;
pub mod fetched;
pub mod host;
pub mod http;
pub mod install;
pub mod install_event;
pub mod modules;
pub mod network_mirror;
pub mod oci;
pub mod offer;
pub mod problem;
pub mod provider_registry;
pub mod settle;
pub mod signature;
pub mod sources;

pub use cli_config::{CliConfig, Environment};
pub use credentials::{Credentials, Secret};
pub use discovery::Discovery;
pub use host::Host;
pub use http::{Answer, Download, Http, HttpError, HttpSettings, Request};
pub use install::{Installation, Installer, Selected};
pub use install_event::InstallEvent;
pub use sources::{Network, Sources};
