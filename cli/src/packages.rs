//! Provider packages. Planning uses the installed packages. An apply finds its packages with the checksums in the plan.

mod problems;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use weft_evaluator::config::has_configuration;
use weft_executor::Packages;
use weft_graph_format::address::ProviderSource;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::plan_file::{Manifest, ProviderPackage};
use weft_planner::PluginSource;
use weft_providers::lock_file::{self, LockFile};
use weft_providers::packages::{self, FOLDER, Package, PackageProblem, Requirements};
use weft_providers::platform::Platform;
use weft_providers::{CallKind, Deadlines, Plugin, PoolOptions, SchemaCache, mirror};
use weft_registry::cli_config::MethodKind;
use weft_registry::settle;

use crate::backend::AllBackends;
use crate::context::{Context, environment};
use problems::OverrideProblem;

/// The directory in the data directory where packed packages from mirrors are unpacked for plans.
const UNPACKED: &str = "weft/packages";
/// The variable that limits the number of concurrent provider processes.
const MAX_PROVIDERS: &str = "WEFT_MAX_PROVIDERS";

/// The value of [`REATTACH`] without providers.
const NOTHING_ATTACHED: &str = "{}";
/// The variable that names running providers to which OpenTofu attaches.
pub const REATTACH: &str = "TF_REATTACH_PROVIDERS";

/// Packages that `init` has installed, for planning.
#[derive(Debug)]
pub struct InstalledPackages {
    packages: BTreeMap<ProviderSource, Package>,
    lock: LockFile,
}

impl InstalledPackages {
    /// Finds the packages for these requirements. The lock file must match the requirements, and the data directory
    /// must contain the locked packages.
    ///
    /// # Errors
    /// Returns missing and changed packages. `validating` selects the wording of the errors: for validation, or for
    /// planning.
    pub fn find(
        context: &Context,
        requirements: &Requirements,
        validating: bool,
    ) -> Result<(InstalledPackages, Vec<Diagnostic>), Vec<Diagnostic>> {
        InstalledPackages::find_with(context, requirements, &Requirements::new(), validating)
    }

    /// Like [`InstalledPackages::find`], with additional packages that only the state needs.
    ///
    /// # Errors
    /// Returns missing and changed packages. `validating` selects the wording of the errors: for validation, or for
    /// planning.
    pub fn find_with(
        context: &Context,
        requirements: &Requirements,
        of_state: &Requirements,
        validating: bool,
    ) -> Result<(InstalledPackages, Vec<Diagnostic>), Vec<Diagnostic>> {
        refuse_attached()?;
        let (config, ..) = context.cli_config();
        let (lock, mut said) = LockFile::load(Path::new(lock_file::FILE_NAME));
        if has_errors(&said) {
            return Err(said);
        }
        let all = with_state(requirements, of_state);
        let (packages, mut problems) =
            packages::check(&all, &lock, &context.data_directory, &config.dev_overrides, validating);
        // The lock file depends only on the configuration. If a provider that only the state needs is not locked, the
        // error is a missing package, not an outdated lock file.
        let of_state_alone = |source: &&ProviderSource| !requirements.contains_key(*source);
        let lost: Vec<ProviderSource> =
            problems.keys().filter(of_state_alone).filter(|source| lock.get(source).is_none()).cloned().collect();
        lost.iter().for_each(|source| drop(problems.remove(source)));
        // As in OpenTofu, every locked package must be installed, even if nothing uses it.
        let absent = packages::absent(&lock, &context.data_directory, &config.dev_overrides);
        problems.extend(absent.into_iter().filter(|(source, _)| !all.contains_key(source)));
        said.extend(if validating {
            packages::validate_diagnostics(&problems)
        } else {
            packages::plan_diagnostics(&problems, lock.providers.is_empty())
        });
        if has_errors(&said) {
            return Err(said);
        }
        if let Some(source) = lost.first() {
            said.push(problems::provider_of_state_missing(source));
            return Err(said);
        }
        said.extend(settle::override_warning(&config.dev_overrides));
        Ok((InstalledPackages { packages, lock }, said))
    }

