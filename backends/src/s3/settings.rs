//! The settings: from the configuration, or else from the environment, or else the default.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use url::Url;
use weft_graph_format::diagnostic::Diagnostic;

use super::arns::{Arn, BucketName, is_key_arn, is_key_id};
use super::login::{Login, check_roles};
use super::problems;
use crate::arguments::{Arguments, BackendSettings, Environment};
use crate::client::{Check, ClientSettings, Proxies};
use crate::retry::RequestRetries;

/// The default maximum number of attempts of a request.
const ATTEMPTS: u64 = 5;
/// The first and the maximum pause between attempts.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(20));
/// The default prefix of the keys of other workspaces.
const WORKSPACES: &str = "env:";
/// The length of the base64 of a customer key, which has 32 bytes.
const CUSTOMER_KEY: usize = 44;
/// The encryption of objects.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Encryption {
    /// The encryption that the bucket is configured for.
    OfBucket,
    /// Keys that S3 manages.
    Aes256,
    /// A KMS key.
    Kms(String),
    /// A customer key, in base64.
    Customer(String),
}

/// The settings. Messages contain only the location of the state, because other settings may be secret.
#[derive(Clone)]
pub(super) struct S3Settings {
    /// The bucket.
    pub(super) bucket: String,
    /// The key of the state of the default workspace.
    pub(super) key: String,
    /// The prefix of the keys of other workspaces.
    pub(super) workspace_key_prefix: String,
    /// The region.
    pub(super) region: String,
    /// The endpoints by service: `s3`, `dynamodb`, `sts`.
    pub(super) endpoints: Vec<(&'static str, Url)>,
    /// Whether the bucket is in the path of URLs.
    pub(super) path_style: bool,
    /// The encryption.
    pub(super) encryption: Encryption,
    /// The canned ACL.
    pub(super) acl: Option<String>,
    /// The tags of states and of locks, URL-encoded.
    pub(super) tags: [String; 2],
    /// Whether checksums are omitted.
    pub(super) skip_checksum: bool,
    /// Whether the lock is an object beside the state.
    pub(super) use_lockfile: bool,
    /// The table of locks and digests.
    pub(super) dynamodb_table: Option<String>,
    /// The retries of requests.
    pub(super) retry: RequestRetries,
    /// The settings of connections.
    pub(super) client: ClientSettings,
    /// The sources of credentials.
    pub(super) login: Login,
}

impl fmt::Debug for S3Settings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "S3Settings(s3://{}/{})", self.bucket, self.key)
    }
}

impl S3Settings {
    /// Reads the settings.
    ///
    /// # Errors
    /// Returns an error if the settings are not valid.
    pub(super) fn read(
        settings: &BackendSettings,
        environment: Environment<'_>,
    ) -> Result<(S3Settings, Vec<Diagnostic>), Vec<Diagnostic>> {
        let mut arguments = Arguments::new(settings, environment);
        let (bucket, key) = bucket_and_key(&mut arguments);
        check_roles(&mut arguments);
        let workspace_key_prefix = arguments.text("workspace_key_prefix", &[]).unwrap_or_else(|| WORKSPACES.to_owned());
        if workspace_key_prefix.starts_with('/') || workspace_key_prefix.ends_with('/') {
            arguments.problems.push(problems::slashes("workspace_key_prefix"));
        }
        let region = arguments.text("region", &["AWS_REGION", "AWS_DEFAULT_REGION"]).unwrap_or_default();
        let skip = arguments.flag("skip_region_validation", &[]).unwrap_or_default();
        if region.is_empty() {
            arguments.problems.push(problems::missing_region());
        } else if !(skip || is_region(&region)) {
            arguments.problems.push(problems::invalid_region(&region));
        }
        match BucketName::parse(&bucket) {
            BucketName::Other => arguments.problems.push(problems::not_a_bucket(&bucket)),
            BucketName::AccessPoint([.., other]) if other != region => {
                arguments.problems.push(problems::other_region(&bucket, &region));
            }
            BucketName::ManyRegions(_) => many_regions(&mut arguments),
            _ => {}
        }
        let endpoints = endpoints(&mut arguments, &region, &SERVICES);
        let login = Login::read(&mut arguments, &region);
        let path_style = path_style(&mut arguments);
        let encryption = encryption(&mut arguments);
        let tags = [tags(&mut arguments, "state_tags"), tags(&mut arguments, "lock_tags")];
        let read = S3Settings {
            bucket,
            key,
            workspace_key_prefix,
            region,
            endpoints,
            path_style,
            encryption,
            acl: arguments.text("acl", &[]),
            tags,
            skip_checksum: arguments.flag("skip_s3_checksum", &[]).unwrap_or_default(),
            use_lockfile: arguments.flag("use_lockfile", &[]).unwrap_or_default(),
            dynamodb_table: arguments.text("dynamodb_table", &[]).filter(|table| !table.is_empty()),
            retry: retry(&mut arguments),
            client: client(&mut arguments),
            login,
        };
        arguments.finish(read)
    }

