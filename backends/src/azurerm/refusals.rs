//! Error messages for refused requests, each with advice.

use jiff::Timestamp;
use weft_state::remote::BackendError;

use super::settings::{AzureSettings, Proof};
use crate::exchange::HttpReply;
use crate::xml;

/// The header with the code of an error. It is needed because some responses have no body.
const CODE: &str = "x-ms-error-code";
/// A header that every response of the service has.
const REQUEST: &str = "x-ms-request-id";

/// The code of the error in a response.
pub(super) fn code(reply: &HttpReply) -> String {
    let header = reply.header(CODE).map(str::to_owned);
    header.or_else(|| xml::text(&reply.body, "Code")).unwrap_or_default()
}

/// The message about a lock that has a holder.
pub(super) fn already_locked() -> String {
    "state blob is already locked".to_owned()
}

/// The message about a lock whose holder is unknown.
pub(super) fn locked_without_holder() -> String {
    format!(
        "{}, but the metadata of the blob does not name the holder. If the holder has ended, break the lease with: az \
         storage blob lease break",
        already_locked()
    )
}

/// The lock cannot be released: it has a different id, or no process holds it.
pub(super) fn other_lock(place: String, id: &str) -> BackendError {
    BackendError::Refused {
        place,
        doing: "releasing the lock",
        error: format!("lock id {id:?} does not match existing lock"),
        advice: String::new(),
    }
}

/// All attempts to write the blob failed, because other processes changed it at the same time.
pub(super) fn restless(place: String, doing: &'static str) -> BackendError {
    let error = "other processes keep changing the blob".to_owned();
    BackendError::Refused { place, doing, error, advice: "Try again".to_owned() }
}

/// A request took longer than the settings allow.
pub(super) fn too_late(place: String, doing: &'static str, seconds: u64) -> BackendError {
    let error = format!("there was no response within {seconds} s, the time in timeout_seconds");
    BackendError::Unreachable { place, doing, error }
}

/// The permission that a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Right {
    Read,
    List,
    Write,
    Delete,
}

impl Right {
    /// The last part of the action that a role must include.
    fn action(self) -> &'static str {
        match self {
            Right::Read | Right::List => "read",
            Right::Write => "write",
            Right::Delete => "delete",
        }
    }

    /// The letters for the permission in a shared access signature.
    fn letters(self) -> &'static str {
        match self {
            Right::Read => "r",
            Right::List => "l",
            Right::Write => "cw",
            Right::Delete => "d",
        }
    }
}

/// The maximum difference between two clocks that the service accepts, in seconds.
const SKEW: i64 = 15 * 60;

/// The difference between the clocks of this machine and of the service, in whole minutes. `None` if the service
/// accepts the difference.
fn skew(reply: &HttpReply, now: Timestamp) -> Option<i64> {
    let there = jiff::fmt::rfc2822::parse(reply.header("date")?).ok()?.timestamp();
    let seconds = now.as_second() - there.as_second();
    (seconds.abs() >= SKEW).then_some(seconds.abs() / 60)
}

/// The host of the account cannot be found.
pub(super) fn unreachable(account: &str, error: BackendError) -> BackendError {
    match error {
        BackendError::Unreachable { place, doing, error }
            if ["lookup", "dns"].iter().any(|word| error.contains(word)) =>
        {
            let error = format!(
                "{error}. Check storage_account_name ({account:?}), environment, and the name server of this machine"
            );
            BackendError::Unreachable { place, doing, error }
        }
        other => other,
    }
}

/// The keys of the account cannot be listed in Resource Manager.
pub(super) fn unlisted(account: &str, group: &str, error: &str) -> String {
    let has = |words: &[&str]| words.iter().any(|word| error.contains(word));
    let way_out = if has(&["listKeys", "does not have authorization", "AuthorizationFailed"]) {
        ". Grant the caller the action Microsoft.Storage/storageAccounts/listKeys/action, for example with the role \
         \"Storage Account Key Operator Service Role\". Or set use_azuread_auth = true, which needs no key"
            .to_owned()
    } else if has(&["not found", "could not be found", "404"]) {
        format!(
            ". Check storage_account_name ({account:?}), resource_group_name ({group:?}) and subscription_id. The account \
             is created with: az storage account create --name {account} --resource-group {group}"
        )
    } else {
        String::new()
    };
    format!("error listing access keys on the storage account: {error}{way_out}")
}

