//! Installed packages. Planning checks these packages before it starts a plugin, and a worker finds the exact package
//! that a plan names.

mod problems;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft_graph_format::address::ProviderSource;
use weft_graph_format::diagnostic::Diagnostic;

use crate::archive::{self, ArchiveError};
use crate::checksum::{self, Checksum, ChecksumError};
use crate::constraint::Constraints;
use crate::fingerprint::{Fingerprint, HashedFiles};
use crate::launch::LaunchSpec;
use crate::lock_file::{Lock, LockFile};
use crate::mirror::{self, Location};
use crate::platform::Platform;
use crate::pool::Plugin;
use weft_graph_format::version::Version;

/// The folder of packages in the data directory.
pub const FOLDER: &str = "providers";

/// Required providers, with the versions that are allowed.
pub type Requirements = BTreeMap<ProviderSource, Constraints>;

/// Adds a requirement of one module. All requirements must be met.
pub fn require(requirements: &mut Requirements, source: ProviderSource, constraints: &Constraints) {
    let sum = requirements.entry(source).or_default();
    *sum = sum.and(constraints);
}

/// A package whose program can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// The provider.
    pub source: ProviderSource,
    /// The version of the package; `None` for a development override.
    pub version: Option<Version>,
    /// The `h1` checksum of the package's files; `None` for a development override, which may change at any time.
    pub checksum: Option<Checksum>,
    /// The directory of the package's files.
    pub directory: PathBuf,
    /// The program of the package.
    pub program: PathBuf,
    /// The files that the checksum covers; `None` without a checksum.
    pub files: Option<Arc<HashedFiles>>,
}

impl Package {
    /// The plugin to start. It runs in `working_directory`, the root module's directory, so relative paths in its
    /// configuration begin there.
    pub fn plugin(&self, working_directory: Option<PathBuf>) -> Plugin {
        let mut spec = LaunchSpec::new(self.source.to_string(), self.program.clone());
        spec.working_directory = working_directory;
        spec.files = self.files.clone();
        Plugin { spec, checksum: self.checksum.as_ref().map(ToString::to_string) }
    }
}

/// Why there is no package to start.
#[derive(Debug, thiserror::Error)]
pub enum PackageProblem {
    /// `init` has not run since the requirement was added.
    #[error("required by this configuration but no version is selected")]
    NotLocked,
    /// Constraints have changed since `init`.
    #[error("locked version selection {locked} doesn't match the updated version constraints \"{constraints}\"")]
    LockedVersion {
        /// The selected version.
        locked: Version,
        /// The required versions.
        constraints: Constraints,
    },
    /// The package is not in the data directory.
    #[error("there is no package for {name} {version} cached in {folder}")]
    NotInstalled {
        /// The provider.
        name: String,
        /// The selected version.
        version: Version,
        /// The expected folder.
        folder: PathBuf,
    },
    /// The package has changed.
    #[error(
        "the cached package for {name} {version} (in {folder}) does not match any of the checksums recorded in the \
         dependency lock file"
    )]
    Changed {
        /// The provider.
        name: String,
        /// The selected version.
        version: Version,
        /// The folder of the package.
        folder: PathBuf,
    },
    /// There is no package with the checksum that a plan names.
    #[error(transparent)]
    NotFound(Box<NotFound>),
    /// The package has no program.
    #[error("provider binary not found: could not find executable file starting with terraform-provider-{0}")]
    NoProgram(String),
    /// The package cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ChecksumError),
    /// The package cannot be unpacked.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// A directory cannot be read or written.
    #[error("{path}: {error}")]
    Io {
        /// The path.
        path: PathBuf,
        /// The reason.
        error: std::io::Error,
    },
}

/// The package that a plan names, if it was not found.
#[derive(Debug, thiserror::Error)]
#[error("no package for {name} {version} with the checksum {checksum} was found in {}", places(.searched))]
pub struct NotFound {
    /// The provider.
    pub name: String,
    /// The required version.
    pub version: Version,
    /// The required checksum.
    pub checksum: Checksum,
    /// The directories that were searched.
    pub searched: Vec<PathBuf>,
}

