//! Constructors of the diagnostics of settings.

use std::fmt::Display;

use weft_graph_format::diagnostic::Diagnostic;

/// An argument is empty.
pub(super) fn empty(name: &str) -> Diagnostic {
    Diagnostic::error(format!("Invalid {name} value"), format!("The {name:?} attribute value must not be empty."))
}

/// A key begins or ends with a slash.
pub(super) fn slashes(name: &str) -> Diagnostic {
    let detail = format!("The {name:?} attribute value must not start or end with \"/\".");
    Diagnostic::error(format!("Invalid {name} value"), detail)
}

/// The region is set neither in the settings nor in the environment.
pub(super) fn missing_region() -> Diagnostic {
    Diagnostic::error(
        "Missing region value",
        "Set the \"region\" attribute, or the environment variable AWS_REGION or AWS_DEFAULT_REGION.",
    )
}

/// The text does not have the form of a region.
pub(super) fn invalid_region(region: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid region value",
        format!(
            "{region:?} does not have the form of an AWS region. Correct the region, or set skip_region_validation if \
             the service is not AWS."
        ),
    )
}

/// An endpoint is not a URL.
pub(super) fn invalid_endpoint(service: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid Value",
        format!("The endpoint of {service} is not an address such as https://HOST:PORT."),
    )
}

/// The retry mode is unknown.
pub(super) fn invalid_retry_mode(mode: &str) -> Diagnostic {
    Diagnostic::error("Invalid retry mode", format!("{mode:?} is not one of \"standard\" and \"adaptive\"."))
}

/// More than one key for the encryption is set. `other` is an argument or a variable of the environment.
pub(super) fn two_keys(other: &str) -> Diagnostic {
    let detail = format!("Only one of \"kms_key_id\" and {other} can be set.");
    Diagnostic::error("Invalid encryption configuration", detail)
}

/// The text does not have the form of a KMS key.
pub(super) fn kms_key(key: &str, is_arn: bool) -> Diagnostic {
    let (what, forms) = match is_arn {
        true => ("ARN", "arn:aws:kms:REGION:ACCOUNT:key/UUID or arn:aws:kms:REGION:ACCOUNT:alias/NAME"),
        false => ("ID", "a UUID, mrk-..., or alias/NAME"),
    };
    let detail = format!("The argument \"kms_key_id\" must have the form {forms}. Its value is {key:?}.");
    Diagnostic::error(format!("Invalid KMS Key {what}"), detail)
}

/// The customer key is not base64 of 32 bytes. `name` is an argument or a variable.
pub(super) fn customer_key(name: &str) -> Diagnostic {
    Diagnostic::error(
        format!("Invalid {name} value"),
        format!("The value of {name} must be a key of 32 bytes in base64, which has 44 characters."),
    )
}

/// The bucket is the ARN of a resource that cannot store states.
pub(super) fn not_a_bucket(bucket: &str) -> Diagnostic {
    let detail = format!(
        "{bucket:?} is neither the name of a bucket nor the ARN of an access point, such as \
         arn:aws:s3:REGION:ACCOUNT:accesspoint/NAME or, for several regions, arn:aws:s3::ACCOUNT:accesspoint/ALIAS.mrap."
    );
    Diagnostic::error("Invalid bucket value", detail)
}

/// The access point is in another region than the settings.
pub(super) fn other_region(bucket: &str, region: &str) -> Diagnostic {
    let detail = format!(
        "The access point {bucket:?} is not in the region {region:?}. Set the argument \"region\" to the region in the \
         ARN of the access point."
    );
    Diagnostic::error("Invalid bucket value", detail)
}

/// An argument cannot be used with a multi-region access point.
pub(super) fn not_for_many_regions(name: &str) -> Diagnostic {
    let detail = format!("A multi-region access point does not support {name:?}. Remove the argument.");
    Diagnostic::error("Invalid bucket value", detail)
}

/// A lock in a multi-region access point becomes visible in other regions with a delay.
pub(super) fn no_common_lock() -> Diagnostic {
    Diagnostic::warning(
        "Locks in several regions",
        "The bucket is an access point to several regions, which copy their objects with a delay. If two regions are \
         active, two processes can both take a lock, and both write the state. Make all regions but one passive, or \
         set \"dynamodb_table\": the locks are then in a table in one region, the region of this backend.",
    )
}

/// More than one of these arguments is set.
pub(super) fn only_one(names: &[&str]) -> Diagnostic {
    Diagnostic::error("Invalid Attribute Combination", format!("Only one of {} can be set.", names.join(", ")))
}

/// An argument must be set.
pub(super) fn missing_value(name: &str) -> Diagnostic {
    Diagnostic::error("Missing Required Value", format!("The argument {name:?} must be set, and not be empty."))
}

/// An argument is blank.
pub(super) fn blank(name: &str) -> Diagnostic {
    Diagnostic::error("Invalid Value", format!("The argument {name:?} must not be empty or all whitespace."))
}

