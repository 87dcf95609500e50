//! The settings: what is written, else the environment, else the default.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value as Json};
use url::Url;
use weft_graph_format::diagnostic::Diagnostic;

use super::problems;
use crate::arguments::Arguments;
use crate::catalog::{Environment, Settings};
use crate::client::{Check, ClientSettings, Proxies};
use crate::retry::RetryRule;

/// The number of attempts of a request unless the settings say it.
const ATTEMPTS: u64 = 5;
/// The pauses between attempts.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(20));
/// The start of the keys of other workspaces unless the settings say it.
const WORKSPACES: &str = "env:";
/// The length of a customer key of 32 bytes in base64.
const CUSTOMER_KEY: usize = 44;
/// The old arguments of `assume_role`, and their names in it.
const OLD_ROLE: [(&str, &str); 8] = [
    ("role_arn", "role_arn"),
    ("session_name", "session_name"),
    ("external_id", "external_id"),
    ("assume_role_duration_seconds", "duration"),
    ("assume_role_policy", "policy"),
    ("assume_role_policy_arns", "policy_arns"),
    ("assume_role_tags", "tags"),
    ("assume_role_transitive_tag_keys", "transitive_tag_keys"),
];

/// The encryption of objects.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Encryption {
    /// That of the bucket.
    OfBucket,
    /// Keys of S3.
    Aes256,
    /// A key of KMS.
    Kms(String),
    /// A key of the customer, in base64.
    Customer(String),
}

/// Where credentials come from.
#[derive(Clone, Default)]
pub(super) struct Login {
    /// Access key, secret key and token, if any of them is written.
    pub(super) keys: Option<[Option<String>; 3]>,
    /// The profile of the shared files.
    pub(super) profile: Option<String>,
    /// The shared files with credentials.
    pub(super) credentials_files: Vec<PathBuf>,
    /// The shared files with settings.
    pub(super) config_files: Vec<PathBuf>,
    /// The role to assume, as written.
    pub(super) role: Option<Map<String, Json>>,
    /// The role to assume with a token, as written.
    pub(super) web_identity: Option<Map<String, Json>>,
    /// The metadata service, unless it is switched off.
    pub(super) metadata: Option<Url>,
    /// The accounts that are allowed, and those that are forbidden.
    pub(super) accounts: [Vec<String>; 2],
    /// The variables of the environment that the chain of credentials reads.
    pub(super) variables: Map<String, Json>,
}

/// The settings. Nothing of it is shown but the place.
#[derive(Clone)]
pub(super) struct S3Settings {
    /// The bucket.
    pub(super) bucket: String,
    /// The key of the state of the default workspace.
    pub(super) key: String,
    /// The start of the keys of other workspaces.
    pub(super) workspace_key_prefix: String,
    /// The region.
    pub(super) region: String,
    /// The endpoints by service: `s3`, `dynamodb`, `sts`.
    pub(super) endpoints: Vec<(&'static str, Url)>,
    /// Whether the bucket is in the path.
    pub(super) path_style: bool,
    /// The encryption.
    pub(super) encryption: Encryption,
    /// The canned ACL.
    pub(super) acl: Option<String>,
    /// The tags of states and of locks, URL-encoded.
    pub(super) tags: [String; 2],
    /// Whether checksums are left out.
    pub(super) skip_checksum: bool,
    /// Whether the lock is an object.
    pub(super) use_lockfile: bool,
    /// The table of locks and digests.
    pub(super) dynamodb_table: Option<String>,
    /// How requests are repeated.
    pub(super) retry: RetryRule,
    /// The connections.
    pub(super) client: ClientSettings,
    /// The credentials.
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
    /// Invalid settings.
    pub(super) fn read(
        settings: &Settings,
        environment: Environment<'_>,
    ) -> Result<(S3Settings, Vec<Diagnostic>), Vec<Diagnostic>> {
        let mut arguments = Arguments::new(settings, environment);
        let (bucket, key) = bucket_and_key(&mut arguments);
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
        let endpoints = endpoints(&mut arguments, &region, &SERVICES);
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
            login: login(&mut arguments),
        };
        arguments.finish(read)
    }

