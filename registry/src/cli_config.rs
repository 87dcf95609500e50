//! The settings in the CLI configuration file (`TF_CLI_CONFIG_FILE`, `~/.tofurc`, ...) and in additional files. The
//! settings are the sources of packages and modules, and the credentials for these sources.

mod deadlines;
mod method;
mod problems;
mod reader;
mod template;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use weft_graph_format::address::ProviderSource;
use weft_graph_format::diagnostic::Diagnostic;
use weft_providers::CallKind;

pub use crate::environment::ProcessEnvironment;
pub use method::{InstallationMethod, MethodKind, SourcePattern};
pub use problems::MirrorUrlProblem;
pub use reader::mirror_url;
pub use template::{RepositoryTemplate, TemplateError};

use crate::host::Host;
use crate::secret::SecretString;
use reader::Reader;

/// The maximum size of a configuration file.
const MAX_LENGTH: u64 = 16 * 1024 * 1024;

/// A program that provides tokens: `credentials_helper`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Helper {
    /// The name, without the prefix of the program.
    pub name: String,
    /// Arguments before `get HOST`.
    pub arguments: Vec<String>,
}

/// The settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CliConfig {
    /// `provider_installation`: the methods in order; `None` if no file has such a block.
    pub installation: Option<Vec<InstallationMethod>>,
    /// `dev_overrides`: directories that replace packages.
    pub dev_overrides: BTreeMap<ProviderSource, PathBuf>,
    /// `plugin_cache_dir`: a cache of packages for all projects.
    pub plugin_cache_dir: Option<PathBuf>,
    /// `plugin_cache_may_break_dependency_lock_file`: packages of the cache are accepted even without a checksum.
    pub plugin_cache_may_break: bool,
    /// `host` blocks: addresses of services, instead of discovery.
    pub hosts: BTreeMap<Host, BTreeMap<String, String>>,
    /// The tokens in `credentials` blocks and in the file with the tokens of logins.
    pub credentials: BTreeMap<Host, SecretString>,
    /// A `credentials_helper` block.
    pub credentials_helper: Option<Helper>,
    /// `registry_protocols`: settings of requests to registries.
    pub registry: RegistrySettings,
    /// `provider_deadlines` blocks: the time limits of calls to a provider, by kind.
    pub provider_deadlines: BTreeMap<ProviderSource, BTreeMap<CallKind, Duration>>,
    /// `oci_default_credentials`: other sources of credentials for OCI registries.
    pub oci_default_credentials: OciDefaults,
    /// `oci_credentials` blocks. The key is the registry, which may be followed by a slash and the prefix of the
    /// repository's name.
    pub oci_credentials: BTreeMap<String, OciCredentials>,
}

/// Settings of requests to registries; `None` means the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegistrySettings {
    /// The number of retries.
    pub retries: Option<u32>,
    /// The time limit of a request.
    pub timeout: Option<Duration>,
}

/// The sources of credentials for OCI registries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OciDefaults {
    /// Whether files and helpers of other programs are used.
    pub ambient: bool,
    /// Files in Docker's format, instead of the default ones.
    pub files: Option<Vec<PathBuf>>,
    /// The name of a helper program for all registries, without the prefix `docker-credential-`.
    pub helper: Option<String>,
}

impl Default for OciDefaults {
    fn default() -> OciDefaults {
        OciDefaults { ambient: true, files: None, helper: None }
    }
}

/// Credentials for an OCI registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OciCredentials {
    /// `username` and `password`
    Password {
        /// The user name.
        user: String,
        /// The password.
        password: SecretString,
    },
    /// `access_token` and `refresh_token`
    Token {
        /// The access token, which is sent unchanged.
        access: SecretString,
        /// The refresh token, which is exchanged for an access token.
        refresh: Option<SecretString>,
    },
    /// `docker_credentials_helper`: the name of a helper program, without the prefix `docker-credential-`.
    Helper(String),
}

/// The code of the error for a missing directory of the plugin cache. An installation creates the directory.
pub const NO_PLUGIN_CACHE: &str = "no-plugin-cache";

impl CliConfig {
    /// Reads the file that the environment names, or else the files at the default locations. Settings in the
    /// environment take precedence over settings in files.
    pub fn load(environment: &ProcessEnvironment) -> (CliConfig, Vec<Diagnostic>) {
        let mut reader = Reader::new(environment.working_directory());
        if let Some((path, named)) = environment.config_file() {
            match read(&path) {
                Ok(text) => reader.read_text(&text, &path),
                Err(error) if named => reader.report(problems::file_unreadable(&path, &error)),
                Err(_) => {}
            }
        }
        for path in environment.more_config_files() {
            match read(&path) {
                Ok(text) => reader.read_text(&text, &path),
                Err(error) => reader.report(problems::file_unreadable(&path, &error)),
            }
        }
        let (mut config, mut problems) = reader.finish();
        if let Some(cache) = environment.path("TF_PLUGIN_CACHE_DIR") {
            config.plugin_cache_dir = Some(environment.working_directory().join(cache));
        }
        config.plugin_cache_may_break |= environment.is_on("TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE");
        if let Some(cache) = config.plugin_cache_dir.as_ref().filter(|cache| !cache.is_dir()) {
            problems.push(problems::no_plugin_cache(cache).code(NO_PLUGIN_CACHE));
        }
        (config, problems)
    }

    /// Parses a file. Relative paths in it are relative to the working directory.
    pub fn parse(text: &str, file: &Path, working_directory: &Path) -> (CliConfig, Vec<Diagnostic>) {
        let mut reader = Reader::new(working_directory);
        reader.read_text(text, file);
        reader.finish()
    }
}

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
enum FileProblem {
    #[error("it has over {MAX_LENGTH} bytes")]
    TooLong,
    #[error("{0}")]
    Unreadable(#[from] std::io::Error),
}

fn read(path: &Path) -> Result<String, FileProblem> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.len() > MAX_LENGTH => return Err(FileProblem::TooLong),
        _ => {}
    }
    Ok(std::fs::read_to_string(path)?)
}

#[cfg(test)]
mod tests;
