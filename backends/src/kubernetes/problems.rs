//! Problems of the settings, and of the files and plugins that they name. Most messages are those of Kubernetes'
//! library.

use std::path::PathBuf;
use std::process::ExitStatus;

use weft_graph_format::diagnostic::Diagnostic;

use super::yaml::YamlProblem;

/// Why no cluster is found in the settings and the files that they name.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClusterProblem {
    /// No file and no variable names a cluster.
    #[error(
        "invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable"
    )]
    Nothing,
    #[error(
        "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"
    )]
    NotInCluster,
    /// The token of a pod or of a user cannot be read.
    #[error("{}: {error}", path.display())]
    TokenFile { path: PathBuf, error: std::io::Error },
    #[error("error loading config file \"{}\": {error}", path.display())]
    ConfigFile { path: PathBuf, error: ConfigFileProblem },
    /// The settings name a context that no file has.
    #[error("context {0:?} does not exist")]
    NoContext(String),
    /// The current context of the files is missing.
    #[error("invalid configuration: context was not found for specified context: {0}")]
    NoCurrentContext(String),
    /// The settings name a user or a cluster that no file has.
    #[error("{kind} {name:?} does not exist")]
    NoEntry { kind: &'static str, name: String },
    #[error("invalid configuration: no server found for cluster {0:?}")]
    NoServer(String),
    #[error("{0}-data is not PEM in base64")]
    NotPem(&'static str),
    /// A file that a field of a kubeconfig file names cannot be read.
    #[error("unable to read {field} {path}: {error}")]
    NamedFile { field: &'static str, path: String, error: std::io::Error },
    #[error("more than one authentication method found for {0}")]
    TwoMethods(String),
    #[error("the auth-provider of {0} is not supported: use an exec plugin instead")]
    AuthProvider(String),
    #[error("client-key-data or client-key must be specified for {0}")]
    NoKey(String),
    #[error("{0}")]
    Plugin(#[from] PluginProblem),
}

/// Why a kubeconfig file is not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConfigFileProblem {
    #[error("{0}")]
    Unreadable(#[source] std::io::Error),
    #[error("{0}")]
    Yaml(#[source] YamlProblem),
}

/// How the settings of a cluster contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Contradiction {
    #[error("host must be a URL or a host:port pair: {0}")]
    Host(#[source] url::ParseError),
    #[error("host must be a URL or a host:port pair: {0:?}")]
    Scheme(String),
    #[error("specifying a root certificates file with the insecure flag is not allowed")]
    RootsAndInsecure,
    #[error("username/password or bearer token may be set, but not both")]
    UserAndToken,
    #[error("client_certificate and client_key must be set together")]
    HalfIdentity,
}

/// Why a credential plugin cannot be used, or returns no credentials. The messages contain no secrets.
#[derive(Debug, thiserror::Error)]
pub(super) enum PluginProblem {
    #[error("exec plugin: invalid apiVersion {version:?}: the versions are {}", known.join(", "))]
    Version { version: String, known: &'static [&'static str] },
    /// A field of the user in a kubeconfig file is missing.
    #[error("{field} must be specified for {user} to use exec authentication plugin")]
    NoField { field: &'static str, user: String },
    #[error("invalid interactiveMode for {user}: {mode:?}")]
    Mode { user: String, mode: String },
    #[error("unable to read certificate-authority {path}: {error}")]
    Authority { path: String, error: std::io::Error },
    #[error("exec plugin cannot support interactive mode: standard input is not a terminal")]
    NoTerminal,
    /// The program did not run to its end.
    #[error("getting credentials: exec: {failure}{}", after(hint.as_deref()))]
    Failed { failure: PluginFailure, hint: Option<String> },
    #[error("decoding stdout: it is not JSON")]
    NotJson,
    #[error("exec plugin is configured to use API version {wanted}, plugin returned version {found}")]
    OtherVersion { wanted: String, found: String },
    #[error("exec plugin didn't return a status field")]
    NoStatus,
    #[error("exec plugin didn't return a token or cert/key pair")]
    NoCredentials,
    #[error("exec plugin returned only certificate or key, not both")]
    HalfIdentity,
}

/// The hint of a plugin after the message.
fn after(hint: Option<&str>) -> String {
    hint.map(|hint| format!(". {hint}")).unwrap_or_default()
}

/// How the program of a credential plugin failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum PluginFailure {
    #[error("executable {command}: {error}")]
    NotStarted { command: String, error: std::io::Error },
    #[error("executable {command} takes too long")]
    TooLong { command: String },
    #[error("executable {command} failed with {status}")]
    Status { command: String, status: ExitStatus },
}

/// The cluster cannot be found in the settings and the files that they name.
pub(super) fn no_configuration(error: &ClusterProblem) -> Diagnostic {
    Diagnostic::error(
        format!("Failed to initialize kubernetes configuration: {error}"),
        "Name a kubeconfig file with config_path or KUBE_CONFIG_PATH, or a cluster with host or KUBE_HOST. The variable \
         KUBECONFIG is not read.",
    )
}

/// The settings of the cluster contradict each other.
pub(super) fn not_usable(error: &Contradiction) -> Diagnostic {
    Diagnostic::error(format!("Failed to configure: {error}"), "Correct the settings of the cluster or of the user.")
}