/// A duration cannot be parsed.
pub(super) fn not_a_duration(name: &str, value: &str) -> Diagnostic {
    let detail = format!("The argument {name:?} is {value:?}, but must be a duration such as \"1h30m\".");
    Diagnostic::error("Invalid Duration", detail)
}

/// The session of a role is too short or too long.
pub(super) fn duration_bounds(name: &str, value: &str) -> Diagnostic {
    let detail = format!("The argument {name:?} is {value:?}, but must be between 15m and 12h.");
    Diagnostic::error("Invalid Duration", detail)
}

/// The value of an argument is not an ARN.
pub(super) fn not_an_arn(name: &str, value: &str) -> Diagnostic {
    Diagnostic::error("Invalid ARN", format!("The argument {name:?} has the value {value:?}, which is not an ARN."))
}

/// An ARN does not belong to a policy.
pub(super) fn not_a_policy(name: &str, value: &str) -> Diagnostic {
    let detail = format!("The argument {name:?} has the value {value:?}, which is not the ARN of a policy of IAM.");
    Diagnostic::error("Invalid IAM Policy ARN", detail)
}

fn replacements(old: &[(&str, &str)]) -> String {
    old.iter().map(|(name, new)| format!("\n  * {name} -> assume_role.{new}")).collect()
}

/// Old arguments for a role are set in addition to `assume_role`.
pub(super) fn old_role_conflicts(old: &[(&str, &str)]) -> Diagnostic {
    let detail = format!(
        "These deprecated arguments conflict with the argument \"assume_role\". Replace them:{}",
        replacements(old)
    );
    Diagnostic::error("Conflicting Parameters", detail)
}

/// Old arguments for a role are set.
pub(super) fn old_role(old: &[(&str, &str)]) -> Diagnostic {
    Diagnostic::warning(
        "Deprecated Parameters",
        format!("These arguments are deprecated. Replace them:{}", replacements(old)),
    )
}

/// An argument is deprecated.
pub(super) fn deprecated(old: &str, new: &str) -> Diagnostic {
    Diagnostic::warning("Deprecated Parameter", format!("The argument {old:?} is deprecated. Use {new:?}."))
}

/// A variable of the environment is deprecated.
pub(super) fn deprecated_variable(old: &str, new: &str) -> Diagnostic {
    Diagnostic::warning("Deprecated Environment Variable", format!("The variable {old} is deprecated. Use {new}."))
}

/// A proxy is set for unencrypted connections only.
pub(super) fn missing_https_proxy() -> Diagnostic {
    Diagnostic::warning(
        "Missing HTTPS Proxy",
        "The argument \"http_proxy\" does not apply to encrypted connections. Also set \"https_proxy\". For no proxy, \
         set \"https_proxy\" to \"\".",
    )
}

/// The file with root certificates cannot be read.
pub(super) fn ca_bundle(path: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Invalid custom_ca_bundle value", format!("The file {path} cannot be read: {error}."))
}

/// The profile that the settings or the environment select does not exist.
pub(super) fn no_profile(place: &str, by: &str, profile: &str, files: &str) -> Diagnostic {
    let detail = format!("{place}: {by} names the profile {profile:?}, which is not in {files}.");
    Diagnostic::error(format!("failed to get shared config profile, {profile}"), detail)
}

/// The credentials belong to an account that the settings exclude.
pub(super) fn other_account(place: &str, account: &str) -> Diagnostic {
    let detail = format!(
        "{place}: the account {account} is excluded by allowed_account_ids or forbidden_account_ids. Use credentials of \
         another account, or change these arguments."
    );
    Diagnostic::error("Invalid account ID", detail)
}

/// The role in the settings cannot be assumed. `why` is a sentence, whose final period is optional.
pub(super) fn role_not_assumed(place: &str, why: &str) -> Diagnostic {
    let why = why.trim_end_matches('.');
    let detail = format!(
        "{place}: {why}.\n\nCheck the ARN, the trust policy of the role, and the right sts:AssumeRole of the caller."
    );
    Diagnostic::error("Cannot assume IAM Role", detail)
}

/// The role in `assume_role_with_web_identity` cannot be assumed. `why` is a sentence, whose final period is optional.
pub(super) fn role_not_assumed_with_token(place: &str, why: &str) -> Diagnostic {
    let why = why.trim_end_matches('.');
    let detail = format!(
        "{place}: {why}.\n\nCheck the ARN, the trust policy of the role, and whether the token is still valid."
    );
    Diagnostic::error("Cannot assume IAM Role with web identity", detail)
}

/// `assume_role_with_web_identity` is incomplete.
pub(super) fn no_web_identity(argument: &str, variables: &str) -> Diagnostic {
    let detail = format!("Set {argument} in assume_role_with_web_identity, or the environment variable {variables}.");
    Diagnostic::error("Assume Role With Web Identity", detail)
}
