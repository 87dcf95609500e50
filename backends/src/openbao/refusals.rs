//! Requests that the server refused.

use reqwest::StatusCode;
use serde_json::Value as Json;
use weft_state::remote::BackendError;

use crate::exchange::HttpReply;

/// The server returned an error.
pub(super) fn refused(place: String, doing: &'static str, reply: &HttpReply) -> BackendError {
    let json = reply.json();
    let errors = json.get("errors").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
    let errors = errors.map(str::trim).collect::<Vec<_>>().join("; ");
    let error = format!("HTTP {}: {errors}", reply.status.as_u16());
    let advice = match reply.status {
        StatusCode::FORBIDDEN => {
            "Check the token (BAO_TOKEN), and that its policy allows to update datakey/plaintext and decrypt of the key"
        }
        StatusCode::NOT_FOUND => "Check transit_engine_path, and that the transit engine is enabled there",
        _ => "",
    };
    reply.refusal(place, doing, Some(error).filter(|_| !errors.is_empty()), advice)
}

/// A standby server redirects to an address to which no token is sent.
pub(super) fn unencrypted_redirect(place: String, doing: &'static str, reply: &HttpReply) -> BackendError {
    let error = "the server redirects to an address without encryption".to_owned();
    reply.refusal(place, doing, Some(error), "")
}
