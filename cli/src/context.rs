//! The context in which a command runs: directories, workspace, and settings of the environment.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use smol_str::SmolStr;
use weft_evaluator::Environment;
use weft_evaluator::config::{CompiledModule, SourceFiles};
use weft_graph_format::diagnostic::Diagnostic;
use weft_registry::cli_config::{self, CliConfig};
use weft_sealing::Sealing;
use weft_state::remote::UnreleasedLocks;
use weft_state::{CopyNotices, Holder, SAVE_INTERVAL};

use crate::options::truth;
use crate::problems;

/// The workspace that always exists.
pub const DEFAULT_WORKSPACE: &str = "default";
/// The file with the name of the selected workspace, in the data directory.
const SELECTED: &str = "environment";
/// OpenTofu's variable for the time between two saves of a state, in seconds.
const PERSIST_INTERVAL: &str = "TF_STATE_PERSIST_INTERVAL";
/// Weft's variable for the time between two saves of a state, in seconds. The time has no lower limit.
const OWN_PERSIST_INTERVAL: &str = "WEFT_STATE_PERSIST_INTERVAL";

/// The CLI configuration, with its environment and its problems.
#[derive(Clone, Debug)]
pub struct CliSettings {
    /// The settings of the CLI configuration.
    pub config: CliConfig,
    /// The environment in which the CLI configuration was read.
    pub environment: cli_config::ProcessEnvironment,
    /// The problems of the CLI configuration.
    pub problems: Vec<Diagnostic>,
}

/// The root module of the current directory. Only the parts that determine the location and the encryption of the state
/// are loaded.
#[derive(Debug)]
pub struct RootAlone {
    /// The module, as far as it can be read.
    pub root: Arc<CompiledModule>,
    /// The source files, for messages.
    pub sources: SourceFiles,
    /// The problems that were found so far, including warnings.
    pub problems: Vec<Diagnostic>,
}

/// The context in which a command runs.
#[derive(Clone, Debug)]
pub struct Context {
    /// The directory where the command was started, before `-chdir`.
    pub launch_directory: PathBuf,
    /// The directory in `TF_DATA_DIR`, or `.terraform`.
    pub data_directory: PathBuf,
    /// Whether the environment allows questions.
    pub input: bool,
    /// Whether the environment disables hints about next commands.
    pub automation: bool,
    /// Whether the command needs a valid configuration even if it only reads a state, as OpenTofu's commands do.
    pub strict: bool,
    /// The encryption of states and plans, once it has been determined.
    pub sealed_by: Arc<OnceLock<Arc<Sealing>>>,
    /// The CLI configuration, once it has been read.
    pub cli: Arc<OnceLock<CliSettings>>,
    /// The root module alone, once it has been loaded: [`crate::root::root_alone`].
    pub root: Arc<OnceLock<RootAlone>>,
    /// Locks that could not be released, to be reported at the end.
    pub unreleased: UnreleasedLocks,
    /// Lost records of stores in front of backends, to be reported at the end.
    pub notices: CopyNotices,
    /// How often a state is saved during a run whose journal is only on this machine. `None` means only at the end.
    pub save_interval: Option<Duration>,
}

impl Context {
    /// Reads the environment. The current directory must be that of the root module.
    pub fn new(launch_directory: PathBuf, strict: bool) -> Context {
        let data = std::env::var_os("TF_DATA_DIR").filter(|text| !text.is_empty());
        Context {
            launch_directory,
            data_directory: data.map_or_else(|| PathBuf::from(".terraform"), PathBuf::from),
            input: environment("TF_INPUT").is_none_or(|text| truth(&text) != Some(false)),
            automation: environment("TF_IN_AUTOMATION").is_some(),
            strict,
            sealed_by: Arc::default(),
            cli: Arc::default(),
            root: Arc::default(),
            unreleased: UnreleasedLocks::default(),
            notices: CopyNotices::default(),
            save_interval: save_interval(environment(PERSIST_INTERVAL), environment(OWN_PERSIST_INTERVAL)),
        }
    }

    /// The selected workspace.
    ///
    /// # Errors
    /// Returns an error if the name is invalid.
    pub fn workspace(&self) -> Result<SmolStr, Diagnostic> {
        Ok(self.chosen_workspace()?.unwrap_or(SmolStr::new_static(DEFAULT_WORKSPACE)))
    }