    /// The installed packages for these requirements. A missing package is reported when it is first used.
    ///
    /// # Errors
    /// Returns an error if the lock file cannot be read.
    pub fn present(
        context: &Context,
        requirements: &Requirements,
    ) -> Result<(InstalledPackages, Vec<Diagnostic>), Vec<Diagnostic>> {
        let (config, ..) = context.cli_config();
        let (lock, mut said) = LockFile::load(Path::new(lock_file::FILE_NAME));
        if has_errors(&said) {
            return Err(said);
        }
        let (packages, _) = packages::check(requirements, &lock, &context.data_directory, &config.dev_overrides, false);
        said.extend(settle::override_warning(&config.dev_overrides));
        Ok((InstalledPackages { packages, lock }, said))
    }

    /// The plugins that planning can start.
    pub fn plugins(&self) -> PluginSource {
        let packages = self.packages.clone();
        Arc::new(move |source: &ProviderSource| match packages.get(source) {
            Some(package) => Ok(package.plugin(None)),
            None => Err(problems::provider_missing(source)),
        })
    }

    /// The packages in the form in which a plan records them. `used` selects the providers.
    pub fn of_plan(&self, used: &dyn Fn(&ProviderSource) -> bool) -> Vec<ProviderPackage> {
        let used = self.packages.values().filter(|package| used(&package.source));
        used.map(|package| {
            let locked = self.lock.get(&package.source);
            let mut hashes: Vec<String> =
                locked.iter().flat_map(|lock| lock.checksums.iter()).map(|sum| sum.as_str().to_owned()).collect();
            let checksum = package.checksum.as_ref().map(|sum| sum.as_str().to_owned()).unwrap_or_default();
            if !checksum.is_empty() && !hashes.contains(&checksum) {
                hashes.push(checksum.clone());
            }
            hashes.sort();
            ProviderPackage {
                source: package.source.clone(),
                version: package.version.as_ref().map(ToString::to_string).unwrap_or_default(),
                checksum,
                hashes,
            }
        })
        .collect()
    }
}

/// Refuses running providers to attach to.
fn refuse_attached() -> Result<(), Vec<Diagnostic>> {
    match environment(REATTACH) {
        Some(text) if text.trim() != NOTHING_ATTACHED => Err(vec![problems::attaching_unsupported(REATTACH)]),
        _ => Ok(()),
    }
}

/// The lock file, and the locked packages that are not in the data directory.
fn locked(context: &Context) -> Result<(LockFile, BTreeMap<ProviderSource, PackageProblem>), Vec<Diagnostic>> {
    let (config, ..) = context.cli_config();
    let (lock, problems) = LockFile::load(Path::new(lock_file::FILE_NAME));
    if has_errors(&problems) {
        return Err(problems);
    }
    let absent = packages::absent(&lock, &context.data_directory, &config.dev_overrides);
    Ok((lock, absent))
}

/// Checks that the locked packages are installed. Commands that read or change the state call this function. As in
/// OpenTofu, these commands need the packages even if they start no provider.
///
/// # Errors
/// Returns an error if a locked package is not in the data directory, or if the lock file cannot be read.
pub fn require_locked(context: &Context) -> Result<(), Vec<Diagnostic>> {
    let (_, absent) = locked(context)?;
    if absent.is_empty() { Ok(()) } else { Err(packages::plan_diagnostics(&absent, false)) }
}

