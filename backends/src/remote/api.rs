//! The client of the API: JSON:API documents over HTTP.

use bytes::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Method, StatusCode};
use serde_json::Value as Json;
use url::Url;
use weft_state::remote::BackendError;
use weft_state::tfstate::WRITER_VERSION;

use super::hosted::Flavour;
use super::refusals::{HostedDamage, HostedRefusal};
use crate::client::{ClientProblem, ClientSettings, client};
use crate::exchange::{Call, Constant, HttpReply, HttpService};
use crate::retry::RequestRetries;

/// The media type of documents.
const JSON_API: &str = "application/vnd.api+json";
/// Retries have short pauses, as in the library that OpenTofu uses.
const RETRY: RequestRetries = RequestRetries {
    repeats: 30,
    first: std::time::Duration::from_millis(100),
    longest: std::time::Duration::from_millis(400),
};
/// The header with the version of the tool.
const VERSION: &str = "x-terraform-version";
/// The header by which the service recognizes requests of `cloud` blocks.
const INTEGRATION: &str = "x-terraform-integration";

/// The client.
#[derive(Debug)]
pub(super) struct Api {
    /// Sends requests with the token.
    service: HttpService,
    /// Sends requests to URLs that need no token.
    bare: HttpService,
    base: Url,
    flavour: Flavour,
}

/// The result of a request for a document. `None` if the service does not have the document.
pub(super) type Found = Result<Option<Json>, BackendError>;

impl Api {
    /// A client for the service at this URL.
    ///
    /// # Errors
    /// Returns an error if the certificates of the system cannot be used.
    pub(super) fn new(base: Url, token: &str, place: &str, flavour: Flavour) -> Result<Api, ClientProblem> {
        let http = client(&ClientSettings { redirects: true, ..ClientSettings::default() })?;
        let service = |headers: Vec<(String, String)>| HttpService {
            http: http.clone(),
            retry: RETRY,
            place: place.to_owned(),
            authorize: Box::new(Constant(headers)),
        };
        let authorization = ("authorization".to_owned(), format!("Bearer {token}"));
        Ok(Api { service: service(vec![authorization]), bare: service(Vec::new()), base, flavour })
    }

    /// The location of the service, for display.
    pub(super) fn place(&self) -> &str {
        &self.service.place
    }

    fn url(&self, doing: &'static str, path: &str) -> Result<Url, BackendError> {
        self.base.join(path).map_err(|error| self.damaged(doing, &HostedDamage::Url { path: path.to_owned(), error }))
    }

    fn marked(&self, call: Call) -> Call {
        let call = call.header(VERSION, WRITER_VERSION);
        match self.flavour {
            Flavour::Cloud => call.header(INTEGRATION, "cloud"),
            Flavour::Remote => call,
        }
    }

    /// Sends a request. `path` is relative to the URL of the service, or is a whole URL.
    pub(super) async fn send(
        &self,
        doing: &'static str,
        method: Method,
        path: &str,
        body: Option<&Json>,
    ) -> Result<HttpReply, BackendError> {
        let reads = method == Method::GET;
        let call = Call::new(doing, method, self.url(doing, path)?).header("accept", JSON_API);
        let call = match body {
            Some(body) => call.body(JSON_API, body.to_string()),
            None if reads => call,
            None => call.header("content-type", JSON_API),
        };
        self.service.send(&self.marked(call)).await
    }

    /// Reads a document.
    pub(super) async fn get(&self, doing: &'static str, path: &str) -> Found {
        self.found(doing, self.send(doing, Method::GET, path, None).await?)
    }

    /// Reads a document with parameters.
    pub(super) async fn list(&self, doing: &'static str, path: &str, query: &[(&str, &str)]) -> Found {
        let mut url = self.url(doing, path)?;
        url.query_pairs_mut().extend_pairs(query.iter().filter(|(_, value)| !value.is_empty()));
        self.get(doing, url.as_str()).await
    }

    /// Sends a document. Returns the document in the response.
    ///
    /// # Errors
    /// Errors of the service, including 404.
    pub(super) async fn post(&self, doing: &'static str, path: &str, body: &Json) -> Result<Json, BackendError> {
        let reply = self.send(doing, Method::POST, path, Some(body)).await?;
        self.found(doing, reply)?.ok_or_else(|| self.refused(doing, &HostedRefusal::NotFound))
    }

    /// Downloads content from a URL that the service returned. The URL may redirect to another host.
    pub(super) async fn download(&self, doing: &'static str, address: &str) -> Result<Bytes, BackendError> {
        let reply = self.send(doing, Method::GET, address, None).await?;
        if reply.status == StatusCode::NOT_FOUND {
            return Err(self.refused(doing, &HostedRefusal::NotFound));
        }
        self.accepted(doing, &reply)?;
        Ok(reply.body)
    }

    /// Uploads content to a URL that the service returned. The URL contains the authorization for the upload.
    pub(super) async fn upload(&self, doing: &'static str, address: &str, content: Bytes) -> Result<(), BackendError> {
        let call = Call::new(doing, Method::PUT, self.url(doing, address)?).header("accept", "application/json, */*");
        let reply = self.bare.send(&self.marked(call.body("application/octet-stream", content))).await?;
        match reply.status {
            StatusCode::NOT_FOUND => Err(self.refused(doing, &HostedRefusal::NotFound)),
            _ => self.accepted(doing, &reply),
        }
    }

    /// The document in a response. `None` if the service does not have the document. An empty response counts as null.
    pub(super) fn found(&self, doing: &'static str, reply: HttpReply) -> Found {
        if reply.status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        self.accepted(doing, &reply)?;
        if reply.body.is_empty() {
            return Ok(Some(Json::Null));
        }
        let document = serde_json::from_slice(&reply.body);
        document.map(Some).map_err(|error| self.damaged(doing, &HostedDamage::NotJson(error)))
    }

    fn accepted(&self, doing: &'static str, reply: &HttpReply) -> Result<(), BackendError> {
        match reply.status {
            status if status.is_success() => Ok(()),
            _ => Err(self.refused(doing, &HostedRefusal::of(reply))),
        }
    }

    /// The error for a request that the service refused.
    pub(super) fn refused(&self, doing: &'static str, refusal: &HostedRefusal) -> BackendError {
        refusal.at(self.place(), doing)
    }

    /// The error for a response that does not have the expected form.
    pub(super) fn damaged(&self, doing: &'static str, damage: &HostedDamage) -> BackendError {
        damage.at(self.place(), doing)
    }
}

/// The characters that are escaped in a segment of a path.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A name as a segment of a path.
pub(super) fn part(name: &str) -> String {
    utf8_percent_encode(name, ESCAPED).to_string()
}
