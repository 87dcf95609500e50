//! Requests to the APIs of Tencent Cloud (version 3.0), and sessions of roles, which the API `sts` provides.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use reqwest::Method;
use serde_json::{Value as Json, json};
use url::Url;
use weft_state::remote::BackendError;

use super::refusals::{self, Refusal};
use crate::digests::{hex, hmac_sha256, sha256_hex};
use crate::exchange::{Authorize, Call, HttpService, RETRY};
use crate::expiring::{AssumedRole, CredentialSource, KeyRing, Keys};

/// The version of the APIs for tags and for sessions.
const VERSION: &str = "2018-08-13";
/// The media type of requests.
const JSON: &str = "application/json";
/// The name of the signature algorithm.
const ALGORITHM: &str = "TC3-HMAC-SHA256";

/// An API of Tencent Cloud.
#[derive(Debug)]
pub(super) struct TencentApi {
    service: HttpService,
    url: Url,
    region: String,
}

impl TencentApi {
    /// The API with this name. Its requests are signed with the keys of a key ring.
    ///
    /// # Errors
    /// Returns an error if `name` cannot be part of a host name.
    pub(super) fn new(
        name: &'static str,
        region: &str,
        http: &reqwest::Client,
        place: &str,
        keys: &Arc<KeyRing>,
    ) -> Result<TencentApi, url::ParseError> {
        let url = Url::parse(&format!("https://{name}.tencentcloudapi.com/"))?;
        let authorize = Box::new(ApiSigner { name, keys: Arc::clone(keys) });
        let service = HttpService { http: http.clone(), retry: RETRY, place: place.to_owned(), authorize };
        Ok(TencentApi { service, url, region: region.to_owned() })
    }

    /// Sends a request. The inner result is the response of the API, or an error that the API returned.
    ///
    /// # Errors
    /// Returns an error if the API does not respond.
    pub(super) async fn ask(
        &self,
        doing: &'static str,
        action: &'static str,
        content: &Json,
    ) -> Result<Result<Json, Refusal>, BackendError> {
        let call = Call::new(doing, Method::POST, self.url.clone())
            .body(JSON, content.to_string())
            .header("x-tc-action", action)
            .header("x-tc-version", VERSION)
            .header("x-tc-region", &self.region)
            .header("x-tc-language", "en-US");
        let reply = self.service.send(&call).await?;
        let mut json = reply.json();
        let Some(answer) = json.get_mut("Response").map(Json::take).filter(|_| reply.status.is_success()) else {
            return Err(reply.refusal(self.service.place.clone(), doing, None, ""));
        };
        let Some(error) = answer.get("Error") else { return Ok(Ok(answer)) };
        let text = |name: &str| error.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
        Ok(Err(Refusal { code: text("Code"), message: text("Message") }))
    }
}

/// Signs requests to an API.
struct ApiSigner {
    name: &'static str,
    keys: Arc<KeyRing>,
}

#[async_trait]
impl Authorize for ApiSigner {
    async fn authorize(&self, call: &Call) -> Result<Vec<(String, String)>, BackendError> {
        let keys = self.keys.current().await?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let host = call.url.host_str().unwrap_or_default();
        let header = authorization(&keys, self.name, &[("content-type", JSON), ("host", host)], now, &call.body);
        let mut added = vec![("authorization".to_owned(), header), ("x-tc-timestamp".to_owned(), now.to_string())];
        added.extend(keys.token.map(|token| ("x-tc-token".to_owned(), token)));
        Ok(added)
    }

    async fn rejected(&self) -> bool {
        self.keys.forget().await
    }
}

/// The header `authorization` of a POST request. `headers` are sorted by name, and `now` is in seconds since 1970.
fn authorization(keys: &Keys, name: &str, headers: &[(&str, &str)], now: u64, body: &[u8]) -> String {
    let lines: String = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
    let names = names.join(";");
    let request = format!("POST\n/\n\n{lines}\n{names}\n{}", sha256_hex(body));
    let time = i64::try_from(now).ok().and_then(|now| jiff::Timestamp::from_second(now).ok()).unwrap_or_default();
    let date = time.strftime("%Y-%m-%d").to_string();
    let scope = format!("{date}/{name}/tc3_request");
    let text = format!("{ALGORITHM}\n{now}\n{scope}\n{}", sha256_hex(request.as_bytes()));
    let key = hmac_sha256(format!("TC3{}", keys.secret).as_bytes(), &date);
    let key = hmac_sha256(&hmac_sha256(&key, name), "tc3_request");
    let signature = hex(&hmac_sha256(&key, &text));
    format!("{ALGORITHM} Credential={}/{scope}, SignedHeaders={names}, Signature={signature}", keys.id)
}

/// Requests the keys of a role's sessions.
pub(super) struct TencentRoleKeys {
    pub(super) sessions: TencentApi,
    pub(super) role: AssumedRole,
}

#[async_trait]
impl CredentialSource for TencentRoleKeys {
    async fn keys(&self) -> Result<Keys, BackendError> {
        const DOING: &str = "assuming the role";
        let TencentRoleKeys { sessions, role } = self;
        let mut content =
            json!({ "RoleArn": role.arn, "RoleSessionName": role.session, "DurationSeconds": role.seconds });
        if let Some(policy) = &role.policy {
            content["Policy"] = url::form_urlencoded::byte_serialize(policy.as_bytes()).collect::<String>().into();
        }
        let place = &sessions.service.place;
        let answer = sessions.ask(DOING, "AssumeRole", &content).await?;
        let answer = answer.map_err(|refusal| refusals::role(place.clone(), &role.arn, &refusal))?;
        let text = |name: &str| answer.pointer(&format!("/Credentials/{name}")).and_then(Json::as_str);
        let (Some(id), Some(secret), Some(token)) = (text("TmpSecretId"), text("TmpSecretKey"), text("Token")) else {
            return Err(refusals::no_session_keys(place.clone(), DOING));
        };
        let expires = answer.get("ExpiredTime").and_then(Json::as_u64);
        Ok(Keys {
            id: id.to_owned(),
            secret: secret.to_owned(),
            token: Some(token.to_owned()),
            expires: expires.map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the documentation (product 213, page 30654, with the signature of two headers).
    #[test]
    fn the_example_of_the_documentation() {
        let keys = Keys {
            id: "AKIDz8krbsJ5yKBZQpn74WFkmLPx3EXAMPLE".to_owned(),
            secret: "Gu5t9xGARNpq86cd98joQYCN3EXAMPLE".to_owned(),
            token: None,
            expires: None,
        };
        let body = br#"{"Limit": 1, "Filters": [{"Values": ["\u672a\u547d\u540d"], "Name": "instance-name"}]}"#;
        let headers = [("content-type", "application/json; charset=utf-8"), ("host", "cvm.tencentcloudapi.com")];
        assert_eq!(
            authorization(&keys, "cvm", &headers, 1_551_113_065, body),
            "TC3-HMAC-SHA256 Credential=AKIDz8krbsJ5yKBZQpn74WFkmLPx3EXAMPLE/2019-02-25/cvm/tc3_request, \
             SignedHeaders=content-type;host, \
             Signature=72e494ea809ad7a8c8f7a4507b9bddcbaa8e581f516e8da2f66e2c5a96525168"
        );
    }
}