fn places(paths: &[PathBuf]) -> String {
    paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// The packages for all requirements, and the problems of the providers whose packages cannot be used. Built-in
/// providers are skipped, because they have no package.
///
/// `data_directory` is usually `.terraform`. `overrides` are the development overrides, which need no lock. If
/// `validating` is true, the locked versions are used even if the constraints do not allow them.
pub fn check(
    requirements: &Requirements,
    lock: &LockFile,
    data_directory: &Path,
    overrides: &BTreeMap<ProviderSource, PathBuf>,
    validating: bool,
) -> (BTreeMap<ProviderSource, Package>, BTreeMap<ProviderSource, PackageProblem>) {
    let (mut packages, mut problems) = (BTreeMap::new(), BTreeMap::new());
    for (source, constraints) in requirements.iter().filter(|(source, _)| !source.is_builtin()) {
        let result = match overrides.get(source) {
            Some(directory) => overridden(source, directory),
            // Validation uses the locked version, whatever the current constraints are.
            None if validating => locked(source, &Constraints::any(), lock, data_directory),
            None => locked(source, constraints, lock, data_directory),
        };
        match result {
            Ok(package) => {
                packages.insert(source.clone(), package);
            }
            Err(problem) => {
                problems.insert(source.clone(), problem);
            }
        }
    }
    (packages, problems)
}

/// The requirements that the lock file does not satisfy, except those with development overrides.
pub fn unlocked(
    requirements: &Requirements,
    lock: &LockFile,
    overrides: &BTreeMap<ProviderSource, PathBuf>,
) -> BTreeMap<ProviderSource, PackageProblem> {
    let wanted = requirements.iter().filter(|(source, _)| !source.is_builtin() && !overrides.contains_key(*source));
    wanted
        .filter_map(|(source, constraints)| Some((source.clone(), selected(source, constraints, lock).err()?)))
        .collect()
}

/// The locked providers whose packages are not in the data directory, except those with development overrides. The
/// files of a package are not read.
pub fn absent(
    lock: &LockFile,
    data_directory: &Path,
    overrides: &BTreeMap<ProviderSource, PathBuf>,
) -> BTreeMap<ProviderSource, PackageProblem> {
    let root = data_directory.join(FOLDER);
    let locked = lock.providers.iter().filter(|(source, _)| !source.is_builtin() && !overrides.contains_key(*source));
    let absent = |(source, lock): (&ProviderSource, &Lock)| {
        let version = lock.version.clone();
        let folder = mirror::package_folder(&root, source, &version, &Platform::current());
        let missing = || PackageProblem::NotInstalled { name: source.for_display(), version, folder: root.clone() };
        (!folder.is_dir()).then(|| (source.clone(), missing()))
    };
    locked.filter_map(absent).collect()
}

fn overridden(source: &ProviderSource, directory: &Path) -> Result<Package, PackageProblem> {
    let (directory, program) = (directory.to_owned(), program(source, directory)?);
    Ok(Package { source: source.clone(), version: None, checksum: None, directory, program, files: None })
}

/// The entry of the lock file that satisfies these constraints.
fn selected<'a>(
    source: &ProviderSource,
    constraints: &Constraints,
    lock: &'a LockFile,
) -> Result<&'a Lock, PackageProblem> {
    let lock = lock.providers.get(source).ok_or(PackageProblem::NotLocked)?;
    if !constraints.allow(&lock.version) {
        let (locked, constraints) = (lock.version.clone(), constraints.clone());
        return Err(PackageProblem::LockedVersion { locked, constraints });
    }
    Ok(lock)
}

fn locked(
    source: &ProviderSource,
    constraints: &Constraints,
    lock: &LockFile,
    data_directory: &Path,
) -> Result<Package, PackageProblem> {
    let lock = selected(source, constraints, lock)?;
    let (name, version) = (source.for_display(), lock.version.clone());
    let root = data_directory.join(FOLDER);
    let folder = mirror::package_folder(&root, source, &version, &Platform::current());
    if !folder.is_dir() {
        return Err(PackageProblem::NotInstalled { name, version, folder: root });
    }
    let before = fingerprint(&folder)?;
    let checksum = checksum::of_directory(&folder)?;
    if lock.known_checksums().next().is_some() && !lock.checksums.contains(&checksum) {
        return Err(PackageProblem::Changed { name, version, folder: root });
    }
    let program = program(source, &folder)?;
    let files = Some(Arc::new(HashedFiles::new(before, checksum.clone())));
    let (version, checksum) = (Some(version), Some(checksum));
    Ok(Package { source: source.clone(), version, checksum, directory: folder, program, files })
}

/// The fingerprint of a package, to be taken before its files are hashed.
fn fingerprint(folder: &Path) -> Result<Fingerprint, PackageProblem> {
    Fingerprint::of(folder).map_err(|error| PackageProblem::Io { path: folder.to_owned(), error })
}

/// The program of an unpacked package. The path is absolute, because plugins run in the root module's directory.
///
/// # Errors
/// Returns an error if the package has no program.
pub fn program(source: &ProviderSource, folder: &Path) -> Result<PathBuf, PackageProblem> {
    let io = |error| PackageProblem::Io { path: folder.to_owned(), error };
    let program = mirror::program(folder, source).map_err(io)?;
    let program = program.ok_or_else(|| PackageProblem::NoProgram(source.type_name.to_string()))?;
    std::path::absolute(program).map_err(io)
}