    /// The endpoint of a service.
    pub(super) fn endpoint(&self, service: &str) -> &Url {
        let found = self.endpoints.iter().find(|(name, _)| *name == service);
        // Every service has an endpoint, because `endpoints` returns one for each.
        found.map_or(&self.endpoints[0].1, |(_, url)| url)
    }
}

fn bucket_and_key(arguments: &mut Arguments<'_>) -> (String, String) {
    let bucket = arguments.text("bucket", &[]).unwrap_or_default();
    if bucket.is_empty() {
        arguments.problems.push(problems::empty("bucket"));
    }
    let key = arguments.text("key", &[]).unwrap_or_default();
    if key.is_empty() {
        arguments.problems.push(problems::empty("key"));
    } else if key.starts_with('/') || key.ends_with('/') {
        arguments.problems.push(problems::slashes("key"));
    }
    (bucket, key)
}

/// Whether a string has the form of a region, such as `eu-central-1` or `us-gov-east-1`.
fn is_region(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [first, middle @ .., last] = parts.as_slice() else { return false };
    let letters =
        |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    first.len() >= 2
        && !middle.is_empty()
        && letters(first)
        && middle.iter().all(letters)
        && !last.is_empty()
        && last.bytes().all(|byte| byte.is_ascii_digit())
}

/// The retries of requests.
pub(super) fn retry(arguments: &mut Arguments<'_>) -> RequestRetries {
    let attempts = arguments.number("max_retries", &[]).unwrap_or(ATTEMPTS).max(1);
    let repeats = u32::try_from(attempts - 1).unwrap_or(u32::MAX);
    let mode = arguments.text("retry_mode", &["AWS_RETRY_MODE"]);
    if let Some(mode) = mode.filter(|mode| !matches!(mode.as_str(), "standard" | "adaptive" | "legacy")) {
        arguments.problems.push(problems::invalid_retry_mode(&mode));
    }
    RequestRetries { repeats, first: PAUSES.0, longest: PAUSES.1 }
}

