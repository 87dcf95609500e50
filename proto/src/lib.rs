//! Protobuf sources and the Rust code generated from them, for clients and servers.
//!
//! Generated types are used only where data enters and leaves. A crate that uses generated types converts them at once,
//! and has no generated type in its own public API. Contents:
//!
//! - [`tfplugin5`], [`tfplugin6`]: the two provider plugin protocols. Messages that are equal in both exist only in
//!   [`tfplugin6`]. Protocol 5 has its own schemas, method names and provisioners.
//! - [`plugin`]: the services of go-plugin that a plugin offers in addition to the provider's.
//! - [`health`]: gRPC's health check.
//! - `cluster`: `weft.cluster.v1`, the messages between coordinators, workers and command lines.

/// Provider plugin protocol 5 (`tfplugin5.proto`).
#[allow(missing_docs, clippy::all)]
pub mod tfplugin5 {
    include!("generated/tfplugin5.rs.in");
}

/// Provider plugin protocol 6 (`tfplugin6.proto`).
#[allow(missing_docs, clippy::all)]
pub mod tfplugin6 {
    include!("generated/tfplugin6.rs.in");
}

/// The services of go-plugin (`go_plugin.proto`).
#[allow(missing_docs, clippy::all)]
pub mod plugin {
    include!("generated/plugin.rs.in");
}

/// gRPC's health check (`health.proto`).
#[allow(missing_docs, clippy::all)]
pub mod health {
    include!("generated/grpc.health.v1.rs.in");
}

/// `weft.cluster.v1` (`cluster.proto`).
#[allow(missing_docs, clippy::all)]
pub mod cluster {
    include!("generated/weft.cluster.v1.rs.in");
}
