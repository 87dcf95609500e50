//! Directories with packages: filesystem mirrors, `-plugin-dir`, the implied local directories, and the data directory.
//! All have the same layout.
//!
//! Unpacked package: `HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/`. Packed package:
//! `HOST/NAMESPACE/TYPE/terraform-provider-TYPE_VERSION_OS_ARCH.zip`.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use weft_graph_format::address::ProviderSource;

use crate::platform::Platform;
use weft_graph_format::version::Version;

/// The prefix of every provider program's name.
pub const PROGRAM_PREFIX: &str = "terraform-provider-";

/// The location of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A directory with the files of the package.
    Unpacked(PathBuf),
    /// A zip file.
    Packed(PathBuf),
}

/// The packages of one provider, by version and platform.
pub type MirrorPackages = BTreeMap<Version, BTreeMap<Platform, Location>>;

/// Why a directory cannot be searched.
#[derive(Debug, thiserror::Error)]
#[error("cannot search {path}: {error}")]
pub struct SearchError {
    /// The directory.
    pub path: PathBuf,
    /// The reason.
    pub error: io::Error,
}

/// The folder of a provider in a mirror.
pub fn provider_folder(root: &Path, source: &ProviderSource) -> PathBuf {
    root.join(source.host.as_str()).join(source.namespace.as_str()).join(source.type_name.as_str())
}

/// The folder of an unpacked package in a mirror.
pub fn package_folder(root: &Path, source: &ProviderSource, version: &Version, platform: &Platform) -> PathBuf {
    provider_folder(root, source).join(version.to_string()).join(platform.to_string())
}

/// All packages of a provider in a mirror. Files and directories whose names do not have the form of a package are
/// ignored. If a mirror has the same package packed and unpacked, the unpacked one is used.
pub fn search(root: &Path, source: &ProviderSource) -> Result<MirrorPackages, SearchError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| SearchError { path, error }
    };
    std::fs::metadata(root).map_err(failed(root))?;
    let folder = provider_folder(root, source);
    let mut found = MirrorPackages::new();
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(found);
        }
        Err(error) => return Err(failed(&folder)(error)),
    };
    for entry in entries {
        let path = entry.map_err(failed(&folder))?.path();
        let Some(name) = path.file_name().and_then(|n| n.to_str()) else { continue };
        if let Ok(version) = name.parse::<Version>() {
            let Ok(platforms) = std::fs::read_dir(&path) else { continue };
            for entry in platforms.filter_map(Result::ok) {
                let path = entry.path();
                let platform = path.file_name().and_then(|n| n.to_str()).and_then(|n| n.parse().ok());
                // Weft itself puts links to directories into data directories.
                if let Some(platform) = platform.filter(|_| path.is_dir()) {
                    found.entry(version.clone()).or_default().insert(platform, Location::Unpacked(path));
                }
            }
        } else if let Some((version, platform)) = packed_name(name, source).filter(|_| path.is_file()) {
            found.entry(version).or_default().entry(platform).or_insert(Location::Packed(path));
        }
    }
    Ok(found)
}

/// The providers with packages in a mirror. Unreadable folders are ignored.
pub fn providers(root: &Path) -> Vec<ProviderSource> {
    let folders = |path: &Path| -> Vec<(String, PathBuf)> {
        let entries = std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
        let named = entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())));
        named.filter(|(_, path)| path.is_dir()).collect()
    };
    let mut found = Vec::new();
    for (host, path) in folders(root) {
        for (namespace, path) in folders(&path) {
            for (type_name, _) in folders(&path) {
                found.extend(crate::source::parse(&format!("{host}/{namespace}/{type_name}")).ok());
            }
        }
    }
    found.sort();
    found
}

/// The version and platform in the name of a packed package. Case does not matter, because some file systems ignore
/// case.
fn packed_name(name: &str, source: &ProviderSource) -> Option<(Version, Platform)> {
    let name = name.to_lowercase();
    let prefix = format!("{PROGRAM_PREFIX}{}_", source.type_name);
    let (version, platform) = name.strip_prefix(&prefix)?.strip_suffix(".zip")?.split_once('_')?;
    Some((version.parse().ok()?, platform.parse().ok()?))
}

/// The program in an unpacked package: `terraform-provider-TYPE` or `terraform-provider-TYPE_v1.0.0`, with or without
/// an extension. If there are several programs, the first by name.
pub fn program(folder: &Path, source: &ProviderSource) -> io::Result<Option<PathBuf>> {
    let prefix = format!("{PROGRAM_PREFIX}{}", source.type_name);
    let mut found: Option<PathBuf> = None;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let matches = path.file_name().and_then(|n| n.to_str()).and_then(|name| name.strip_prefix(&prefix));
        let matches = matches.is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '.']));
        if matches && !path.is_dir() && found.as_ref().is_none_or(|f| path < *f) {
            found = Some(path);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source;

    #[test]
    fn only_packed_and_unpacked_packages_are_found() {
        let root = tempfile::tempdir().unwrap();
        let crane = source::parse("weft.test/port/crane").unwrap();
        let folder = provider_folder(root.path(), &crane);
        for directory in ["1.0.0/linux_amd64", "1.0.0/nonsense", "latest/linux_amd64", "1.1.0"] {
            std::fs::create_dir_all(folder.join(directory)).unwrap();
        }
        for file in [
            "Terraform-Provider-Crane_2.0.0_darwin_arm64.zip",
            "terraform-provider-crane_1.0.0_linux_amd64.zip",
            "terraform-provider-crane_1.x_linux_amd64.zip",
            "terraform-provider-ferry_1.0.0_linux_amd64.zip",
            "1.1.0/linux_amd64",
        ] {
            std::fs::write(folder.join(file), "").unwrap();
        }
        let found = search(root.path(), &crane).unwrap();
        let versions: Vec<String> = found.keys().map(ToString::to_string).collect();
        assert_eq!(versions, ["1.0.0", "2.0.0"]);
        let linux: Platform = "linux_amd64".parse().unwrap();
        assert_eq!(found[&"1.0.0".parse().unwrap()][&linux], Location::Unpacked(folder.join("1.0.0/linux_amd64")));
        assert!(search(root.path(), &source::parse("weft.test/port/none").unwrap()).unwrap().is_empty());
        assert!(search(&root.path().join("none"), &crane).is_err());
    }

    #[test]
    fn a_program_with_a_longer_name_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let aws = source::parse("aws").unwrap();
        std::fs::write(folder.path().join("terraform-provider-awscc_v1.0.0"), "").unwrap();
        assert_eq!(program(folder.path(), &aws).unwrap(), None);
        std::fs::write(folder.path().join("terraform-provider-aws_v1.0.0_x5"), "").unwrap();
        assert!(program(folder.path(), &aws).unwrap().is_some());
    }
}
