//! The key provider `aws_kms`: data keys of the Key Management Service, with the credentials of the backend `s3`.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::{Method, StatusCode};
use serde_json::{Map, Value as Json, json};
use tokio::sync::Mutex;
use url::Url;
use weft_graph_format::schema::Block;
use weft_graph_format::types::Type;
use weft_sealing::Secret;
use weft_state::remote::BackendError;

use super::credentials::Provider;
use super::durations::seconds;
use super::expiring::Expiring;
use super::login::Login;
use super::refusals::{self, About};
use super::schema::{assume_role, object, web_identity};
use super::settings::{self, ServiceName};
use super::signing::{self, Regions};
use crate::arguments::{self, Arguments, BackendSettings, Environment};
use crate::client::client as http_client;
use crate::exchange::{Authorize, Call, HttpReply, HttpService};
use crate::keeper::{Blocking, Keeper, Keeping, Metadata, damaged};
use crate::problems::{key_data, key_setting_empty, key_settings_incomplete, no_client};
use crate::retry::{AttemptResult, RequestRetries};

/// The prefix of the operations in the header. It identifies the API.
const TARGET: &str = "TrentService";
/// The media type of requests.
const JSON: &str = "application/x-amz-json-1.1";
/// The name of the encrypted key in the metadata.
const FIELD: &str = "ciphertext_blob";
/// The values of `key_spec`, with the lengths of their keys in bytes.
const SPECS: [(&str, u64); 2] = [("AES_256", 32), ("AES_128", 16)];
/// The services that the client uses.
const SERVICES: [ServiceName; 2] = [
    ("kms", None, ["AWS_ENDPOINT_URL_KMS", "AWS_KMS_ENDPOINT", "AWS_ENDPOINT_URL"]),
    ("sts", None, ["AWS_ENDPOINT_URL_STS", "AWS_STS_ENDPOINT", "AWS_ENDPOINT_URL"]),
];
/// The minimum and the maximum duration of a role's session, in seconds.
const SESSION: (u64, u64) = (15 * 60, 12 * 3600);
/// The error codes of temporary errors whose HTTP status does not show that they are temporary.
const PASSING: [&str; 3] = ["ThrottlingException", "LimitExceededException", "RequestLimitExceeded"];

/// The schema of the arguments.
pub(crate) fn schema() -> Block {
    const TEXTS: [&str; 17] = [
        "access_key",
        "custom_ca_bundle",
        "ec2_metadata_service_endpoint",
        "ec2_metadata_service_endpoint_mode",
        "http_proxy",
        "https_proxy",
        "key_spec",
        "kms_key_id",
        "max_retries",
        "no_proxy",
        "profile",
        "region",
        "retry_mode",
        "secret_key",
        "sts_region",
        "token",
        "endpoints",
    ];
    const FLAGS: [&str; 6] = [
        "insecure",
        "skip_credentials_validation",
        "skip_metadata_api_check",
        "skip_requesting_account_id",
        "use_dualstack_endpoint",
        "use_fips_endpoint",
    ];
    const LISTS: [&str; 4] =
        ["allowed_account_ids", "forbidden_account_ids", "shared_config_files", "shared_credentials_files"];
    let mut all = vec![("assume_role", assume_role()), ("assume_role_with_web_identity", web_identity())];
    all.extend(TEXTS.map(|name| {
        let ty = match name {
            "max_retries" => Type::Number,
            "endpoints" => object(&["iam", "sts"], &[]),
            _ => Type::String,
        };
        (name, ty)
    }));
    all.extend(FLAGS.map(|name| (name, Type::Bool)));
    all.extend(LISTS.map(|name| (name, Type::list(Type::String))));
    arguments::schema(&all, &["kms_key_id", "key_spec"], &[])
}

