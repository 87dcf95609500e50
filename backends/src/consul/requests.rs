//! Requests to an agent of Consul: keys and values, transactions, sessions.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use reqwest::{Method, StatusCode};
use serde_json::{Value as Json, json};
use url::Url;
use weft_graph_format::diagnostic::Diagnostic;
use weft_state::remote::BackendError;

use super::refusals::{self, ConsulDamage};
use super::settings::ConsulSettings;
use crate::client::client;
use crate::exchange::{Call, Constant, HttpReply, HttpService, RETRY};
use crate::problems::no_client;
use crate::retry::RequestRetries;

/// No retries, for requests that must finish within the lifetime of a session.
const NONE: RequestRetries = RequestRetries { repeats: 0, ..RETRY };
/// The beginning of the message about a failed condition of a transaction.
const STALE: &str = "index is stale";

/// A value with its metadata in Consul.
pub(super) struct Pair {
    pub(super) value: Bytes,
    /// The index of the last change.
    pub(super) index: u64,
    /// A number that the writer chose.
    pub(super) flags: u64,
    /// The session that has locked the key.
    pub(super) session: Option<String>,
}

/// The outcome of a transaction.
pub(super) enum Transacted {
    /// The transaction took effect. The number is the index of the last change.
    Done(u64),
    /// A condition was not met. If the field is `true`, an earlier attempt of the same request may have taken effect.
    Stale(bool),
    /// The transaction has more bytes than the agent allows.
    TooLarge,
}

/// The connection to the agent.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) settings: ConsulSettings,
    service: HttpService,
    /// The client without retries.
    once: HttpService,
}

impl Client {
    /// A client with these settings.
    pub(super) fn new(settings: ConsulSettings) -> Result<Client, Diagnostic> {
        let http = client(&settings.client).map_err(|error| no_client(&error))?;
        let service = |retry: RequestRetries| HttpService {
            http: http.clone(),
            retry,
            place: settings.place(&settings.path),
            authorize: Box::new(Constant(settings.headers.clone())),
        };
        let (service, once) = (service(RETRY), service(NONE));
        Ok(Client { settings, service, once })
    }