    /// The endpoint of a service.
    pub(super) fn endpoint(&self, service: &str) -> &Url {
        let found = self.endpoints.iter().find(|(name, _)| *name == service);
        // Every service has an endpoint: `endpoints` fills in all of them.
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

/// Whether this has the form of a region: `eu-central-1`, `us-gov-east-1`.
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

/// How requests are repeated.
pub(super) fn retry(arguments: &mut Arguments<'_>) -> RetryRule {
    let attempts = arguments.number("max_retries", &[]).unwrap_or(ATTEMPTS).max(1);
    let repeats = u32::try_from(attempts - 1).unwrap_or(u32::MAX);
    let mode = arguments.text("retry_mode", &["AWS_RETRY_MODE"]);
    if let Some(mode) = mode.filter(|mode| !matches!(mode.as_str(), "standard" | "adaptive" | "legacy")) {
        arguments.problems.push(problems::invalid_retry_mode(&mode));
    }
    RetryRule { repeats, first: PAUSES.0, longest: PAUSES.1 }
}

/// A service: its name, the old argument with its endpoint, and the variables with it.
pub(super) type ServiceName = (&'static str, Option<&'static str>, [&'static str; 3]);

/// The services of the backend.
const SERVICES: [ServiceName; 3] = [
    ("s3", Some("endpoint"), ["AWS_ENDPOINT_URL_S3", "AWS_S3_ENDPOINT", "AWS_ENDPOINT_URL"]),
    ("dynamodb", Some("dynamodb_endpoint"), ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_DYNAMODB_ENDPOINT", "AWS_ENDPOINT_URL"]),
    ("sts", Some("sts_endpoint"), ["AWS_ENDPOINT_URL_STS", "AWS_STS_ENDPOINT", "AWS_ENDPOINT_URL"]),
];

/// The endpoints of services: `endpoints.X`, the old argument, the environment, else that of AWS.
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
        if let (Some(old), true) = (old, deprecated.is_some()) {
            let replacement = format!("endpoints.{service}");
            let problem = match new {
                Some(_) => problems::conflict(old, &replacement),
                None => problems::deprecated(old, &replacement),
            };
            arguments.problems.push(problem);
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

fn path_style(arguments: &mut Arguments<'_>) -> bool {
    let (new, old) = (arguments.flag("use_path_style", &[]), arguments.flag("force_path_style", &[]));
    if old.is_some() {
        let problem = match new {
            Some(_) => problems::conflict("force_path_style", "use_path_style"),
            None => problems::deprecated("force_path_style", "use_path_style"),
        };
        arguments.problems.push(problem);
    }
    new.or(old).unwrap_or_default()
}

fn encryption(arguments: &mut Arguments<'_>) -> Encryption {
    let kms = arguments.text("kms_key_id", &[]).filter(|key| !key.is_empty());
    let customer = arguments.text("sse_customer_key", &["AWS_SSE_CUSTOMER_KEY"]).filter(|key| !key.is_empty());
    if kms.is_some() && customer.is_some() {
        arguments.problems.push(problems::two_keys());
    }
    if customer.as_ref().is_some_and(|key| key.len() != CUSTOMER_KEY) {
        arguments.problems.push(problems::customer_key());
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

/// The connections.
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
    let check = if insecure { Check::Nothing } else { Check::Whole };
    ClientSettings { roots, identity: None, check, proxies, ..ClientSettings::default() }
}

/// Where credentials come from.
pub(super) fn login(arguments: &mut Arguments<'_>) -> Login {
    let keys = ["access_key", "secret_key", "token"].map(|name| arguments.text(name, &[]));
    let keys = keys.iter().any(Option::is_some).then_some(keys);
    let home = arguments.variable(&["HOME"]).map(PathBuf::from).unwrap_or_default();
    let at_home = |path: String| match path.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => PathBuf::from(path),
    };
    let mut files = |name: &str, old: Option<&str>, variables: &[&str], usual: &str| -> Vec<PathBuf> {
        let listed = arguments.written(name).and_then(Json::as_array);
        let mut found: Vec<String> =
            listed.into_iter().flatten().filter_map(|path| path.as_str().map(str::to_owned)).collect();
        if let Some(path) = old.and_then(|old| arguments.text(old, &[])) {
            found.push(path);
        }
        if found.is_empty() {
            found.push(arguments.variable(variables).unwrap_or_else(|| format!("~/.aws/{usual}")));
        }
        found.into_iter().map(&at_home).collect()
    };
    let credentials_files = files(
        "shared_credentials_files",
        Some("shared_credentials_file"),
        &["AWS_SHARED_CREDENTIALS_FILE"],
        "credentials",
    );
    let config_files = files("shared_config_files", None, &["AWS_SHARED_CONFIG_FILE", "AWS_CONFIG_FILE"], "config");
    let skips_metadata = arguments
        .flag("skip_metadata_api_check", &[])
        .unwrap_or_else(|| arguments.variable(&["AWS_EC2_METADATA_DISABLED"]).is_some_and(|text| text == "true"));
    let mode = arguments.text("ec2_metadata_service_endpoint_mode", &["AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"]);
    let usual = match mode.as_deref() {
        Some("IPv6") => "http://[fd00:ec2::254]",
        _ => "http://169.254.169.254",
    };
    let metadata = arguments.text("ec2_metadata_service_endpoint", &["AWS_EC2_METADATA_SERVICE_ENDPOINT"]);
    let metadata = Url::parse(metadata.as_deref().unwrap_or(usual)).ok();
    let object = |name: &str| arguments.written(name).and_then(Json::as_object).cloned();
    let (role, web_identity) = (object("assume_role"), object("assume_role_with_web_identity"));
    let old = old_role(arguments, role.is_some());
    let accounts = accounts(arguments);
    const VARIABLES: [&str; 12] = [
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_PROFILE",
        "AWS_ROLE_ARN",
        "AWS_ROLE_SESSION_NAME",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_WEB_IDENTITY_TOKEN",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    ];
    let variables = VARIABLES.iter().filter_map(|name| Some(((*name).to_owned(), arguments.variable(&[name])?.into())));
    let variables = variables.collect();
    Login {
        keys,
        profile: arguments.text("profile", &["AWS_PROFILE"]),
        credentials_files,
        config_files,
        role: role.or(old),
        web_identity,
        metadata: metadata.filter(|_| !skips_metadata),
        accounts,
        variables,
    }
}

/// The accounts that are allowed, and those that are forbidden.
fn accounts(arguments: &mut Arguments<'_>) -> [Vec<String>; 2] {
    const NAMES: [&str; 2] = ["allowed_account_ids", "forbidden_account_ids"];
    let found = NAMES.map(|name| {
        let listed = arguments.written(name).and_then(Json::as_array).into_iter().flatten();
        listed.filter_map(|id| id.as_str().map(str::to_owned)).collect::<Vec<String>>()
    });
    if found.iter().all(|ids| !ids.is_empty()) {
        arguments.problems.push(problems::two_lists_of_accounts());
    }
    found
}

/// The role in the old arguments.
fn old_role(arguments: &mut Arguments<'_>, has_new: bool) -> Option<Map<String, Json>> {
    let mut old = Map::new();
    for (name, new) in OLD_ROLE {
        let Some(value) = arguments.written(name) else { continue };
        let value = match (name, value.as_u64()) {
            ("assume_role_duration_seconds", Some(seconds)) => format!("{seconds}s").into(),
            _ => value.clone(),
        };
        old.insert(new.to_owned(), value);
        let problem = match has_new {
            true => problems::conflict(name, "assume_role"),
            false => problems::deprecated(name, &format!("assume_role.{new}")),
        };
        arguments.problems.push(problem);
    }
    Some(old).filter(|old| old.contains_key("role_arn"))
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

    #[test]
    fn old_arguments_are_warned_about() {
        let settings = json!({
            "bucket": "b", "key": "k", "region": "us-east-1", "endpoint": "x", "force_path_style": true,
            "role_arn": "arn", "assume_role_duration_seconds": 900,
        });
        let (found, warnings) = read(settings, &[]).unwrap();
        assert_eq!(warnings.len(), 4, "{warnings:?}");
        assert!(found.path_style);
        assert_eq!(found.login.role.unwrap()["duration"], "900s");
    }
}
