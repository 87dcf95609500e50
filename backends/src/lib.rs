//! State backends: their arguments, and the services that keep states and locks as OpenTofu does.
//!
//! Reading order:
//! - [`catalog`] has the types of backends, the schema of each, and [`catalog::connect`], which makes a backend from its
//!   settings. What a backend does is the trait [`weft_state::remote::Backend`].
//! - [`arguments`] reads settings: what is written, else the environment, else the default.
//! - [`client`] makes HTTP clients, and `retry` repeats requests.
//! - [`http`], [`pg`] and [`s3`] are backends.
//!
//! Absent here: blocks of configurations, saved settings and workspaces (`cli`), and runs (`state`).

#![forbid(unsafe_code)]

pub mod arguments;
mod bucket;
pub mod catalog;
pub mod client;
mod exchange;
pub mod gcs;
pub mod http;
pub mod pg;
mod problems;
mod retry;
pub mod s3;
mod tokens;
