//! Compiles every file of `proto/` to Rust, without a `protoc` on the machine.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

const FOLDER: &str = "proto";

/// Messages that have the same fields under the same numbers in both plugin protocols. Protocol 5 uses the Rust types
/// of protocol 6 for them, so that everything but schemas is converted in one place. A message's name never travels.
const SHARED: &[&str] = &[
    "DynamicValue",
    "RawState",
    "ResourceIdentityData",
    "AttributePath",
    "Diagnostic",
    "FunctionError",
    "ResourceIdentitySchema",
    "Function",
    "ServerCapabilities",
    "ClientCapabilities",
    "Deferred",
];

/// Calls with equal requests and responses in both plugin protocols: (name in protocol 5, Rust module in protocol 6).
const SHARED_CALLS: &[(&str, &str)] = &[
    ("GetMetadata", "get_metadata"),
    ("GetResourceIdentitySchemas", "get_resource_identity_schemas"),
    ("GetFunctions", "get_functions"),
    ("CallFunction", "call_function"),
    ("ValidateResourceTypeConfig", "validate_resource_config"),
    ("ValidateDataSourceConfig", "validate_data_resource_config"),
    ("ValidateEphemeralResourceConfig", "validate_ephemeral_resource_config"),
    ("UpgradeResourceState", "upgrade_resource_state"),
    ("UpgradeResourceIdentity", "upgrade_resource_identity"),
    ("Configure", "configure_provider"),
    ("ReadResource", "read_resource"),
    ("PlanResourceChange", "plan_resource_change"),
    ("ApplyResourceChange", "apply_resource_change"),
    ("ImportResourceState", "import_resource_state"),
    ("MoveResourceState", "move_resource_state"),
    ("GenerateResourceConfig", "generate_resource_config"),
    ("ReadDataSource", "read_data_source"),
    ("OpenEphemeralResource", "open_ephemeral_resource"),
    ("RenewEphemeralResource", "renew_ephemeral_resource"),
    ("CloseEphemeralResource", "close_ephemeral_resource"),
    ("Stop", "stop_provider"),
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={FOLDER}");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(cluster_proto)");
    if Path::new(FOLDER).join("cluster.proto").exists() {
        println!("cargo:rustc-cfg=cluster_proto");
    }
    let descriptors = protox::compile(sources()?, [FOLDER])?;
    let mut builder = tonic_prost_build::configure().build_client(true).build_server(true);
    for name in SHARED {
        builder = builder.extern_path(format!(".tfplugin5.{name}"), format!("crate::tfplugin6::{name}"));
    }
    for (name, module) in SHARED_CALLS {
        builder = builder.extern_path(format!(".tfplugin5.{name}"), format!("crate::tfplugin6::{module}"));
    }
    builder.compile_fds(descriptors)?;
    Ok(())
}

/// The `.proto` files, in the order of their names.
fn sources() -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(FOLDER)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "proto") {
            println!("cargo:rerun-if-changed={}", path.display());
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
