//! Fetches provider packages and modules, and the documents that describe their locations.
//!
//! [`http`] is the client for all requests. [`cli_config`] and [`environment`] have the settings. [`discovery`] finds
//! the services of a [`host`], and [`credentials`] has tokens. [`login`] gets new tokens, and [`credential_store`]
//! stores them.
//!
//! For providers, [`sources`] combines all installation methods: local directories, and the remote methods
//! [`provider_registry`] with its [`signature`]s, [`network_mirror`] and [`oci`]. A remote method makes an [`offer`] or
//! returns a [`package_error`]. [`install`] selects versions, fetches packages ([`fetched`]) into the data directory,
//! and reports progress with [`install_event`]s. [`settle`] writes the lock file.
//!
//! [`modules`] fetches modules, and unpacks their [`archive`]s.

mod plugin_cache;
mod problems;
mod secret;
mod select;

pub mod archive;
pub mod cli_config;
pub mod credential_store;
pub mod credentials;
pub mod discovery;
pub mod environment;
pub mod fetched;
pub mod host;
pub mod http;
pub mod install;
pub mod install_event;
pub mod login;
pub mod modules;
pub mod network_mirror;
pub mod oci;
pub mod offer;
pub mod package_error;
pub mod provider_registry;
pub mod settle;
pub mod signature;
pub mod sources;

pub use cli_config::{CliConfig, ProcessEnvironment};
pub use credentials::Credentials;
pub use discovery::Discovery;
pub use host::Host;
pub use http::{Download, Http, HttpError, HttpSettings, Request, Response};
pub use install::{Installation, Installer, Selected};
pub use install_event::InstallEvent;
pub use secret::SecretString;
pub use sources::{Network, Sources};
