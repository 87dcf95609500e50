//! The arguments of the backend `oss`.

use std::fmt;

use url::Url;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::schema::{Block, NestedBlock, Nesting};
use weft_graph_format::types::Type;

use super::profile::Profile;
use crate::arguments::{self, Arguments, BackendSettings, Environment};
use crate::expiring::AssumedRole;
use crate::problems;

/// The default key of the state, and the default prefix of keys.
const KEY: &str = "terraform.tfstate";
const PREFIX: &str = "env:";
/// The values of `acl`, which determines who may read and write the state.
const ACCESS: [&str; 3] = ["private", "public-read", "public-read-write"];
/// The default file with the profiles.
const PROFILES: &str = "~/.aliyun/config.json";
/// The default name of a role's session, and its default duration in seconds.
const SESSION: &str = "tofu";
const SECONDS: i64 = 3600;
/// The minimum and the maximum duration of a session, in seconds.
const RANGE: (i64, i64) = (900, 3600);
const ROLE_ARN: &str = "ALICLOUD_ASSUME_ROLE_ARN";
const SESSION_NAME: &str = "ALICLOUD_ASSUME_ROLE_SESSION_NAME";

/// The arguments that are strings.
const TEXTS: [&str; 19] = [
    "access_key",
    "acl",
    "assume_role_policy",
    "assume_role_role_arn",
    "assume_role_session_name",
    "bucket",
    "ecs_role_name",
    "endpoint",
    "key",
    "prefix",
    "profile",
    "region",
    "secret_key",
    "security_token",
    "shared_credentials_file",
    "sts_endpoint",
    "tablestore_endpoint",
    "tablestore_table",
    "encrypt",
];

/// The schema of the arguments.
pub fn schema() -> Block {
    let mut all: Vec<(&str, Type)> =
        TEXTS.map(|name| (name, if name == "encrypt" { Type::Bool } else { Type::String })).into();
    all.push(("assume_role_session_expiration", Type::Number));
    let mut block = arguments::schema(&all, &["bucket"], &["access_key", "secret_key", "security_token"]);
    let role = [
        ("policy", Type::String),
        ("role_arn", Type::String),
        ("session_expiration", Type::Number),
        ("session_name", Type::String),
    ];
    // The arguments of the role are optional in the schema, because variables of the environment may set them.
    let role = arguments::schema(&role, &[], &[]);
    let role = NestedBlock { block: role, nesting: Nesting::Set, min_items: 0, max_items: 1 };
    block.blocks.insert("assume_role".into(), role);
    block
}

/// The source of the keys.
#[derive(Clone, Default)]
pub(super) struct Access {
    pub(super) id: String,
    pub(super) secret: String,
    pub(super) token: Option<String>,
    /// The role of the machine. It is used if the settings have no key id.
    pub(super) machine: Option<String>,
    /// The role to assume with the keys.
    pub(super) role: Option<AssumedRole>,
    /// The host of the service for sessions.
    pub(super) sessions: Option<String>,
}

/// The table with the locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableSettings {
    pub(super) name: String,
    pub(super) endpoint: Url,
    pub(super) instance: String,
}

/// The settings.
pub(super) struct OssSettings {
    pub(super) access: Access,
    pub(super) region: String,
    /// The URL of the service. If it is `None`, the URL is requested from the location service.
    pub(super) endpoint: Option<Url>,
    pub(super) table: Option<TableSettings>,
    pub(super) bucket: String,
    pub(super) prefix: String,
    pub(super) key: String,
    pub(super) encrypt: bool,
    pub(super) acl: Option<String>,
}

impl fmt::Debug for OssSettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "OssSettings(oss://{})", self.bucket)
    }
}

impl OssSettings {
    /// Reads the settings.
    ///
    /// # Errors
    /// Returns an error if the settings are not valid.
    pub(super) fn read(
        settings: &BackendSettings,
        environment: Environment<'_>,
    ) -> Result<(OssSettings, Vec<Diagnostic>), Vec<Diagnostic>> {
        let mut arguments = Arguments::new(settings, environment);
        let profile = profile(&mut arguments);
        let access = access(&mut arguments, environment, &profile);
        let region = text(&mut arguments, "region", &["ALICLOUD_REGION", "ALICLOUD_DEFAULT_REGION"]);
        let region = region.or_else(|| profile.text("region_id")).unwrap_or_default();
        let endpoint = address(&mut arguments, "endpoint", &["ALICLOUD_OSS_ENDPOINT", "OSS_ENDPOINT"]);
        let bucket = arguments.required("bucket", &[]);
        if region.is_empty() && endpoint.is_none() {
            arguments.problems.push(problems::required("region"));
        }
        let prefix = arguments.text("prefix", &[]).unwrap_or_else(|| PREFIX.to_owned());
        if prefix.starts_with('/') || prefix.starts_with("./") {
            arguments.problems.push(problems::prefix_of_keys("workspace_key_prefix"));
        }
        let prefix = prefix.trim_matches('/').to_owned();
        let key = arguments.text("key", &[]).unwrap_or_else(|| KEY.to_owned());
        if key.starts_with('/') || key.ends_with('/') {
            arguments.problems.push(problems::key_with_slashes());
        }
        let encrypt = arguments.flag("encrypt", &[]).unwrap_or_default();
        let acl = text(&mut arguments, "acl", &[]);
        if let Some(acl) = acl.as_ref().filter(|acl| !ACCESS.contains(&acl.as_str())) {
            arguments.problems.push(problems::oss_acl(acl));
        }
        let table = table(&mut arguments);
        arguments.finish(OssSettings { access, region, endpoint, table, bucket, prefix, key, encrypt, acl })
    }
}

