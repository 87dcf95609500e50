//! Installs modules while the configuration is read. Each module must be fetched before its own calls are known.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tokio::runtime::Runtime;
use weft_evaluator::config::{ModulePlaces, ModuleRequest};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::module_source::{ModuleSource, RegistryModule, RemoteModule, clean, join};
use weft_graph_format::source::SourceRange;
use weft_graph_format::version::{Version, VersionConstraints};
use weft_registry::Network;
use weft_registry::modules::{ModuleFetcher, RegistryError, expand, shown};

use super::{FOLDER, ModuleManifest, ModuleRecord, constraints};
use crate::context::Context;
use crate::modules::problems;

/// The maximum number of symbolic links in a path, as in the operating system.
const MOST_LINKS: usize = 40;
/// How long an abandoned fetch may delay the end of the process.
const SHUTDOWN: std::time::Duration = std::time::Duration::from_millis(200);

/// A step of the installation of a module. `key` contains the names of the calls that lead to the module.
#[derive(Clone, Copy, Debug)]
pub enum InstallStep<'a> {
    /// The module is about to be downloaded.
    Download {
        /// The source address, with the version of a registry module.
        what: &'a str,
        key: &'a str,
    },
    /// The module is installed.
    Installed {
        key: &'a str,
        /// The directory of the module.
        directory: &'a str,
    },
}

/// Installs modules as the configuration calls them.
pub struct ModuleInstaller<'a> {
    context: &'a Context,
    /// Whether to install all modules again.
    upgrade: bool,
    /// Reports each step to the user.
    report: &'a dyn Fn(InstallStep<'_>),
    /// The modules that are installed so far.
    pub manifest: ModuleManifest,
    /// Whether a module could not be installed.
    pub failed: bool,
    fetching: Option<Fetching>,
}

/// The client that fetches modules. The first fetch creates the client.
struct Fetching {
    /// The runtime of the client. `None` only while the client is dropped.
    runtime: Option<Runtime>,
    fetcher: ModuleFetcher,
}

impl Drop for Fetching {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(SHUTDOWN);
        }
    }
}

/// The module that is being fetched.
#[derive(Clone, Copy)]
struct WantedModule<'a> {
    key: &'a str,
    /// The name, file and line of the call, for messages.
    called: &'a str,
    /// The header of the call.
    range: Option<&'a SourceRange>,
}

/// A fetched module.
struct Fetched {
    dir: String,
    version: Option<Version>,
}