/// Makes the client from its settings.
pub(crate) fn connect(settings: &BackendSettings, environment: Environment<'_>) -> Keeping {
    let mut settings = settings.clone();
    if settings.get("max_retries").and_then(Json::as_u64) == Some(0) {
        // As in OpenTofu, zero means the default.
        settings.remove("max_retries");
    }
    let mut arguments = Arguments::new(&settings, environment);
    let key = arguments.text("kms_key_id", &[]).unwrap_or_default();
    if key.is_empty() {
        arguments.problems.push(key_setting_empty("kms_key_id"));
    }
    let spec = arguments.text("key_spec", &[]).unwrap_or_default();
    let known = SPECS.iter().find(|(name, _)| *name == spec);
    match known {
        _ if spec.is_empty() => arguments.problems.push(key_setting_empty("key_spec")),
        None => arguments.problems.push(key_data(&KmsProblem::Spec(spec.clone()))),
        Some(_) => {}
    }
    let region = arguments.text("region", &["AWS_REGION", "AWS_DEFAULT_REGION"]).unwrap_or_default();
    if region.is_empty() {
        arguments.problems.push(key_data(&KmsProblem::NoRegion));
    }
    let endpoints = settings::endpoints(&mut arguments, &region, &SERVICES);
    let retry = settings::retry(&mut arguments);
    let connections = settings::client(&mut arguments);
    let login = Login::read(&mut arguments, &region);
    for problem in invalid_roles(login.role.as_ref(), login.web_identity.as_ref()) {
        arguments.problems.push(key_data(&problem));
    }
    let (_, _) = arguments.finish(())?;
    let http = http_client(&connections).map_err(|error| vec![no_client(&error)])?;
    let mut endpoints = endpoints.into_iter().map(|(_, url)| url);
    // If there are no problems, KMS and STS have an endpoint, and the spec is known.
    let (Some(url), Some(sts), Some((_, length))) = (endpoints.next(), endpoints.next(), known) else {
        return Err(vec![key_settings_incomplete()]);
    };
    let place = format!("the key {key:?} of AWS KMS in {region}");
    let provider = Provider::new(login, http.clone(), sts);
    let signer = KmsSigner { provider, region: region.clone(), place: place.clone(), known: Mutex::default() };
    let service = HttpService { http, retry, place, authorize: Box::new(signer) };
    Ok(Blocking::client(Kms { service, retry, url, region, key, spec, length: *length }))
}

/// Why the settings are not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum KmsProblem {
    #[error("key_spec is {0:?}, but must be AES_256 or AES_128")]
    Spec(String),
    #[error("there is no region: set the argument region, or the variable AWS_REGION or AWS_DEFAULT_REGION")]
    NoRegion,
    #[error("assume_role has no role_arn")]
    NoRoleArn,
    #[error("web_identity_token and web_identity_token_file exclude each other")]
    TwoTokens,
    #[error("the duration {0:?} of a role must be between 15m and 12h")]
    Duration(String),
    #[error("{0:?} in policy_arns is not the ARN of a policy of IAM")]
    PolicyArn(String),
}

/// The problems of the roles to be assumed.
fn invalid_roles(role: Option<&Map<String, Json>>, web_identity: Option<&Map<String, Json>>) -> Vec<KmsProblem> {
    let mut problems = Vec::new();
    let text = |role: &Map<String, Json>, name: &str| {
        role.get(name).and_then(Json::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    if role.is_some_and(|role| text(role, "role_arn").is_none()) {
        problems.push(KmsProblem::NoRoleArn);
    }
    let both = |role: &Map<String, Json>| {
        text(role, "web_identity_token").is_some() && text(role, "web_identity_token_file").is_some()
    };
    if web_identity.is_some_and(both) {
        problems.push(KmsProblem::TwoTokens);
    }
    for role in role.into_iter().chain(web_identity) {
        if let Some(duration) = text(role, "duration")
            && !seconds(&duration).is_some_and(|seconds| (SESSION.0..=SESSION.1).contains(&seconds))
        {
            problems.push(KmsProblem::Duration(duration));
        }
        for arn in role.get("policy_arns").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str) {
            let parts: Vec<&str> = arn.splitn(6, ':').collect();
            if !matches!(parts.as_slice(), ["arn", _, _, _, _, resource] if resource.starts_with("policy/")) {
                problems.push(KmsProblem::PolicyArn(arn.to_owned()));
            }
        }
    }
    problems
}

/// Signs requests to KMS.
struct KmsSigner {
    provider: Provider,
    region: String,
    place: String,
    known: Mutex<Option<Expiring>>,
}

#[async_trait]
impl Authorize for KmsSigner {
    async fn authorize(&self, call: &Call) -> Result<Vec<(String, String)>, BackendError> {
        let mut known = self.known.lock().await;
        let found = self.provider.current(&self.place, &mut known).await?;
        let headers: Vec<(String, String)> =
            call.headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let region = Regions::One(&self.region);
        let signed = signing::headers(&found.keys, region, "kms", &call.method, &call.url, &headers, &call.body);
        signed.map_err(|error| refusals::unreachable(self.place.clone(), call.doing, error.to_string()))
    }

    async fn rejected(&self) -> bool {
        let mut known = self.known.lock().await;
        let Some(old) = known.take() else { return true };
        // An error of the source is ignored here. The next attempt reports the error.
        let found = self.provider.find(&self.place, Some(&old)).await.ok();
        let is_other = found.as_ref().is_none_or(|found| !found.is(&old));
        *known = found;
        is_other
    }
}

/// A key of the service.
struct Kms {
    service: HttpService,
    retry: RequestRetries,
    url: Url,
    region: String,
    key: String,
    spec: String,
    length: u64,
}

impl fmt::Debug for Kms {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Kms({})", self.service.place)
    }
}

