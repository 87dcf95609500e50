//! `init` for providers: which version of each, from where, into the data directory and the lock file.
//!
//! First every provider's version is settled; only if that went well for all is anything installed. A version that is
//! locked stays as long as the constraints allow it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use weft_graph_format::address::ProviderSource;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};

use crate::archive;
use crate::checksum::{self, Checksum};
use crate::cli_config::{CliConfig, Environment, Method, MethodKind};
use crate::constraint::Constraints;
use crate::lock_file::{Lock, LockFile};
use crate::mirror::{self, Found, Location};
use crate::packages::{self, FOLDER, Package, PackageProblem, Requirements};
use crate::platform::Platform;
use crate::version::Version;

/// Types of the built-in namespace that there are.
const BUILT_IN: [&str; 1] = ["terraform"];

/// Installs the packages that a configuration needs.
#[derive(Clone, Debug)]
pub struct Installer {
    methods: Vec<Method>,
    overrides: BTreeMap<ProviderSource, PathBuf>,
    data_directory: PathBuf,
    pub(crate) platform: Platform,
}

/// Something worth telling while installing; printed as `init` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstallEvent {
    /// Nothing to do.
    BuiltIn(ProviderSource),
    /// The version is locked.
    Reusing(ProviderSource),
    /// A version is looked for.
    Finding(ProviderSource, Constraints),
    /// The package is there.
    AlreadyInstalled(ProviderSource, Version),
    /// The package is about to be installed.
    Installing(ProviderSource, Version),
    /// The package is installed.
    Installed(ProviderSource, Version),
}

impl fmt::Display for InstallEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstallEvent::BuiltIn(source) => write!(f, "- {} is built in to Weft", source.for_display()),
            InstallEvent::Reusing(source) => {
                write!(f, "- Reusing previous version of {} from the dependency lock file", source.for_display())
            }
            InstallEvent::Finding(source, constraints) if constraints.is_any() => {
                write!(f, "- Finding latest version of {}...", source.for_display())
            }
            InstallEvent::Finding(source, constraints) => {
                write!(f, "- Finding {} versions matching \"{constraints}\"...", source.for_display())
            }
            InstallEvent::AlreadyInstalled(source, version) => {
                write!(f, "- Using previously-installed {} v{version}", source.for_display())
            }
            InstallEvent::Installing(source, version) => {
                write!(f, "- Installing {} v{version}...", source.for_display())
            }
            InstallEvent::Installed(source, version) => {
                write!(f, "- Installed {} v{version} (unauthenticated)", source.for_display())
            }
        }
    }
}

/// What an installation came to.
#[derive(Clone, Debug)]
pub struct Installation {
    /// The selections, to be [settled](settle) when there are no errors.
    pub lock: LockFile,
    /// What was installed or was there already.
    pub packages: BTreeMap<ProviderSource, Package>,
    /// All that went wrong.
    pub diagnostics: Vec<Diagnostic>,
}

/// Whether the lock file may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// As needed.
    Update,
    /// `-lockfile=readonly`.
    ReadOnly,
}

impl LockMode {
    /// What the value of `-lockfile` means. OpenTofu takes any text, and heeds this one.
    pub fn from_flag(text: &str) -> LockMode {
        if text == "readonly" { LockMode::ReadOnly } else { LockMode::Update }
    }
}

/// What became of the lock file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockOutcome {
    /// It says already what it should.
    Unchanged,
    /// There was none.
    Created,
    /// It was changed.
    Updated,
    /// It may not be written, or could not.
    NotSaved,
}