/// The service returned an error.
pub(super) fn refused(
    settings: &AzureSettings,
    key: &str,
    doing: &'static str,
    right: Right,
    reply: &HttpReply,
) -> BackendError {
    let code = code(reply);
    // Only the first line is used. The other lines are for the service's support.
    let message = xml::text(&reply.body, "Message");
    let message = message.as_deref().and_then(|text| text.lines().next()).unwrap_or_default().trim().to_owned();
    let error = match (code.is_empty(), message.is_empty()) {
        (true, _) => None,
        (false, true) => Some(code.clone()),
        (false, false) => Some(format!("{} ({code})", message.trim_end_matches('.'))),
    };
    let advice = advice(settings, key, &code, right, reply);
    reply.refusal(settings.place(key), doing, error, &advice)
}

/// What the user can do about the error.
fn advice(settings: &AzureSettings, key: &str, code: &str, right: Right, reply: &HttpReply) -> String {
    let AzureSettings { account, container, .. } = settings;
    match code {
        "" if reply.header(REQUEST).is_none() => {
            "The response is not from the blob service. Check storage_account_name and environment, and any proxies on \
             the way to the service"
                .to_owned()
        }
        "AccountIsDisabled" => {
            format!("Enable the storage account {account} in the portal, or set another storage_account_name")
        }
        "ContainerNotFound" => {
            format!(
                "Create the container with: az storage container create --account-name {account} --name {container}"
            )
        }
        "ContainerBeingDeleted" => {
            format!("The container {container} is being deleted. Try again in a minute, or set another container_name")
        }
        "ContainerDisabled" => {
            format!("Ask an administrator to enable the container {container}, or set another container_name")
        }
        "SnapshotsPresent" => {
            format!("Delete the blob with its snapshots: {} --delete-snapshots include", delete(settings, key))
        }
        "LeaseIdMissing" | "LeaseIdMismatchWithBlobOperation" | "LeaseLost" | "LeaseAlreadyPresent" => {
            "Another holder has the lock of the state. Wait until the lock is released, or use: weft force-unlock \
             LOCK_ID"
                .to_owned()
        }
        "AuthenticationFailed" | "InvalidAuthenticationInfo" | "InvalidHeaderValue" => unauthenticated(settings, reply),
        "AuthorizationPermissionMismatch"
        | "AuthorizationResourceTypeMismatch"
        | "AuthorizationServiceMismatch"
        | "InsufficientAccountPermissions" => lacks(settings, right),
        "AuthorizationSourceIPMismatch" => {
            "The SAS token (sas_token) does not allow the address of this machine. Get a token that does".to_owned()
        }
        // Azurite returns this error for a wrong key.
        "AuthorizationFailure" if String::from_utf8_lossy(&reply.body).contains("failed to authenticate") => {
            unauthenticated(settings, reply)
        }
        "AuthorizationFailure" => {
            format!("Check the network rules of the storage account {account}, and the permissions of the caller")
        }
        "KeyBasedAuthenticationNotPermitted" => {
            "Set use_azuread_auth = true: the storage account does not accept keys".to_owned()
        }
        "ServerBusy" | "OperationTimedOut" => "The service is busy. Try again later".to_owned(),
        "PublicAccessNotPermitted" | "NoAuthenticationInformation" => {
            "Set \"access_key\", \"sas_token\" or use_azuread_auth = true".to_owned()
        }
        "BlobArchived" => format!(
            "Move the blob to an online tier: az storage blob set-tier --account-name {account} --container-name \
             {container} --name '{key}' --tier Hot"
        ),
        "BlobImmutableDueToPolicy" | "BlobImmutableDueToLegalHold" => {
            format!("A policy of the container {container} does not allow changes of blobs. Set another container_name")
        }
        "InvalidBlobType" => format!(
            "The blob with this key is of another kind, so Weft did not write it. Set another key, or delete the blob \
             with: {}",
            delete(settings, key)
        ),
        "BlobUsesCustomerSpecifiedEncryption" | "BlobCustomerSpecifiedEncryptionMismatch" => {
            "Set the customer_provided_key or the encryption_scope with which the state was written".to_owned()
        }
        "BlobDoesNotUseCustomerSpecifiedEncryption" => {
            "The state was written without customer_provided_key. Remove customer_provided_key, or delete the state \
             and write it again"
                .to_owned()
        }
        _ => String::new(),
    }
}

