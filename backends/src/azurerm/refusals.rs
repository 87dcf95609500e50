//! What the service refuses, in words, each with the way out.

use weft_state::remote::BackendError;

use super::settings::AzureSettings;
use crate::exchange::Reply;
use crate::xml;

/// The header with the code of an error. The answers to some requests have no body.
const CODE: &str = "x-ms-error-code";

/// The code of the error in an answer.
pub(super) fn code(reply: &Reply) -> String {
    let header = reply.header(CODE).map(str::to_owned);
    header.or_else(|| xml::text(&reply.body, "Code")).unwrap_or_default()
}

/// Another lock is there than the one to be released, or none.
pub(super) fn other_lock(place: String, id: &str) -> BackendError {
    BackendError::Refused {
        place,
        doing: "releasing the lock",
        error: format!("lock id {id:?} does not match existing lock"),
        advice: String::new(),
    }
}

/// The blob changed each time before it could be written.
pub(super) fn restless(place: String, doing: &'static str) -> BackendError {
    let error = "the blob is changed by others again and again".to_owned();
    BackendError::Refused { place, doing, error, advice: "Try again".to_owned() }
}

/// A request took longer than the settings allow.
pub(super) fn too_late(place: String, doing: &'static str, seconds: u64) -> BackendError {
    let error = format!("there was no answer within {seconds} s, the time in timeout_seconds");
    BackendError::Unreachable { place, doing, error }
}

/// The service answered with an error.
pub(super) fn refused(settings: &AzureSettings, key: &str, doing: &'static str, reply: &Reply) -> BackendError {
    let code = code(reply);
    // The message ends with lines for the support of the service.
    let message = xml::text(&reply.body, "Message");
    let message = message.as_deref().and_then(|text| text.lines().next()).unwrap_or_default().trim().to_owned();
    let error = match (code.is_empty(), message.is_empty()) {
        (true, _) => None,
        (false, true) => Some(code.clone()),
        (false, false) => Some(format!("{} ({code})", message.trim_end_matches('.'))),
    };
    reply.refusal(settings.place(key), doing, error, &advice(settings, key, &code))
}

fn advice(settings: &AzureSettings, key: &str, code: &str) -> String {
    let AzureSettings { account, container, .. } = settings;
    match code {
        "ContainerNotFound" => {
            format!(
                "Create the container with: az storage container create --account-name {account} --name {container}"
            )
        }
        "SnapshotsPresent" => format!(
            "Delete the blob with its snapshots: az storage blob delete --account-name {account} --container-name \
             {container} --name '{key}' --delete-snapshots include"
        ),
        "LeaseIdMissing" | "LeaseIdMismatchWithBlobOperation" | "LeaseLost" => {
            "Another holder has the lock of the state. Wait until it is released, or use: weft force-unlock".to_owned()
        }
        "AuthenticationFailed" | "InvalidAuthenticationInfo" => {
            "Check the access key, the signature or the credentials, and the clock of this machine".to_owned()
        }
        "AuthorizationPermissionMismatch" => {
            "Grant the caller the role \"Storage Blob Data Contributor\" on the container, or set use_azuread_auth = \
             false if it may list the keys of the account"
                .to_owned()
        }
        "AuthorizationFailure" => {
            format!("Check the network rules of the storage account {account}, and what the caller may do")
        }
        "KeyBasedAuthenticationNotPermitted" => {
            "Set use_azuread_auth = true: the storage account does not accept keys".to_owned()
        }
        "ServerBusy" | "OperationTimedOut" => "The service is busy. Try again later".to_owned(),
        "PublicAccessNotPermitted" | "NoAuthenticationInformation" => {
            "Set \"access_key\", \"sas_token\" or use_azuread_auth = true".to_owned()
        }
        _ => String::new(),
    }
}