/// Writes the new selections if they differ from the old ones and that is allowed.
pub fn settle(path: &Path, old: &LockFile, new: &LockFile, mode: LockMode) -> (LockOutcome, Vec<Diagnostic>) {
    if old.selects_the_same(new) {
        return (LockOutcome::Unchanged, Vec::new());
    }
    if mode == LockMode::ReadOnly {
        let diagnostic = if old.same_providers(new) {
            Diagnostic::warning(
                "Provider lock file not updated",
                "Changes to the provider selections were detected, but not saved in the .terraform.lock.hcl file. To \
                 record these selections, run \"weft init\" without the \"-lockfile=readonly\" flag.",
            )
        } else {
            Diagnostic::error(
                "Provider dependency changes detected",
                "Changes to the required provider dependencies were detected, but the lock file is read-only. To use \
                 and record these requirements, run \"weft init\" without the \"-lockfile=readonly\" flag.",
            )
        };
        return (LockOutcome::NotSaved, vec![diagnostic]);
    }
    let outcome = if path.exists() { LockOutcome::Updated } else { LockOutcome::Created };
    match new.save(path) {
        Ok(()) => (outcome, Vec::new()),
        Err(error) => {
            let detail = format!("The dependency lock file {} cannot be written: {error}.", path.display());
            (LockOutcome::NotSaved, vec![Diagnostic::error("Failed to save dependency lock file", detail)])
        }
    }
}

/// A reminder that overrides are at work; none when there are none.
pub fn override_warning(overrides: &BTreeMap<ProviderSource, PathBuf>) -> Option<Diagnostic> {
    if overrides.is_empty() {
        return None;
    }
    let list: String =
        overrides.iter().map(|(source, path)| format!("\n - {} in {}", source.for_display(), path.display())).collect();
    let detail = format!(
        "The following provider development overrides are set in the CLI configuration:{list}\n\nThese providers are \
         neither installed nor locked, and their versions are not checked. Applying with them may make the state \
         incompatible with published releases."
    );
    Some(Diagnostic::warning("Provider development overrides are in effect", detail))
}

/// A version to be installed.
pub(crate) struct Choice<'a> {
    source: &'a ProviderSource,
    constraints: &'a Constraints,
    pub(crate) version: Version,
    pub(crate) location: Location,
    /// Checksums that the lock file has for this very version.
    locked: BTreeSet<Checksum>,
}

impl Installer {
    /// An installer over the methods that the CLI configuration has; `plugin_directories` (`-plugin-dir`) take the
    /// place of all of them. Without either: the implied local directories, and the registry for what they lack.
    pub fn new(
        config: &CliConfig,
        environment: &Environment,
        plugin_directories: &[PathBuf],
        data_directory: impl Into<PathBuf>,
    ) -> Installer {
        let mirror = |path: &PathBuf| Method::for_all(MethodKind::FilesystemMirror(path.clone()));
        let methods = if !plugin_directories.is_empty() {
            plugin_directories.iter().map(mirror).collect()
        } else if let Some(methods) = &config.installation {
            methods.clone()
        } else {
            let implied = environment.implied_directories();
            let direct = Method::for_all(MethodKind::Direct);
            implied.iter().filter(|path| path.is_dir()).map(mirror).chain([direct]).collect()
        };
        Installer {
            methods,
            overrides: config.dev_overrides.clone(),
            data_directory: data_directory.into(),
            platform: Platform::current(),
        }
    }

    /// Installs what is required. `upgrade` selects anew where a version is locked. Nothing is written outside of the
    /// data directory: the lock is the caller's to [settle].
    pub fn install(
        &self,
        requirements: &Requirements,
        lock: &LockFile,
        upgrade: bool,
        report: &mut dyn FnMut(InstallEvent),
    ) -> Installation {
        let mut choices = Vec::new();
        let mut diagnostics = Vec::new();
        for (source, constraints) in requirements {
            match self.choose(source, constraints, lock, upgrade, report) {
                Ok(choice) => choices.extend(choice),
                Err(diagnostic) => diagnostics.push(*diagnostic),
            }
        }
        let mut installation = Installation { lock: lock.clone(), packages: BTreeMap::new(), diagnostics };
        if has_errors(&installation.diagnostics) {
            return installation;
        }
        let mut selections = LockFile::default();
        for choice in choices {
            match self.install_one(&choice, report) {
                Ok((package, checksum)) => {
                    let mut checksums = choice.locked;
                    checksums.insert(checksum);
                    let constraints = choice.constraints.clone();
                    let selection = Lock { version: choice.version, constraints, checksums };
                    selections.providers.insert(choice.source.clone(), selection);
                    installation.packages.insert(choice.source.clone(), package);
                }
                Err(problem) => {
                    let (name, version) = (choice.source.for_display(), &choice.version);
                    let detail = format!("Error while installing {name} v{version}: {problem}");
                    installation.diagnostics.push(Diagnostic::error("Failed to install provider", detail));
                }
            }
        }
        if !has_errors(&installation.diagnostics) {
            installation.lock = selections;
        }
        installation
    }