/// A string that is not empty.
fn text(arguments: &mut Arguments<'_>, name: &str, variables: &[&str]) -> Option<String> {
    arguments.text(name, variables).filter(|text| !text.is_empty())
}

/// Reads a URL. A URL without a scheme gets the scheme `https`.
fn address(arguments: &mut Arguments<'_>, name: &str, variables: &[&str]) -> Option<Url> {
    let text = text(arguments, name, variables)?;
    let text = if text.starts_with("http") { text } else { format!("https://{text}") };
    match Url::parse(&text) {
        Ok(url) if url.host_str().is_some() => Some(url),
        Ok(_) => {
            arguments.problems.push(problems::not_a_web_address(name));
            None
        }
        Err(error) => {
            arguments.problems.push(problems::invalid_address(name, &error));
            None
        }
    }
}

fn table(arguments: &mut Arguments<'_>) -> Option<TableSettings> {
    let endpoint = address(arguments, "tablestore_endpoint", &["ALICLOUD_TABLESTORE_ENDPOINT"]);
    let name = text(arguments, "tablestore_table", &[])?;
    let Some(endpoint) = endpoint else {
        arguments.problems.push(problems::needs("tablestore_table", "tablestore_endpoint"));
        return None;
    };
    // The name of the instance is the first part of the host name.
    let instance = endpoint.host_str().unwrap_or_default().split('.').next().unwrap_or_default().to_owned();
    Some(TableSettings { name, endpoint, instance })
}

fn profile(arguments: &mut Arguments<'_>) -> Profile {
    let file = text(arguments, "shared_credentials_file", &["ALICLOUD_SHARED_CREDENTIALS_FILE"]);
    let Some(name) = text(arguments, "profile", &["ALICLOUD_PROFILE"]) else { return Profile::default() };
    let path = arguments::expanded(file.as_deref().unwrap_or(PROFILES));
    Profile::read(&path, &name).unwrap_or_else(|error| {
        arguments.problems.push(problems::credentials(&error));
        Profile::default()
    })
}

fn access(arguments: &mut Arguments<'_>, environment: Environment<'_>, profile: &Profile) -> Access {
    let mut find =
        |name: &str, variables: &[&str], key: &str| text(arguments, name, variables).or_else(|| profile.text(key));
    let id = find("access_key", &["ALICLOUD_ACCESS_KEY", "ALICLOUD_ACCESS_KEY_ID"], "access_key_id");
    let secret = find("secret_key", &["ALICLOUD_SECRET_KEY", "ALICLOUD_ACCESS_KEY_SECRET"], "access_key_secret");
    let token = find("security_token", &["ALICLOUD_SECURITY_TOKEN"], "sts_token");
    let machine = find("ecs_role_name", &["ALICLOUD_ECS_ROLE_NAME"], "ram_role_name");
    let sessions = text(arguments, "sts_endpoint", &["ALICLOUD_STS_ENDPOINT"]);
    let role = role(arguments, environment, profile);
    Access { id: id.unwrap_or_default(), secret: secret.unwrap_or_default(), token, machine, role, sessions }
}

