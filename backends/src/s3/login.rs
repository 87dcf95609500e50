//! The arguments for sources of credentials and for roles, and their checks.

use std::path::PathBuf;

use serde_json::{Map, Value as Json};
use url::Url;
use weft_graph_format::diagnostic::Diagnostic;

use super::arns::Arn;
use super::durations::seconds;
use super::problems;
use crate::arguments::Arguments;

/// The minimum and the maximum duration of a role's session, in seconds.
const SESSION: (u64, u64) = (15 * 60, 12 * 3600);
/// The old arguments that `assume_role` replaces, and their names in `assume_role`.
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
/// The variables of the environment that the chain of credentials reads.
const VARIABLES: [&str; 21] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_ACCESS_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SECRET_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_WEB_IDENTITY_TOKEN",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_LOGIN_CACHE_DIRECTORY",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_SSO",
    "AWS_ENDPOINT_URL_SSO_OIDC",
    "AWS_ENDPOINT_URL_SIGNIN",
    "AWS_EC2_METADATA_V1_DISABLED",
];

/// The sources of credentials in the settings.
#[derive(Clone, Default)]
pub(super) struct Login {
    /// Access key, secret key and token, if any of them is set.
    pub(super) keys: Option<[Option<String>; 3]>,
    /// The selected profile of the shared files.
    pub(super) profile: Option<String>,
    /// The shared files with credentials.
    pub(super) credentials_files: Vec<PathBuf>,
    /// The shared files with settings.
    pub(super) config_files: Vec<PathBuf>,
    /// The role to assume, as in the configuration.
    pub(super) role: Option<Map<String, Json>>,
    /// The role to assume with a token, as in the configuration.
    pub(super) web_identity: Option<Map<String, Json>>,
    /// The URL of the metadata service, unless the service is disabled.
    pub(super) metadata: Option<Url>,
    /// The allowed accounts, and the forbidden accounts.
    pub(super) accounts: [Vec<String>; 2],
    /// The variables of the environment that the chain of credentials reads.
    pub(super) variables: Map<String, Json>,
    /// The home directory.
    pub(super) home: PathBuf,
    /// The region of the settings.
    pub(super) region: String,
    /// The region of STS, if it differs from `region`.
    pub(super) sts_region: Option<String>,
}

impl Login {
    /// Reads the arguments. [`check_roles`] checks them.
    pub(super) fn read(arguments: &mut Arguments<'_>, region: &str) -> Login {
        let keys = ["access_key", "secret_key", "token"];
        let keys = keys.map(|name| arguments.text(name, &[]).filter(|text| !text.is_empty()));
        let keys = keys.iter().any(Option::is_some).then_some(keys);
        let object = |name: &str| arguments.written(name).and_then(Json::as_object).cloned();
        let (role, web_identity) = (object("assume_role"), object("assume_role_with_web_identity"));
        let role = role.or_else(|| old_role(arguments));
        let variables =
            VARIABLES.iter().filter_map(|name| Some(((*name).to_owned(), arguments.variable(&[name])?.into())));
        let mut login = Login {
            keys,
            profile: None,
            credentials_files: Vec::new(),
            config_files: Vec::new(),
            role,
            web_identity,
            metadata: None,
            accounts: ["allowed_account_ids", "forbidden_account_ids"].map(|name| listed(arguments, name)),
            variables: variables.collect(),
            home: arguments.variable(&["HOME"]).map(PathBuf::from).unwrap_or_default(),
            region: region.to_owned(),
            sts_region: None,
        };
        login.profile = arguments.text("profile", &[]).filter(|text| !text.is_empty());
        login.sts_region = arguments.text("sts_region", &[]).filter(|text| !text.is_empty());
        login.metadata = metadata(arguments);
        login.read_files(arguments);
        login
    }

    /// A path in which the home directory replaces `~`.
    pub(super) fn at_home(&self, path: &str) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None => PathBuf::from(path),
        }
    }

    fn read_files(&mut self, arguments: &mut Arguments<'_>) {
        let old = arguments.text("shared_credentials_file", &[]);
        let files = |name: &str, old: Option<String>, variables: &[&str], usual: &str| -> Vec<PathBuf> {
            let mut found = listed(arguments, name);
            if found.is_empty() {
                found.extend(arguments.variable(&variables[..1]));
            }
            if found.is_empty() {
                found.extend(old);
            }
            if found.is_empty() {
                found.push(arguments.variable(variables).unwrap_or_else(|| format!("~/.aws/{usual}")));
            }
            found.iter().map(|path| self.at_home(path)).collect()
        };
        let variables = ["AWS_SHARED_CREDENTIALS_FILE"];
        let credentials_files = files("shared_credentials_files", old, &variables, "credentials");
        let variables = ["AWS_SHARED_CONFIG_FILE", "AWS_CONFIG_FILE"];
        self.config_files = files("shared_config_files", None, &variables, "config");
        self.credentials_files = credentials_files;
    }
}

