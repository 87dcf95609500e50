//! The location of state and runs: local files, a backend, or Redis.

mod coordinated;
mod opening;
mod problems;
mod redis;
mod workspaces;

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use smol_str::SmolStr;
use weft_backends::catalog::{self, BackendKind};
use weft_evaluator::config::CompiledModule;
use weft_graph_format::diagnostic::Diagnostic;
use weft_sealing::Sealing;
use weft_state::{Backup, CopyNotices, EmbeddedOptions, RedisServer, RemoteOptions};

use crate::backend::{FRONT, RemoteBackend, StateBackend, of_backend};
use crate::command::Invocation;
use crate::context::{Context, DEFAULT_WORKSPACE, environment, holder};
use crate::exit::Exit;
use crate::options::Arguments;
use crate::packages::require_locked;
use crate::root::root_alone;
use crate::runtime::block_on;
pub use coordinated::Coordinated;
pub use problems::{no_key, of_store as problem};
pub use workspaces::Workspaces;

/// The directory of runs.
pub const RUNS_FOLDER: &str = ".weft";
/// The directory in the data directory for files of runs with a remote state. These are journals if the state is in a
/// backend that cannot store journals, and write-ahead files if the state is in Redis.
const REMOTE_RUNS: &str = "weft";
/// The prefix of the path of a state file, in the record of a plan.
const LOCAL: &str = "local:";
/// The prefix of the settings of a backend, in the record of a plan.
const BACKEND: &str = "backend:";

/// The location of state and runs.
#[derive(Clone, Debug)]
pub enum StoreLocation {
    /// A state file, and a directory for runs.
    Embedded(Box<EmbeddedOptions>),
    /// A backend.
    Remote(Box<RemoteLocation>),
    /// A Redis server.
    Redis {
        /// The server, as `redis://HOST/DB?state=NAME`, and how to log in to it.
        server: Box<RedisServer>,
        /// The workspace.
        workspace: SmolStr,
        /// The encryption of the records in Redis.
        sealing: Arc<Sealing>,
        /// The directory of write-ahead files.
        folder: PathBuf,
        /// The list that receives notices about lost records.
        notices: CopyNotices,
        /// The second copy in the backend of the configuration, if there is one.
        copy: Option<Box<RemoteLocation>>,
    },
}

/// The state of a workspace in a backend.
#[derive(Clone, Debug)]
pub struct RemoteLocation {
    /// The backend.
    pub backend: RemoteBackend,
    /// The options for opening the state.
    pub options: RemoteOptions,
}

/// The purpose of opening the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To read state and runs without a lock.
    Read,
    /// To change state and runs.
    Change,
}

impl StoreLocation {
    /// The location that options, environment and configuration determine. Loads the configuration of the current
    /// directory, unless `root` is given.
    ///
    /// # Errors
    /// Returns problems of options, environment or configuration.
    pub fn find(
        context: &Context,
        arguments: &Arguments,
        root: Option<&CompiledModule>,
    ) -> Result<StoreLocation, Vec<Diagnostic>> {
        let workspace = context.workspace().map_err(|problem| vec![problem])?;
        let sealing = context.sealing(arguments, root)?;
        let file = arguments.text("state");
        if let Some(place) = named(context, arguments, &workspace, &sealing, &|| behind(context, arguments, root))? {
            return Ok(place);
        }
        if let Some(path) = file {
            return Ok(embedded(PathBuf::from(path), arguments, sealing));
        }
        let backend = match root {
            Some(root) => StateBackend::in_force(root, &context.data_directory)?,
            None => StateBackend::configured(context, arguments)?,
        };
        StoreLocation::of_backend(&backend, &workspace, context, arguments, sealing)
    }

    /// The location of the state of `workspace`, even if another workspace is selected.
    ///
    /// # Errors
    /// Returns problems of options, environment or configuration.
    pub fn of_workspace(
        context: &Context,
        arguments: &Arguments,
        workspace: &str,
    ) -> Result<StoreLocation, Vec<Diagnostic>> {
        let workspace = workspace.into();
        let sealing = context.sealing(arguments, None)?;
        if let Some(place) = named(context, arguments, &workspace, &sealing, &|| behind(context, arguments, None))? {
            return Ok(place);
        }
        let backend = StateBackend::configured(context, arguments)?;
        StoreLocation::of_backend(&backend, &workspace, context, arguments, sealing)
    }