/// The role: from the arguments, or else from the block, or else from the profile.
fn role(arguments: &mut Arguments<'_>, environment: Environment<'_>, profile: &Profile) -> Option<AssumedRole> {
    let written = AssumedRole {
        arn: text(arguments, "assume_role_role_arn", &[ROLE_ARN]).unwrap_or_default(),
        session: text(arguments, "assume_role_session_name", &[SESSION_NAME]).unwrap_or_default(),
        seconds: seconds(arguments, "assume_role_session_expiration"),
        policy: text(arguments, "assume_role_policy", &[]),
    };
    let of_profile = AssumedRole {
        arn: profile.text("ram_role_arn").unwrap_or_default(),
        session: profile.text("ram_session_name").unwrap_or_default(),
        seconds: profile.number("expired_seconds").unwrap_or_default(),
        policy: None,
    };
    let block = arguments.written("assume_role").and_then(|blocks| blocks.as_array()?.first()?.as_object());
    let mut role = match (written.arn.is_empty(), block) {
        (false, _) => {
            let or = |own: String, other: &str| if own.is_empty() { other.to_owned() } else { own };
            let seconds = if written.seconds == 0 { of_profile.seconds } else { written.seconds };
            AssumedRole { session: or(written.session, &of_profile.session), seconds, ..written }
        }
        (true, Some(block)) => {
            let mut block = Arguments::new(block, environment);
            let role = AssumedRole {
                arn: block.required("role_arn", &[ROLE_ARN]),
                session: text(&mut block, "session_name", &[SESSION_NAME]).unwrap_or(of_profile.session),
                seconds: seconds(&mut block, "session_expiration"),
                policy: text(&mut block, "policy", &[]),
            };
            arguments.problems.append(&mut block.problems);
            role
        }
        (true, None) => of_profile,
    };
    if role.session.is_empty() {
        role.session = SESSION.to_owned();
    }
    if role.seconds == 0 {
        let variable = arguments.variable(&["ALICLOUD_ASSUME_ROLE_SESSION_EXPIRATION"]);
        role.seconds = variable.and_then(|text| text.parse().ok()).filter(|seconds| *seconds != 0).unwrap_or(SECONDS);
    }
    Some(role).filter(|role| !role.arn.is_empty())
}

/// The duration of a session. 0 if it is not set.
fn seconds(arguments: &mut Arguments<'_>, name: &str) -> i64 {
    let Some(written) = arguments.written(name) else { return 0 };
    match written.as_i64() {
        Some(seconds) if (RANGE.0..=RANGE.1).contains(&seconds) => seconds,
        Some(seconds) => {
            arguments.problems.push(problems::out_of_range(name, RANGE.0, RANGE.1, seconds));
            0
        }
        None => {
            arguments.problems.push(problems::wrong_type(name, "a whole number", written));
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn read(more: Json, variables: &[(&str, &str)]) -> Result<OssSettings, Vec<String>> {
        let mut settings = json!({"bucket": "states", "region": "cn-beijing"});
        for (name, value) in more.as_object().unwrap() {
            settings[name] = value.clone();
        }
        let variable =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let read = OssSettings::read(settings.as_object().unwrap(), &variable);
        read.map(|(read, _)| read).map_err(|found| found.into_iter().map(|problem| problem.summary).collect())
    }

    #[test]
    fn defaults_and_the_environment() {
        let variables = [("ALICLOUD_ACCESS_KEY_ID", "id"), ("OSS_ENDPOINT", "oss.test")];
        let found = read(json!({"prefix": "a/"}), &variables).unwrap();
        assert_eq!((found.access.id.as_str(), found.key.as_str(), found.prefix.as_str()), ("id", KEY, "a"));
        assert_eq!(found.endpoint.unwrap().as_str(), "https://oss.test/");
        assert_eq!(read(json!({}), &[]).unwrap().prefix, PREFIX);
        let table = json!({"tablestore_table": "t", "tablestore_endpoint": "my-instance.cn-beijing.ots.aliyuncs.com"});
        assert_eq!(read(table, &[]).unwrap().table.unwrap().instance, "my-instance");
    }

    #[test]
    fn roles() {
        let role = |more: Json, variables: &[(&str, &str)]| read(more, variables).unwrap().access.role;
        let named = |arn: &str, session: &str, seconds: i64| {
            Some(AssumedRole { arn: arn.to_owned(), session: session.to_owned(), seconds, policy: None })
        };
        let block = json!([{"role_arn": "b", "session_name": "s", "session_expiration": 900}]);
        assert_eq!(role(json!({}), &[]), None);
        assert_eq!(role(json!({"assume_role": block}), &[]), named("b", "s", 900));
        // Arguments take precedence over the block, even if their values come from the environment.
        assert_eq!(role(json!({"assume_role": block}), &[(ROLE_ARN, "e")]), named("e", SESSION, SECONDS));
        let variables = [("ALICLOUD_ASSUME_ROLE_SESSION_EXPIRATION", "1000")];
        assert_eq!(role(json!({"assume_role_role_arn": "a"}), &variables), named("a", SESSION, 1000));
    }

    #[test]
    fn invalid_arguments() {
        for (more, want) in [
            (json!({"prefix": "./p"}), "workspace_key_prefix must not start with '/' or './'"),
            (json!({"key": "/k"}), "key can not start and end with '/'"),
            (json!({"region": null}), "\"region\": required field is not set"),
            (
                json!({"acl": "x"}),
                "\"acl\" must be a valid ACL value , expected private, public-read or public-read-write, got \"x\"",
            ),
            (
                json!({"assume_role_session_expiration": 1}),
                "expected assume_role_session_expiration to be in the range (900 - 3600), got 1",
            ),
            (
                json!({"tablestore_table": "t"}),
                "\"tablestore_table\": all of `tablestore_table,tablestore_endpoint` must be specified",
            ),
        ] {
            assert_eq!(read(more, &[]).unwrap_err(), [want]);
        }
    }
}
