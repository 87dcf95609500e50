//! State backends: their arguments, and the services that store states and locks as OpenTofu does.
//!
//! Reading order:
//! - [`catalog`] has the types of backends and their schemas. [`catalog::connect`] makes a backend from its settings.
//!   The trait [`weft_state::remote::Backend`] describes what a backend does.
//! - [`arguments`] reads settings. A value in the configuration takes precedence over the environment, and the
//!   environment takes precedence over the default.
//! - [`address`] has the addresses of states in backends, such as `s3://BUCKET/KEY`.
//! - [`hosts`] has the trait through which two of the backends get services and tokens from the CLI configuration.
//! - [`client`] makes HTTP clients, and `retry` repeats requests.
//! - `guarded` is for object stores whose only condition for a write is that the object does not exist. `expiring` and
//!   `digests` are for signed requests.
//! - [`http`], [`pg`], [`s3`] and others are backends. Each backend has a cargo feature of the same name.
//! - [`keys`] has the key providers of encryption that are services, and `keeper` has the code that their clients
//!   share. The client of a cloud is beside the backend whose code for credentials it uses.
//!
//! Not in this crate: blocks of configurations, saved settings and workspaces (`cli`), and stores of runs (`state`).

#![forbid(unsafe_code)]
// A build with only some of the backends does not use all of the shared code.
#![cfg_attr(not(feature = "all"), allow(dead_code, unused_imports))]

pub mod address;
pub mod arguments;
#[cfg(feature = "azurerm")]
pub mod azurerm;
mod bucket;
pub mod catalog;
pub mod client;
mod connected;
#[cfg(feature = "consul")]
pub mod consul;
#[cfg(feature = "cos")]
pub mod cos;
mod digests;
mod exchange;
mod expiring;
#[cfg(feature = "gcs")]
pub mod gcs;
#[cfg(any(feature = "cos", feature = "oss"))]
mod guarded;
#[cfg(any(feature = "consul", feature = "kubernetes"))]
mod gzip;
pub mod hosts;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "inmem")]
pub mod inmem;
mod jwt;
mod keeper;
pub mod keys;
#[cfg(feature = "kubernetes")]
pub mod kubernetes;
mod openbao;
#[cfg(feature = "oss")]
pub mod oss;
#[cfg(feature = "pg")]
pub mod pg;
mod problems;
#[cfg(feature = "remote")]
pub mod remote;
mod retry;
#[cfg(feature = "s3")]
pub mod s3;
#[cfg(any(feature = "oss", feature = "s3"))]
mod stored_digests;
mod tokens;
#[cfg(any(feature = "azurerm", feature = "cos", feature = "oss", feature = "s3"))]
mod xml;
