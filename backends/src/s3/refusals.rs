//! Constructors of the errors of requests, each with advice.

use reqwest::StatusCode;
use serde_json::{Map, Value as Json};
use weft_state::remote::BackendError;

use crate::exchange::EXPIRED;
use crate::xml;

/// The error code of a missing permission.
const DENIED: &str = "AccessDenied";

/// The error codes that mean that the client sends too many requests.
const BUSY: [&str; 7] = [
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "RequestLimitExceeded",
    "LimitExceededException",
    "ProvisionedThroughputExceededException",
];

/// Whether the code says that there are too many requests.
pub(super) fn is_busy(code: &str) -> bool {
    BUSY.contains(&code)
}

/// The request failed without a response.
pub(super) fn unreachable(place: String, doing: &'static str, error: String) -> BackendError {
    BackendError::Unreachable { place, doing, error }
}

/// The digest in DynamoDB differs from the digest of the state.
pub(super) fn other_digest(place: String, have: &str) -> BackendError {
    BackendError::Refused {
        place,
        doing: "reading the state",
        error: "the digest in the DynamoDB table does not match the state, so an older version of the state was read"
            .to_owned(),
        advice: format!(
            "Try again in some minutes. If the state in the bucket is the newest one, set the attribute Digest of the \
             item ending in \"-md5\" to {have:?}"
        ),
    }
}

/// The lock cannot be released, because it has a different id.
pub(super) fn other_lock(place: String, id: &str) -> BackendError {
    BackendError::Refused {
        place,
        doing: "releasing the lock",
        error: format!("lock id {id:?} does not match existing lock"),
        advice: String::new(),
    }
}

/// A lock still exists after a request that should have removed it.
pub(super) fn lock_stays(place: String, id: &str) -> BackendError {
    BackendError::Refused {
        place,
        doing: "releasing the lock",
        error: format!("the lock {id:?} is still in the DynamoDB table, because its content has changed"),
        advice: format!("Try again with: weft force-unlock {id}"),
    }
}

/// One of two locks could not be released.
pub(super) fn half_released(place: String, released: &str, other: &str, error: &BackendError) -> BackendError {
    let error = format!("{released} lock released but {other} failed: {}", cause(error));
    BackendError::Refused { place, doing: "releasing the lock", error, advice: String::new() }
}

/// Neither of two locks could be released.
pub(super) fn not_released(place: String, object: &BackendError, item: &BackendError) -> BackendError {
    let error = format!("s3: {}; dynamoDB: {}", cause(object), cause(item));
    BackendError::Refused { place, doing: "releasing the lock", error, advice: String::new() }
}

/// The second lock could not be taken, and the first one could not be released.
pub(super) fn left_lock(place: String, id: &str, why: &str, error: &BackendError) -> BackendError {
    BackendError::Refused {
        place,
        doing: "taking the lock",
        error: format!(
            "{why}, and the lock that was already taken in the bucket could not be removed: {}",
            cause(error)
        ),
        advice: format!("Remove it with: weft force-unlock {id}"),
    }
}

/// The message of an error, without the location.
fn cause(error: &BackendError) -> String {
    match error {
        BackendError::Refused { error, advice, .. } if advice.is_empty() => error.clone(),
        BackendError::Refused { error, advice, .. } => format!("{error}. {advice}"),
        BackendError::Unreachable { error, .. } => format!("the service does not respond: {error}"),
        BackendError::Credentials { error, .. } | BackendError::Damaged { error, .. } => error.clone(),
        error => error.to_string(),
    }
}

/// The service ignores the condition of a write.
pub(super) fn ignores_condition(place: String, header: &str) -> BackendError {
    BackendError::Refused {
        place,
        doing: "trying out conditional writes",
        error: format!(
            "the service, or a proxy on the way to it, ignores the header {header}, so that two processes could overwrite each other's states"
        ),
        advice: "Use a version of the service that supports conditional writes".to_owned(),
    }
}

