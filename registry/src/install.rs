//! `init` for providers: selects versions, and installs packages into the data directory.
//!
//! First, the version of every provider is selected. Packages are installed only if a version was found for every
//! provider. Unless versions are upgraded, the locked version is selected. A locked version that the constraints do not
//! allow is an error. As in OpenTofu, the sources are queried even for a locked version. Several providers are queried
//! and fetched concurrently. Their events are reported in the order of providers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use futures::StreamExt as _;
use futures::stream;
use weft_graph_format::address::ProviderSource;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::version::Version;
use weft_providers::checksum::{self, Checksum};
use weft_providers::lock_file::{Lock, LockFile};
use weft_providers::mirror::{self, Location};
use weft_providers::packages::{self, FOLDER, Package, PackageProblem, Requirements};
use weft_providers::platform::Platform;

use crate::cli_config::{CliConfig, InstallationMethod, MethodKind, ProcessEnvironment};
use crate::fetched::{FetchProblem, Fetched, in_background};
use crate::install_event::InstallEvent;
use crate::offer::Authentication;
use crate::plugin_cache::{PluginCache, link, place};
use crate::problems;
use crate::select::{self, Choice};
use crate::sources::{Candidate, Network, Sources};

/// The maximum number of concurrent queries and downloads. More concurrency would not be faster, because all downloads
/// share the bandwidth.
const AT_A_TIME: usize = 4;

/// Installs the packages that a configuration needs.
#[derive(Clone, Debug)]
pub struct Installer {
    sources: Sources,
    overrides: BTreeMap<ProviderSource, PathBuf>,
    data_directory: PathBuf,
    cache: Option<PluginCache>,
    platform: Platform,
}

/// The outcome of an installation.
#[derive(Clone, Debug)]
pub struct Installation {
    /// The selections, to be [settled](crate::settle::settle) if there are no errors.
    pub lock: LockFile,
    /// The packages that were installed or already present.
    pub packages: BTreeMap<ProviderSource, Package>,
    /// The providers whose checksums are known for this platform only, in the order of providers.
    pub incomplete: Vec<ProviderSource>,
    /// All diagnostics.
    pub diagnostics: Vec<Diagnostic>,
}

/// A package that is selected, but not installed.
#[derive(Debug)]
pub struct Selected {
    /// The provider.
    pub source: ProviderSource,
    /// The selected version.
    pub version: Version,
    /// The platform of the package.
    pub platform: Platform,
    candidate: Candidate,
    network: Network,
}

impl Selected {
    /// Fetches the package, unless it is local.
    ///
    /// # Errors
    /// Returns an error if the package is not available, or if it does not match the checksum of its source.
    pub async fn fetch(&self) -> Result<Fetched, FetchProblem> {
        Fetched::of(self.candidate.clone(), &self.network.http).await
    }
}

/// The location of a package that need not be fetched.
enum PresentPackage {
    /// The final directory of the package.
    There(Package),
    /// The plugin cache. The final directory becomes a link to the package in the cache.
    Cached(Package),
}

/// A package in its final directory.
struct Placed {
    package: Package,
    /// Further checksums to lock, beside the package's own.
    trusted: BTreeSet<Checksum>,
    /// Whether the lock file will have checksums of this package only, and no checksums of the packages for other
    /// platforms. If so, the provider cannot be installed on other platforms.
    incomplete: bool,
}

impl Placed {
    /// A package that was just fetched, or that is in the cache.
    fn new(package: Package, trusted: BTreeSet<Checksum>, vouched: bool, locked: &BTreeSet<Checksum>) -> Placed {
        let own: BTreeSet<&Checksum> = trusted.iter().chain(&package.checksum).collect();
        let incomplete = !vouched && (locked.is_empty() || locked.iter().eq(own));
        Placed { package, trusted, incomplete }
    }
}