impl<'a> ModuleInstaller<'a> {
    /// An installer that adds to the installed modules.
    ///
    /// # Errors
    /// Returns an error if the manifest cannot be read.
    pub fn new(
        context: &'a Context,
        upgrade: bool,
        report: &'a dyn Fn(InstallStep<'_>),
    ) -> Result<ModuleInstaller<'a>, Diagnostic> {
        let mut manifest = ModuleManifest::read(&context.data_directory)?;
        let (key, source, version) = (String::new(), String::new(), String::new());
        manifest.records.insert(String::new(), ModuleRecord { key, source, version, dir: ".".to_owned() });
        Ok(ModuleInstaller { context, upgrade, report, manifest, failed: false, fetching: None })
    }

    /// Fetches a module into the new directory `to`. Returns the directory of the module, which may be a subdirectory
    /// of `to`. A local module is not copied.
    ///
    /// # Errors
    /// Returns an error if the module cannot be fetched.
    pub fn fetch_alone(&mut self, source: &ModuleSource, to: &str) -> Result<String, Vec<Diagnostic>> {
        let wanted = WantedModule { key: "", called: "named by -from-module", range: None };
        let mut problems = Vec::new();
        let fetched = match source {
            ModuleSource::Registry(module) => {
                self.registry(module, &VersionConstraints::any(), wanted, to, &mut problems)
            }
            ModuleSource::Remote(module) => self.remote(module, wanted, to, &mut problems),
            ModuleSource::Local(path) => return Ok(path.clone()),
        };
        fetched.map(|fetched| fetched.dir).ok_or(problems)
    }

    fn fetching(&mut self) -> Result<&mut Fetching, Vec<Diagnostic>> {
        if self.fetching.is_none() {
            let directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
            let environment = weft_registry::ProcessEnvironment::of_process(directory);
            let (config, said) = weft_registry::CliConfig::load(&environment);
            if has_errors(&said) {
                return Err(said);
            }
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|error| vec![problems::no_runtime(&error)])?;
            let fetcher = ModuleFetcher::new(&Network::new(&config, &environment));
            self.fetching = Some(Fetching { runtime: Some(runtime), fetcher });
        }
        self.fetching.as_mut().ok_or_else(Vec::new)
    }

    /// Runs a future with the fetcher. `None` if the fetcher cannot be created, which is reported.
    fn run<T>(&mut self, problems: &mut Vec<Diagnostic>, task: impl AsyncFnOnce(&mut ModuleFetcher) -> T) -> Option<T> {
        match self.fetching() {
            Ok(Fetching { runtime: Some(runtime), fetcher }) => Some(runtime.block_on(task(fetcher))),
            Ok(_) => None,
            Err(said) => {
                problems.extend(said);
                None
            }
        }
    }

    /// Fetches a module from an address.
    fn remote(
        &mut self,
        module: &RemoteModule,
        wanted: WantedModule<'_>,
        to: &str,
        problems: &mut Vec<Diagnostic>,
    ) -> Option<Fetched> {
        let package = &module.package;
        if !wanted.key.is_empty() {
            (self.report)(InstallStep::Download { what: &shown(package), key: wanted.key });
        }
        let fetched = self.run(problems, async |fetcher| fetcher.fetch(package, Path::new(to)).await)?;
        if let Err(error) = fetched {
            problems.push(wanted.at(problems::module_not_fetched(wanted.called, &shown(package), &error)));
            return None;
        }
        inside(to, &module.subdir, wanted, problems).map(|dir| Fetched { dir, version: None })
    }

    /// Fetches the newest matching version of a module from a registry.
    fn registry(
        &mut self,
        module: &RegistryModule,
        constraints: &VersionConstraints,
        wanted: WantedModule<'_>,
        to: &str,
        problems: &mut Vec<Diagnostic>,
    ) -> Option<Fetched> {
        let (called, host) = (wanted.called, &module.host);
        let listed = match self.run(problems, async |fetcher| fetcher.versions(module).await)? {
            Ok(listed) => listed,
            Err(error) => {
                problems.push(wanted.at(match error {
                    RegistryError::NotFound => problems::unknown_module(host, &module.path(), called),
                    RegistryError::NoModule => problems::invalid_versions(host, called, &error),
                    error => problems::versions_unavailable(host, called, &error),
                }));
                return None;
            }
        };
        for text in &listed.unreadable {
            problems.push(wanted.at(problems::unreadable_version(&host, text, called)));
        }
        let (matching, newest) = constraints.select(&listed.versions);
        let Some(newest) = newest else {
            problems.push(wanted.at(problems::no_versions(&host, module, called)));
            return None;
        };
        let Some(version) = matching.cloned() else {
            problems.push(wanted.at(problems::no_matching_version(module, called, constraints, newest)));
            return None;
        };
        if !wanted.key.is_empty() {
            let what = format!("{} {version}", module.package());
            (self.report)(InstallStep::Download { what: &what, key: wanted.key });
        }
        let location = match self.run(problems, async |fetcher| fetcher.location(module, &version).await)? {
            Ok(location) => location,
            Err(error) => {
                problems.push(problems::location_unavailable(&host, module, &version, &error));
                return None;
            }
        };
        let fetched =
            self.run(problems, async |fetcher| fetcher.fetch_location(module, &location, Path::new(to)).await)?;
        if let Err(error) = fetched {
            problems.push(wanted.at(problems::version_not_fetched(&version, called, &error)));
            return None;
        }
        let dir = inside(to, location.subdir(), wanted, problems)?;
        Some(Fetched { dir, version: Some(version) })
    }

    /// Records a local module.
    fn local(&mut self, request: &ModuleRequest<'_>, path: &str, problems: &mut Vec<Diagnostic>) -> Option<Fetched> {
        if let Some((text, _)) = &request.version {
            let problem = problems::constraint_of_directory(request.name(), text);
            problems.push(problem.at(request.call_range.clone()));
        }
        let written = join(request.caller_dir, path);
        let dir = match without_links(&written) {
            Ok(dir) if Path::new(&dir).is_dir() => dir,
            found => {
                if let Some(problem) = self.escape(request) {
                    problems.push(problem);
                    return None;
                }
                let why = found.err().map_or_else(|| "it is not a directory".to_owned(), |error| error.to_string());
                problems.push(problems::directory_of_call_unreadable(&written, request.name(), &request.place(), &why));
                // As in OpenTofu, the module is reported as installed, but without a directory.
                (self.report)(InstallStep::Installed { key: &request.key(), directory: "" });
                self.note(request, String::new(), None);
                return None;
            }
        };
        Some(Fetched { dir, version: None })
    }

    /// The problem if a local path leads out of the package of its caller.
    fn escape(&self, request: &ModuleRequest<'_>) -> Option<Diagnostic> {
        let mut steps = vec![request.source.to_string()];
        let (_, mut caller) = request.path.0.split_last()?;
        let package = loop {
            // The root module is not in a package.
            let (_, above) = caller.split_last()?;
            let record = self.manifest.records.get(&caller.join("."))?;
            let source = ModuleSource::parse(&record.source).ok()?;
            if source.as_local().is_none() {
                break source;
            }
            steps.push(record.source.clone());
            caller = above;
        };
        let mut at = package.subdir().to_owned();
        for step in steps.iter().rev() {
            at = clean(&format!("./{at}/{step}"));
            if at == ".." || at.starts_with("../") {
                return Some(problems::source_leaves_package(&request.path, &shown(&package.package())));
            }
        }
        None
    }

    fn note(&mut self, request: &ModuleRequest<'_>, dir: String, version: Option<&Version>) {
        let (key, source) = (request.key(), request.source.to_string());
        let version = version.map(ToString::to_string).unwrap_or_default();
        self.manifest.records.insert(key.clone(), ModuleRecord { key, source, version, dir });
    }

    fn install(&mut self, request: &ModuleRequest<'_>, problems: &mut Vec<Diagnostic>) -> Option<String> {
        let constraints = constraints(request, problems)?;
        let (key, source) = (request.key(), request.source.to_string());
        let stays = !self.upgrade
            && self.manifest.records.get(&key).is_some_and(|record| {
                record.source == source && record.version().is_none_or(|version| constraints.allow(&version))
            });
        let folder: PathBuf = self.context.data_directory.join(FOLDER).join(&key);
        if !stays {
            self.manifest.forget(&key);
            match remove(&folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    problems.push(problems::module_not_removed(&folder, &key, &error));
                    return None;
                }
                _ => {}
            }
        } else if let Some(record) = self.manifest.records.get(&key) {
            if Path::new(&record.dir).is_dir() {
                return Some(record.dir.clone());
            }
            let _ = remove(&folder);
        }
        let called = format!("{:?} ({})", request.name(), request.place());
        let wanted = WantedModule { key: &key, called: &called, range: Some(request.call_range) };
        let to = folder.to_string_lossy();
        let fetched = match request.source {
            ModuleSource::Local(path) => self.local(request, path, problems)?,
            ModuleSource::Remote(module) => self.remote(module, wanted, &to, problems)?,
            ModuleSource::Registry(module) => self.registry(module, &constraints, wanted, &to, problems)?,
        };
        (self.report)(InstallStep::Installed { key: &key, directory: &fetched.dir });
        self.note(request, fetched.dir.clone(), fetched.version.as_ref());
        Some(fetched.dir)
    }
}