/// No credentials were found.
pub(super) fn no_credentials<T: ToString>(place: String, tried: &[T]) -> BackendError {
    let tried: Vec<String> = tried.iter().map(ToString::to_string).collect();
    BackendError::Credentials { place, error: tried.join("; ") }
}

/// The reason for giving back the lock in the bucket: another process has the lock in the table.
pub(super) fn table_locked(who: &str) -> String {
    format!("the lock in the DynamoDB table is held by {who:?}")
}

fn arn(role: &Map<String, Json>) -> &str {
    role.get("role_arn").and_then(Json::as_str).unwrap_or_default()
}

/// The message about a role of the environment or of a profile that cannot be assumed.
pub(super) fn assuming(role: &Map<String, Json>, error: &BackendError) -> String {
    format!("the role {} cannot be assumed: {}", arn(role), cause(error))
}

/// Whether the caller lacks a permission.
pub(super) fn is_denied(error: &BackendError) -> bool {
    matches!(error, BackendError::Refused { error, .. } if error.starts_with(DENIED))
}

/// Whether the keys or the token of a request have expired.
pub(super) fn has_ended(error: &BackendError) -> bool {
    let BackendError::Refused { error, .. } = error else { return false };
    EXPIRED.contains(&error.split(':').next().unwrap_or_default())
}

/// A request was refused because its keys have expired, and the source of the keys returned no new keys.
pub(super) fn not_renewed(refused: BackendError, why: &BackendError) -> BackendError {
    match refused {
        BackendError::Refused { place, doing, error, advice } => {
            let error = format!("{error}; looking for other credentials failed: {}", cause(why));
            BackendError::Refused { place, doing, error, advice }
        }
        other => other,
    }
}

/// The subject of a request, for advice.
#[derive(Clone, Copy, Debug)]
pub(super) struct About<'a> {
    /// The bucket or table.
    pub(super) name: &'a str,
    /// The region.
    pub(super) region: &'a str,
    /// The IAM action that the request requires.
    pub(super) action: &'a str,
    /// The region of the bucket, from a header of the response.
    pub(super) header: Option<&'a str>,
}

/// The code and the message of an error.
struct Said {
    code: Option<String>,
    message: Option<String>,
}

impl Said {
    /// The error in an XML body (S3, STS) or a JSON body (DynamoDB, KMS).
    fn new(body: &[u8]) -> Said {
        let json: Option<Json> = serde_json::from_slice(body).ok();
        let field = |name: &str| json.as_ref().and_then(|json| Some(json.get(name)?.as_str()?.to_owned()));
        let code = xml::text(body, "Code").or_else(|| field("__type").map(|code| last(&code).to_owned()));
        let message = xml::text(body, "Message").or_else(|| field("message")).or_else(|| field("Message"));
        Said { code, message }
    }
}

/// The error code in a response.
pub(super) fn code(body: &[u8]) -> Option<String> {
    Said::new(body).code
}

/// Whether an error with this code means that the clocks differ. A code for wrong signatures means this only if the
/// message says that the signature has expired or is not valid yet.
fn is_skewed(code: &str, message: &str) -> bool {
    const SIGNATURES: [&str; 4] =
        ["SignatureDoesNotMatch", "InvalidSignatureException", "IncompleteSignature", "IncompleteSignatureException"];
    const MESSAGES: [&str; 3] = ["Signature expired", "Signature not yet current", "not yet valid"];
    matches!(code, "RequestTimeTooSkewed" | "RequestExpired" | "RequestInTheFuture")
        || SIGNATURES.contains(&code) && MESSAGES.iter().any(|part| message.contains(part))
}

/// The action that the caller may not perform, and its resource, as a message names them.
fn denied(message: &str) -> Option<(&str, &str)> {
    let (_, rest) = message.split_once("not authorized to perform: ")?;
    let (action, rest) = rest.split_once(' ')?;
    let object = rest.strip_prefix("on resource: ").and_then(|rest| rest.split([' ', ',']).next());
    Some((action, object.unwrap_or_default().trim_matches('"')))
}

