//! The errors of requests, as constructors, each with the way out.

use reqwest::StatusCode;
use weft_state::remote::BackendError;

use crate::xml;

/// The code of an answer without permission.
const DENIED: &str = "AccessDenied";

/// The request failed without an answer.
pub(super) fn unreachable(place: String, doing: &'static str, error: String) -> BackendError {
    BackendError::Unreachable { place, doing, error }
}

/// The digest in DynamoDB is not that of the state.
pub(super) fn other_digest(place: String, have: &str) -> BackendError {
    BackendError::Refused {
        place,
        doing: "reading the state",
        error: "its digest in the DynamoDB table is another one, so an older version of the state was read".to_owned(),
        advice: format!(
            "Try again in some minutes. If the state in the bucket is right, set the attribute Digest of the item \
             ending in \"-md5\" to {have:?}"
        ),
    }
}

/// Another lock is there than the one to be released.
pub(super) fn other_lock(place: String, id: &str) -> BackendError {
    BackendError::Refused {
        place,
        doing: "releasing the lock",
        error: format!("lock id {id:?} does not match existing lock"),
        advice: String::new(),
    }
}

/// No credentials were found.
pub(super) fn no_credentials(place: String, tried: &[String]) -> BackendError {
    BackendError::Credentials { place, error: tried.join("; ") }
}

/// The credentials belong to an account that the settings exclude.
pub(super) fn other_account(place: String, account: &str) -> BackendError {
    let error = format!("the account {account} is excluded by allowed_account_ids or forbidden_account_ids");
    BackendError::Credentials { place, error }
}

/// A role cannot be assumed.
pub(super) fn role_not_assumed(place: String, role: &str, error: &BackendError) -> BackendError {
    BackendError::Refused {
        place,
        doing: "assuming the role",
        error: format!("Cannot assume IAM Role {role}: {error}"),
        advice: "Check the trust policy of the role, and the right sts:AssumeRole of the caller".to_owned(),
    }
}

/// Whether the caller may not do what it asked for.
pub(super) fn is_denied(error: &BackendError) -> bool {
    matches!(error, BackendError::Refused { error, .. } if error.starts_with(DENIED))
}

/// What a request was about, for advice.
#[derive(Clone, Copy, Debug)]
pub(super) struct About<'a> {
    /// The bucket or table.
    pub(super) name: &'a str,
    /// The region.
    pub(super) region: &'a str,
    /// The action of IAM that the request needs.
    pub(super) action: &'a str,
}

/// The service answered with an error.
pub(super) fn refused(
    place: String,
    doing: &'static str,
    status: StatusCode,
    body: &[u8],
    about: About<'_>,
) -> BackendError {
    let json: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let field = |name: &str| json.as_ref().and_then(|json| Some(json.get(name)?.as_str()?.to_owned()));
    let code = xml::text(body, "Code").or_else(|| field("__type").map(|code| last(&code).to_owned()));
    let code = code.unwrap_or_else(|| match status {
        StatusCode::FORBIDDEN => DENIED.to_owned(),
        status => format!("HTTP {}", status.as_u16()),
    });
    let message = xml::text(body, "Message").or_else(|| field("message")).or_else(|| field("Message"));
    let About { name, region, action } = about;
    let advice = match code.as_str() {
        "NoSuchBucket" => create_bucket(name, region),
        "ResourceNotFoundException" => format!(
            "Create the table with: aws dynamodb create-table --table-name {name} --attribute-definitions \
             AttributeName=LockID,AttributeType=S --key-schema AttributeName=LockID,KeyType=HASH --billing-mode \
             PAY_PER_REQUEST --region {region}"
        ),
        DENIED | "AccessDeniedException" => format!("Grant the caller the action {action} on {name}"),
        "InvalidAccessKeyId" | "SignatureDoesNotMatch" | "UnrecognizedClientException" => {
            "Check access key and secret key".to_owned()
        }
        "ExpiredToken" | "ExpiredTokenException" => "Get new credentials: the session has ended".to_owned(),
        "RequestTimeTooSkewed" => "Set the clock of this machine: it differs from that of the service".to_owned(),
        "AuthorizationHeaderMalformed" | "PermanentRedirect" | "IllegalLocationConstraintException" => {
            match xml::text(body, "Region") {
                Some(region) => format!("The bucket is in the region {region}: set it"),
                None => format!("The bucket is probably not in the region {region}: set its own"),
            }
        }
        _ => String::new(),
    };
    let error = message.map_or_else(|| code.clone(), |message| format!("{code}: {}", message.trim_end_matches('.')));
    BackendError::Refused { place, doing, error, advice }
}

fn create_bucket(name: &str, region: &str) -> String {
    let location = match region {
        "us-east-1" => String::new(),
        region => format!(" --create-bucket-configuration LocationConstraint={region}"),
    };
    format!(
        "Create the bucket with: aws s3api create-bucket --bucket {name} --region {region}{location}. Turn versioning \
         on: aws s3api put-bucket-versioning --bucket {name} --versioning-configuration Status=Enabled"
    )
}

/// The part of a name after the last `#`, as DynamoDB qualifies its codes.
fn last(code: &str) -> &str {
    code.rsplit('#').next().unwrap_or(code)
}
