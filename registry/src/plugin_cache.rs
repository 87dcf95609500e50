//! The shared package cache of a user's projects (`plugin_cache_dir`). It has the layout of the packages in a data
//! directory. With such a cache, the packages in data directories are links to the cache.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use weft_graph_format::address::ProviderSource;
use weft_graph_format::version::Version;
use weft_providers::checksum::{self, Checksum};
use weft_providers::mirror::{self, Location};
use weft_providers::packages::{self, PackageProblem};
use weft_providers::platform::Platform;

/// A cache.
#[derive(Clone, Debug)]
pub(crate) struct PluginCache {
    root: PathBuf,
    may_break_lock: bool,
}

/// A lock on a package in the cache, for adding or using the package. Other processes wait until the lock is dropped.
pub(crate) struct CacheLock {
    _file: Option<File>,
}

impl PluginCache {
    /// A cache in this directory. If `may_break_lock` is true, the packages of the cache are accepted even if the lock
    /// file has no checksum for them.
    pub(crate) fn new(root: PathBuf, may_break_lock: bool) -> PluginCache {
        PluginCache { root, may_break_lock }
    }

    pub(crate) fn folder(&self, source: &ProviderSource, version: &Version, platform: &Platform) -> PathBuf {
        mirror::package_folder(&self.root, source, version, platform)
    }

    /// Locks this package of the cache until the result is dropped. Waits while another process has the lock. On a file
    /// system without locks, two processes may add the same package at the same time. This is harmless, because adding
    /// a package is atomic.
    pub(crate) fn lock(&self, source: &ProviderSource, version: &Version, platform: &Platform) -> CacheLock {
        let folder = self.folder(source, version, platform);
        let held = || -> std::io::Result<File> {
            let parent = folder.parent().unwrap_or(&self.root);
            fs::create_dir_all(parent)?;
            let file = File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(parent.join(format!(".{platform}.lock")))?;
            rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)?;
            Ok(file)
        };
        let file = held().inspect_err(|error| tracing::debug!("the plugin cache cannot be locked: {error}")).ok();
        CacheLock { _file: file }
    }

    /// The package, if it exists and the lock file has its checksum.
    pub(crate) fn find(
        &self,
        source: &ProviderSource,
        version: &Version,
        platform: &Platform,
        locked: &std::collections::BTreeSet<Checksum>,
    ) -> Option<(PathBuf, Checksum)> {
        let folder = self.folder(source, version, platform);
        if !folder.is_dir() || (locked.is_empty() && !self.may_break_lock) {
            return None;
        }
        let checksum = checksum::of_directory(&folder).ok()?;
        let known = locked.contains(&checksum);
        let do_for_any = self.may_break_lock && !locked.iter().any(|sum| sum.scheme() == "h1");
        (known || do_for_any).then_some((folder, checksum))
    }
}

/// Puts a package into its directory. If the package is unpacked, the directory becomes a link to the package.
pub(crate) fn place(location: &Location, source: &ProviderSource, target: &Path) -> Result<(), PackageProblem> {
    match location {
        Location::Packed(file) => packages::unpack(file, target),
        Location::Unpacked(folder) => {
            // The package is checked before anything is replaced.
            packages::program(source, folder)?;
            link(folder, target)
        }
    }
}

/// Makes `target` a link to a package, or a copy if the system has no links.
pub(crate) fn link(folder: &Path, target: &Path) -> Result<(), PackageProblem> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |error| PackageProblem::Io { path, error }
    };
    let folder = folder.canonicalize().map_err(io(folder))?;
    // The data directory itself may be the mirror.
    if target.canonicalize().is_ok_and(|there| there == folder) {
        return Ok(());
    }
    let parent = target.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(io(parent))?;
    packages::remove(target).map_err(io(target))?;
    #[cfg(unix)]
    if std::os::unix::fs::symlink(&folder, target).is_ok() {
        return Ok(());
    }
    copy(&folder, target).map_err(io(target))
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