/// The service returned an error.
pub(super) fn refused(
    place: String,
    doing: &'static str,
    status: StatusCode,
    body: &[u8],
    about: About<'_>,
) -> BackendError {
    let Said { code, message } = Said::new(body);
    let code = code.unwrap_or_else(|| match status {
        StatusCode::FORBIDDEN => DENIED.to_owned(),
        status => format!("HTTP {}", status.as_u16()),
    });
    let advice = advice(&code, message.as_deref().unwrap_or_default(), status, body, about);
    let error = message.map_or_else(|| code.clone(), |message| format!("{code}: {}", message.trim_end_matches('.')));
    BackendError::Refused { place, doing, error, advice }
}

/// What the user can do about the error.
fn advice(code: &str, message: &str, status: StatusCode, body: &[u8], about: About<'_>) -> String {
    let About { name, region, action, header } = about;
    if is_skewed(code, message) {
        return "Set the clock of this machine, which differs from the clock of the service".to_owned();
    }
    match code {
        "NoSuchBucket" => create_bucket(name, region),
        "ResourceNotFoundException" => format!(
            "Create the table with: aws dynamodb create-table --table-name {name} --attribute-definitions \
             AttributeName=LockID,AttributeType=S --key-schema AttributeName=LockID,KeyType=HASH --billing-mode \
             PAY_PER_REQUEST --region {region}"
        ),
        DENIED | "AccessDeniedException" => match denied(message) {
            Some((action, object)) if !object.is_empty() => format!("Grant the caller the action {action} on {object}"),
            _ => format!("Grant the caller the action {action} on {name}"),
        },
        code if EXPIRED.contains(&code) => "Get new credentials: the session has ended".to_owned(),
        "InvalidAccessKeyId"
        | "SignatureDoesNotMatch"
        | "UnrecognizedClientException"
        | "InvalidClientTokenId"
        | "InvalidSignatureException"
        | "InvalidToken" => "Check access key, secret key and session token".to_owned(),
        "AuthorizationHeaderMalformed" | "PermanentRedirect" | "IllegalLocationConstraintException" => {
            match xml::text(body, "Region").or_else(|| header.map(str::to_owned)) {
                Some(other) => format!("The bucket is in the region {other}, not in {region}: set the argument region"),
                None => format!(
                    "The bucket is probably not in the region {region}: set the argument region to the region of the \
                     bucket"
                ),
            }
        }
        code if is_busy(code) || status == StatusCode::TOO_MANY_REQUESTS => {
            "The service is busy. Try again later, or set a higher max_retries".to_owned()
        }
        "NotImplemented" => {
            "The service does not support this request. If the service does not support checksums, set \
             skip_s3_checksum. If it does not support conditional writes, use another version of the service"
                .to_owned()
        }
        "NotFoundException" | "KMS.NotFoundException" => format!("Check the key {name:?} and the region {region}"),
        "DisabledException" | "KMS.DisabledException" | "KMSInvalidStateException" | "KMS.KMSInvalidStateException" => {
            "Enable the key in KMS".to_owned()
        }
        "InvalidBucketName" => "Check the argument bucket: its value cannot be the name of a bucket".to_owned(),
        "InvalidRequest" if message.contains("Server Side Encryption") => {
            "Set encrypt and the sse_customer_key with which the state was written".to_owned()
        }
        _ => String::new(),
    }
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

/// The part of a code after the last `#`. DynamoDB qualifies its codes.
fn last(code: &str) -> &str {
    code.rsplit('#').next().unwrap_or(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_has_its_way_out() {
        let xml = |code: &str, message: &str, more: &str| {
            format!("<Error><Code>{code}</Code><Message>{message}</Message>{more}</Error>")
        };
        let json =
            |code: &str, message: &str| format!(r#"{{"__type": "com.amazonaws#{code}", "message": "{message}"}}"#);
        let clock = "Set the clock of this machine";
        let keys = "Check access key, secret key and session token";
        let ended = "Get new credentials: the session has ended";
        let busy = "The service is busy";
        let early = "Signature expired: 20260101T000000Z is now earlier than 20260101T001000Z";
        let not_yet = "Signature not yet current: 20260101T002000Z is still later than 20260101T001500Z";
        let denied = "User: arn:aws:iam::1:user/u is not authorized to perform: kms:GenerateDataKey on resource: \
                      arn:aws:kms:r:1:key/k because no identity-based policy allows it";
        for (body, header, want) in [
            // Wrong region.
            (
                xml("PermanentRedirect", "m", ""),
                Some("eu-west-1"),
                "The bucket is in the region eu-west-1, not in here",
            ),
            (xml("AuthorizationHeaderMalformed", "m", "<Region>eu-west-2</Region>"), None, "in the region eu-west-2"),
            (xml("IllegalLocationConstraintException", "m", ""), None, "The bucket is probably not in the region here"),
            // Missing resources.
            (xml("NoSuchBucket", "m", ""), None, "aws s3api create-bucket --bucket thing --region here"),
            (json("ResourceNotFoundException", "m"), None, "aws dynamodb create-table --table-name thing"),
            (json("NotFoundException", "m"), None, "Check the key \"thing\" and the region here"),
            // Permissions.
            (xml("AccessDenied", "Access Denied", ""), None, "Grant the caller the action s3:GetObject on thing"),
            (xml("AccessDenied", denied, ""), None, "the action kms:GenerateDataKey on arn:aws:kms:r:1:key/k"),
            (json("AccessDeniedException", "m"), None, "Grant the caller the action s3:GetObject on thing"),
            // Clocks: S3, STS, DynamoDB, KMS.
            (xml("RequestTimeTooSkewed", "m", ""), None, clock),
            (xml("RequestExpired", "m", ""), None, clock),
            (xml("SignatureDoesNotMatch", early, ""), None, clock),
            (json("InvalidSignatureException", early), None, clock),
            (json("InvalidSignatureException", not_yet), None, clock),
            (json("IncompleteSignatureException", early), None, clock),
            // Credentials.
            (xml("SignatureDoesNotMatch", "m", ""), None, keys),
            (xml("InvalidAccessKeyId", "m", ""), None, keys),
            (xml("InvalidClientTokenId", "m", ""), None, keys),
            (json("UnrecognizedClientException", "m"), None, keys),
            (xml("ExpiredToken", "m", ""), None, ended),
            (json("ExpiredTokenException", "m"), None, ended),
            // Too many requests.
            (xml("SlowDown", "m", ""), None, busy),
            (json("ThrottlingException", "m"), None, busy),
            (json("ProvisionedThroughputExceededException", "m"), None, busy),
            // Others.
            (xml("NotImplemented", "m", ""), None, "does not support conditional writes"),
            (xml("KMS.DisabledException", "m", ""), None, "Enable the key in KMS"),
            (xml("InvalidRequest", "another form of Server Side Encryption", ""), None, "Set encrypt and"),
        ] {
            let about = About { name: "thing", region: "here", action: "s3:GetObject", header };
            let error = refused("place".to_owned(), "reading", StatusCode::BAD_REQUEST, body.as_bytes(), about);
            let BackendError::Refused { advice, error, .. } = error else { panic!("{error}") };
            assert!(advice.contains(want), "{error}: {advice}");
        }
        let about = About { name: "thing", region: "here", action: "s3:GetObject", header: None };
        let error = refused("place".to_owned(), "reading", StatusCode::FORBIDDEN, b"", about);
        assert!(error.to_string().contains("AccessDenied. Grant the caller"), "{error}");
        assert!(is_denied(&error));
    }
}
