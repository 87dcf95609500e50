//! Requests to the API of a cluster: for secrets and leases in a namespace.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use reqwest::{Method, StatusCode};
use serde_json::{Value as Json, json};
use tokio::sync::Mutex;
use url::Url;
use weft_graph_format::diagnostic::Diagnostic;
use weft_state::remote::BackendError;

use super::refusals;
use super::settings::KubernetesSettings;
use crate::client::client;
use crate::exchange::{Call, Constant, HttpReply, HttpService, RETRY};
use crate::problems::no_client;

/// The time after which the file of a token is read again, as in Kubernetes' library.
const FILE_LIFE: Duration = Duration::from_secs(60);
/// The media type of lists without the contents of their items.
const NAMES_ONLY: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
/// The maximum number of items in one response.
const PAGE: &str = "500";

/// A kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resource {
    Secret,
    Lease,
}

impl Resource {
    fn parts(self) -> (&'static [&'static str], &'static str) {
        match self {
            Resource::Secret => (&["api", "v1"], "secrets"),
            Resource::Lease => (&["apis", "coordination.k8s.io", "v1"], "leases"),
        }
    }

    /// The fields `apiVersion` and `kind` of an object.
    pub(super) fn head(self) -> (&'static str, &'static str) {
        match self {
            Resource::Secret => ("v1", "Secret"),
            Resource::Lease => ("coordination.k8s.io/v1", "Lease"),
        }
    }
}

/// The outcome of a write.
pub(super) enum Stored {
    /// The object was written. The field has the new content.
    Done(Json),
    /// The object already exists, was changed, or no longer exists. If the field is `true`, the cause may be an earlier
    /// attempt that took effect.
    Conflict(bool),
}

/// A connection with the current credentials.
struct CurrentAccess {
    service: Arc<HttpService>,
    expires: Option<SystemTime>,
}

/// The connection to the cluster.
pub(super) struct Client {
    pub(super) settings: KubernetesSettings,
    address: Url,
    known: Mutex<Option<CurrentAccess>>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Client({:?})", self.settings)
    }
}

impl Client {
    /// A client with these settings.
    pub(super) fn new(settings: KubernetesSettings) -> Result<Client, Diagnostic> {
        let address = settings.cluster.address().map_err(|error| super::problems::not_usable(&error))?;
        // Certificates and keys are checked now. The connections are made with the first request.
        client(&settings.cluster.client(None)).map_err(|error| no_client(&error))?;
        Ok(Client { settings, address, known: Mutex::default() })
    }

    /// The location of an object, for display.
    pub(super) fn place(&self, name: &str) -> String {
        let host = &self.address[url::Position::BeforeHost..url::Position::AfterPort];
        format!("kubernetes://{host}/{}/{name}", self.settings.namespace)
    }

    async fn service(&self) -> Result<Arc<HttpService>, BackendError> {
        let mut known = self.known.lock().await;
        let now = SystemTime::now();
        if let Some(found) = known.as_ref().filter(|found| found.expires.is_none_or(|expires| expires > now)) {
            return Ok(Arc::clone(&found.service));
        }
        let cluster = &self.settings.cluster;
        let failed = |error: &dyn std::fmt::Display| refusals::no_credentials(self.place(""), error);
        let own = cluster.token.is_some() || cluster.username.is_some() || cluster.token_file.is_some();
        let given = match &cluster.plugin {
            Some(plugin) if !own => Some(plugin.run().await.map_err(|error| failed(&error))?),
            _ => None,
        };
        let headers = cluster.headers(given.as_ref()).map_err(|error| failed(&error))?;
        let http = client(&cluster.client(given.as_ref())).map_err(|error| failed(&error))?;
        let authorize = Box::new(Constant(headers));
        let service = Arc::new(HttpService { http, retry: RETRY, place: self.place(""), authorize });
        let read_again = cluster.token_file.is_some().then(|| now + FILE_LIFE);
        let expires = given.and_then(|given| given.expires).or(read_again);
        *known = Some(CurrentAccess { service: Arc::clone(&service), expires });
        Ok(service)
    }

    /// Sends a request. If the service rejects the credentials, and they came from a plugin or a token file, gets new
    /// credentials and sends the request once more.
    async fn send(&self, call: &Call) -> Result<HttpReply, BackendError> {
        let reply = self.service().await?.send(call).await?;
        let cluster = &self.settings.cluster;
        if reply.status != StatusCode::UNAUTHORIZED || cluster.plugin.is_none() && cluster.token_file.is_none() {
            return Ok(reply);
        }
        *self.known.lock().await = None;
        self.service().await?.send(call).await
    }