/// Why a package is not installed.
#[derive(Debug, thiserror::Error)]
enum InstallProblem {
    #[error(
        "the {place} package for {name} {version} doesn't match any of the checksums previously recorded in the \
         dependency lock file{hint}; for more information: \
         https://opentofu.org/docs/language/files/dependency-lock/#checksum-verification"
    )]
    Mismatch { name: String, version: Version, place: &'static str, hint: &'static str },
    #[error(transparent)]
    Fetch(#[from] FetchProblem),
    #[error(transparent)]
    Package(#[from] PackageProblem),
}

impl Installer {
    /// An installer with the methods of the CLI configuration. `plugin_directories` (`-plugin-dir`) replace all
    /// methods. Without configured methods and without `plugin_directories`, the implied local directories are used,
    /// and the registry for all other providers.
    pub fn new(
        config: &CliConfig,
        environment: &ProcessEnvironment,
        plugin_directories: &[PathBuf],
        data_directory: impl Into<PathBuf>,
    ) -> Installer {
        let mirror = |path: &PathBuf| InstallationMethod::for_all(MethodKind::FilesystemMirror(path.clone()));
        let methods = if !plugin_directories.is_empty() {
            plugin_directories.iter().map(mirror).collect()
        } else if let Some(methods) = &config.installation {
            methods.clone()
        } else {
            implied(environment)
        };
        Installer::over(methods, config, environment, data_directory)
    }

    /// An installer with only these methods.
    pub fn over(
        methods: Vec<InstallationMethod>,
        config: &CliConfig,
        environment: &ProcessEnvironment,
        data_directory: impl Into<PathBuf>,
    ) -> Installer {
        let cache = config.plugin_cache_dir.clone().map(|dir| PluginCache::new(dir, config.plugin_cache_may_break));
        Installer {
            sources: Sources::new(methods, Network::new(config, environment)),
            overrides: config.dev_overrides.clone(),
            data_directory: data_directory.into(),
            cache,
            platform: Platform::current(),
        }
    }

    /// Installs packages for this platform instead of the platform of this machine.
    #[must_use]
    pub fn on(mut self, platform: Platform) -> Installer {
        self.platform = platform;
        self
    }

    /// Uses this network instead of the network that the process's environment describes.
    #[must_use]
    pub fn with_network(mut self, network: Network) -> Installer {
        self.sources = self.sources.over(network);
        self
    }

    /// Installs the required providers. If `upgrade` is true, locked versions are ignored. Apart from temporary files,
    /// writes only to the data directory and the plugin cache. The caller updates the lock file
    /// ([`crate::settle::settle`]).
    pub async fn install(
        &self,
        requirements: &Requirements,
        lock: &LockFile,
        upgrade: bool,
        report: &mut dyn FnMut(InstallEvent),
    ) -> Installation {
        let (choices, diagnostics) = self.choose(requirements, lock, upgrade, report).await;
        let mut installation =
            Installation { lock: lock.clone(), packages: BTreeMap::new(), incomplete: Vec::new(), diagnostics };
        if has_errors(&installation.diagnostics) {
            return installation;
        }
        let mut placed = Vec::new();
        for choice in choices {
            let there = self.there(choice.source, &choice.version, &choice.locked).await;
            placed.push((choice, there));
        }
        let to_fetch = placed.iter().filter(|(_, there)| there.is_none()).map(|(choice, _)| self.fetch(choice));
        let mut fetched = stream::iter(to_fetch).buffered(AT_A_TIME);
        let mut selections = LockFile::default();
        for (choice, there) in &placed {
            let (source, version) = (choice.source.clone(), choice.version.clone());
            let done = match there {
                Some(PresentPackage::There(package)) => {
                    report(InstallEvent::AlreadyInstalled(source, version));
                    Ok(Placed { package: package.clone(), trusted: BTreeSet::new(), incomplete: false })
                }
                Some(PresentPackage::Cached(package)) => {
                    report(InstallEvent::FromCache(source, version));
                    let known = !choice.locked.is_empty();
                    Ok(Placed::new(package.clone(), BTreeSet::new(), known, &choice.locked))
                }
                None => {
                    report(InstallEvent::Installing(source.clone(), version.clone()));
                    let Some(done) = fetched.next().await else { continue };
                    done.map(|(placed, authentication)| {
                        report(InstallEvent::Installed(source, version, authentication));
                        placed
                    })
                }
            };
            match done {
                Ok(Placed { package, trusted, incomplete }) => {
                    installation.incomplete.extend(incomplete.then(|| choice.source.clone()));
                    let mut checksums = choice.locked.clone();
                    checksums.extend(trusted);
                    checksums.extend(package.checksum.clone());
                    let (version, constraints) = (choice.version.clone(), choice.constraints.clone());
                    selections.providers.insert(choice.source.clone(), Lock { version, constraints, checksums });
                    installation.packages.insert(choice.source.clone(), package);
                }
                Err(problem) => {
                    installation.diagnostics.push(problems::not_installed(choice.source, &choice.version, &problem));
                }
            }
        }
        if !has_errors(&installation.diagnostics) {
            installation.lock = selections;
        }
        installation
    }

    /// Selects versions as `init` does, and finds their packages.
    pub async fn select(
        &self,
        requirements: &Requirements,
        lock: &LockFile,
        upgrade: bool,
        report: &mut dyn FnMut(InstallEvent),
    ) -> (Vec<Selected>, Vec<Diagnostic>) {
        let (choices, problems) = self.choose(requirements, lock, upgrade, report).await;
        let selected = choices.into_iter().map(|choice| Selected {
            source: choice.source.clone(),
            version: choice.version,
            platform: self.platform.clone(),
            candidate: choice.candidate,
            network: self.sources.network().clone(),
        });
        (selected.collect(), problems)
    }

    /// Selects the version of each provider. Providers that need no package are omitted.
    async fn choose<'a>(
        &self,
        requirements: &'a Requirements,
        lock: &LockFile,
        upgrade: bool,
        report: &mut dyn FnMut(InstallEvent),
    ) -> (Vec<Choice<'a>>, Vec<Diagnostic>) {
        let (mut wanted, mut problems) = (Vec::new(), Vec::new());
        for (source, constraints) in requirements {
            match select::built_in(source, constraints) {
                Ok(true) => report(InstallEvent::BuiltIn(source.clone())),
                Ok(false) if self.overrides.contains_key(source) => {}
                Ok(false) => match select::wanted(source, constraints, lock, upgrade) {
                    Ok(one) => wanted.push(one),
                    Err(problem) => problems.push(problem),
                },
                Err(problem) => problems.push(problem),
            }
        }
        let mut answers = stream::iter(wanted.iter().map(|one| async move {
            let available = match self.sources.available(one.source).await {
                Ok(available) => available,
                Err(problem) => return (None, Err(select::not_listed(one.source, &problem))),
            };
            let warning = select::warning(one.source, &available);
            let chosen = async {
                let version = select::version(one, &available)?;
                let candidate =
                    select::candidate(&self.sources, one.source, &version, &self.platform, &available).await?;
                Ok((version, candidate))
            };
            (warning, chosen.await)
        }))
        .buffered(AT_A_TIME);
        let mut choices = Vec::new();
        for one in &wanted {
            report(match &one.fixed {
                Some(_) => InstallEvent::Reusing(one.source.clone()),
                None => InstallEvent::Finding(one.source.clone(), one.constraints.clone()),
            });
            let Some((warning, chosen)) = answers.next().await else { continue };
            warning.into_iter().for_each(|warning| report(InstallEvent::Warning(warning)));
            match chosen {
                Ok((version, candidate)) => {
                    // Locked checksums apply only if the selected version is the locked version.
                    let same = lock.get(one.source).filter(|lock| lock.version == version);
                    let locked = same.map(|lock| lock.known_checksums().cloned().collect()).unwrap_or_default();
                    let (source, constraints) = (one.source, one.constraints);
                    choices.push(Choice { source, constraints, version, candidate, locked });
                }
                Err(problem) => problems.push(problem),
            }
        }
        (choices, problems)
    }

    fn target(&self, source: &ProviderSource, version: &Version) -> PathBuf {
        mirror::package_folder(&self.data_directory.join(FOLDER), source, version, &self.platform)
    }

    /// A locked package that need not be fetched: it is already in its directory, or in the cache.
    async fn there(
        &self,
        source: &ProviderSource,
        version: &Version,
        locked: &BTreeSet<Checksum>,
    ) -> Option<PresentPackage> {
        let target = self.target(source, version);
        let (source, version, platform) = (source.clone(), version.clone(), self.platform.clone());
        let (locked, cache) = (locked.clone(), self.cache.clone());
        let there = in_background(move || -> Result<Option<PresentPackage>, PackageProblem> {
            if !locked.is_empty() && target.is_dir() {
                let checksum = checksum::of_directory(&target).ok().filter(|c| locked.contains(c));
                if let Some(Ok(there)) = checksum.map(|checksum| package(&source, &version, &target, checksum)) {
                    return Ok(Some(PresentPackage::There(there)));
                }
            }
            let Some(cache) = cache else { return Ok(None) };
            let _held = cache.lock(&source, &version, &platform);
            let Some((folder, checksum)) = cache.find(&source, &version, &platform, &locked) else { return Ok(None) };
            packages::program(&source, &folder)?;
            link(&folder, &target)?;
            Ok(Some(PresentPackage::Cached(package(&source, &version, &target, checksum)?)))
        });
        // An unusable cache is ignored.
        there.await.unwrap_or_else(|problem| {
            tracing::debug!("a package of the plugin cache is ignored: {problem}");
            None
        })
    }

    /// Fetches a package, checks it against the lock file, and puts it into its directory. Returns the package with the
    /// checksums to lock.
    async fn fetch(&self, choice: &Choice<'_>) -> Result<(Placed, Authentication), InstallProblem> {
        let is_local = matches!(choice.candidate, Candidate::Local(_));
        let fetched = Fetched::of(choice.candidate.clone(), &self.sources.network().http).await?;
        if !choice.locked.is_empty() && !fetched.own().any(|checksum| choice.locked.contains(checksum)) {
            let (place, hint) = if is_local {
                let hint =
                    " (this might be because the available checksums are for packages targeting different platforms)";
                ("local", hint)
            } else {
                ("current", "")
            };
            let (name, version) = (choice.source.for_display(), choice.version.clone());
            return Err(InstallProblem::Mismatch { name, version, place, hint });
        }
        let target = self.target(choice.source, &choice.version);
        let (source, version, platform) = (choice.source.clone(), choice.version.clone(), self.platform.clone());
        let (cache, locked) = (self.cache.clone(), choice.locked.clone());
        in_background(move || -> Result<_, PackageProblem> {
            // A package that is unpacked in a mirror is not copied, but linked.
            match (cache, &fetched.location) {
                (Some(cache), Location::Packed(file)) => {
                    let _held = cache.lock(&source, &version, &platform);
                    let folder = cache.folder(&source, &version, &platform);
                    packages::unpack(file, &folder)?;
                    packages::program(&source, &folder)?;
                    link(&folder, &target)?;
                }
                (_, location) => place(location, &source, &target)?,
            }
            let package = package(&source, &version, &target, fetched.h1.clone())?;
            let placed = Placed::new(package, fetched.trusted.clone(), fetched.vouched, &locked);
            Ok((placed, fetched.authentication.clone()))
        })
        .await
        .map_err(InstallProblem::Package)
    }
}

/// The default methods: the implied local directories that exist, and the registry for all other providers.
fn implied(environment: &ProcessEnvironment) -> Vec<InstallationMethod> {
    let directories: Vec<PathBuf> =
        environment.implied_directories().into_iter().filter(|directory| directory.is_dir()).collect();
    let mut direct = InstallationMethod::for_all(MethodKind::Direct);
    for directory in &directories {
        direct.exclude.extend(mirror::providers(directory).iter().map(crate::cli_config::SourcePattern::only));
    }
    let mirrors = directories.into_iter().map(|path| InstallationMethod::for_all(MethodKind::FilesystemMirror(path)));
    mirrors.chain([direct]).collect()
}

fn package(
    source: &ProviderSource,
    version: &Version,
    target: &std::path::Path,
    checksum: Checksum,
) -> Result<Package, PackageProblem> {
    let program = packages::program(source, target)?;
    let (source, version, directory) = (source.clone(), Some(version.clone()), target.to_owned());
    Ok(Package { source, version, checksum: Some(checksum), directory, program, files: None })
}