impl ModulePlaces for ModuleInstaller<'_> {
    fn place(&mut self, request: &ModuleRequest<'_>, problems: &mut Vec<Diagnostic>) -> Option<String> {
        let before = problems.len();
        let found = self.install(request, problems);
        self.failed |= has_errors(&problems[before..]);
        found
    }
}

impl WantedModule<'_> {
    fn at(&self, problem: Diagnostic) -> Diagnostic {
        match self.range {
            Some(range) => problem.at(range.clone()),
            None => problem,
        }
    }
}

/// The directory of the module within its package.
fn inside(package: &str, subdir: &str, wanted: WantedModule<'_>, problems: &mut Vec<Diagnostic>) -> Option<String> {
    let found = match expand(Path::new(package), subdir) {
        Ok(found) => found,
        Err(error) => {
            problems.push(wanted.at(problems::subdirectory_unresolved(wanted.called, &error)));
            return None;
        }
    };
    if found.is_dir() {
        return Some(found.to_string_lossy().into_owned());
    }
    problems.push(wanted.at(if subdir.is_empty() {
        problems::package_not_a_directory(wanted.called)
    } else {
        problems::no_subdirectory(wanted.called, subdir)
    }));
    None
}

/// Removes a link, or a directory with its contents.
fn remove(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

/// Resolves the links of a path. The result is relative unless a link leads to an absolute path.
fn without_links(path: &str) -> io::Result<String> {
    let mut done = if path.starts_with('/') { "/".to_owned() } else { String::new() };
    let mut pending: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
    let mut links = 0;
    while let Some(part) = pending.pop() {
        if part.is_empty() || part == "." {
            continue;
        }
        let next = join(&done, &part);
        if part == ".." || !fs::symlink_metadata(&next)?.is_symlink() {
            done = next;
            continue;
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(io::Error::other("the path contains too many symbolic links"));
        }
        let target = fs::read_link(&next)?.to_string_lossy().into_owned();
        if target.starts_with('/') {
            done = "/".to_owned();
        }
        pending.extend(target.split('/').rev().map(str::to_owned));
    }
    Ok(if done.is_empty() { ".".to_owned() } else { done })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(dir.path()).unwrap().to_string_lossy().into_owned();
        fs::create_dir_all(dir.path().join("a/b")).unwrap();
        std::os::unix::fs::symlink("a", dir.path().join("l")).unwrap();
        std::os::unix::fs::symlink("../l/b", dir.path().join("a/m")).unwrap();
        std::os::unix::fs::symlink("loop", dir.path().join("loop")).unwrap();
        let real = |path: &str| without_links(&format!("{top}/{path}"));
        assert_eq!(real("a/b").unwrap(), format!("{top}/a/b"));
        assert_eq!(real("l/b").unwrap(), format!("{top}/a/b"));
        assert_eq!(real("l/m").unwrap(), format!("{top}/a/b"));
        assert!(real("gone").is_err() && real("loop").is_err());
        assert_eq!(without_links(".").unwrap(), ".");
    }
}