/// A service: its name, the deprecated argument for its endpoint, and the environment variables for its endpoint.
pub(super) type ServiceName = (&'static str, Option<&'static str>, [&'static str; 3]);

/// The services of the backend.
const SERVICES: [ServiceName; 3] = [
    ("s3", Some("endpoint"), ["AWS_ENDPOINT_URL_S3", "AWS_S3_ENDPOINT", "AWS_ENDPOINT_URL"]),
    ("dynamodb", Some("dynamodb_endpoint"), ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_DYNAMODB_ENDPOINT", "AWS_ENDPOINT_URL"]),
    ("sts", Some("sts_endpoint"), ["AWS_ENDPOINT_URL_STS", "AWS_STS_ENDPOINT", "AWS_ENDPOINT_URL"]),
];

/// The endpoints of services. The sources, in order: `endpoints.X`, the deprecated argument, the environment, the
/// endpoint of AWS.
pub(super) fn endpoints(
    arguments: &mut Arguments<'_>,
    region: &str,
    services: &[ServiceName],
) -> Vec<(&'static str, Url)> {
    let written = arguments.written("endpoints").and_then(Json::as_object).cloned().unwrap_or_default();
    let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    let dual = arguments.flag("use_dualstack_endpoint", &["AWS_USE_DUALSTACK_ENDPOINT"]).unwrap_or_default();
    let fips = arguments.flag("use_fips_endpoint", &["AWS_USE_FIPS_ENDPOINT"]).unwrap_or_default();
    let sts_region = arguments.text("sts_region", &[]).unwrap_or_else(|| region.to_owned());
    let mut found = Vec::new();
    for &(service, old, variables) in services {
        let new = written.get(service).and_then(Json::as_str).map(str::to_owned).filter(|text| !text.is_empty());
        let deprecated = old.and_then(|old| arguments.text(old, &[])).filter(|text| !text.is_empty());
        if let (Some(old), true, true) = (old, new.is_some(), deprecated.is_some()) {
            arguments.problems.push(problems::only_one(&[&format!("endpoints.{service}"), old]));
        }
        let region = if service == "sts" { &sts_region } else { region };
        let usual = || {
            let fips = if fips { "-fips" } else { "" };
            if dual && service == "kms" {
                let domain = if domain.ends_with("cn") { "api.amazonwebservices.com.cn" } else { "api.aws" };
                return format!("https://{service}{fips}.{region}.{domain}");
            }
            let dual = if dual && service == "s3" { ".dualstack" } else { "" };
            format!("https://{service}{fips}{dual}.{region}.{domain}")
        };
        let text = new.or(deprecated).or_else(|| arguments.variable(&variables)).unwrap_or_else(usual);
        let text = if text.contains("://") { text } else { format!("https://{text}") };
        match Url::parse(&text) {
            Ok(url) if url.has_host() => found.push((service, url)),
            _ => arguments.problems.push(problems::invalid_endpoint(service)),
        }
    }
    found
}

/// Checks the settings of a multi-region access point. Such an access point has only one form of URLs, and its regions
/// do not share an order of writes.
fn many_regions(arguments: &mut Arguments<'_>) {
    const VARIABLES: [(&str, &[&str]); 4] = [
        ("use_dualstack_endpoint", &["AWS_USE_DUALSTACK_ENDPOINT"]),
        ("use_fips_endpoint", &["AWS_USE_FIPS_ENDPOINT"]),
        ("use_path_style", &[]),
        ("force_path_style", &[]),
    ];
    for (name, variables) in VARIABLES {
        if arguments.flag(name, variables) == Some(true) {
            arguments.problems.push(problems::not_for_many_regions(name));
        }
    }
    if arguments.text("dynamodb_table", &[]).is_none_or(|table| table.is_empty()) {
        arguments.problems.push(problems::no_common_lock());
    }
}

fn path_style(arguments: &mut Arguments<'_>) -> bool {
    let (new, old) = (arguments.flag("use_path_style", &[]), arguments.flag("force_path_style", &[]));
    if old.is_some() {
        arguments.problems.push(problems::deprecated("force_path_style", "use_path_style"));
        if new.is_some() {
            arguments.problems.push(problems::only_one(&["force_path_style", "use_path_style"]));
        }
    }
    new.or(old).unwrap_or_default()
}

fn encryption(arguments: &mut Arguments<'_>) -> Encryption {
    const CUSTOMER: (&str, &str) = ("sse_customer_key", "AWS_SSE_CUSTOMER_KEY");
    let kms = arguments.text("kms_key_id", &[]).filter(|key| !key.is_empty());
    let written = arguments.text(CUSTOMER.0, &[]);
    let (name, customer) = match written {
        Some(written) => (CUSTOMER.0, Some(written)),
        None => (CUSTOMER.1, arguments.variable(&[CUSTOMER.1])),
    };
    if let Some(key) = &kms {
        match (name == CUSTOMER.0, customer.as_deref().is_some_and(|key| !key.is_empty())) {
            (true, true) => arguments.problems.push(problems::two_keys("\"sse_customer_key\"")),
            (false, true) => arguments.problems.push(problems::two_keys("the variable AWS_SSE_CUSTOMER_KEY")),
            _ => {}
        }
        let arn = Arn::parse(key);
        if !arn.map_or_else(|| is_key_id(key), |arn| is_key_arn(&arn)) {
            arguments.problems.push(problems::kms_key(key, arn.is_some()));
        }
    }
    let is_key = |key: &String| key.len() == CUSTOMER_KEY && STANDARD.decode(key).is_ok();
    if customer.as_ref().is_some_and(|key| !is_key(key)) {
        arguments.problems.push(problems::customer_key(name));
    }
    match (arguments.flag("encrypt", &[]).unwrap_or_default(), kms, customer) {
        (false, _, _) => Encryption::OfBucket,
        (true, Some(key), _) => Encryption::Kms(key),
        (true, None, Some(key)) => Encryption::Customer(key),
        (true, None, None) => Encryption::Aes256,
    }
}

fn tags(arguments: &mut Arguments<'_>, name: &str) -> String {
    let mut pairs = arguments.texts(name);
    pairs.sort();
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish().replace('+', "%20")
}

/// The settings of connections.
pub(super) fn client(arguments: &mut Arguments<'_>) -> ClientSettings {
    let roots = arguments.text("custom_ca_bundle", &["AWS_CA_BUNDLE"]).and_then(|path| {
        let read = std::fs::read_to_string(&path);
        read.map_err(|error| arguments.problems.push(problems::ca_bundle(&path, &error))).ok()
    });
    let insecure = arguments.flag("insecure", &[]).unwrap_or_default();
    let proxies = Proxies {
        http: arguments.text("http_proxy", &[]),
        https: arguments.text("https_proxy", &[]),
        except: arguments.text("no_proxy", &[]),
    };
    let named = |proxy: &Option<String>| proxy.as_deref().is_some_and(|proxy| !proxy.is_empty());
    let of_environment = arguments.variable(&["HTTPS_PROXY", "https_proxy"]).is_some();
    if named(&proxies.http) && proxies.https.is_none() && !of_environment {
        arguments.problems.push(problems::missing_https_proxy());
    }
    let check = if insecure { Check::Nothing } else { Check::Whole };
    ClientSettings { roots, identity: None, check, proxies, ..ClientSettings::default() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(settings: Json, variables: &[(&str, &str)]) -> Result<(S3Settings, Vec<String>), Vec<String>> {
        let environment =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let summaries = |found: Vec<Diagnostic>| found.into_iter().map(|problem| problem.summary).collect();
        let read = S3Settings::read(settings.as_object().unwrap(), &environment);
        read.map(|(read, warnings)| (read, summaries(warnings))).map_err(summaries)
    }

    #[test]
    fn settings_and_their_sources() {
        let (found, warnings) = read(
            json!({"bucket": "b", "key": "k", "endpoints": {"s3": "localhost:9000"}, "state_tags": {"b": "1 2", "a": "x&y"}}),
            &[("AWS_REGION", "eu-central-1"), ("AWS_ENDPOINT_URL_STS", "http://sts.example.com")],
        )
        .unwrap();
        assert_eq!(warnings, Vec::<String>::new());
        assert_eq!(found.endpoint("s3").as_str(), "https://localhost:9000/");
        assert_eq!(found.endpoint("sts").as_str(), "http://sts.example.com/");
        assert_eq!(found.endpoint("dynamodb").as_str(), "https://dynamodb.eu-central-1.amazonaws.com/");
        assert_eq!(found.tags[0], "a=x%26y&b=1%202");
        assert_eq!((found.workspace_key_prefix.as_str(), found.retry.repeats), ("env:", 4));
        assert_eq!(format!("{found:?}"), "S3Settings(s3://b/k)");
    }

    #[test]
    fn invalid_settings_are_named() {
        let region = [("AWS_REGION", "eu-central-1")];
        for (settings, variables, want) in [
            (json!({"key": "k"}), &region[..], "Invalid bucket value"),
            (json!({"bucket": "b", "key": "/k"}), &region, "Invalid key value"),
            (
                json!({"bucket": "b", "key": "k", "workspace_key_prefix": "a/"}),
                &region,
                "Invalid workspace_key_prefix value",
            ),
            (json!({"bucket": "b", "key": "k"}), &[], "Missing region value"),
            (json!({"bucket": "b", "key": "k", "region": "moon"}), &[], "Invalid region value"),
            (json!({"bucket": "b", "key": "k", "retry_mode": "x"}), &region, "Invalid retry mode"),
            (json!({"bucket": "b", "key": "k", "sse_customer_key": "x"}), &region, "Invalid sse_customer_key value"),
        ] {
            assert_eq!(read(settings.clone(), variables).map(|_| ()).unwrap_err(), [want], "{settings}");
        }
    }

    /// The expected summaries are the same as in OpenTofu 1.12.6.
    #[test]
    fn arguments_for_roles_and_keys_are_checked() {
        const KEY: &str = "MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=";
        let role = |more: Json| {
            let mut role = json!({"role_arn": "arn:aws:iam::123456789012:role/r"});
            role.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({ "assume_role": role })
        };
        let web = |role: Json| json!({ "assume_role_with_web_identity": role });
        let customer = [("AWS_SSE_CUSTOMER_KEY", KEY)];
        let policy = "arn:aws:iam::123456789012:policy/p";
        for (settings, variables, want) in [
            (role(json!({"duration": "1h", "policy": "{}", "policy_arns": [policy]})), &[][..], &[][..]),
            (json!({"assume_role": {}}), &[], &["Missing Required Value"]),
            (json!({"assume_role": {"role_arn": ""}}), &[], &["Missing Required Value"]),
            (role(json!({"duration": "two"})), &[], &["Invalid Duration"]),
            (role(json!({"duration": "14m59s"})), &[], &["Invalid Duration"]),
            (role(json!({"duration": "12h1s"})), &[], &["Invalid Duration"]),
            (role(json!({"external_id": ""})), &[], &["Invalid Value"]),
            (role(json!({"policy": " "})), &[], &["Invalid Value"]),
            (role(json!({"session_name": ""})), &[], &["Invalid Value"]),
            (role(json!({"policy_arns": ["policy"]})), &[], &["Invalid ARN"]),
            (role(json!({"policy_arns": ["arn:aws:iam::123456789012:user/u"]})), &[], &["Invalid IAM Policy ARN"]),
            (web(json!({})), &[], &[]),
            (web(json!({"duration": "1m"})), &[], &["Invalid Duration"]),
            (web(json!({"session_name": "", "policy": ""})), &[], &["Invalid Value", "Invalid Value"]),
            (
                web(json!({"web_identity_token": "t", "web_identity_token_file": "f"})),
                &[],
                &["Invalid Attribute Combination"],
            ),
            (
                json!({"assume_role": {"role_arn": "arn:r"}, "role_arn": "arn:r", "external_id": "e"}),
                &[],
                &["Conflicting Parameters"],
            ),
            (
                json!({"allowed_account_ids": ["1"], "forbidden_account_ids": ["2"]}),
                &[],
                &["Invalid Attribute Combination"],
            ),
            (json!({"kms_key_id": "57ff7a43-341d-46b6-aee3-a450c9de6dc8"}), &[], &[]),
            (json!({"kms_key_id": "x"}), &[], &["Invalid KMS Key ID"]),
            (json!({"kms_key_id": "arn:aws:kms:us-west-2:1:x"}), &[], &["Invalid KMS Key ARN"]),
            (json!({"kms_key_id": "alias/k", "sse_customer_key": KEY}), &[], &["Invalid encryption configuration"]),
            (json!({"kms_key_id": "alias/k"}), &customer, &["Invalid encryption configuration"]),
            (json!({}), &customer, &[]),
            (json!({}), &[("AWS_SSE_CUSTOMER_KEY", "x")], &["Invalid AWS_SSE_CUSTOMER_KEY value"]),
            (json!({"sse_customer_key": "#".repeat(44)}), &[], &["Invalid sse_customer_key value"]),
            (json!({"sse_customer_key": ""}), &customer, &["Invalid sse_customer_key value"]),
            (
                json!({"shared_credentials_file": "f", "shared_credentials_files": ["f"]}),
                &[],
                &["Invalid Attribute Combination", "Deprecated Parameter"],
            ),
            (
                json!({"force_path_style": true, "use_path_style": true}),
                &[],
                &["Deprecated Parameter", "Invalid Attribute Combination"],
            ),
            (json!({"endpoint": "a", "endpoints": {"s3": "b"}}), &[], &["Invalid Attribute Combination"]),
            (json!({"endpoint": "a"}), &[], &[]),
            (json!({"http_proxy": "http://p"}), &[], &["Missing HTTPS Proxy"]),
            (json!({"http_proxy": "http://p"}), &[("HTTPS_PROXY", "p")], &[]),
            (json!({"bucket": "arn:aws:s3:us-east-1:123456789012:accesspoint/p"}), &[], &[]),
            (json!({"bucket": "arn:aws:s3:eu-west-1:123456789012:accesspoint/p"}), &[], &["Invalid bucket value"]),
            (json!({"bucket": "arn:aws:s3::123456789012:accesspoint/p.mrap", "dynamodb_table": "t"}), &[], &[]),
            (json!({"bucket": "arn:aws:s3::123456789012:accesspoint/p.mrap"}), &[], &["Locks in several regions"]),
            (
                json!({"bucket": "arn:aws:s3::123456789012:accesspoint/p.mrap", "dynamodb_table": "t",
                    "use_fips_endpoint": true, "use_path_style": true}),
                &[],
                &["Invalid bucket value", "Invalid bucket value"],
            ),
            (json!({"bucket": "arn:aws:s3::123456789012:accesspoint/p"}), &[], &["Invalid bucket value"]),
        ] {
            let mut all = json!({"bucket": "b", "key": "k", "region": "us-east-1"});
            all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
            let found = read(all, variables).map_or_else(|problems| problems, |(_, warnings)| warnings);
            assert_eq!(found, want, "{settings} {variables:?}");
        }
    }

    #[test]
    fn old_arguments_are_warned_about() {
        let settings = json!({
            "bucket": "b", "key": "k", "region": "us-east-1", "endpoint": "x", "force_path_style": true,
            "role_arn": "arn", "assume_role_duration_seconds": 900,
        });
        let (found, warnings) = read(settings, &[]).unwrap();
        assert_eq!(warnings, ["Deprecated Parameters", "Deprecated Parameter"]);
        assert!(found.path_style);
        assert_eq!(found.login.role.unwrap()["duration"], "900s");
    }
}