    /// The workspace that the user or the environment has selected. `None` if nothing was selected.
    ///
    /// # Errors
    /// Returns an error if the name is invalid.
    pub fn chosen_workspace(&self) -> Result<Option<SmolStr>, Diagnostic> {
        let name = match environment("TF_WORKSPACE") {
            Some(name) if !is_workspace_name(&name) => return Err(problems::invalid_workspace_variable(&name)),
            Some(name) => name,
            None => std::fs::read_to_string(self.data_directory.join(SELECTED))
                .map(|text| text.trim().to_owned())
                .unwrap_or_default(),
        };
        if name.is_empty() {
            return Ok(None);
        }
        if !is_workspace_name(&name) {
            return Err(problems::invalid_workspace_name(&name));
        }
        Ok(Some(name.into()))
    }

    /// The part of the context that the evaluator needs.
    pub fn environment(&self, workspace: SmolStr, timestamp: String) -> Environment {
        Environment { workspace, timestamp, cwd: self.launch_directory.clone(), ..Environment::new(PathBuf::from(".")) }
    }

    /// The CLI configuration, and all of its problems.
    pub fn cli_settings(&self) -> &CliSettings {
        self.cli.get_or_init(|| {
            let directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
            let environment = cli_config::ProcessEnvironment::of_process(directory).launched_in(&self.launch_directory);
            let (config, problems) = CliConfig::load(&environment);
            CliSettings { config, environment, problems }
        })
    }

    /// The CLI configuration for commands that install packages or modules, with the errors that prevent an
    /// installation. All problems are reported separately, when a command begins.
    pub fn cli_config(&self) -> (CliConfig, cli_config::ProcessEnvironment, Vec<Diagnostic>) {
        let CliSettings { config, environment, problems } = self.cli_settings();
        let stops = |problem: &&Diagnostic| problem.is_error() && problem.code != cli_config::NO_PLUGIN_CACHE;
        let errors = problems.iter().filter(stops).cloned().collect();
        (config.clone(), environment.clone(), errors)
    }
}

/// The time between two saves of a state during a run; `None` if the state is saved only at the end. `theirs` is the
/// value of OpenTofu's variable: whole seconds. A value below the default counts as the default. `own` is the value of
/// Weft's variable, which takes precedence: seconds without a lower limit, or 0 to save only at the end.
fn save_interval(theirs: Option<String>, own: Option<String>) -> Option<Duration> {
    if let Some(seconds) = own.and_then(|text| text.parse().ok())
        && let Ok(interval) = Duration::try_from_secs_f64(seconds)
    {
        return (!interval.is_zero()).then_some(interval);
    }
    let theirs = theirs.and_then(|text| text.parse().ok()).map(Duration::from_secs);
    Some(theirs.unwrap_or(SAVE_INTERVAL).max(SAVE_INTERVAL))
}

/// Whether a workspace may have this name.
pub fn is_workspace_name(name: &str) -> bool {
    !name.is_empty()
        && name != "."
        && name != ".."
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.~$&+:=@".contains(&b))
}

/// Stores the selection of a workspace for later commands.
///
/// # Errors
/// Returns an error if the data directory cannot be written.
pub fn remember_workspace(data_directory: &Path, name: &str) -> Result<(), Diagnostic> {
    let written =
        std::fs::create_dir_all(data_directory).and_then(|()| std::fs::write(data_directory.join(SELECTED), name));
    written.map_err(|error| problems::workspace_not_selected(data_directory, &error))
}

/// An environment variable. `None` if it is unset or empty.
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

/// The user and the machine of this process. Other processes that wait for a lock of this process display both.
pub fn holder() -> Holder {
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let user = environment("USER").or_else(|| environment("LOGNAME")).unwrap_or_else(|| "unknown".to_owned());
    Holder { machine, process: std::process::id(), user }
}

/// The current time, in the format of plans.
pub fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The current time in milliseconds since 1970.
pub fn unix_ms() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default()
}

/// Whether a path is an accessible directory.
pub fn is_directory(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_saved_as_often_as_in_opentofu() {
        let of = |theirs: &str, own: &str| {
            let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            save_interval(given(theirs), given(own)).map(|interval| interval.as_millis())
        };
        assert_eq!(of("", ""), Some(20_000));
        assert_eq!(of("60", ""), Some(60_000));
        for least in ["1", "-60", "1m"] {
            assert_eq!(of(least, ""), Some(20_000), "{least}");
        }
        assert_eq!((of("60", "0.5"), of("60", "0"), of("60", "-1")), (Some(500), None, Some(60_000)));
    }
}
