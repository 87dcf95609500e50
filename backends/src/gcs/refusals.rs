//! Error messages for refused requests.

use reqwest::StatusCode;
use weft_state::remote::BackendError;

use crate::exchange::HttpReply;

/// The id of a lock is not a number. In this backend, the id of a lock is the generation of its object.
pub(super) fn not_a_generation(place: String, id: &str) -> BackendError {
    BackendError::Refused {
        place,
        doing: "releasing the lock",
        error: format!("Lock ID should be numerical value, got '{id}'"),
        advice: "Use the lock ID that the error about the locked state shows. The ID is the generation number of the \
                 lock object"
            .to_owned(),
    }
}

/// The lock cannot be released, because it has a different id.
pub(super) fn other_lock(place: String, id: &str) -> BackendError {
    BackendError::Refused {
        place,
        doing: "releasing the lock",
        error: format!("there is no lock with the id {id:?}"),
        advice: "Use the lock ID that the error about the locked state shows".to_owned(),
    }
}

/// The service returned an error.
pub(super) fn refused(
    place: String,
    doing: &'static str,
    bucket: &str,
    action: &str,
    reply: &HttpReply,
) -> BackendError {
    let json = reply.json();
    let message = json.pointer("/error/message").and_then(|message| message.as_str()).map(str::to_owned);
    let message = message.or_else(|| String::from_utf8(reply.body.to_vec()).ok().filter(|text| text.len() < 500));
    let advice = match reply.status {
        StatusCode::NOT_FOUND => format!(
            "Create the bucket with: gcloud storage buckets create gs://{bucket} --uniform-bucket-level-access. Turn \
             versioning on: gcloud storage buckets update gs://{bucket} --versioning"
        ),
        StatusCode::FORBIDDEN => format!("Grant the caller the permission {action} on the bucket {bucket}"),
        StatusCode::UNAUTHORIZED => {
            "Get new credentials, for example with: gcloud auth application-default login".to_owned()
        }
        StatusCode::TOO_MANY_REQUESTS => "The service is busy. Try again later".to_owned(),
        _ => String::new(),
    };
    reply.refusal(place, doing, message.map(|message| message.trim().to_owned()), &advice)
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderMap;

    use super::*;

    #[test]
    fn each_answer_has_its_way_out() {
        for (status, body, want) in [
            (
                404,
                r#"{"error": {"message": "no"}}"#,
                "no. Create the bucket with: gcloud storage buckets create gs://b",
            ),
            (403, "no", "no. Grant the caller the permission storage.objects.get on the bucket b"),
            (401, "", "HTTP 401. Get new credentials, for example with: gcloud auth"),
            (429, "", "HTTP 429. The service is busy. Try again later"),
            (418, "", "HTTP 418"),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            let reply = HttpReply { attempt: 1, status, headers: HeaderMap::new(), body: body.into() };
            let error = refused("gs://b/k".to_owned(), "reading the state", "b", "storage.objects.get", &reply);
            assert!(error.to_string().contains(want), "{error}");
        }
    }
}
