//! The diagnostics of settings, as constructors.

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

/// There is no region.
pub(super) fn missing_region() -> Diagnostic {
    Diagnostic::error(
        "Missing region value",
        "Set the \"region\" attribute, or the environment variable AWS_REGION or AWS_DEFAULT_REGION.",
    )
}

/// The region does not have the form of one.
pub(super) fn invalid_region(region: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid region value",
        format!(
            "{region:?} does not have the form of an AWS region. Correct it, or set skip_region_validation if the \
             service is not that of AWS."
        ),
    )
}

/// An endpoint is not an address.
pub(super) fn invalid_endpoint(service: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid Value",
        format!("The endpoint of {service} is not an address such as https://HOST:PORT."),
    )
}

/// The retry mode does not exist.
pub(super) fn invalid_retry_mode(mode: &str) -> Diagnostic {
    Diagnostic::error("Invalid retry mode", format!("{mode:?} is not one of \"standard\" and \"adaptive\"."))
}

/// Two keys for the encryption are given.
pub(super) fn two_keys() -> Diagnostic {
    Diagnostic::error(
        "Invalid encryption configuration",
        "Only one of \"kms_key_id\" and \"sse_customer_key\" (or AWS_SSE_CUSTOMER_KEY) can be set.",
    )
}

/// The customer key has another length than 32 bytes in base64.
pub(super) fn customer_key() -> Diagnostic {
    Diagnostic::error(
        "Invalid sse_customer_key value",
        "The \"sse_customer_key\" attribute must be a key of 32 bytes in base64, which has 44 characters.",
    )
}

/// Two arguments exclude each other.
pub(super) fn conflict(old: &str, new: &str) -> Diagnostic {
    Diagnostic::error("Conflicting Parameters", format!("{old:?} and {new:?} cannot both be set. Use {new:?}."))
}

/// Allowed and forbidden accounts are both given.
pub(super) fn two_lists_of_accounts() -> Diagnostic {
    Diagnostic::error(
        "Invalid Attribute Combination",
        "Only one of \"allowed_account_ids\" and \"forbidden_account_ids\" can be set.",
    )
}

/// An argument is deprecated.
pub(super) fn deprecated(old: &str, new: &str) -> Diagnostic {
    Diagnostic::warning("Deprecated Parameter", format!("The argument {old:?} is deprecated. Use {new:?}."))
}

/// The file with root certificates cannot be read.
pub(super) fn ca_bundle(path: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Invalid custom_ca_bundle value", format!("The file {path} cannot be read: {error}."))
}
