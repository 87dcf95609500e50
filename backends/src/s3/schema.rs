//! The schema of the arguments.

use std::collections::BTreeSet;
use std::sync::Arc;

use weft_graph_format::schema::Block;
use weft_graph_format::types::{ObjectType, Type};

use crate::arguments;

/// The arguments that are strings.
const TEXTS: [&str; 34] = [
    "access_key",
    "acl",
    "assume_role_policy",
    "bucket",
    "custom_ca_bundle",
    "dynamodb_endpoint",
    "dynamodb_table",
    "ec2_metadata_service_endpoint",
    "ec2_metadata_service_endpoint_mode",
    "endpoint",
    "external_id",
    "http_proxy",
    "https_proxy",
    "iam_endpoint",
    "key",
    "kms_key_id",
    "no_proxy",
    "profile",
    "region",
    "retry_mode",
    "role_arn",
    "secret_key",
    "session_name",
    "shared_credentials_file",
    "sse_customer_key",
    "sts_endpoint",
    "sts_region",
    "token",
    "workspace_key_prefix",
    "max_retries",
    "assume_role_duration_seconds",
    "assume_role",
    "assume_role_with_web_identity",
    "endpoints",
];
/// The arguments that are bools.
const FLAGS: [&str; 12] = [
    "encrypt",
    "force_path_style",
    "insecure",
    "skip_credentials_validation",
    "skip_metadata_api_check",
    "skip_region_validation",
    "skip_requesting_account_id",
    "skip_s3_checksum",
    "use_dualstack_endpoint",
    "use_fips_endpoint",
    "use_lockfile",
    "use_path_style",
];
/// The arguments that are sets of strings.
const SETS: [&str; 6] = [
    "allowed_account_ids",
    "assume_role_policy_arns",
    "assume_role_transitive_tag_keys",
    "forbidden_account_ids",
    "shared_config_files",
    "shared_credentials_files",
];
/// The arguments that are maps of strings.
const MAPS: [&str; 3] = ["assume_role_tags", "lock_tags", "state_tags"];
/// The arguments that are never stored in a plan.
const SECRETS: [&str; 5] = ["access_key", "assume_role_with_web_identity", "secret_key", "sse_customer_key", "token"];

/// The schema of the arguments.
pub fn schema() -> Block {
    let mut all: Vec<(&str, Type)> = Vec::new();
    all.extend(TEXTS.map(|name| {
        let ty = match name {
            "max_retries" | "assume_role_duration_seconds" => Type::Number,
            "assume_role" => with_required(assume_role(), "role_arn"),
            "assume_role_with_web_identity" => web_identity(),
            "endpoints" => object(&["dynamodb", "iam", "s3", "sts"], &[]),
            _ => Type::String,
        };
        (name, ty)
    }));
    all.extend(FLAGS.map(|name| (name, Type::Bool)));
    all.extend(SETS.map(|name| (name, Type::set(Type::String))));
    all.extend(MAPS.map(|name| (name, Type::map(Type::String))));
    arguments::schema(&all, &["bucket", "key"], &SECRETS)
}

/// The type of the argument `assume_role`.
pub(super) fn assume_role() -> Type {
    let texts = ["duration", "external_id", "policy", "role_arn", "session_name"];
    let others = [
        ("policy_arns", Type::set(Type::String)),
        ("tags", Type::map(Type::String)),
        ("transitive_tag_keys", Type::set(Type::String)),
    ];
    object(&texts, &others)
}

/// The type of the argument `assume_role_with_web_identity`.
pub(super) fn web_identity() -> Type {
    let texts = ["duration", "policy", "role_arn", "session_name", "web_identity_token", "web_identity_token_file"];
    object(&texts, &[("policy_arns", Type::set(Type::String))])
}

/// Makes an attribute of an object required.
fn with_required(ty: Type, name: &str) -> Type {
    match ty {
        Type::Object(object) => {
            let mut object = Arc::unwrap_or_clone(object);
            object.optional.remove(name);
            Type::Object(Arc::new(object))
        }
        ty => ty,
    }
}

/// An object type whose attributes are all optional.
pub(super) fn object(texts: &[&str], others: &[(&str, Type)]) -> Type {
    let texts = texts.iter().map(|name| (*name, Type::String));
    let attributes: std::collections::BTreeMap<_, _> =
        texts.chain(others.iter().cloned()).map(|(name, ty)| (name.into(), ty)).collect();
    let optional: BTreeSet<_> = attributes.keys().cloned().collect();
    Type::Object(Arc::new(ObjectType { attributes, optional }))
}