/// The diagnostics of plan and apply for these problems. `nothing_locked` says that the lock file is missing or empty.
pub fn plan_diagnostics(problems: &BTreeMap<ProviderSource, PackageProblem>, nothing_locked: bool) -> Vec<Diagnostic> {
    let is_lock = |p: &PackageProblem| matches!(p, PackageProblem::NotLocked | PackageProblem::LockedVersion { .. });
    let lines = |prefix: &str, of_lock: bool| -> String {
        let listed = problems.iter().filter(|(_, problem)| is_lock(problem) == of_lock);
        listed.map(|(source, problem)| format!("\n  - {prefix}{}: {problem}", source)).collect()
    };
    let lock_lines = lines("provider ", true);
    if !lock_lines.is_empty() {
        return vec![problems::inconsistent_lock_file(&lock_lines, nothing_locked)];
    }
    if problems.is_empty() {
        return Vec::new();
    }
    vec![problems::plugins_missing(&lines("", false))]
}

/// The diagnostics of `validate`, which ignores constraints and puts the reason into the summary.
pub fn validate_diagnostics(problems: &BTreeMap<ProviderSource, PackageProblem>) -> Vec<Diagnostic> {
    problems
        .iter()
        .filter_map(|(source, problem)| match problem {
            PackageProblem::LockedVersion { .. } => None,
            PackageProblem::NotLocked => Some(problems::provider_missing(source)),
            problem @ PackageProblem::Changed { .. } => Some(problems::changed(source, problem)),
            problem => Some(problems::unusable(source, problem)),
        })
        .collect()
}

/// Searches these mirrors for the package that a plan names. A packed package is unpacked below `unpack_into`. Missing
/// mirrors are ignored.
pub fn find(
    source: &ProviderSource,
    version: &Version,
    wanted: &Checksum,
    mirrors: &[PathBuf],
    unpack_into: &Path,
) -> Result<Package, PackageProblem> {
    let platform = Platform::current();
    let package = |directory: PathBuf| -> Result<Option<Package>, PackageProblem> {
        let before = fingerprint(&directory)?;
        if checksum::of_directory(&directory)? != *wanted {
            return Ok(None);
        }
        let program = program(source, &directory)?;
        let files = Some(Arc::new(HashedFiles::new(before, wanted.clone())));
        let (version, checksum) = (Some(version.clone()), Some(wanted.clone()));
        Ok(Some(Package { source: source.clone(), version, checksum, directory, program, files }))
    };
    for root in mirrors {
        let Ok(mut found) = mirror::search(root, source) else { continue };
        let found = match found.remove(version).and_then(|mut platforms| platforms.remove(&platform)) {
            Some(Location::Unpacked(folder)) => package(folder)?,
            Some(Location::Packed(file)) if archive::checksum(&file)? == *wanted => {
                let target = mirror::package_folder(unpack_into, source, version, &platform);
                unpack(&file, &target)?;
                package(target)?
            }
            _ => None,
        };
        if let Some(found) = found {
            return Ok(found);
        }
    }
    Err(PackageProblem::NotFound(Box::new(NotFound {
        name: source.for_display(),
        version: version.clone(),
        checksum: wanted.clone(),
        searched: mirrors.to_vec(),
    })))
}

/// Unpacks an archive into a temporary folder, which then replaces the folder of the package.
///
/// # Errors
/// Returns an error if the archive is damaged, or the folder cannot be written.
pub fn unpack(file: &Path, target: &Path) -> Result<(), PackageProblem> {
    let parent = target.parent().unwrap_or(Path::new("."));
    let io = |path: &Path| {
        let path = path.to_owned();
        move |error| PackageProblem::Io { path, error }
    };
    fs::create_dir_all(parent).map_err(io(parent))?;
    // The name is not a platform, so that this directory is never mistaken for a package.
    let fresh = tempfile::Builder::new().prefix(".unpacking-").tempdir_in(parent).map_err(io(parent))?;
    archive::unpack(file, fresh.path())?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(fresh.path(), fs::Permissions::from_mode(0o755)).map_err(io(fresh.path()))?;
    }
    remove(target).map_err(io(target))?;
    fs::rename(fresh.path(), target).map_err(io(target))
}

/// Removes the folder of a package, or the link that replaces the folder.
///
/// # Errors
/// Returns an error if the folder or link exists and cannot be removed.
pub fn remove(target: &Path) -> std::io::Result<()> {
    match fs::symlink_metadata(target) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(target),
        Ok(_) => fs::remove_file(target),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