impl Kms {
    async fn ask(&self, doing: &'static str, operation: &'static str, body: Json) -> Result<Json, BackendError> {
        let call = Call::new(doing, Method::POST, self.url.clone()).body(JSON, body.to_string());
        let call = Arc::new(call.header("x-amz-target", format!("{TARGET}.{operation}")));
        let attempt = |_| {
            let call = Arc::clone(&call);
            async move {
                match self.service.send(&call).await {
                    Ok(reply) if reply.status == StatusCode::OK => AttemptResult::Final(Ok(reply.json())),
                    Ok(reply) if passes(&reply) => AttemptResult::Again(self.refused(doing, operation, &reply), None),
                    Ok(reply) => AttemptResult::Final(Err(self.refused(doing, operation, &reply))),
                    Err(error) => AttemptResult::Final(Err(error)),
                }
            }
        };
        self.retry.run(attempt).await
    }

    fn refused(&self, doing: &'static str, operation: &str, reply: &HttpReply) -> BackendError {
        let action = format!("kms:{operation}");
        let about = About { name: &self.key, region: &self.region, action: &action, header: None };
        refusals::refused(self.service.place.clone(), doing, reply.status, &reply.body, about)
    }

    /// The bytes of a field in a response.
    fn bytes(&self, doing: &'static str, answer: &Json, field: &str) -> Result<Vec<u8>, BackendError> {
        let decoded = answer.get(field).and_then(Json::as_str).and_then(|text| STANDARD.decode(text).ok());
        let decoded = decoded.filter(|bytes| !bytes.is_empty());
        decoded.ok_or_else(|| damaged(&self.service.place, doing, field))
    }
}

fn passes(reply: &HttpReply) -> bool {
    let json = reply.json();
    let code = json.get("__type").and_then(Json::as_str).unwrap_or_default();
    PASSING.contains(&code.rsplit('#').next().unwrap_or_default())
}

#[async_trait]
impl Keeper for Kms {
    fn length(&self) -> u64 {
        self.length
    }

    async fn make(&self) -> Result<(Secret, Metadata), BackendError> {
        const DOING: &str = "making a key";
        let body = json!({ "KeyId": self.key, "KeySpec": self.spec });
        let answer = self.ask(DOING, "GenerateDataKey", body).await?;
        let key = Secret::new(self.bytes(DOING, &answer, "Plaintext")?);
        Ok((key, Metadata::new(FIELD, self.bytes(DOING, &answer, "CiphertextBlob")?)))
    }

    async fn find(&self, metadata: &Metadata) -> Result<Secret, BackendError> {
        const DOING: &str = "decrypting a key";
        let body = json!({ "KeyId": self.key, "CiphertextBlob": STANDARD.encode(&metadata.key) });
        let answer = self.ask(DOING, "Decrypt", body).await?;
        self.bytes(DOING, &answer, "Plaintext").map(Secret::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(settings: Json) -> Vec<String> {
        let environment = |_: &str| None;
        match connect(settings.as_object().unwrap(), &environment) {
            Ok(_) => Vec::new(),
            Err(problems) => problems.into_iter().map(|problem| problem.detail).collect(),
        }
    }

    #[test]
    fn settings_are_checked() {
        let good = json!({"kms_key_id": "alias/k", "key_spec": "AES_256", "region": "eu-central-1", "max_retries": 0});
        assert_eq!(problems(good.clone()), Vec::<String>::new());
        for (name, value, want) in [
            ("kms_key_id", json!(""), "kms_key_id is empty"),
            ("key_spec", json!(""), "key_spec is empty"),
            ("key_spec", json!("AES_512"), "key_spec is \"AES_512\", but must be AES_256 or AES_128"),
            (
                "region",
                json!(null),
                "there is no region: set the argument region, or the variable AWS_REGION or AWS_DEFAULT_REGION",
            ),
            ("assume_role", json!({"duration": "1h"}), "assume_role has no role_arn"),
            (
                "assume_role",
                json!({"role_arn": "arn:r", "duration": "10m"}),
                "the duration \"10m\" of a role must be between 15m and 12h",
            ),
            (
                "assume_role",
                json!({"role_arn": "arn:r", "policy_arns": ["arn:aws:iam::1:policy/p", "arn:aws:iam::1:user/u"]}),
                "\"arn:aws:iam::1:user/u\" in policy_arns is not the ARN of a policy of IAM",
            ),
            (
                "assume_role_with_web_identity",
                json!({"web_identity_token": "t", "web_identity_token_file": "f"}),
                "web_identity_token and web_identity_token_file exclude each other",
            ),
        ] {
            let mut settings = good.clone();
            settings[name] = value;
            assert_eq!(problems(settings), [want]);
        }
    }
}
