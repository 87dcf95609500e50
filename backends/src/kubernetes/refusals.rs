//! Error messages for refused requests.

use std::fmt::Display;

use base64::DecodeError;
use reqwest::StatusCode;
use weft_state::remote::BackendError;

use crate::exchange::HttpReply;
use crate::gzip::GzipProblem;

/// The cluster returned an error.
pub(super) fn refused(place: String, doing: &'static str, namespace: &str, reply: &HttpReply) -> BackendError {
    let message = reply.json().get("message").and_then(|message| message.as_str()).map(str::to_owned);
    let too_long = message.as_ref().is_some_and(|message| message.contains("Too long"));
    let advice = match reply.status {
        StatusCode::UNPROCESSABLE_ENTITY | StatusCode::PAYLOAD_TOO_LARGE if too_long => {
            "A secret may have 1048576 bytes, but the compressed state is larger. Divide the state into several \
             states, or use another backend"
                .to_owned()
        }
        StatusCode::FORBIDDEN => format!(
            "Give the user a role in the namespace {namespace} with the verbs get, list, create, update and delete on \
             secrets and on leases of coordination.k8s.io"
        ),
        StatusCode::UNAUTHORIZED => "Get new credentials for the cluster".to_owned(),
        StatusCode::NOT_FOUND => format!("Create the namespace with: kubectl create namespace {namespace}"),
        _ => String::new(),
    };
    reply.refusal(place, doing, message, &advice)
}

/// No credentials could be obtained.
pub(super) fn no_credentials(place: String, error: &dyn Display) -> BackendError {
    BackendError::Credentials { place, error: error.to_string() }
}

/// The name of a workspace, or the suffix, cannot be part of a name in Kubernetes. `limit` is the maximum length.
pub(super) fn invalid_name(name: &str, limit: usize) -> BackendError {
    BackendError::Refused {
        place: "kubernetes".to_owned(),
        doing: "naming the secret",
        error: format!("the secret name {name} is invalid"),
        advice: format!(
            "Use only lower case letters, digits, '-' and '.' in the workspace and secret_suffix, and begin and end \
             both with a letter or digit. The whole secret name can have at most {limit} characters"
        ),
    }
}

/// The message about a lock that has a holder.
pub(super) fn already_locked() -> String {
    "the state is already locked by another tofu client".to_owned()
}

/// The lock cannot be released, because it has no holder.
pub(super) fn not_locked(place: String) -> BackendError {
    let error = "state is already unlocked".to_owned();
    BackendError::Refused { place, doing: "releasing the lock", error, advice: String::new() }
}

/// The lock cannot be released, because it has a different id.
pub(super) fn other_lock(place: String, id: &str) -> BackendError {
    let error = format!("lock id {id:?} does not match existing lock");
    let advice = "Use the lock ID from the error that reports the lock".to_owned();
    BackendError::Refused { place, doing: "releasing the lock", error, advice }
}

/// A secret or lease has a name of the backend, but does not belong to the backend.
pub(super) fn foreign(place: String, doing: &'static str, kind: &str) -> BackendError {
    BackendError::Refused {
        place,
        doing,
        error: format!("{kind} does not have the label \"tfstate\""),
        advice: "Another program has created this object. If nothing needs the object, delete it with kubectl"
            .to_owned(),
    }
}

/// All attempts failed, because other processes changed the object at the same time.
pub(super) fn busy(place: String, doing: &'static str) -> BackendError {
    let error = "other processes keep changing it".to_owned();
    BackendError::Refused { place, doing, error, advice: "Try again".to_owned() }
}

/// What is wrong with the content of a secret.
#[derive(Debug, thiserror::Error)]
pub(super) enum SecretDamage {
    #[error("it is not base64: {0}")]
    NotBase64(#[source] DecodeError),
    #[error("{0}")]
    Compressed(#[from] GzipProblem),
    /// The state cannot be compressed.
    #[error("{0}")]
    NotCompressed(#[source] std::io::Error),
    #[error("it has no content")]
    Empty,
    #[error("one of its parts is missing")]
    NoPart,
    /// The operating system gives no random bytes for a name.
    #[error("{0}")]
    Random(getrandom::Error),
}

/// The content of a secret does not have the expected form.
pub(super) fn damaged(place: String, doing: &'static str, damage: &SecretDamage) -> BackendError {
    BackendError::Damaged { place, doing, error: damage.to_string() }
}
