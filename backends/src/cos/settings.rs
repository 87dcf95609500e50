//! The arguments of the backend `cos`.

use std::fmt;

use serde_json::Value as Json;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::schema::{Block, NestedBlock, Nesting};
use weft_graph_format::types::Type;

use crate::arguments::{self, Arguments, BackendSettings, Environment};
use crate::expiring::{AssumedRole, Keys};
use crate::problems;

/// The default key of the state.
const KEY: &str = "terraform.tfstate";
/// The values of `acl`, which determines who may read the state. The first value is the default.
const ACCESS: [&str; 2] = ["private", "public-read"];
/// The default duration of a role's session, in seconds.
const SESSION: i64 = 7200;
/// The maximum duration of a role's session, in seconds.
const LONGEST: i64 = 43200;

/// The schema of the arguments.
pub fn schema() -> Block {
    let attributes = [
        ("accelerate", Type::Bool),
        ("acl", Type::String),
        ("bucket", Type::String),
        ("encrypt", Type::Bool),
        ("key", Type::String),
        ("prefix", Type::String),
        ("region", Type::String),
        ("secret_id", Type::String),
        ("secret_key", Type::String),
        ("security_token", Type::String),
    ];
    let mut block = arguments::schema(&attributes, &["bucket", "region"], &["secret_key", "security_token"]);
    // The required arguments of the role are optional in the schema, because variables of the environment may set them.
    let role = [
        ("policy", Type::String),
        ("role_arn", Type::String),
        ("session_duration", Type::Number),
        ("session_name", Type::String),
    ];
    let role = arguments::schema(&role, &[], &[]);
    let role = NestedBlock { block: role, nesting: Nesting::Set, min_items: 0, max_items: 1 };
    block.blocks.insert("assume_role".into(), role);
    block
}

/// The settings.
pub(super) struct CosSettings {
    pub(super) keys: Keys,
    pub(super) role: Option<AssumedRole>,
    pub(super) region: String,
    pub(super) bucket: String,
    pub(super) prefix: String,
    pub(super) key: String,
    pub(super) encrypt: bool,
    pub(super) acl: String,
    /// Whether the global acceleration is used.
    pub(super) accelerate: bool,
}

impl fmt::Debug for CosSettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "CosSettings(cos://{})", self.bucket)
    }
}

impl CosSettings {
    /// Reads the settings.
    ///
    /// # Errors
    /// Returns an error if the settings are not valid.
    pub(super) fn read(
        settings: &BackendSettings,
        environment: Environment<'_>,
    ) -> Result<(CosSettings, Vec<Diagnostic>), Vec<Diagnostic>> {
        let mut arguments = Arguments::new(settings, environment);
        let keys = Keys {
            id: arguments.text("secret_id", &["TENCENTCLOUD_SECRET_ID"]).unwrap_or_default(),
            secret: arguments.text("secret_key", &["TENCENTCLOUD_SECRET_KEY"]).unwrap_or_default(),
            token: arguments.text("security_token", &["TENCENTCLOUD_SECURITY_TOKEN"]).filter(|text| !text.is_empty()),
            expires: None,
        };
        let region = arguments.required("region", &["TENCENTCLOUD_REGION"]);
        let bucket = arguments.required("bucket", &[]);
        let prefix = arguments.text("prefix", &[]).unwrap_or_default();
        if prefix.starts_with('/') || prefix.starts_with("./") {
            arguments.problems.push(problems::prefix_of_keys("prefix"));
        }
        let key = arguments.text("key", &[]).unwrap_or_else(|| KEY.to_owned());
        if key.starts_with('/') || key.ends_with('/') {
            arguments.problems.push(problems::key_with_slashes());
        }
        let acl = arguments.text("acl", &[]).unwrap_or_else(|| ACCESS[0].to_owned());
        if !ACCESS.contains(&acl.as_str()) {
            arguments.problems.push(problems::cos_acl(&acl));
        }
        let encrypt = arguments.flag("encrypt", &[]).unwrap_or(true);
        let accelerate = arguments.flag("accelerate", &[]).unwrap_or_default();
        let role = role(&mut arguments, environment);
        arguments.finish(CosSettings { keys, role, region, bucket, prefix, key, encrypt, acl, accelerate })
    }