    /// The location of the state of a workspace in a backend.
    ///
    /// # Errors
    /// Returns an error if the backend cannot have this workspace.
    pub fn of_backend(
        backend: &StateBackend,
        workspace: &SmolStr,
        context: &Context,
        arguments: &Arguments,
        sealing: Arc<Sealing>,
    ) -> Result<StoreLocation, Vec<Diagnostic>> {
        let remote = match backend {
            StateBackend::Local(local) => {
                // As in OpenTofu, a workspace exists as soon as a command needs its state.
                if *workspace != DEFAULT_WORKSPACE {
                    let _ = std::fs::create_dir_all(local.folder().join(workspace.as_str()));
                }
                return Ok(embedded(local.state_file(workspace), arguments, sealing));
            }
            StateBackend::Remote(remote) => remote,
        };
        let state = remote_state(remote, workspace, context, arguments, sealing)?;
        Ok(StoreLocation::Remote(Box::new(state)))
    }

    /// The location of the states of all workspaces.
    ///
    /// # Errors
    /// Returns problems of options, environment or configuration.
    pub fn workspaces(context: &Context, arguments: &Arguments) -> Result<Workspaces, Vec<Diagnostic>> {
        let Some(url) = store_url(arguments) else {
            return StateBackend::configured(context, arguments).map(Workspaces::Backend);
        };
        if let Some(backend) = StateBackend::at(&url)? {
            return Ok(Workspaces::Backend(backend));
        }
        let behind = match behind(context, arguments, None)? {
            StateBackend::Local(_) => None,
            backend @ StateBackend::Remote(_) => Some(backend),
        };
        Ok(Workspaces::Store { server: redis::server(arguments, url)?, behind })
    }

    /// The location that options and environment determine. If they determine none, the location that the plan records.
    ///
    /// # Errors
    /// Returns an error if the location of the state is unknown.
    pub fn of_plan(
        context: &Context,
        arguments: &Arguments,
        backend: &str,
        workspace: &SmolStr,
    ) -> Result<StoreLocation, Vec<Diagnostic>> {
        let sealing = context.sealing(arguments, None)?;
        let recorded = || match backend.strip_prefix(BACKEND) {
            Some(record) => RemoteBackend::of_record(record, &context.data_directory),
            None => Ok(StateBackend::default()),
        };
        if let Some(place) = named(context, arguments, workspace, &sealing, &recorded)? {
            return Ok(place);
        }
        if let Some(path) = arguments.text("state") {
            return Ok(embedded(PathBuf::from(path), arguments, sealing));
        }
        if backend.starts_with(BACKEND) {
            return match front_of(backend) {
                Some(front) => Err(vec![problems::state_not_named(&front)]),
                None => StoreLocation::of_backend(&recorded()?, workspace, context, arguments, sealing),
            };
        }
        let chosen = context.chosen_workspace().map_err(|problem| vec![problem])?;
        match backend.strip_prefix(LOCAL) {
            // The user has selected a workspace that differs from the workspace of the plan. The state of the selected
            // workspace is opened, and the lineage decides whether the plan belongs to this state.
            Some(_) if chosen.is_some_and(|chosen| chosen != *workspace) => {
                StoreLocation::find(context, arguments, None)
            }
            Some(path) => Ok(embedded(PathBuf::from(path), arguments, sealing)),
            None if backend.is_empty() => StoreLocation::find(context, arguments, None),
            None => Err(vec![problems::state_not_named(backend)]),
        }
    }

    /// The store for a command that changes the state outside of runs. Processes that wait for the lock show
    /// `operation`. With `dated`, each previous state is saved in its own file, unless `-backup=PATH` names the file.
    ///
    /// # Errors
    /// Returns the exit code. The problems have been reported.
    pub fn for_edit(invocation: &Invocation<'_>, operation: &str, dated: bool) -> Result<StoreLocation, Exit> {
        let Invocation { context, arguments, .. } = invocation;
        let mut place = StoreLocation::find(context, arguments, None).map_err(|problems| invocation.fail(&problems))?;
        require_locked(context).map_err(|problems| invocation.fail(&problems))?;
        place.check_version(invocation)?;
        if let StoreLocation::Remote(remote) = &mut place {
            operation.clone_into(&mut remote.options.operation);
        }
        if let StoreLocation::Embedded(options) = &mut place {
            operation.clone_into(&mut options.operation);
            // For commands with dated backups, `-backup=-` means the default, which is a dated backup.
            if dated && matches!(options.backup, Backup::Beside | Backup::Never) {
                options.backup = Backup::Dated;
            }
            if invocation.command.words == ["state", "mv"] {
                options.state_out = None;
            }
        }
        Ok(place)
    }

    /// Checks that Weft may make and apply plans of this state. Some remote services carry out runs themselves.
    ///
    /// # Errors
    /// Returns an error if the service carries out runs itself, or if the request fails.
    pub async fn runs_here(&self) -> Result<(), Diagnostic> {
        let StoreLocation::Remote(remote) = self else { return Ok(()) };
        remote.options.state.runs_here().await.map_err(|error| of_backend(&error))
    }

