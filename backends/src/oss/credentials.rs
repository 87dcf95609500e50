//! Sources of keys: the settings, the role of the machine, and assumed roles.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use serde_json::Value as Json;
use weft_state::remote::BackendError;

use super::refusals::{self, OssDamage};
use super::rpc::AlibabaApi;
use super::settings::Access;
use crate::exchange::RETRY;
use crate::expiring::{AssumedRole, CredentialSource, GivenKeys, KeyRing, Keys};
use crate::tokens::{TokenProblem, ask};

/// The URL at which a machine gets the keys of its role.
const MACHINE: &str = "http://100.100.100.200/latest/meta-data/ram/security-credentials/";
/// The version of the API for sessions.
const VERSION: &str = "2015-04-01";

/// The keys that the settings describe.
pub(super) fn keys(access: &Access, region: &str, http: &reqwest::Client, place: &str) -> Arc<KeyRing> {
    let ring = match (access.id.is_empty(), &access.machine) {
        (true, Some(role)) => {
            let source = MachineKeys { http: http.clone(), role: role.clone(), place: place.to_owned() };
            KeyRing::new(source)
        }
        (true, None) => KeyRing::new(GivenKeys(Err(refusals::no_keys(place.to_owned())))),
        (false, _) => {
            let Access { id, secret, token, .. } = access.clone();
            KeyRing::new(GivenKeys(Ok(Keys { id, secret, token, expires: None })))
        }
    };
    let ring = Arc::new(ring);
    let Some(role) = &access.role else { return ring };
    let host = access.sessions.clone().unwrap_or_else(|| match region.is_empty() {
        true => "sts.aliyuncs.com".to_owned(),
        false => format!("sts.{region}.aliyuncs.com"),
    });
    let host = host.trim_end_matches('/');
    let address = if host.starts_with("http") { host.to_owned() } else { format!("https://{host}") };
    let api = AlibabaApi { http: http.clone(), retry: RETRY, address, keys: ring, place: place.to_owned() };
    Arc::new(KeyRing::new(AlibabaRoleKeys { api, role: role.clone(), region: region.to_owned() }))
}

/// The keys in a response.
fn keys_of(answer: &Json) -> Option<Keys> {
    let text = |name: &str| answer.get(name).and_then(Json::as_str).map(str::to_owned);
    let expires = text("Expiration").and_then(|time| time.parse::<jiff::Timestamp>().ok());
    Some(Keys {
        id: text("AccessKeyId")?,
        secret: text("AccessKeySecret")?,
        token: Some(text("SecurityToken")?),
        expires: expires.map(SystemTime::from),
    })
}

/// Why the metadata service gives no keys.
#[derive(Debug, thiserror::Error)]
pub(super) enum MachineKeysProblem {
    #[error("{0}")]
    Request(#[source] TokenProblem),
    #[error("the response does not report success")]
    NoSuccess,
    #[error("the response has no keys")]
    NoKeys,
}

/// Requests the keys of the machine's role.
struct MachineKeys {
    http: reqwest::Client,
    role: String,
    place: String,
}

#[async_trait]
impl CredentialSource for MachineKeys {
    async fn keys(&self) -> Result<Keys, BackendError> {
        let failed = |error| refusals::no_machine_keys(self.place.clone(), &self.role, &error);
        let answer = ask(self.http.get(format!("{MACHINE}{}", self.role))).await;
        let answer = answer.map_err(|error| failed(MachineKeysProblem::Request(error)))?;
        if answer.get("Code").and_then(Json::as_str) != Some("Success") {
            return Err(failed(MachineKeysProblem::NoSuccess));
        }
        keys_of(&answer).ok_or_else(|| failed(MachineKeysProblem::NoKeys))
    }
}

/// Requests the keys of a role's sessions.
struct AlibabaRoleKeys {
    api: AlibabaApi,
    role: AssumedRole,
    region: String,
}

#[async_trait]
impl CredentialSource for AlibabaRoleKeys {
    async fn keys(&self) -> Result<Keys, BackendError> {
        const DOING: &str = "assuming the role";
        let AlibabaRoleKeys { api, role, region } = self;
        let seconds = role.seconds.to_string();
        let mut parameters = vec![
            ("Action", "AssumeRole"),
            ("Version", VERSION),
            ("RegionId", region),
            ("RoleArn", role.arn.as_str()),
            ("RoleSessionName", role.session.as_str()),
            ("DurationSeconds", &seconds),
        ];
        parameters.extend(role.policy.as_deref().map(|policy| ("Policy", policy)));
        let answer = api.ask(DOING, &parameters, &refusals::role_advice(&role.arn)).await?;
        let keys = answer.get("Credentials").and_then(keys_of);
        keys.ok_or_else(|| refusals::damaged(api.place.clone(), DOING, &OssDamage::NoKeys))
    }
}