/// The problems of the lock file that are known before variables get values. The packages themselves are not read.
///
/// # Errors
/// Returns an error if a locked package is not in the data directory, or if the lock file cannot be read.
pub fn unlocked(context: &Context, requirements: &Requirements) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    refuse_attached()?;
    let (config, ..) = context.cli_config();
    let (lock, absent) = locked(context)?;
    let lacking = packages::unlocked(requirements, &lock, &config.dev_overrides);
    match (lacking.is_empty(), absent.is_empty()) {
        (true, false) => Err(packages::plan_diagnostics(&absent, false)),
        _ => Ok(packages::plan_diagnostics(&lacking, lock.providers.is_empty())),
    }
}

/// Checks the lock file and the packages before a saved plan is applied or shown in the directory of a configuration.
/// As in OpenTofu, the lock file must have the providers of the plan, and the locked packages must be installed. In
/// other directories, a plan needs neither the lock file nor the locked packages, because the plan names its packages.
///
/// # Errors
/// Returns an error if locked packages are missing, or if the lock file cannot be read or lacks providers of the plan.
pub fn require_for_plan(context: &Context, manifest: &Manifest, applies: bool) -> Result<(), Vec<Diagnostic>> {
    if !has_configuration(Path::new(".")) {
        return Ok(());
    }
    let (lock, absent) = locked(context)?;
    if !absent.is_empty() {
        let lines: Vec<String> = absent.iter().map(|(source, problem)| format!("{source}: {problem}")).collect();
        return Err(vec![problems::packages_of_plan_missing(&lines)]);
    }
    let needs_lock = |package: &&ProviderPackage| !package.checksum.is_empty();
    let unlocked = |package: &&ProviderPackage| {
        let locked = lock.get(&package.source).map(|lock| lock.version.to_string());
        locked.is_none_or(|version| applies && version != package.version)
    };
    let lines: String = manifest
        .providers
        .iter()
        .filter(needs_lock)
        .filter(unlocked)
        .map(|package| format!("\n  - {}", package.source))
        .collect();
    match (lines.is_empty(), applies) {
        (true, _) => Ok(()),
        (false, true) => Err(vec![problems::plan_of_other_selections(&lines)]),
        (false, false) => Err(vec![problems::schemas_of_plan_missing(&lines)]),
    }
}

/// The combined requirements of a configuration and a state.
fn with_state(requirements: &Requirements, of_state: &Requirements) -> Requirements {
    let mut all = of_state.clone();
    all.extend(requirements.iter().map(|(source, constraints)| (source.clone(), constraints.clone())));
    all
}

/// The options for providers: the maximum number of processes, and the schema cache.
pub fn pool_options(context: &Context) -> PoolOptions {
    let usual = PoolOptions::default();
    let max_open = environment(MAX_PROVIDERS).and_then(|text| text.parse().ok()).filter(|n| *n > 0);
    PoolOptions {
        max_open: max_open.unwrap_or(usual.max_open),
        deadlines_of: deadlines(context),
        schema_cache: Arc::new(SchemaCache::on_disk(&context.data_directory)),
        // A command that reads states has already determined the encryption.
        sealing: context.sealed_by.get().cloned().unwrap_or_default(),
        states: Some(Arc::new(AllBackends)),
        ..usual
    }
}

/// The `provider_deadlines` of the CLI configuration, by plugin name. The search for packages reports problems of these
/// settings.
fn deadlines(context: &Context) -> BTreeMap<String, Deadlines> {
    let (config, ..) = context.cli_config();
    let of_source = |(source, limits): (&ProviderSource, &BTreeMap<CallKind, Duration>)| {
        let set = |deadlines: Deadlines, (kind, limit): (&CallKind, &Duration)| deadlines.with(*kind, *limit);
        (source.to_string(), limits.iter().fold(Deadlines::default(), set))
    };
    config.provider_deadlines.iter().map(of_source).collect()
}

/// Finds the packages that plans name. Searches the data directory, the directories that options name, and the
/// filesystem mirrors of the CLI configuration. If the CLI configuration has no installation methods, the implied
/// directories are searched instead of its mirrors.
pub struct PlannedPackages {
    mirrors: Vec<PathBuf>,
    overrides: BTreeMap<ProviderSource, PathBuf>,
    data_directory: PathBuf,
    found: Mutex<BTreeMap<(ProviderSource, String), Plugin>>,
}

