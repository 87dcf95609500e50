//! Protobuf sources and the Rust generated from them, clients and servers both.
//!
//! Generated types stay at the edge: a crate that talks to the other side converts them on arrival and shows none of
//! them in its own public API. What is here:
//!
//! - [`tfplugin5`], [`tfplugin6`]: the two provider plugin protocols. Messages that are equal in both exist once, in
//!   [`tfplugin6`]; protocol 5 has its own schemas, method names and provisioners.
//! - [`plugin`]: the services of go-plugin that stand beside a provider's own.
//! - [`health`]: gRPC's health check.
//! - `cluster`: `weft.cluster.v1`, what coordinators, workers and command lines say to each other.

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
