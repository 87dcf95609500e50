//! Reasons that are parts of other messages: why a method of authentication cannot be used, and why it gives no token.
//! None of them contains a secret.

use std::path::PathBuf;
use std::sync::Arc;

use base64::DecodeError;
use reqwest::StatusCode;

use crate::client::reason;
use crate::jwt::SigningProblem;
use crate::tokens::TokenProblem;

/// Advice on how to create a file that Weft can read.
const ADVICE: &str = "create the file again, for example with: openssl pkcs12 -export -legacy -inkey key.pem -in \
                      cert.pem";

/// Why a value that the settings give directly or in a file is missing.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum ValueProblem {
    #[error("error reading {what} file: {error}")]
    Unreadable { what: &'static str, error: std::io::Error },
    #[error("missing {0}, a {0} is required")]
    Missing(&'static str),
    #[error("the {0} and the content of its file differ: set only one of the two arguments")]
    Differs(&'static str),
}

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum CertificateProblem {
    #[error("The Client Certificate is misconfigured: {0}")]
    Misconfigured(#[from] CertificateSource),
    #[error("The Client Certificate is invalid: {0}")]
    Invalid(#[from] CertificateContent),
}

/// Why the settings give no certificate.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum CertificateSource {
    #[error("error decoding client certificate: {0}")]
    Text(#[source] DecodeError),
    #[error("error reading client certificate file: {0}")]
    File(#[source] std::io::Error),
    #[error("missing certificate, client certificate is required")]
    Missing,
    #[error("the client certificate and the content of its file differ: set only one of the two arguments")]
    Differs,
}

/// Why a file has no certificate with its key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in super::super) enum CertificateContent {
    /// The library's error has only a name, and no message.
    #[error("the file is not a PKCS #12 file that can be read ({0}): {ADVICE}")]
    Unreadable(String),
    #[error("the password is wrong, or the file uses an encryption that OpenTofu does not support: {ADVICE}")]
    Password,
    #[error("the file needs a certificate and its private key: {ADVICE}")]
    Incomplete,
}

/// A machine has only one identity, but the settings select one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{machine} has only one identity. Remove \"client_id\"")]
pub(in super::super) struct OneIdentity {
    /// The kind of the machine.
    pub(in super::super) machine: &'static str,
}

/// Why a method of authentication cannot be used.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum MethodProblem {
    #[error("Tenant ID is missing")]
    NoTenant,
    #[error("The Client ID is misconfigured: {0}")]
    ClientId(Arc<ValueProblem>),
    #[error("The Client Secret is misconfigured: {0}")]
    ClientSecret(#[source] ValueProblem),
    #[error("{0}")]
    Certificate(#[source] CertificateProblem),
    #[error(
        "This method needs \"use_oidc\" (or ARM_USE_OIDC) and \"ado_service_connection_id\" (or \
         ARM_ADO_PIPELINE_SERVICE_CONNECTION_ID)"
    )]
    NoServiceConnection,
    #[error("The variable {0}, which Azure Pipelines sets, is missing")]
    NoPipelineVariable(&'static str),
    #[error("The token of the pipeline is missing: set \"oidc_request_token\" or SYSTEM_ACCESSTOKEN")]
    NoPipelineToken,
    /// The method is off unless an argument or a variable turns it on.
    #[error("This method needs \"{argument}\" (or {variable}) set to true")]
    NotTurnedOn { argument: &'static str, variable: &'static str },
    #[error("The token is misconfigured: {0}")]
    Token(#[source] ValueProblem),
    #[error(
        "There is no token: set \"oidc_token\", \"oidc_token_file_path\", or both \"oidc_request_url\" and \
         \"oidc_request_token\""
    )]
    NoToken,
    #[error("{0}")]
    Machine(#[source] OneIdentity),
    #[error("The variable {0}, which the webhook of the cluster sets for the pod, is missing")]
    NoPodVariable(&'static str),
    #[error("This method is turned off by use_cli = false (or ARM_USE_CLI)")]
    CliTurnedOff,
    #[error("The program \"az\" is not in PATH. Install the Azure CLI")]
    NoCli,
}

/// Why the addresses of a cloud are unknown.
#[derive(Debug, thiserror::Error)]
#[error("the metadata host {host:?}: {problem}")]
pub(in super::super) struct CloudProblem {
    /// The host that describes the cloud.
    pub(in super::super) host: String,
    /// The problem.
    pub(in super::super) problem: DescriptionProblem,
}

/// Why there is no description of a cloud.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum DescriptionProblem {
    #[error("{0}")]
    Request(#[from] TokenProblem),
    #[error("the description has no {0}")]
    Missing(&'static str),
}

/// Why the service of a machine cannot be asked for a token.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum MachineProblem {
    #[error("the address of the identity service: {0}")]
    Address(#[from] url::ParseError),
    #[error("Azure Arc: {0}")]
    Arc(#[from] ArcProblem),
}

/// Why the agent of Azure Arc does not provide its secret.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum ArcProblem {
    #[error("{}", reason(.0))]
    Request(#[source] reqwest::Error),
    #[error("the agent responded with status {0} instead of 401")]
    Status(StatusCode),
    #[error("the response of the agent does not name the file with the secret")]
    NoFile,
    #[error("the secret must be a .key file in {folder}")]
    OtherFile { folder: &'static str },
    #[error("the file {}: {error}", path.display())]
    Unreadable { path: PathBuf, error: std::io::Error },
    #[error("the file {} is longer than {most} bytes", path.display())]
    TooLong { path: PathBuf, most: u64 },
}

/// Why another issuer gives no token.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum IssuerProblem {
    #[error("the identity provider: {0}")]
    Request(#[source] TokenProblem),
    #[error("the response of the identity provider has no {0:?}")]
    NoField(&'static str),
}

/// Why the Azure CLI gives no answer.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum CliProblem {
    #[error("the Azure CLI took longer than {seconds} s")]
    TooLong { seconds: u64 },
    #[error("the Azure CLI cannot be run: {0}")]
    NotRun(#[source] std::io::Error),
    /// The program wrote these words.
    #[error("the Azure CLI failed: {0}")]
    Failed(String),
    #[error("the output of the Azure CLI is not JSON")]
    NotJson,
    #[error("the Azure CLI returned no token")]
    NoToken,
    #[error("the Azure CLI has no current subscription. Set \"subscription_id\"")]
    NoSubscription,
}

/// Why there is no token of Entra ID.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum EntraProblem {
    #[error("{0}")]
    Cloud(#[from] CloudProblem),
    #[error("the address of Entra ID: {0}")]
    Address(#[source] url::ParseError),
    #[error("Entra ID: {0}")]
    Entra(#[source] TokenProblem),
    #[error("{0}")]
    Signing(#[from] SigningProblem),
    #[error("{0}")]
    Statement(#[from] ValueProblem),
    #[error("the address in oidc_request_url: {0}")]
    IssuerAddress(#[source] url::ParseError),
    #[error("{0}")]
    Issuer(#[from] IssuerProblem),
    #[error("Azure Pipelines: its address: {0}")]
    PipelineAddress(#[source] url::ParseError),
    #[error("Azure Pipelines: {0}")]
    Pipeline(#[source] IssuerProblem),
    #[error("{0}")]
    Machine(#[from] MachineProblem),
    #[error("the managed identity: {0}")]
    ManagedIdentity(#[source] TokenProblem),
    #[error("{0}")]
    Cli(#[from] CliProblem),
    #[error("the response has no token")]
    NoToken,
}

/// Why the keys of an account are not listed.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum KeyListProblem {
    #[error("{0}")]
    Cli(#[from] CliProblem),
    #[error("there is no \"subscription_id\"")]
    NoSubscription,
    #[error("{0}")]
    Cloud(#[from] CloudProblem),
    #[error("Resource Manager: {0}")]
    Address(#[from] url::ParseError),
    #[error("{0}")]
    Request(#[from] TokenProblem),
    #[error("the response has no key")]
    NoKey,
    #[error("the key in the response is not base64")]
    NotBase64,
}

/// Why the settings of a key vault are not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in super::super) enum VaultProblem {
    #[error("{0:?} is not the name of a key: it must have 1 to 127 letters, digits or hyphens")]
    KeyName(String),
    #[error("vault_uri cannot be read: {0}")]
    Address(#[from] url::ParseError),
    #[error(
        "{0:?} is not the name of a key vault: it must have 3 to 24 letters, digits or hyphens, begin with a letter, \
         and not end with a hyphen"
    )]
    VaultName(String),
    #[error("{0:?} is not the name of a key vault: two hyphens cannot follow each other")]
    TwoHyphens(String),
    #[error("vault_uri must begin with https://")]
    NotEncrypted,
    #[error("a symmetric key needs a symmetric_key_size of 128, 192 or 256")]
    KeySize,
}