    fn url(&self, resource: Resource, name: &str, query: &[(&str, &str)]) -> Url {
        let mut url = self.address.clone();
        let (start, kind) = resource.parts();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(start).extend(["namespaces", &self.settings.namespace, kind]);
            if !name.is_empty() {
                path.push(name);
            }
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    fn refused(&self, doing: &'static str, name: &str, reply: &HttpReply) -> BackendError {
        refusals::refused(self.place(name), doing, &self.settings.namespace, reply)
    }

    /// Reads an object. `None` if the object does not exist.
    pub(super) async fn get(
        &self,
        doing: &'static str,
        resource: Resource,
        name: &str,
    ) -> Result<Option<Json>, BackendError> {
        let call = Call::new(doing, Method::GET, self.url(resource, name, &[])).header("accept", "application/json");
        let reply = self.send(&call).await?;
        match reply.status {
            StatusCode::OK => Ok(Some(reply.json())),
            StatusCode::NOT_FOUND => Ok(None),
            _ => Err(self.refused(doing, name, &reply)),
        }
    }

    /// Creates an object if it does not exist.
    pub(super) async fn create(
        &self,
        doing: &'static str,
        resource: Resource,
        name: &str,
        mut object: Json,
    ) -> Result<Stored, BackendError> {
        let (version, kind) = resource.head();
        object["apiVersion"] = json!(version);
        object["kind"] = json!(kind);
        object["metadata"]["name"] = json!(name);
        object["metadata"]["namespace"] = json!(self.settings.namespace);
        let url = self.url(resource, "", &[]);
        let call = Call::new(doing, Method::POST, url).body("application/json", object.to_string());
        let reply = self.send(&call.header("accept", "application/json")).await?;
        match reply.status {
            status if status.is_success() => Ok(Stored::Done(reply.json())),
            StatusCode::CONFLICT => Ok(Stored::Conflict(reply.attempt > 1)),
            _ => Err(self.refused(doing, name, &reply)),
        }
    }

    /// Replaces an object. If the new content has a version in its metadata, the object must have that version.
    pub(super) async fn replace(
        &self,
        doing: &'static str,
        resource: Resource,
        name: &str,
        object: &Json,
    ) -> Result<Stored, BackendError> {
        let url = self.url(resource, name, &[]);
        let call = Call::new(doing, Method::PUT, url).body("application/json", object.to_string());
        let reply = self.send(&call.header("accept", "application/json")).await?;
        match reply.status {
            status if status.is_success() => Ok(Stored::Done(reply.json())),
            StatusCode::CONFLICT | StatusCode::NOT_FOUND => Ok(Stored::Conflict(reply.attempt > 1)),
            _ => Err(self.refused(doing, name, &reply)),
        }
    }

    /// Deletes an object. An absent object is no error.
    pub(super) async fn delete(&self, doing: &'static str, resource: Resource, name: &str) -> Result<(), BackendError> {
        let body = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"});
        let url = self.url(resource, name, &[]);
        let call = Call::new(doing, Method::DELETE, url).body("application/json", body.to_string());
        let reply = self.send(&call.header("accept", "application/json")).await?;
        match reply.status {
            status if status.is_success() || status == StatusCode::NOT_FOUND => Ok(()),
            _ => Err(self.refused(doing, name, &reply)),
        }
    }

    /// The metadata of all secrets with these labels.
    pub(super) async fn list(&self, doing: &'static str, labels: &str) -> Result<Vec<Json>, BackendError> {
        let mut found = Vec::new();
        let mut next: Option<String> = None;
        loop {
            let mut query = vec![("labelSelector", labels), ("limit", PAGE)];
            query.extend(next.as_deref().map(|next| ("continue", next)));
            let url = self.url(Resource::Secret, "", &query);
            let reply = self.send(&Call::new(doing, Method::GET, url).header("accept", NAMES_ONLY)).await?;
            match reply.status {
                StatusCode::OK => {}
                // The list expired while it was read.
                StatusCode::GONE if next.is_some() => {
                    found.clear();
                    next = None;
                    continue;
                }
                _ => return Err(self.refused(doing, "", &reply)),
            }
            let json = reply.json();
            let items = json.get("items").and_then(Json::as_array).into_iter().flatten();
            found.extend(items.filter_map(|item| item.get("metadata").cloned()));
            let more = json.pointer("/metadata/continue").and_then(Json::as_str).filter(|more| !more.is_empty());
            match more {
                Some(more) => next = Some(more.to_owned()),
                None => return Ok(found),
            }
        }
    }
}

/// The version of an object. Every change of the object also changes the version.
pub(super) fn version_of(object: &Json) -> &str {
    object.pointer("/metadata/resourceVersion").and_then(Json::as_str).unwrap_or_default()
}
