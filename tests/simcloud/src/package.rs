//! The plugin as a provider package in a filesystem mirror.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The source address of the provider.
pub const SOURCE: &str = "weft.test/sim/cloud";

/// The only version of the provider.
pub const VERSION: &str = "1.0.0";

/// The name of the built plugin, and the start of its name in a package.
pub const PLUGIN: &str = "terraform-provider-cloud";

/// How the plugin is placed in the package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// A copy: a later build changes neither the package nor its checksum in lock files.
    Copy,
    /// A symbolic link.
    Link,
}

/// Why the plugin is not installed.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// The plugin has not been built.
    #[error("{} is not there: build it first (cargo build -p weft-simcloud)", .0.display())]
    NotBuilt(PathBuf),
    /// A file operation failed.
    #[error("{}: {source}", path.display())]
    Write {
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// The platform as provider packages name it, such as `linux_amd64`.
pub fn platform() -> String {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let machine = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        other => other,
    };
    format!("{system}_{machine}")
}

/// The path of the plugin in a mirror.
pub fn plugin_path(mirror: &Path) -> PathBuf {
    mirror.join(SOURCE).join(VERSION).join(platform()).join(format!("{PLUGIN}_v{VERSION}"))
}

/// Installs a built plugin in a mirror, replacing an existing one, and returns its path. The last step is a rename:
/// processes that run the old program keep it, and no process sees an incomplete file.
pub fn install(plugin: &Path, mirror: &Path, placement: Placement) -> Result<PathBuf, PackageError> {
    let plugin = fs::canonicalize(plugin).map_err(|_| PackageError::NotBuilt(plugin.to_owned()))?;
    let target = plugin_path(mirror);
    let folder = target.parent().unwrap_or(mirror);
    let failed = |source| PackageError::Write { path: target.clone(), source };
    fs::create_dir_all(folder).map_err(failed)?;
    // Beside the directory of the package, because every file in that directory counts for the checksum.
    let beside = folder.parent().unwrap_or(mirror);
    let fresh = tempfile::TempDir::with_prefix_in(".new-", beside).map_err(failed)?;
    let staged = fresh.path().join(PLUGIN);
    match placement {
        Placement::Copy => fs::copy(&plugin, &staged).map(drop),
        Placement::Link => std::os::unix::fs::symlink(&plugin, &staged),
    }
    .and_then(|()| fs::rename(&staged, &target))
    .map_err(failed)?;
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_has_the_layout_of_a_mirror() {
        let folder = tempfile::tempdir().unwrap();
        let plugin = folder.path().join("built");
        let mirror = folder.path().join("mirror");
        assert!(matches!(install(&plugin, &mirror, Placement::Copy), Err(PackageError::NotBuilt(_))));
        fs::write(&plugin, "one").unwrap();
        let installed = install(&plugin, &mirror, Placement::Copy).unwrap();
        let end = format!("weft.test/sim/cloud/1.0.0/{}/terraform-provider-cloud_v1.0.0", platform());
        assert!(installed.ends_with(end), "{installed:?}");
        fs::write(&plugin, "two").unwrap();
        assert_eq!(fs::read_to_string(&installed).unwrap(), "one");
        install(&plugin, &mirror, Placement::Link).unwrap();
        assert_eq!(fs::read_to_string(&installed).unwrap(), "two");
        assert_eq!(fs::read_dir(installed.parent().unwrap()).unwrap().count(), 1);
        assert_eq!(fs::read_dir(mirror.join(SOURCE).join(VERSION)).unwrap().count(), 1);
    }
}