    /// Checks that the service of the state knows the format of the states that Weft writes. With the option
    /// `-ignore-remote-version`, the problem is only a warning.
    ///
    /// # Errors
    /// Returns the exit code. The problems have been reported.
    pub fn check_version(&self, invocation: &Invocation<'_>) -> Result<(), Exit> {
        let StoreLocation::Remote(remote) = self else { return Ok(()) };
        let state = Arc::clone(&remote.options.state);
        let ignored = invocation.arguments.switch("ignore-remote-version", false);
        let found = block_on(async move { state.version_conflict(ignored).await });
        match found.and_then(|found| found.map_err(|error| of_backend(&error))) {
            Ok(None) => Ok(()),
            Ok(Some(warning)) if !warning.is_error() => {
                invocation.view.diagnostics(&[warning]);
                Ok(())
            }
            Ok(Some(problem)) | Err(problem) => Err(invocation.fail(&[problem])),
        }
    }

    /// The location of another state file.
    ///
    /// # Errors
    /// Returns problems of the encryption settings.
    pub fn other_file(
        invocation: &Invocation<'_>,
        path: PathBuf,
        backup: Option<&str>,
    ) -> Result<StoreLocation, Vec<Diagnostic>> {
        let sealing = invocation.context.sealing(&invocation.arguments, None)?;
        let mut place = embedded(path, &invocation.arguments, sealing);
        if let StoreLocation::Embedded(options) = &mut place {
            options.state_out = None;
            options.backup = backup_of(backup);
        }
        Ok(place)
    }

    /// The location as a plan records it, without secrets.
    pub fn words(&self) -> String {
        match self {
            StoreLocation::Embedded(options) => format!("{LOCAL}{}", options.state.display()),
            StoreLocation::Remote(remote) => format!("{BACKEND}{}", remote.backend.record(None)),
            StoreLocation::Redis { server, copy: None, .. } => server.shown(),
            StoreLocation::Redis { server, copy: Some(copy), .. } => {
                format!("{BACKEND}{}", copy.backend.record(Some(&server.shown())))
            }
        }
    }

    /// The location that a plan records. As in OpenTofu, if the backend is `local`, the plan records the state file of
    /// the backend, not the path of `-state`.
    pub fn recorded(&self, context: &Context, arguments: &Arguments, root: &CompiledModule) -> String {
        if let (StoreLocation::Embedded(_), Some(_)) = (self, arguments.text("state"))
            && let (Ok(workspace), Ok(StateBackend::Local(local))) =
                (context.workspace(), StateBackend::in_force(root, &context.data_directory))
        {
            return format!("{LOCAL}{}", local.state_file(&workspace).display());
        }
        self.words()
    }

    /// The directory of the journals of runs, if the state is in a backend that cannot store journals.
    pub fn journals_here(&self) -> Option<&Path> {
        match self {
            StoreLocation::Remote(remote) if remote.options.state.objects().is_none() => Some(&remote.options.folder),
            _ => None,
        }
    }

    /// The name of the state in policies: the name of a Redis store, or else the location.
    pub fn state_name(&self) -> String {
        match self {
            StoreLocation::Redis { server, .. } => server.state_name().unwrap_or_default(),
            _ => self.shown(),
        }
    }

    /// The location for display, without secrets.
    pub fn shown(&self) -> String {
        match self {
            StoreLocation::Embedded(options) => options.state.display().to_string(),
            StoreLocation::Remote(remote) => remote.options.state.place(),
            StoreLocation::Redis { server, .. } => server.shown(),
        }
    }
}

/// The location in a plan's record, for display.
pub fn place_words(recorded: &str) -> String {
    let Some(record) = recorded.strip_prefix(BACKEND) else { return recorded.to_owned() };
    let parsed: Option<serde_json::Value> = serde_json::from_str(record).ok();
    let kind = parsed.as_ref().and_then(|parsed| parsed.get("type")?.as_str());
    let backend = format!("the backend {:?}", kind.unwrap_or_default());
    match front_of(recorded) {
        Some(front) => format!("{front}, with a copy in {backend}"),
        None => backend,
    }
}

/// The store in front of the backend in a plan's record, without secrets.
fn front_of(recorded: &str) -> Option<String> {
    let record: serde_json::Value = serde_json::from_str(recorded.strip_prefix(BACKEND)?).ok()?;
    Some(record.get(FRONT)?.as_str()?.to_owned())
}

