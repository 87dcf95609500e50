//! Constructors of the errors of requests, each with advice.

use weft_state::remote::BackendError;

use super::plainbuffer::RowDamage;

/// The settings, the environment and the profile have no keys.
pub(super) fn no_keys(place: String) -> BackendError {
    let error = "there are no credentials: set access_key and secret_key, or ALICLOUD_ACCESS_KEY and \
                 ALICLOUD_SECRET_KEY, or a profile that has these keys, or ecs_role_name";
    BackendError::Credentials { place, error: error.to_owned() }
}

/// The metadata service returned no keys of the role.
pub(super) fn no_machine_keys(place: String, role: &str, error: &dyn std::fmt::Display) -> BackendError {
    BackendError::Credentials { place, error: format!("the metadata service has no keys of the role {role}: {error}") }
}

/// The digest in the table differs from the digest of the state.
pub(super) fn other_digest(place: String, have: &str) -> BackendError {
    BackendError::Refused {
        place,
        doing: "reading the state",
        error: "the digest in the TableStore table does not match the state, so an older version of the state was read"
            .to_owned(),
        advice: format!(
            "Try again in some minutes. If the state in the bucket is the newest one, set the column Digest of the row \
             ending in \"-md5\" to {have:?}"
        ),
    }
}

/// The lock cannot be released, because it has a different id.
pub(super) fn other_lock(place: String, id: &str) -> BackendError {
    BackendError::Refused {
        place,
        doing: "releasing the lock",
        error: format!("lock id {id:?} does not match existing lock"),
        advice: "Use the lock ID from the error that reports the lock".to_owned(),
    }
}

/// Advice for an error of OSS with this code.
pub(super) fn advice(code: &str, bucket: &str, region: &str) -> String {
    match code {
        "NoSuchBucket" => format!(
            "Create the bucket with: aliyun oss mb oss://{bucket} --region {region}. Turn versioning on: aliyun oss \
             bucket-versioning --method put oss://{bucket} enabled"
        ),
        "AccessDenied" => format!("Grant the caller the rights to read, write and list objects of {bucket}"),
        "InvalidAccessKeyId" | "SignatureDoesNotMatch" => "Check access_key and secret_key".to_owned(),
        "InvalidSecurityToken" | "SecurityTokenExpired" => "Get new credentials: the session has ended".to_owned(),
        "RequestTimeTooSkewed" => {
            "Set the clock of this machine, which differs from the clock of the service".to_owned()
        }
        _ => String::new(),
    }
}

/// TableStore returned an error.
pub(super) fn table(place: String, doing: &'static str, name: &str, code: &str, message: &str) -> BackendError {
    let advice = match code {
        "OTSObjectNotExist" => format!("Create the table {name} with the primary key LockID of the type STRING"),
        "OTSAuthFailed" | "OTSNoPermissionAccess" => {
            format!(
                "Check access_key and secret_key, and grant the caller the rights to read and write rows of the table \
                 {name}"
            )
        }
        _ => String::new(),
    };
    let error = format!("{code}: {}", message.trim_end_matches('.'));
    BackendError::Refused { place, doing, error, advice }
}

/// Advice on a role that cannot be assumed.
pub(super) fn role_advice(role: &str) -> String {
    format!("Check that the caller may assume the role {role}, and that the role trusts it")
}

/// The operating system gives no random number for a request.
pub(super) fn no_random_number(place: String, doing: &'static str) -> BackendError {
    let error = "there are no random numbers".to_owned();
    BackendError::Refused { place, doing, error, advice: String::new() }
}

/// What is wrong with a response.
#[derive(Debug, thiserror::Error)]
pub(super) enum OssDamage {
    #[error("the response has no keys")]
    NoKeys,
    #[error("{text} is not an address: {error}")]
    Address { text: String, error: url::ParseError },
    #[error("{0}")]
    Row(#[from] RowDamage),
}

/// A response does not have the expected form.
pub(super) fn damaged(place: String, doing: &'static str, damage: &OssDamage) -> BackendError {
    BackendError::Damaged { place, doing, error: damage.to_string() }
}