/// The command that deletes a blob.
fn delete(settings: &AzureSettings, key: &str) -> String {
    let AzureSettings { account, container, .. } = settings;
    format!("az storage blob delete --account-name {account} --container-name {container} --name '{key}'")
}

/// The advice if the caller lacks the permission.
fn lacks(settings: &AzureSettings, right: Right) -> String {
    let AzureSettings { account, container, proof, .. } = settings;
    match proof {
        Proof::Signature(_) => format!(
            "Get a SAS token for the container {container} whose permissions (sp) include {:?}. A token for the whole \
             account also needs \"b\" in ss and \"co\" in srt",
            right.letters()
        ),
        Proof::Key(_) | Proof::ListedKey(..) => {
            format!("Check the network rules of the storage account {account}: a key has all rights")
        }
        Proof::Token(_) => format!(
            "Grant the caller the role \"Storage Blob Data Contributor\" on the container {container}, or another role \
             with the action Microsoft.Storage/storageAccounts/blobServices/containers/blobs/{}. Or set \
             use_azuread_auth = false if the caller may list the keys of the account",
            right.action()
        ),
    }
}

/// The advice if the service does not accept the credentials.
fn unauthenticated(settings: &AzureSettings, reply: &HttpReply) -> String {
    let account = &settings.account;
    if let Some(minutes) = skew(reply, Timestamp::now()) {
        return format!(
            "Set the clock of this machine, which differs from the clock of the service by {minutes} minutes"
        );
    }
    let detail = xml::text(&reply.body, "AuthenticationErrorDetail").unwrap_or_default();
    let has = |words: &[&str]| words.iter().any(|word| detail.contains(word));
    if has(&["date header", "Date header"]) {
        return "Set the clock of this machine, which differs from the clock of the service".to_owned();
    }
    match &settings.proof {
        Proof::Signature(_) if has(&["time frame"]) => {
            "The SAS token has expired, or is not valid yet. Get another token, or check the clock of this machine"
                .to_owned()
        }
        Proof::Signature(_) => "Check the SAS token in sas_token: its signature does not fit the account".to_owned(),
        Proof::Key(_) | Proof::ListedKey(..) => format!(
            "Check access_key: it is not a key of the storage account {account}. To list the keys: az storage account \
             keys list --account-name {account}"
        ),
        Proof::Token(_) => format!(
            "Check tenant_id: the token must be for the tenant of the storage account {account}. Also check the clock \
             of this machine"
        ),
    }
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;
    use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn clocks_are_compared() {
        let reply = |date: &str| {
            let headers = [(HeaderName::from_static("date"), HeaderValue::from_str(date).unwrap())];
            let headers: HeaderMap = headers.into_iter().collect();
            HttpReply { attempt: 1, status: StatusCode::FORBIDDEN, headers, body: Default::default() }
        };
        let now = "2026-11-26T10:00:00Z".parse().unwrap();
        for (date, want) in [
            ("Thu, 26 Nov 2026 10:00:00 GMT", None),
            ("Thu, 26 Nov 2026 10:14:00 GMT", None),
            ("Thu, 26 Nov 2026 10:20:00 GMT", Some(20)),
            ("Thu, 26 Nov 2026 08:00:00 GMT", Some(120)),
            ("yesterday", None),
        ] {
            assert_eq!(skew(&reply(date), now), want, "{date}");
        }
    }

    #[test]
    fn keys_that_cannot_be_listed_have_a_way_out() {
        for (error, want) in [
            (
                "it answered 403: The client 'x' does not have authorization to perform action",
                "storageAccounts/listKeys/action",
            ),
            ("it answered 404: Resource group 'g' could not be found.", "--name account --resource-group g"),
            ("it answered 429", "it answered 429"),
        ] {
            let found = unlisted("account", "g", error);
            assert!(found.contains(error) && found.contains(want), "{found}");
        }
    }

    #[test]
    fn accounts_that_cannot_be_found_are_named() {
        for (error, named) in [("dns error: failed to lookup address information", true), ("connection reset", false)] {
            let error = BackendError::Unreachable { place: "p".to_owned(), doing: "reading", error: error.to_owned() };
            assert_eq!(unreachable("states9", error).to_string().contains("\"states9\""), named);
        }
    }
}
