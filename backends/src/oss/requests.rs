//! Requests to OSS.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value as Json;
use tokio::sync::OnceCell;
use url::Url;
use weft_graph_format::diagnostic::Diagnostic;
use weft_state::remote::BackendError;

use super::addresses::object;
use super::credentials;
use super::refusals::{self, OssDamage};
use super::rows::Rows;
use super::rpc::AlibabaApi;
use super::settings::OssSettings;
use super::signing::Signer;
use super::tablestore::Table;
use crate::arguments::Environment;
use crate::client::{ClientSettings, client};
use crate::exchange::{Headers, HttpReply, HttpService, RETRY};
use crate::guarded::{Dialect, GuardedBucket};
use crate::problems::no_client;
use crate::retry::RequestRetries;

/// The service that returns the URLs of regions.
const LOCATIONS: &str = "https://location-readonly.aliyuncs.com";
/// The retries of requests for URLs of regions. One retry is enough, because the URL can be derived from the region.
const LOCATION_RETRY: RequestRetries =
    RequestRetries { repeats: 1, first: Duration::from_millis(300), longest: Duration::from_secs(1) };

/// The connections to the services.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) settings: Arc<OssSettings>,
    pub(super) bucket: Arc<GuardedBucket<OssDialect>>,
    pub(super) table: Option<Table>,
}

impl Client {
    /// A client with these settings.
    pub(super) fn new(settings: OssSettings, environment: Environment<'_>) -> Result<Client, Diagnostic> {
        let http = client(&ClientSettings::of_environment(environment)).map_err(|error| no_client(&error))?;
        let place = format!("oss://{}", settings.bucket);
        let keys = credentials::keys(&settings.access, &settings.region, &http, &place);
        let table = settings.table.as_ref().map(|table| Table::new(table, &http, &place, &keys));
        let retry = LOCATION_RETRY;
        let (http_of, keys_of) = (http.clone(), Arc::clone(&keys));
        let locations =
            AlibabaApi { http: http_of, retry, address: LOCATIONS.to_owned(), keys: keys_of, place: place.clone() };
        let signer = Signer { keys, bucket: settings.bucket.clone() };
        let service = HttpService { http, retry: RETRY, place, authorize: Box::new(signer) };
        let settings = Arc::new(settings);
        let dialect = OssDialect { settings: Arc::clone(&settings), locations, endpoint: OnceCell::new() };
        Ok(Client { settings, bucket: Arc::new(GuardedBucket { dialect, service }), table })
    }

    /// The rows of the state with this key, if the settings have a table.
    pub(super) fn rows(&self, key: &str) -> Option<Rows<'_>> {
        let table = self.table.as_ref()?;
        let name = format!("{}/{key}", self.settings.bucket);
        Some(Rows { table, place: format!("oss://{name}"), name })
    }
}

/// The dialect of OSS.
pub(super) struct OssDialect {
    settings: Arc<OssSettings>,
    locations: AlibabaApi,
    /// The URL of the service. Empty until the first request.
    endpoint: OnceCell<Url>,
}

impl std::fmt::Debug for OssDialect {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{:?}", self.settings)
    }
}

impl OssDialect {
    /// The URL of the service. If the location service does not respond, the URL is derived from the region.
    async fn endpoint(&self) -> Result<Url, BackendError> {
        const DOING: &str = "finding the address of the service";
        if let Some(written) = &self.settings.endpoint {
            return Ok(written.clone());
        }
        let region = &self.settings.region;
        let parameters = [
            ("Action", "DescribeEndpoints"),
            ("Version", "2015-06-12"),
            ("RegionId", region),
            ("Id", region),
            ("ServiceCode", "oss"),
        ];
        let found = match self.locations.ask(DOING, &parameters, "").await {
            Ok(answer) => host_of(&answer),
            Err(error @ BackendError::Credentials { .. }) => return Err(error),
            Err(_) => None,
        };
        let host = found.unwrap_or_else(|| format!("oss-{region}.aliyuncs.com"));
        let text = if host.starts_with("http") { host } else { format!("https://{host}") };
        Url::parse(&text).map_err(|error| refusals::damaged(self.place(""), DOING, &OssDamage::Address { text, error }))
    }
}

/// The host in a response of the location service.
fn host_of(answer: &Json) -> Option<String> {
    let endpoints = answer.pointer("/Endpoints/Endpoint")?.as_array()?;
    let endpoint = endpoints.iter().find(|endpoint| endpoint.get("Type").and_then(Json::as_str) == Some("openAPI"))?;
    endpoint.get("Endpoint")?.as_str().filter(|host| !host.is_empty()).map(str::to_owned)
}

#[async_trait]
impl Dialect for OssDialect {
    const FORBID: &'static str = "x-oss-forbid-overwrite";
    const VERSION: &'static str = "x-oss-version-id";

    fn place(&self, key: &str) -> String {
        format!("oss://{}/{key}", self.settings.bucket)
    }

    async fn url(&self, key: &str, pairs: &[(&str, &str)]) -> Result<Url, BackendError> {
        let endpoint = self.endpoint.get_or_try_init(|| self.endpoint()).await?.clone();
        Ok(object(endpoint, &self.settings.bucket, key, pairs))
    }

    fn write_headers(&self, _content: &[u8]) -> Headers {
        let mut headers = Vec::new();
        if let Some(acl) = &self.settings.acl {
            headers.push(("x-oss-object-acl", acl.clone()));
        }
        if self.settings.encrypt {
            headers.push(("x-oss-server-side-encryption", "AES256".to_owned()));
        }
        headers
    }

    fn damage(&self, _reply: &HttpReply) -> Option<String> {
        None
    }

    fn advice(&self, code: &str) -> String {
        refusals::advice(code, &self.settings.bucket, &self.settings.region)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hosts_of_answers() {
        let endpoint = |kind: &str, host: &str| json!({"Type": kind, "Endpoint": host});
        let answer = json!({"Endpoints": {"Endpoint": [endpoint("innerAPI", "i"), endpoint("openAPI", "o")]}});
        assert_eq!(host_of(&answer).as_deref(), Some("o"));
        assert_eq!(host_of(&json!({"Endpoints": {"Endpoint": []}})), None);
    }
}