/// The strings of a list or set.
fn listed(arguments: &Arguments<'_>, name: &str) -> Vec<String> {
    let listed = arguments.written(name).and_then(Json::as_array);
    listed.into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

fn metadata(arguments: &mut Arguments<'_>) -> Option<Url> {
    let skips = arguments
        .flag("skip_metadata_api_check", &[])
        .unwrap_or_else(|| arguments.variable(&["AWS_EC2_METADATA_DISABLED"]).is_some_and(|text| text == "true"));
    let mode = arguments.text("ec2_metadata_service_endpoint_mode", &["AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"]);
    let usual = match mode.as_deref().map(str::to_ascii_lowercase).as_deref() {
        Some("ipv6") => "http://[fd00:ec2::254]",
        _ => "http://169.254.169.254",
    };
    const VARIABLES: [&str; 2] = ["AWS_EC2_METADATA_SERVICE_ENDPOINT", "AWS_METADATA_URL"];
    if arguments.written("ec2_metadata_service_endpoint").is_none() && arguments.variable(&VARIABLES[1..]).is_some() {
        arguments.problems.push(problems::deprecated_variable(VARIABLES[1], VARIABLES[0]));
    }
    let endpoint = arguments.text("ec2_metadata_service_endpoint", &VARIABLES);
    Url::parse(endpoint.as_deref().unwrap_or(usual)).ok().filter(|_| !skips)
}

/// The role in the old arguments, if any of them is set.
fn old_role(arguments: &Arguments<'_>) -> Option<Map<String, Json>> {
    let mut old = Map::new();
    for (name, new) in OLD_ROLE {
        let Some(value) = arguments.written(name) else { continue };
        let value = match (name, value.as_u64()) {
            ("assume_role_duration_seconds", Some(0)) => continue,
            ("assume_role_duration_seconds", Some(seconds)) => format!("{seconds}s").into(),
            _ => value.clone(),
        };
        old.insert(new.to_owned(), value);
    }
    Some(old).filter(|old| old.contains_key("role_arn"))
}

/// Adds the problems of the arguments for credentials and roles. The summaries are the same as in OpenTofu.
pub(super) fn check_roles(arguments: &mut Arguments<'_>) {
    let mut found = Vec::new();
    let set = |name: &str| arguments.written(name).is_some();
    if set("shared_credentials_file") {
        if set("shared_credentials_files") {
            found.push(problems::only_one(&["shared_credentials_file", "shared_credentials_files"]));
        }
        found.push(problems::deprecated("shared_credentials_file", "shared_credentials_files"));
    }
    let old: Vec<(&str, &str)> = OLD_ROLE.into_iter().filter(|(name, _)| set(name)).collect();
    match arguments.written("assume_role").and_then(Json::as_object) {
        Some(role) => {
            check_role("assume_role", role, &mut found);
            if !old.is_empty() {
                found.push(problems::old_role_conflicts(&old));
            }
        }
        None if !old.is_empty() => found.push(problems::old_role(&old)),
        None => {}
    }
    if let Some(role) = arguments.written("assume_role_with_web_identity").and_then(Json::as_object) {
        check_role("assume_role_with_web_identity", role, &mut found);
    }
    let accounts = ["allowed_account_ids", "forbidden_account_ids"];
    if accounts.iter().all(|name| set(name)) {
        found.push(problems::only_one(&accounts));
    }
    arguments.problems.append(&mut found);
}

fn check_role(argument: &str, role: &Map<String, Json>, found: &mut Vec<Diagnostic>) {
    let text = |name: &str| role.get(name).and_then(Json::as_str);
    let path = |name: &str| format!("{argument}.{name}");
    if argument == "assume_role" && text("role_arn").is_none_or(str::is_empty) {
        found.push(problems::missing_value(&path("role_arn")));
    }
    let tokens = ["web_identity_token", "web_identity_token_file"];
    if tokens.iter().all(|name| text(name).is_some()) {
        found.push(problems::only_one(&tokens));
    }
    if let Some(duration) = text("duration") {
        match seconds(duration) {
            None => found.push(problems::not_a_duration(&path("duration"), duration)),
            Some(seconds) if !(SESSION.0..=SESSION.1).contains(&seconds) => {
                found.push(problems::duration_bounds(&path("duration"), duration));
            }
            Some(_) => {}
        }
    }
    for name in ["external_id", "policy", "session_name"] {
        if text(name).is_some_and(|text| text.trim().is_empty()) {
            found.push(problems::blank(&path(name)));
        }
    }
    let arns = role.get("policy_arns").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
    for arn in arns {
        match Arn::parse(arn) {
            None => {
                found.push(problems::not_an_arn(&path("policy_arns"), arn));
                break;
            }
            Some(parsed) if !parsed.resource.starts_with("policy/") => {
                found.push(problems::not_a_policy(&path("policy_arns"), arn));
            }
            Some(_) => {}
        }
    }
}