impl PlannedPackages {
    /// A finder that also searches `directories`. The second result contains the problems of the CLI configuration.
    pub fn new(context: &Context, directories: &[PathBuf]) -> (PlannedPackages, Vec<Diagnostic>) {
        let (config, environment, problems) = context.cli_config();
        let mut mirrors = vec![context.data_directory.join(FOLDER)];
        mirrors.extend(directories.iter().cloned());
        match &config.installation {
            Some(methods) => mirrors.extend(methods.iter().filter_map(|method| match &method.kind {
                MethodKind::FilesystemMirror(path) => Some(path.clone()),
                _ => None,
            })),
            None => mirrors.extend(environment.implied_directories()),
        }
        let packages = PlannedPackages {
            mirrors,
            overrides: config.dev_overrides,
            data_directory: context.data_directory.clone(),
            found: Mutex::default(),
        };
        (packages, problems)
    }

    /// Checks that all packages of a plan are present and unchanged.
    ///
    /// # Errors
    /// Returns an error for each package that is missing or has changed.
    pub fn check(&self, manifest: &Manifest) -> Result<(), Vec<Diagnostic>> {
        let problems: Vec<Diagnostic> =
            manifest.providers.iter().filter_map(|package| self.find(package).err()).collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    fn look(&self, wanted: &ProviderPackage) -> Result<Package, Diagnostic> {
        let name = wanted.source.for_display();
        if wanted.checksum.is_empty() {
            let Some(directory) = self.overrides.get(&wanted.source) else {
                return Err(problems::override_missing(&name));
            };
            return overridden(&wanted.source, directory).map_err(|problem| problems::package_missing(&name, &problem));
        }
        let unreadable = |what: &str| problems::invalid_package_in_plan(&name, what);
        let version = wanted.version.parse().map_err(|_| unreadable("an invalid version"))?;
        let checksum = wanted.checksum.parse().map_err(|_| unreadable("an invalid checksum"))?;
        let into = self.data_directory.join(UNPACKED);
        packages::find(&wanted.source, &version, &checksum, &self.mirrors, &into).map_err(|problem| {
            let here = |root: &PathBuf| {
                mirror::search(root, &wanted.source).is_ok_and(|found| {
                    found.get(&version).is_some_and(|platforms| platforms.contains_key(&Platform::current()))
                })
            };
            match problem {
                PackageProblem::NotFound { .. } if self.mirrors.iter().any(here) => {
                    problems::package_changed(&name, &version, &checksum, &problem)
                }
                problem => problems::version_missing(&name, &version, &problem),
            }
        })
    }
}

fn overridden(source: &ProviderSource, directory: &Path) -> Result<Package, OverrideProblem> {
    let program = mirror::program(directory, source)?;
    let program = program.ok_or_else(|| OverrideProblem::NoProgram(directory.to_owned()))?;
    let program = std::path::absolute(program)?;
    Ok(Package {
        source: source.clone(),
        version: None,
        checksum: None,
        directory: directory.to_owned(),
        program,
        files: None,
    })
}

impl Packages for PlannedPackages {
    fn find(&self, wanted: &ProviderPackage) -> Result<Plugin, Diagnostic> {
        let key = (wanted.source.clone(), wanted.checksum.clone());
        // A known package had the correct checksum. The checksum is computed again if the file has changed since.
        let known = self.found.lock().get(&key).cloned();
        if let Some(known) = known.filter(|known| known.spec.files.as_ref().is_none_or(|files| files.are_unchanged())) {
            return Ok(known);
        }
        let plugin = self.look(wanted)?.plugin(None);
        self.found.lock().insert(key, plugin.clone());
        Ok(plugin)
    }
}
