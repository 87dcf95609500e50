//! The parts of the environment that determine the sources of packages. They are collected in a value, so that tests
//! can replace the real environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use weft_providers::platform::Platform;

/// The names of the variables that are used, except tokens.
const NAMES: [&str; 14] = [
    "TF_CLI_CONFIG_FILE",
    "TERRAFORM_CONFIG",
    "TF_PLUGIN_CACHE_DIR",
    "TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE",
    "OPENTOFU_ENFORCE_GPG_VALIDATION",
    "OPENTOFU_ENFORCE_GPG_EXPIRATION",
    "HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_DATA_DIRS",
    "XDG_RUNTIME_DIR",
    "DOCKER_CONFIG",
    "PATH",
    "USERPROFILE",
];

/// The prefix of variables with tokens.
const TOKENS: &str = "TF_TOKEN_";

/// Variables, and the working directory.
#[derive(Clone, Default)]
pub struct ProcessEnvironment {
    variables: BTreeMap<String, OsString>,
    working_directory: PathBuf,
    /// The directory in which the process was started, before `-chdir`.
    launch_directory: PathBuf,
}

/// Hides values, which may be tokens.
impl std::fmt::Debug for ProcessEnvironment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&String> = self.variables.keys().collect();
        f.debug_struct("Environment").field("variables", &names).field("in", &self.working_directory).finish()
    }
}

impl ProcessEnvironment {
    /// The environment of this process, with the root module's directory as the working directory.
    pub fn of_process(working_directory: impl Into<PathBuf>) -> ProcessEnvironment {
        let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        let heeded = variables.filter(|(name, _)| NAMES.contains(&name.as_str()) || name.starts_with(TOKENS));
        let working_directory = working_directory.into();
        let launch_directory = working_directory.clone();
        ProcessEnvironment { variables: heeded.collect(), working_directory, launch_directory }
    }

    /// Sets the directory in which the process was started. If a variable names the configuration file by a relative
    /// path, the path starts at this directory.
    pub fn launched_in(self, launch_directory: impl Into<PathBuf>) -> ProcessEnvironment {
        ProcessEnvironment { launch_directory: launch_directory.into(), ..self }
    }

    /// A custom environment with this working directory and these variables.
    pub fn new(working_directory: impl Into<PathBuf>, variables: &[(&str, &Path)]) -> ProcessEnvironment {
        let variables = variables.iter().map(|(name, path)| ((*name).to_owned(), path.as_os_str().to_owned()));
        let working_directory = working_directory.into();
        let launch_directory = working_directory.clone();
        ProcessEnvironment { variables: variables.collect(), working_directory, launch_directory }
    }

    /// The directory to which relative paths are relative.
    pub fn working_directory(&self) -> &Path {
        &self.working_directory
    }

    /// The path in a variable. `None` if the variable is empty or not set.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.variables.get(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// The text of a variable, if it is not empty.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.variables.get(name)?.to_str().filter(|text| !text.is_empty())
    }

    /// Whether a variable is set to a value that does not mean false.
    pub fn is_on(&self, name: &str) -> bool {
        self.text(name).is_some_and(|text| !matches!(text, "0" | "false" | "FALSE" | "False"))
    }

    /// The variables with this prefix.
    pub(crate) fn with_prefix(&self, prefix: &str) -> impl Iterator<Item = (&str, &str)> {
        let texts = self.variables.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str()?)));
        texts.filter(move |(name, _)| name.starts_with(prefix))
    }

    fn data_directories(&self) -> Vec<PathBuf> {
        let home = || Some(self.path("HOME")?.join(".local/share"));
        let mut data: Vec<PathBuf> = self.path("XDG_DATA_HOME").or_else(home).into_iter().collect();
        match self.variables.get("XDG_DATA_DIRS").filter(|value| !value.is_empty()) {
            Some(list) => data.extend(std::env::split_paths(list)),
            None if cfg!(unix) => data.extend(["/usr/local/share".into(), "/usr/share".into()]),
            None => {}
        }
        data.retain(|directory| directory.is_absolute());
        data
    }

    /// The implied local directories, which are searched if no method is configured. The directory in the root module
    /// comes first.
    pub fn implied_directories(&self) -> Vec<PathBuf> {
        let mut directories = vec![self.working_directory.join("terraform.d/plugins")];
        directories.extend(self.path("HOME").map(|home| home.join(".terraform.d/plugins")));
        for directory in self.data_directories() {
            directories.push(directory.join("opentofu/plugins"));
            directories.push(directory.join("terraform/plugins"));
        }
        directories
    }

    /// The directories in which credentials helpers are searched.
    pub(crate) fn helper_directories(&self) -> Vec<PathBuf> {
        let mut directories: Vec<PathBuf> =
            self.path("HOME").map(|home| home.join(".terraform.d/plugins")).into_iter().collect();
        directories.extend(self.data_directories().iter().map(|data| data.join("opentofu/plugins")));
        let of_platform: Vec<PathBuf> =
            directories.iter().map(|directory| directory.join(Platform::current().to_string())).collect();
        directories.extend(of_platform);
        directories
    }

    /// The directory of user settings, such as `~/.config`.
    pub(crate) fn config_home(&self) -> Option<PathBuf> {
        self.path("XDG_CONFIG_HOME").or_else(|| Some(self.path("HOME")?.join(".config")))
    }

    /// The file with the tokens of logins.
    pub(crate) fn credentials_file(&self) -> Option<PathBuf> {
        let usual = self.path("HOME")?.join(".terraform.d");
        let other = self.path("XDG_CONFIG_HOME").filter(|_| !usual.exists()).map(|config| config.join("opentofu"));
        Some(other.unwrap_or(usual).join("credentials.tfrc.json"))
    }

    /// The CLI configuration file, and whether the user named it. A named file must exist.
    pub(crate) fn config_file(&self) -> Option<(PathBuf, bool)> {
        if let Some(named) = self.named_config_file() {
            return Some((self.launch_directory.join(named), true));
        }
        let home = self.path("HOME");
        let candidates = [
            home.as_ref().map(|home| home.join(".tofurc")),
            home.as_ref().map(|home| home.join(".terraformrc")),
            self.config_home().map(|config| config.join("opentofu/tofurc")),
        ];
        candidates.into_iter().flatten().find(|path| path.is_file()).map(|path| (path, false))
    }

    fn named_config_file(&self) -> Option<PathBuf> {
        self.path("TF_CLI_CONFIG_FILE").or_else(|| self.path("TERRAFORM_CONFIG"))
    }

    /// Additional configuration files, sorted by name. Empty if the user named a file.
    pub(crate) fn more_config_files(&self) -> Vec<PathBuf> {
        if self.named_config_file().is_some() {
            return Vec::new();
        }
        let usual = self.path("HOME").map(|home| home.join(".terraform.d")).filter(|folder| folder.is_dir());
        let Some(folder) = usual.or_else(|| Some(self.config_home()?.join("opentofu"))) else { return Vec::new() };
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        let is_config = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            (name.ends_with(".tfrc") || name.ends_with(".tfrc.json")) && path.is_file()
        };
        files.retain(is_config);
        files.sort();
        files
    }
}