    fn url(&self, parts: &[&str], key: &str, query: &[(&str, &str)]) -> Url {
        let mut url = self.settings.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push("v1").extend(parts);
            if !key.is_empty() {
                path.extend(key.split('/'));
            }
        }
        let fixed = self.settings.query.iter().map(|(name, value)| (*name, value.as_str()));
        let pairs: Vec<(&str, &str)> = fixed.chain(query.iter().copied()).collect();
        if !pairs.is_empty() {
            url.query_pairs_mut().extend_pairs(pairs);
        }
        url
    }

    /// The location of a key, for messages.
    pub(super) fn place(&self, key: &str) -> String {
        self.settings.place(key)
    }

    /// The error for a response with an error status.
    fn refused(&self, doing: &'static str, key: &str, reply: &HttpReply) -> BackendError {
        refusals::refused(self.place(key), doing, &self.settings.path, reply)
    }

    /// Reads a value. `None` if the key does not exist.
    pub(super) async fn pair(&self, doing: &'static str, key: &str) -> Result<Option<Pair>, BackendError> {
        let url = self.url(&["kv"], key, &[("consistent", "")]);
        let reply = self.service.send(&Call::new(doing, Method::GET, url)).await?;
        match reply.status {
            StatusCode::OK => {
                let damaged = || refusals::damaged(self.place(key), doing, &ConsulDamage::NoIndex);
                reply.json().get(0).and_then(pair_of).map(Some).ok_or_else(damaged)
            }
            StatusCode::NOT_FOUND => Ok(None),
            _ => Err(self.refused(doing, key, &reply)),
        }
    }

    /// The keys that begin with a prefix. With a separator, each key is cut after the first separator that follows the
    /// prefix, and each result is listed once.
    pub(super) async fn keys(
        &self,
        doing: &'static str,
        prefix: &str,
        separator: Option<&str>,
    ) -> Result<Vec<String>, BackendError> {
        let mut query = vec![("keys", ""), ("consistent", "")];
        query.extend(separator.map(|separator| ("separator", separator)));
        let reply = self.service.send(&Call::new(doing, Method::GET, self.url(&["kv"], prefix, &query))).await?;
        match reply.status {
            StatusCode::OK => {
                let json = reply.json();
                let keys = json.as_array().into_iter().flatten().filter_map(Json::as_str);
                Ok(keys.map(str::to_owned).collect())
            }
            StatusCode::NOT_FOUND => Ok(Vec::new()),
            _ => Err(self.refused(doing, prefix, &reply)),
        }
    }

    /// Writes a value with these parameters of the request. Returns whether the condition of the request was met.
    pub(super) async fn put(
        &self,
        doing: &'static str,
        key: &str,
        value: Bytes,
        query: &[(&str, &str)],
    ) -> Result<bool, BackendError> {
        let call = Call::new(doing, Method::PUT, self.url(&["kv"], key, query)).body("application/octet-stream", value);
        let reply = self.service.send(&call).await?;
        match reply.status {
            StatusCode::OK => Ok(reply.body.starts_with(b"true")),
            _ => Err(self.refused(doing, key, &reply)),
        }
    }

    /// Deletes a key. With the query `recurse`, deletes all keys that have the key as a prefix.
    pub(super) async fn delete(
        &self,
        doing: &'static str,
        key: &str,
        query: &[(&str, &str)],
    ) -> Result<(), BackendError> {
        let reply = self.service.send(&Call::new(doing, Method::DELETE, self.url(&["kv"], key, query))).await?;
        match reply.status {
            StatusCode::OK | StatusCode::NOT_FOUND => Ok(()),
            _ => Err(self.refused(doing, key, &reply)),
        }
    }

    /// Performs all of these operations on keys, or none of them.
    pub(super) async fn transact(
        &self,
        doing: &'static str,
        key: &str,
        operations: &[Json],
    ) -> Result<Transacted, BackendError> {
        let operations: Vec<Json> = operations.iter().map(|operation| json!({ "KV": operation })).collect();
        let body = Json::Array(operations).to_string();
        let call = Call::new(doing, Method::PUT, self.url(&["txn"], "", &[])).body("application/json", body);
        let reply = self.service.send(&call).await?;
        match reply.status {
            StatusCode::OK => {
                let json = reply.json();
                let results = json.get("Results").and_then(Json::as_array).into_iter().flatten();
                let indexes = results.filter_map(|result| result.pointer("/KV/ModifyIndex")?.as_u64());
                Ok(Transacted::Done(indexes.max().unwrap_or_default()))
            }
            StatusCode::CONFLICT => {
                let json = reply.json();
                let errors = json.get("Errors").and_then(Json::as_array).into_iter().flatten();
                let errors: Vec<&str> = errors.filter_map(|error| error.get("What")?.as_str()).collect();
                if errors.iter().any(|error| error.contains(STALE)) {
                    return Ok(Transacted::Stale(reply.attempt > 1));
                }
                Err(refusals::rolled_back(self.place(key), doing, &errors.join(", ")))
            }
            StatusCode::PAYLOAD_TOO_LARGE => Ok(Transacted::TooLarge),
            _ => Err(self.refused(doing, key, &reply)),
        }
    }

    /// Starts a session. Returns its id.
    pub(super) async fn begin_session(&self, doing: &'static str, rules: &Json) -> Result<String, BackendError> {
        let url = self.url(&["session", "create"], "", &[]);
        let call = Call::new(doing, Method::PUT, url).body("application/json", rules.to_string());
        let reply = self.service.send(&call).await?;
        if reply.status != StatusCode::OK {
            return Err(self.refused(doing, &self.settings.path, &reply));
        }
        let id = reply.json().get("ID").and_then(Json::as_str).map(str::to_owned);
        id.ok_or_else(|| refusals::damaged(self.place(&self.settings.path), doing, &ConsulDamage::NoSession))
    }

    /// Extends the life of a session. Returns whether it is alive.
    pub(super) async fn renew_session(&self, id: &str) -> Result<bool, BackendError> {
        const DOING: &str = "renewing the session of the lock";
        let url = self.url(&["session", "renew", id], "", &[]);
        let reply = self.once.send(&Call::new(DOING, Method::PUT, url)).await?;
        match reply.status {
            StatusCode::OK => Ok(true),
            StatusCode::NOT_FOUND => Ok(false),
            _ => Err(self.refused(DOING, &self.settings.path, &reply)),
        }
    }

    /// Ends a session. A session that has already ended is no error.
    pub(super) async fn end_session(&self, doing: &'static str, id: &str) -> Result<(), BackendError> {
        let url = self.url(&["session", "destroy", id], "", &[]);
        let reply = self.service.send(&Call::new(doing, Method::PUT, url)).await?;
        match reply.status {
            StatusCode::OK => Ok(()),
            _ => Err(self.refused(doing, &self.settings.path, &reply)),
        }
    }
}

/// Parses a value in a response of the agent. In such a response, an empty value is null.
fn pair_of(json: &Json) -> Option<Pair> {
    let value = match json.get("Value") {
        Some(Json::String(text)) => STANDARD.decode(text).ok()?.into(),
        _ => Bytes::new(),
    };
    let session = json.get("Session").and_then(Json::as_str).filter(|session| !session.is_empty());
    Some(Pair {
        value,
        index: json.get("ModifyIndex")?.as_u64()?,
        flags: json.get("Flags").and_then(Json::as_u64).unwrap_or_default(),
        session: session.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read() {
        let json = json!({"LockIndex": 0, "Key": "k", "Flags": 3304740253564472344_u64, "Value": "e30=",
            "Session": "s", "CreateIndex": 1, "ModifyIndex": 7});
        let pair = pair_of(&json).unwrap();
        assert_eq!((pair.value, pair.index), (Bytes::from("{}"), 7));
        assert_eq!((pair.flags, pair.session.as_deref()), (0x2ddc_cbc0_58a5_0c18, Some("s")));
        let empty = pair_of(&json!({"Value": null, "ModifyIndex": 1})).unwrap();
        assert_eq!((empty.value, empty.session), (Bytes::new(), None));
        assert!(pair_of(&json!({"Value": "e30="})).is_none());
    }
}
