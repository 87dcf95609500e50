//! Error messages for refused requests.

use reqwest::StatusCode;
use weft_state::remote::BackendError;

use crate::exchange::HttpReply;
use crate::gzip::GzipProblem;

/// The maximum length of an agent's message in an error.
const LONGEST_MESSAGE: usize = 500;

/// The agent returned an error.
pub(super) fn refused(place: String, doing: &'static str, path: &str, reply: &HttpReply) -> BackendError {
    let message = String::from_utf8_lossy(&reply.body).trim().to_owned();
    let message = Some(message).filter(|text| text.len() < LONGEST_MESSAGE);
    let advice = match reply.status {
        StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => format!(
            "Set access_token or CONSUL_HTTP_TOKEN to a token whose policy has: key_prefix {path:?} {{ policy = \
             \"write\" }} and session_prefix \"\" {{ policy = \"write\" }}"
        ),
        StatusCode::PAYLOAD_TOO_LARGE => {
            "Weft writes values of up to 524288 bytes. Set kv_max_value_size of the agent to at least 524288".to_owned()
        }
        StatusCode::BAD_REQUEST => {
            "If the message says that the agent requires https, set the argument \"scheme\" to \"https\"".to_owned()
        }
        _ => String::new(),
    };
    reply.refusal(place, doing, message, &advice)
}

/// A transaction was rolled back, but not because of its conditions.
pub(super) fn rolled_back(place: String, doing: &'static str, errors: &str) -> BackendError {
    let error = format!("consul CAS failed with transaction errors: {errors}");
    BackendError::Refused { place, doing, error, advice: String::new() }
}

/// The key of the lock is used for something else.
pub(super) fn not_a_lock(place: String) -> BackendError {
    BackendError::Refused {
        place,
        doing: "taking the lock",
        error: "Existing key does not match lock use".to_owned(),
        advice: "Remove the key, or use another path".to_owned(),
    }
}

/// The lock cannot be released, because no session holds it.
pub(super) fn not_locked(place: String) -> BackendError {
    let error = "the state is not locked".to_owned();
    BackendError::Refused { place, doing: "releasing the lock", error, advice: String::new() }
}

/// The lock cannot be released, because it has a different id.
pub(super) fn other_lock(place: String, id: &str) -> BackendError {
    BackendError::Refused {
        place,
        doing: "releasing the lock",
        error: format!("lock id {id:?} does not match existing lock"),
        advice: "Use the lock ID from the error that reports the lock. It is the id of a session of Consul".to_owned(),
    }
}

/// This process lost the lock before releasing it.
pub(super) fn lost_lock(place: String) -> BackendError {
    BackendError::Refused {
        place,
        doing: "releasing the lock",
        error: "consul lock was lost".to_owned(),
        advice: "Another process may have changed the state in the meantime. Make a new plan".to_owned(),
    }
}

/// What is wrong with a response, or with a value.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConsulDamage {
    #[error("the state keeps changing")]
    RestlessState,
    #[error("the value keeps changing")]
    RestlessValue,
    #[error("Key {0:?} could not be found")]
    NoChunk(String),
    #[error("The remote state does not match the expected hash")]
    OtherHash,
    #[error("{0}")]
    Compressed(#[from] GzipProblem),
    /// The state cannot be compressed.
    #[error("{0}")]
    NotCompressed(#[source] std::io::Error),
    #[error("the list of its chunks is too large")]
    LongList,
    #[error("the value does not list its parts")]
    NoList,
    #[error("a part of the value is missing")]
    NoPart,
    /// The operating system gives no random bytes for a name.
    #[error("{0}")]
    Random(getrandom::Error),
    #[error("the agent refused the value, because it is too large")]
    TooLarge,
    #[error("the response is not a value with an index")]
    NoIndex,
    #[error("the session has no id")]
    NoSession,
}

/// A response or a value does not have the expected form.
pub(super) fn damaged(place: String, doing: &'static str, damage: &ConsulDamage) -> BackendError {
    BackendError::Damaged { place, doing, error: damage.to_string() }
}

/// The message about a lock that Consul withholds for a short time.
pub(super) fn lock_delayed() -> String {
    "the session of the previous holder has just ended, and Consul does not allow a new lock yet".to_owned()
}

/// The message about a lock that another session has.
pub(super) fn locked_by_session(session: &str) -> String {
    format!("the session {session} holds the lock")
}
