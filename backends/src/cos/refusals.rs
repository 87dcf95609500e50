//! Constructors of the errors of requests, each with advice.

use weft_state::remote::BackendError;

/// An error that an API returned.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) code: String,
    pub(super) message: String,
}

/// The settings and the environment have no keys.
pub(super) fn no_keys(place: String) -> BackendError {
    let error = "there are no credentials: set secret_id and secret_key, or TENCENTCLOUD_SECRET_ID and \
                 TENCENTCLOUD_SECRET_KEY";
    BackendError::Credentials { place, error: error.to_owned() }
}

fn words(refusal: &Refusal) -> String {
    format!("{}: {}", refusal.code, refusal.message.trim_end_matches('.'))
}

/// The role cannot be assumed.
pub(super) fn role(place: String, arn: &str, refusal: &Refusal) -> BackendError {
    let advice = format!("Check that the caller may assume the role {arn}, and that the role trusts it");
    BackendError::Refused { place, doing: "assuming the role", error: words(refusal), advice }
}

/// A request for a tag was refused.
pub(super) fn tag(place: String, doing: &'static str, action: &str, refusal: &Refusal) -> BackendError {
    let advice = match refusal.code.starts_with("AuthFailure") || refusal.code.starts_with("UnauthorizedOperation") {
        true => format!(
            "Weft keeps locks as tags. Check secret_id and secret_key, and grant the caller the action {action}"
        ),
        false => String::new(),
    };
    BackendError::Refused { place, doing, error: words(refusal), advice }
}

/// The tag with this key and value exists, although there is no lock.
pub(super) fn mutex(place: String, key: &str, value: &str) -> BackendError {
    BackendError::Refused {
        place,
        doing: "taking the lock",
        error: format!("failed to create tag: {key} -> {value}: it exists already"),
        advice: "Another process is taking the lock, or ended before it had the lock. If no such process runs, delete \
                 the tag in the console"
            .to_owned(),
    }
}

/// The lock cannot be released, because it does not exist.
pub(super) fn no_lock(place: String, lock: &str) -> BackendError {
    let error = format!("lock file {lock} not exists");
    let advice = "The state is not locked, so no lock must be released".to_owned();
    BackendError::Refused { place, doing: "releasing the lock", error, advice }
}

/// The lock cannot be released, because it has a different id.
pub(super) fn other_lock(place: String, found: &str, id: &str) -> BackendError {
    let error = format!("lock id mismatch, {found} != {id}");
    let advice = "Use the lock ID that the error about the locked state shows".to_owned();
    BackendError::Refused { place, doing: "releasing the lock", error, advice }
}

/// Advice on an error of the object store with this code. May be empty.
pub(super) fn advice(code: &str, bucket: &str, region: &str) -> String {
    match code {
        "NoSuchBucket" => format!(
            "Create the bucket with: coscli mb cos://{bucket} -r {region}. Its name must end with the id of the \
             account"
        ),
        "AccessDenied" => format!("Grant the caller the rights to read, write and list objects of {bucket}"),
        "InvalidAccessKeyId" | "SignatureDoesNotMatch" => "Check secret_id and secret_key".to_owned(),
        "ExpiredToken" | "InvalidToken" => "Get new credentials: the session has ended".to_owned(),
        "RequestTimeTooSkewed" | "RequestIsExpired" => {
            "Set the clock of this machine, which differs from the clock of the service".to_owned()
        }
        _ => String::new(),
    }
}

/// The response of the service for sessions has no keys.
pub(super) fn no_session_keys(place: String, doing: &'static str) -> BackendError {
    BackendError::Damaged { place, doing, error: "the response has no keys".to_owned() }
}
