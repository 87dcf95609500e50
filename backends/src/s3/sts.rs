//! Temporary credentials from STS.

use aws_credential_types::Credentials;
use bytes::Bytes;
use reqwest::{Method, StatusCode};
use serde_json::{Map, Value as Json};
use url::Url;
use weft_state::remote::BackendError;

use super::durations::seconds;
use super::expiring::Expiring;
use super::refusals::{self, About};
use super::signing::{self, Regions};
use crate::client::reason;
use crate::xml;

/// The version of the API.
const VERSION: &str = "2011-06-15";
/// The default name of a session.
const SESSION: &str = "weft";
/// The maximum number of attempts.
const ATTEMPTS: u32 = 3;
const DOING: &str = "assuming the role";

/// STS in one region.
#[derive(Clone, Debug)]
pub(super) struct Sts {
    pub(super) http: reqwest::Client,
    pub(super) endpoint: Url,
    pub(super) region: String,
}

/// The parameters of a request that assumes a role with these settings.
fn parameters(action: &str, role: &Map<String, Json>, session: Option<&str>) -> Vec<(String, String)> {
    let text = |name: &str| role.get(name).and_then(Json::as_str).filter(|text| !text.is_empty());
    let mut found = vec![("Action".to_owned(), action.to_owned()), ("Version".to_owned(), VERSION.to_owned())];
    let mut add = |name: &str, value: &str| found.push((name.to_owned(), value.to_owned()));
    add("RoleArn", text("role_arn").unwrap_or_default());
    add("RoleSessionName", text("session_name").or(session).unwrap_or(SESSION));
    for (name, parameter) in [("external_id", "ExternalId"), ("policy", "Policy")] {
        if let Some(value) = text(name) {
            add(parameter, value);
        }
    }
    if let Some(seconds) = text("duration").and_then(seconds) {
        add("DurationSeconds", &seconds.to_string());
    }
    let list = |name: &str| role.get(name).and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
    for (number, arn) in list("policy_arns").enumerate() {
        add(&format!("PolicyArns.member.{}.arn", number + 1), arn);
    }
    for (number, (key, value)) in role.get("tags").and_then(Json::as_object).into_iter().flatten().enumerate() {
        add(&format!("Tags.member.{}.Key", number + 1), key);
        add(&format!("Tags.member.{}.Value", number + 1), value.as_str().unwrap_or_default());
    }
    for (number, key) in list("transitive_tag_keys").enumerate() {
        add(&format!("TransitiveTagKeys.member.{}", number + 1), key);
    }
    found
}

impl Sts {
    /// Assumes a role with credentials.
    pub(super) async fn assume(
        &self,
        place: &str,
        keys: &Credentials,
        role: &Map<String, Json>,
    ) -> Result<Expiring, BackendError> {
        self.ask(place, Some(keys), &parameters("AssumeRole", role, None)).await
    }

    /// Assumes a role with a token of an identity provider.
    pub(super) async fn assume_with_token(
        &self,
        place: &str,
        role: &Map<String, Json>,
        session: Option<&str>,
        token: &str,
    ) -> Result<Expiring, BackendError> {
        let mut parameters = parameters("AssumeRoleWithWebIdentity", role, session);
        parameters.push(("WebIdentityToken".to_owned(), token.to_owned()));
        self.ask(place, None, &parameters).await
    }

    /// The account to which credentials belong.
    pub(super) async fn account(&self, place: &str, keys: &Credentials) -> Result<String, BackendError> {
        let parameters = [("Action", "GetCallerIdentity"), ("Version", VERSION)];
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let body = self.answer(place, Some(keys), &parameters).await?;
        Ok(xml::text(&body, "Account").unwrap_or_default())
    }

    async fn ask(
        &self,
        place: &str,
        keys: Option<&Credentials>,
        parameters: &[(String, String)],
    ) -> Result<Expiring, BackendError> {
        let body = self.answer(place, keys, parameters).await?;
        let part = |name: &str| xml::text(&body, name).unwrap_or_default();
        let expiration = part("Expiration");
        let (id, secret, token) = (part("AccessKeyId"), part("SecretAccessKey"), part("SessionToken"));
        Ok(Expiring::new(&id, &secret, Some(&token), Some(&expiration)))
    }

    /// The response of the service to a request with these parameters, which may be signed.
    async fn answer(
        &self,
        place: &str,
        keys: Option<&Credentials>,
        parameters: &[(String, String)],
    ) -> Result<Bytes, BackendError> {
        let failed = |error: String| refusals::unreachable(place.to_owned(), DOING, error);
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
        let headers = vec![("content-type".to_owned(), "application/x-www-form-urlencoded".to_owned())];
        let mut left = ATTEMPTS;
        loop {
            left -= 1;
            let mut request = self.http.post(self.endpoint.clone()).body(body.clone());
            let signed = match keys {
                Some(keys) => {
                    let Sts { endpoint, region, .. } = self;
                    signing::headers(
                        keys,
                        Regions::One(region),
                        "sts",
                        &Method::POST,
                        endpoint,
                        &headers,
                        body.as_bytes(),
                    )
                    .map_err(|error| failed(error.to_string()))?
                }
                None => Vec::new(),
            };
            for (name, value) in headers.iter().chain(&signed) {
                request = request.header(name, value);
            }
            let answer = match request.send().await {
                Ok(answer) => answer,
                Err(_) if left > 0 => continue,
                Err(error) => return Err(failed(reason(&error))),
            };
            let status = answer.status();
            let body = answer.bytes().await.map_err(|error| failed(reason(&error)))?;
            if status.is_server_error() && left > 0 {
                continue;
            }
            if status != StatusCode::OK {
                let action = parameters.first().map(|(_, action)| format!("sts:{action}")).unwrap_or_default();
                let role = parameters.iter().find(|(name, _)| name == "RoleArn").map(|(_, arn)| arn.as_str());
                let about = About { name: role.unwrap_or("*"), region: &self.region, action: &action, header: None };
                return Err(refusals::refused(place.to_owned(), DOING, status, &body, about));
            }
            return Ok(body);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_of_a_role() {
        let role = json!({
            "role_arn": "arn:r", "duration": "15m", "tags": {"a": "b"}, "transitive_tag_keys": ["a"],
            "policy_arns": ["arn:p"], "external_id": null,
        });
        let found = parameters("AssumeRole", role.as_object().unwrap(), None);
        let text: Vec<String> = found.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            text.join("&"),
            "Action=AssumeRole&Version=2011-06-15&RoleArn=arn:r&RoleSessionName=weft&DurationSeconds=900&\
             PolicyArns.member.1.arn=arn:p&Tags.member.1.Key=a&Tags.member.1.Value=b&TransitiveTagKeys.member.1=a"
        );
    }
}