/// The location of the state of a workspace in a backend.
fn remote_state(
    remote: &RemoteBackend,
    workspace: &SmolStr,
    context: &Context,
    arguments: &Arguments,
    sealing: Arc<Sealing>,
) -> Result<RemoteLocation, Vec<Diagnostic>> {
    let state = remote.service.state(workspace).map_err(|error| vec![of_backend(&error)])?;
    let options = RemoteOptions {
        state,
        locks: arguments.switch("lock", true),
        lock_timeout: arguments.time("lock-timeout").unwrap_or(Duration::ZERO),
        operation: EmbeddedOptions::new("", holder()).operation,
        holder: holder(),
        sealing,
        folder: context.data_directory.join(REMOTE_RUNS),
        unreleased: context.unreleased.clone(),
        save_interval: context.save_interval,
    };
    Ok(RemoteLocation { backend: remote.clone(), options })
}

/// Whether options or environment select a backend. If so, the backend block of the configuration is ignored.
pub fn names_backend(arguments: &Arguments) -> bool {
    store_url(arguments).is_some_and(|url| StateBackend::at(&url).is_ok_and(|backend| backend.is_some()))
}

/// Whether options or environment select a store that is not a backend. If so, the backend of the configuration has the
/// second copy of the state, unless the backend is `local`.
pub fn names_store(arguments: &Arguments) -> bool {
    store_url(arguments).is_some() && !names_backend(arguments)
}

/// The address of the store in the options or the environment.
fn store_url(arguments: &Arguments) -> Option<String> {
    let url = arguments.value("store").map(str::to_owned).or_else(|| environment("WEFT_STORE"))?;
    (!url.is_empty() && url != "embedded").then_some(url)
}

/// The location of a workspace in the store that options or environment select. `None` if they select no store. If the
/// state is in Redis, `behind` returns the backend for its second copy.
fn named(
    context: &Context,
    arguments: &Arguments,
    workspace: &SmolStr,
    sealing: &Arc<Sealing>,
    behind: &dyn Fn() -> Result<StateBackend, Vec<Diagnostic>>,
) -> Result<Option<StoreLocation>, Vec<Diagnostic>> {
    let Some(url) = store_url(arguments) else { return Ok(None) };
    let (workspace, sealing) = (workspace.clone(), sealing.clone());
    if let Some(backend) = StateBackend::at(&url)? {
        return StoreLocation::of_backend(&backend, &workspace, context, arguments, sealing).map(Some);
    }
    let server = redis::server(arguments, url)?;
    let copy = match behind()? {
        StateBackend::Local(_) => None,
        StateBackend::Remote(remote) => {
            Some(Box::new(remote_state(&remote, &workspace, context, arguments, sealing.clone())?))
        }
    };
    let (folder, notices) = (context.data_directory.join(REMOTE_RUNS), context.notices.clone());
    Ok(Some(StoreLocation::Redis { server: Box::new(server), workspace, sealing, folder, notices, copy }))
}

/// The backend of the configuration, which stores the second copy if Redis stores the state. A backend that this build
/// does not support is ignored.
fn behind(
    context: &Context,
    arguments: &Arguments,
    root: Option<&CompiledModule>,
) -> Result<StateBackend, Vec<Diagnostic>> {
    let root = root.unwrap_or_else(|| &root_alone(context, arguments).root);
    match is_behind(root) {
        true => StateBackend::in_force(root, &context.data_directory),
        false => Ok(StateBackend::default()),
    }
}

/// Whether the configuration has a backend that can store the second copy of a state in Redis.
pub fn is_behind(root: &CompiledModule) -> bool {
    let written = root.settings.cloud.as_ref().or(root.settings.backend.as_ref());
    written.is_some_and(|block| catalog::kind(&block.kind) == BackendKind::Known)
}

fn embedded(state: PathBuf, arguments: &Arguments, sealing: Arc<Sealing>) -> StoreLocation {
    let mut options = EmbeddedOptions::new(state, holder());
    options.sealing = sealing;
    options.state_out = arguments.value("state-out").map(PathBuf::from);
    options.backup = backup_of(arguments.value("backup"));
    options.weft = runs_here(options.state_out.as_deref().unwrap_or(&options.state));
    options.lock_timeout = arguments.time("lock-timeout").unwrap_or(Duration::ZERO);
    options.network = environment("WEFT_ALLOW_NETWORK_STATE").is_some_and(|text| text == "1");
    StoreLocation::Embedded(Box::new(options))
}

/// The directory of runs, if the state file is inside the working directory. `None` if the state file is elsewhere. In
/// this case, the directory of runs is beside the state file.
fn runs_here(written: &Path) -> Option<PathBuf> {
    let inside = written.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    inside.then(|| PathBuf::from(RUNS_FOLDER))
}

/// The meaning of the option `-backup`.
fn backup_of(option: Option<&str>) -> Backup {
    match option {
        None | Some("") => Backup::Beside,
        Some("-") => Backup::Never,
        Some(path) => Backup::At(PathBuf::from(path)),
    }
}
