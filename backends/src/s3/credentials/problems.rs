//! Why sources of credentials have none. None of the messages contains a secret.

use std::fmt;
use std::path::PathBuf;
use std::process::ExitStatus;

use reqwest::StatusCode;

use crate::client::reason;
use crate::jwt::SigningProblem;

/// The variable with the URL of the credentials of a container.
const CONTAINER_URL: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";

/// Why a source in the chain has no credentials.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoCredentials {
    #[error("access_key and secret_key must both be set")]
    HalfKeys,
    #[error("the settings have no access_key")]
    NoKeysInSettings,
    #[error("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set")]
    NoKeysInEnvironment,
    #[error("AWS_WEB_IDENTITY_TOKEN_FILE is set without AWS_ROLE_ARN")]
    TokenWithoutRole,
    #[error("the shared files have no credentials for the profile {0:?}")]
    NothingInFiles(String),
    #[error("{0}")]
    Profile(#[from] ProfileProblem),
    #[error("the container's credentials: {0}")]
    Container(#[source] ServiceProblem),
    #[error("the metadata service: {0}")]
    Metadata(#[source] ServiceProblem),
    #[error("the metadata service is disabled (skip_metadata_api_check or AWS_EC2_METADATA_DISABLED)")]
    MetadataDisabled,
    #[error("the profile {profile:?} uses SSO: {problem}")]
    Sso { profile: String, problem: LoginProblem },
    #[error("the login session {session:?}: {problem}")]
    Login { session: String, problem: LoginProblem },
    #[error("credential_process: {0}")]
    Process(#[source] ServiceProblem),
    #[error("credential_source {source_name}: {problem}")]
    Source { source_name: String, problem: SourceProblem },
    /// The file with the token of a web identity cannot be read.
    #[error("{}: {error}", path.display())]
    TokenFile { path: PathBuf, error: std::io::Error },
    /// A role is not assumed, as the text says.
    #[error("{0}")]
    NotAssumed(String),
}

/// Why the source in `credential_source` has no credentials.
#[derive(Debug, thiserror::Error)]
pub(super) enum SourceProblem {
    #[error("the keys are not set")]
    NoKeys,
    #[error("no variable for the credentials of a container is set")]
    NoContainer,
    #[error("the metadata service is disabled (skip_metadata_api_check or AWS_EC2_METADATA_DISABLED)")]
    MetadataDisabled,
    #[error("{0}")]
    Service(#[from] ServiceProblem),
    #[error("the sources are Environment, EcsContainer and Ec2InstanceMetadata")]
    Unknown,
}

/// Why a profile names no source of credentials.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ProfileProblem {
    #[error("there is no profile {0:?}")]
    Missing(String),
    /// A profile is the source of another one.
    #[error("the profile {name:?} has no credentials for the profile {first:?}")]
    NoCredentials { name: String, first: String },
    #[error("the profile {0:?} is its own source")]
    OwnSource(String),
    #[error("the profile {profile:?} names the SSO session {session:?}, which is missing")]
    NoSession { profile: String, session: String },
    #[error("{key} of the profile {profile:?} differs from that of its SSO session")]
    OtherInSession { key: &'static str, profile: String },
    #[error("the profile {profile:?} uses SSO, but {key} is not set")]
    NotSet { profile: String, key: &'static str },
    #[error("the profile {0:?} has only one of aws_access_key_id and aws_secret_access_key")]
    HalfKeys(String),
    #[error("the profile {name:?} has both {first} and {second}")]
    TwoSources { name: String, first: &'static str, second: &'static str },
    #[error("the profile {name:?} has {key} without role_arn")]
    NoRole { name: String, key: &'static str },
    #[error("the role of the profile {0:?} requires an MFA code (mfa_serial), which Weft does not support")]
    Mfa(String),
}

/// Why a service on this machine, or a process, gives no credentials.
#[derive(Debug, thiserror::Error)]
pub(super) enum ServiceProblem {
    #[error("{}", reason(.0))]
    Request(#[source] reqwest::Error),
    #[error("the service responded with status {0}")]
    Status(StatusCode),
    #[error("{0}")]
    NotJson(#[source] serde_json::Error),
    #[error("the response has no keys")]
    NoKeys,
    #[error("{CONTAINER_URL}: {0}")]
    Address(#[source] url::ParseError),
    #[error("{host}: {error}")]
    Lookup { host: String, error: std::io::Error },
    /// A token is not sent unencrypted to another machine.
    #[error("{CONTAINER_URL}: {host} is not a host of this machine")]
    OtherMachine { host: String },
    #[error("{path}: {error}")]
    TokenFile { path: String, error: std::io::Error },
    #[error("the instance has no role")]
    NoRole,
    #[error("{0}")]
    NotRun(#[source] std::io::Error),
    /// The output of the command may have secrets, so it is not shown.
    #[error("the command ended with {0}")]
    Ended(ExitStatus),
}

/// Why a login gives no credentials.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoginProblem {
    /// A new login with this command is the way out.
    #[error("{problem}; log in with \"{command}\"")]
    LogIn { problem: Box<LoginProblem>, command: String },
    #[error("{}: {error}", path.display())]
    Unreadable { path: PathBuf, error: std::io::Error },
    /// The message of the parser could quote a part of the token, so it is not shown.
    #[error("{}: the file is not a JSON object", path.display())]
    NotAnObject { path: PathBuf },
    #[error("{}: it has no valid {name}", path.display())]
    Lacks { path: PathBuf, name: &'static str },
    #[error("{}: it cannot be replaced: {error}", path.display())]
    NotReplaced { path: PathBuf, error: std::io::Error },
    #[error("the SSO session has ended: {0}")]
    SsoEnded(LoginRefusal),
    #[error("the SSO session has expired")]
    SsoExpired,
    #[error("the SSO session has expired, and cannot be renewed: {0}")]
    SsoNotRenewed(LoginRefusal),
    #[error("the SSO session has expired, and the response to its renewal has no token")]
    NoToken,
    #[error("the role {role} of the account {account}: {refusal}")]
    Role { role: String, account: String, refusal: LoginRefusal },
    #[error("the response of SSO has no keys")]
    NoKeys,
    #[error("the login has ended: {0}")]
    Ended(LoginRefusal),
    #[error("the response to the renewal of the login has no keys")]
    NoRenewedKeys,
    #[error("the key of the login cannot be read")]
    Key,
    #[error("{0}")]
    Random(getrandom::Error),
    #[error("{0}")]
    Signing(#[from] SigningProblem),
}

/// Why a request to a login service failed.
#[derive(Debug)]
pub(super) enum LoginRefusal {
    /// The request failed.
    Request(reqwest::Error),
    /// The service refused the request, with this message.
    Refused { status: StatusCode, words: Option<String> },
}

impl LoginRefusal {
    /// Whether the token is not valid.
    pub(super) fn is_unauthorized(&self) -> bool {
        matches!(self, LoginRefusal::Refused { status: StatusCode::UNAUTHORIZED, .. })
    }
}

impl fmt::Display for LoginRefusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoginRefusal::Request(error) => out.write_str(&reason(error)),
            LoginRefusal::Refused { status, words: Some(words) } => write!(out, "it answered {status}: {words}"),
            LoginRefusal::Refused { status, words: None } => write!(out, "it answered {status}"),
        }
    }
}
