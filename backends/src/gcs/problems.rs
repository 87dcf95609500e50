//! Credentials that cannot be used, and tokens that Google does not give. The messages contain no secrets.

use std::path::PathBuf;

use reqwest::StatusCode;

use crate::client::reason;
use crate::jwt::SigningProblem;
use crate::tokens::TokenProblem;

/// Why credentials cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum CredentialProblem {
    /// The text in the settings is not the path of a file either.
    #[error("it is neither a file nor JSON")]
    NeitherFileNorJson,
    #[error("{}: {error}", path.display())]
    Unreadable { path: PathBuf, error: std::io::Error },
    #[error("{} is not JSON", path.display())]
    NotJson { path: PathBuf },
    /// The document of a file is not valid.
    #[error("{}: {problem}", path.display())]
    File { path: PathBuf, problem: DocumentProblem },
    /// The document in the settings is not valid.
    #[error("{0}")]
    Document(#[from] DocumentProblem),
}

/// Why a document describes no source of tokens.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum DocumentProblem {
    #[error("the credentials impersonate service accounts in more than {most} steps")]
    TooDeep { most: usize },
    #[error("the document has no {0:?}")]
    Missing(&'static str),
    #[error("credentials of the type {0:?} are not supported")]
    Type(String),
    #[error("external accounts need a credential_source with \"file\" or \"url\"")]
    NoSubject,
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub(super) enum GoogleTokenProblem {
    /// The token service gave no answer.
    #[error("{0}")]
    Service(#[from] TokenProblem),
    #[error("the response has no token")]
    NoToken,
    /// The settings and the environment have no credentials, and the machine has none either.
    #[error(
        "there are no credentials in the settings, in GOOGLE_CREDENTIALS, in GOOGLE_APPLICATION_CREDENTIALS or in the \
         configuration of gcloud, and the metadata service returned none: {0}"
    )]
    Machine(#[source] TokenProblem),
    #[error("the service account cannot be impersonated: {0}")]
    Impersonation(#[source] TokenProblem),
    /// The file with the token of another provider cannot be read.
    #[error("{}: {error}", path.display())]
    SubjectFile { path: PathBuf, error: std::io::Error },
    /// The request for the token of another provider failed.
    #[error("{}", reason(.0))]
    SubjectRequest(#[source] reqwest::Error),
    #[error("the identity provider responded with status {0}")]
    SubjectStatus(StatusCode),
    #[error("the response of the identity provider has no {0:?}")]
    SubjectField(String),
    #[error("the private key is not in PEM form")]
    NotPem,
    #[error("{0}")]
    Signing(#[from] SigningProblem),
}
