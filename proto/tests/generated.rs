//! The Rust code in `src/generated` equals the output for the `.proto` files. `WEFT_UPDATE=1 cargo test -p weft-proto`
//! updates it.
//!
//! The names of the generated files end with `.rs.in`, because the files are included with `include!`, and tools must
//! not treat them as handwritten code. The generated files are stored in the repository, so that a build needs neither
//! `protoc` nor crates that replace it.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

const SOURCES: &str = "proto";
const GENERATED: &str = "src/generated";

/// Messages that have the same fields with the same numbers in both plugin protocols. For these messages, protocol 5
/// uses the Rust types of protocol 6, so that only schemas need two conversions. The names of messages are not part of
/// the encoding.
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

#[test]
fn the_generated_code_is_that_of_the_sources() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    generate(folder.path())?;
    let update = std::env::var_os("WEFT_UPDATE").is_some();
    let generated = files(folder.path())?;
    for path in &generated {
        let name = path.file_name().ok_or("a file without a name")?;
        let kept = Path::new(GENERATED).join(name).with_added_extension("in");
        let fresh = fs::read_to_string(path)?;
        if update {
            fs::write(&kept, &fresh)?;
        }
        let old = fs::read_to_string(&kept).unwrap_or_default();
        assert!(
            old == fresh,
            "{} is not what {SOURCES} gives. Run: WEFT_UPDATE=1 cargo test -p weft-proto",
            kept.display()
        );
    }
    assert_eq!(files(Path::new(GENERATED))?.len(), generated.len(), "{GENERATED} has files that no source gives");
    Ok(())
}

fn generate(into: &Path) -> Result<(), Box<dyn Error>> {
    let descriptors = protox::compile(files(Path::new(SOURCES))?, [SOURCES])?;
    let mut builder = tonic_prost_build::configure().build_client(true).build_server(true).out_dir(into);
    for name in SHARED {
        builder = builder.extern_path(format!(".tfplugin5.{name}"), format!("crate::tfplugin6::{name}"));
    }
    for (name, module) in SHARED_CALLS {
        builder = builder.extern_path(format!(".tfplugin5.{name}"), format!("crate::tfplugin6::{module}"));
    }
    builder.compile_fds(descriptors)?;
    Ok(())
}

/// The files of a folder, in the order of their names.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, std::io::Error>>()?;
    files.sort();
    Ok(files)
}