    /// Settles the version of one provider; none when there is nothing to install.
    pub(crate) fn choose<'a>(
        &self,
        source: &'a ProviderSource,
        constraints: &'a Constraints,
        lock: &LockFile,
        upgrade: bool,
        report: &mut dyn FnMut(InstallEvent),
    ) -> Result<Option<Choice<'a>>, Box<Diagnostic>> {
        let name = source.for_display();
        if source.is_builtin() {
            let refused = |reason: String| {
                let detail = format!("Cannot use {name}: {reason}.");
                Err(Box::new(Diagnostic::error("Invalid dependency on built-in provider", detail)))
            };
            if !BUILT_IN.contains(&source.type_name.as_str()) {
                return refused(format!("this Weft release has no built-in provider named \"{}\"", source.type_name));
            }
            if !constraints.is_any() {
                return refused("built-in providers do not support explicit version constraints".into());
            }
            report(InstallEvent::BuiltIn(source.clone()));
            return Ok(None);
        }
        if self.overrides.contains_key(source) {
            return Ok(None);
        }
        let unresolved = |reason: String| {
            let detail = format!("Could not resolve provider {name}: {reason}");
            Box::new(Diagnostic::error("Failed to resolve provider packages", detail))
        };
        let locked = if upgrade { None } else { lock.get(source) };
        match &locked {
            Some(locked) if !constraints.allow(&locked.version) => {
                return Err(unresolved(format!(
                    "locked provider {name} {} does not match configured version constraint {constraints}; must use \
                     weft init -upgrade to allow selection of new versions",
                    locked.version
                )));
            }
            Some(_) => report(InstallEvent::Reusing(source.clone())),
            None => report(InstallEvent::Finding(source.clone(), constraints.clone())),
        }
        let mut found = self.available(source, constraints).map_err(|reason| {
            let detail = format!("Could not retrieve the list of available versions for provider {name}: {reason}");
            Box::new(Diagnostic::error("Failed to query available provider packages", detail))
        })?;
        let version = match &locked {
            Some(locked) if found.contains_key(&locked.version) => locked.version.clone(),
            Some(locked) => {
                let version = &locked.version;
                return Err(unresolved(format!("the previously-selected version {version} is no longer available")));
            }
            None => constraints.newest(found.keys()).cloned().ok_or_else(|| {
                unresolved(format!("no available releases match the given constraints {constraints}"))
            })?,
        };
        let mut platforms = found.remove(&version).unwrap_or_default();
        let Some(location) = platforms.remove(&self.platform) else {
            let detail = format!(
                "Provider {name} v{version} does not have a package available for your current platform, {}. Other \
                 versions of this provider may have different platforms supported.",
                self.platform
            );
            return Err(Box::new(Diagnostic::error("Incompatible provider version", detail)));
        };
        // Checksums are of a version, also when it was selected anew.
        let same = lock.get(source).filter(|lock| lock.version == version);
        let locked = same.map(|lock| lock.known_checksums().cloned().collect()).unwrap_or_default();
        Ok(Some(Choice { source, constraints, version, location, locked }))
    }

    /// What all methods for a provider have together; of the same package the first method's.
    fn available(&self, source: &ProviderSource, constraints: &Constraints) -> Result<Found, String> {
        let mut all = Found::new();
        let mut searched = Vec::new();
        let mut unsupported = None;
        for method in self.methods.iter().filter(|method| method.covers(source)) {
            match &method.kind {
                MethodKind::FilesystemMirror(path) => {
                    for (version, platforms) in mirror::search(path, source).map_err(|e| e.to_string())? {
                        let known = all.entry(version).or_default();
                        for (platform, location) in platforms {
                            known.entry(platform).or_insert(location);
                        }
                    }
                    searched.push(path.display().to_string());
                }
                MethodKind::NetworkMirror(url) => unsupported = Some(format!("the network mirror {url}")),
                MethodKind::OciMirror => unsupported = Some("an OCI registry".to_owned()),
                MethodKind::Direct => unsupported = Some(format!("the registry {}", source.host)),
            }
        }
        // What a method that is not supported yet has matters only if the others do not suffice.
        match unsupported {
            Some(place) if constraints.newest(all.keys()).is_none() => Err(format!(
                "it would have to be downloaded from {place}, which Weft cannot do yet. Put its package into a \
                 filesystem mirror (for example with \"tofu providers mirror DIR\") and name that with -plugin-dir=DIR \
                 or in the provider_installation block of the CLI configuration"
            )),
            _ if all.is_empty() => {
                let places: String = searched.iter().map(|place| format!("\n  - {place}")).collect();
                Err(format!("provider {source} was not found in any of the search locations\n{places}"))
            }
            _ => Ok(all),
        }
    }

    /// Puts a package where it belongs, after comparing it with the lock file; with it the checksum to be locked.
    fn install_one(
        &self,
        choice: &Choice<'_>,
        report: &mut dyn FnMut(InstallEvent),
    ) -> Result<(Package, Checksum), InstallProblem> {
        let Choice { source, version, .. } = choice;
        let root = self.data_directory.join(FOLDER);
        let target = mirror::package_folder(&root, source, version, &self.platform);
        let package = |checksum: Checksum| -> Result<(Package, Checksum), InstallProblem> {
            let program = packages::program(source, &target)?;
            let (source, version, directory) = ((*source).clone(), Some(version.clone()), target.clone());
            Ok((Package { source, version, checksum: Some(checksum.clone()), directory, program }, checksum))
        };
        if !choice.locked.is_empty() && target.is_dir() {
            let checksum = checksum::of_directory(&target).ok().filter(|c| choice.locked.contains(c));
            if let Some(Ok(there)) = checksum.map(package) {
                report(InstallEvent::AlreadyInstalled((*source).clone(), version.clone()));
                return Ok(there);
            }
        }
        report(InstallEvent::Installing((*source).clone(), version.clone()));
        let checksum = match &choice.location {
            Location::Unpacked(folder) => {
                let checksum = checksum::of_directory(folder).map_err(PackageProblem::from)?;
                choice.accept(std::slice::from_ref(&checksum))?;
                // Before anything is replaced.
                packages::program(source, folder)?;
                link(folder, &target)?;
                checksum
            }
            Location::Packed(file) => {
                let checksum = archive::checksum(file).map_err(PackageProblem::from)?;
                let of_file = checksum::of_archive_file(file).map_err(PackageProblem::from)?;
                choice.accept(&[checksum.clone(), of_file])?;
                packages::unpack(file, &target)?;
                checksum
            }
        };
        let done = package(checksum)?;
        report(InstallEvent::Installed((*source).clone(), version.clone()));
        Ok(done)
    }
}

impl Choice<'_> {
    /// Compares a package's checksums with those locked; anything goes when none is.
    fn accept(&self, checksums: &[Checksum]) -> Result<(), InstallProblem> {
        if self.locked.is_empty() || checksums.iter().any(|checksum| self.locked.contains(checksum)) {
            return Ok(());
        }
        Err(InstallProblem::Mismatch { name: self.source.for_display(), version: self.version.clone() })
    }
}

/// Why a package is not installed.
#[derive(Debug, thiserror::Error)]
enum InstallProblem {
    #[error(
        "the local package for {name} {version} doesn't match any of the checksums previously recorded in the \
         dependency lock file (this might be because the available checksums are for packages targeting different \
         platforms); for more information: \
         https://opentofu.org/docs/language/files/dependency-lock/#checksum-verification"
    )]
    Mismatch { name: String, version: Version },
    #[error(transparent)]
    Package(#[from] PackageProblem),
}

/// Makes `target` stand for a package in a mirror: a link where the system has them, else a copy.
fn link(folder: &Path, target: &Path) -> Result<(), PackageProblem> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |error| PackageProblem::Io { path, error }
    };
    let folder = folder.canonicalize().map_err(io(folder))?;
    // The data directory itself may serve as a mirror.
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