    /// The host of the bucket.
    pub(super) fn host(&self) -> String {
        let region = if self.accelerate { "accelerate" } else { &self.region };
        format!("{}.cos.{region}.myqcloud.com", self.bucket)
    }
}

/// The role of the block `assume_role`.
fn role(arguments: &mut Arguments<'_>, environment: Environment<'_>) -> Option<AssumedRole> {
    let block = arguments.written("assume_role")?.as_array()?.first()?.as_object()?;
    let mut block = Arguments::new(block, environment);
    let seconds = match block.written("session_duration").and_then(Json::as_i64) {
        Some(seconds) => Some(seconds),
        None => block.number("session_duration", &["TENCENTCLOUD_ASSUME_ROLE_SESSION_DURATION"]).map(u64::cast_signed),
    };
    let seconds = seconds.unwrap_or(SESSION);
    if seconds < 0 {
        block.problems.push(problems::lower("session_duration", 0, seconds));
    } else if seconds > LONGEST {
        block.problems.push(problems::higher("session_duration", LONGEST, seconds));
    }
    let role = AssumedRole {
        arn: block.required("role_arn", &["TENCENTCLOUD_ASSUME_ROLE_ARN"]),
        session: block.required("session_name", &["TENCENTCLOUD_ASSUME_ROLE_SESSION_NAME"]),
        seconds,
        policy: block.text("policy", &[]).filter(|policy| !policy.is_empty()),
    };
    arguments.problems.append(&mut block.problems);
    Some(role)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(more: Json, variables: &[(&str, &str)]) -> Result<CosSettings, Vec<String>> {
        let mut settings = json!({"bucket": "states-125", "region": "ap-guangzhou"});
        for (name, value) in more.as_object().unwrap() {
            settings[name] = value.clone();
        }
        let variable =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let read = CosSettings::read(settings.as_object().unwrap(), &variable);
        read.map(|(read, _)| read).map_err(|found| found.into_iter().map(|problem| problem.summary).collect())
    }

    #[test]
    fn defaults_and_the_environment() {
        let found = read(json!({}), &[("TENCENTCLOUD_SECRET_ID", "id"), ("TENCENTCLOUD_SECURITY_TOKEN", "t")]).unwrap();
        assert_eq!((found.keys.id.as_str(), found.keys.token.as_deref()), ("id", Some("t")));
        assert_eq!((found.key.as_str(), found.prefix.as_str(), found.acl.as_str()), (KEY, "", "private"));
        assert!(found.encrypt && found.role.is_none());
        assert_eq!(found.host(), "states-125.cos.ap-guangzhou.myqcloud.com");
        let found = read(json!({"accelerate": true}), &[]).unwrap();
        assert_eq!(found.host(), "states-125.cos.accelerate.myqcloud.com");
    }

    #[test]
    fn roles() {
        let block = |value: Json| json!({"assume_role": [value]});
        let variables = [("TENCENTCLOUD_ASSUME_ROLE_SESSION_DURATION", "60"), ("TENCENTCLOUD_ASSUME_ROLE_ARN", "a")];
        let found = read(block(json!({"session_name": "s", "role_arn": null})), &variables).unwrap().role.unwrap();
        let want = AssumedRole { arn: "a".to_owned(), session: "s".to_owned(), seconds: 60, policy: None };
        assert_eq!(found, want);
        for (value, want) in [
            (
                json!({"role_arn": "a", "session_name": "s", "session_duration": -1}),
                "\"session_duration\" cannot be lower than 0: -1",
            ),
            (
                json!({"role_arn": "a", "session_name": "s", "session_duration": 43201}),
                "\"session_duration\" cannot be higher than 43200: 43201",
            ),
            (json!({"role_arn": "a"}), "\"session_name\": required field is not set"),
        ] {
            assert_eq!(read(block(value), &[]).unwrap_err(), [want]);
        }
    }

    #[test]
    fn invalid_arguments() {
        for (more, want) in [
            (json!({"prefix": "/p"}), "prefix must not start with '/' or './'"),
            (json!({"key": "k/"}), "key can not start and end with '/'"),
            (json!({"acl": "x"}), "acl value invalid, expected private or public-read, got x"),
        ] {
            assert_eq!(read(more, &[]).unwrap_err(), [want]);
        }
    }
}
