//! Constructors of the diagnostics of settings.

use std::fmt::Display;

use serde_json::Value as Json;
use weft_graph_format::diagnostic::{Cause, Diagnostic};
use weft_graph_format::types::Type;

/// The settings of a key provider are not valid.
pub fn key_data(problem: &dyn Display) -> Diagnostic {
    Diagnostic::error("Unable to build encryption key data", problem.to_string()).cause(Cause::KeyProvider)
}

/// A setting of a key provider is empty.
pub fn key_setting_empty(name: &str) -> Diagnostic {
    key_data(&format_args!("{name} is empty"))
}

/// The length of a key is not allowed.
pub fn key_length(length: u64, longest: u64) -> Diagnostic {
    key_data(&format_args!("key_length is {length}, but must be from 1 to {longest}"))
}

/// The settings of a key provider lack something that is not reported elsewhere.
pub fn key_settings_incomplete() -> Diagnostic {
    key_data(&"the settings are incomplete")
}

/// The message about a state that another process has locked.
pub fn locked_by(who: &str) -> String {
    format!("the state is locked by {who}")
}

/// The message about a state whose lock has no holder.
pub fn locked_without_holder() -> String {
    "the state is locked, but the lock does not name its holder".to_owned()
}

/// This build does not support this type of backend.
pub fn not_here(kind: &str) -> Diagnostic {
    let detail = format!("This build of Weft does not have the backend {kind:?}. Use another backend.");
    Diagnostic::error("Backend not supported yet", detail)
}

/// Why the address of a state in a backend cannot be used. The messages contain no values of the address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressProblem {
    /// The text is not a URL.
    #[error("{0}")]
    Url(#[from] url::ParseError),
    /// The host sets this argument.
    #[error("the host is missing: it sets the argument {0:?}")]
    NoHost(&'static str),
    /// The path sets this argument.
    #[error("the path is missing: it sets the argument {0:?}")]
    NoPath(&'static str),
    /// The value of a parameter has another type.
    #[error("the value of {name:?} must be {ty}")]
    Type {
        /// The name of the parameter.
        name: String,
        /// The type of the argument.
        ty: Type,
    },
    /// The backend does not have an argument with the name of a parameter.
    #[error("the backend {backend:?} has no argument {name:?}")]
    UnknownArgument {
        /// The type of the backend.
        backend: &'static str,
        /// The name of the parameter.
        name: String,
    },
}

/// An address of a state in a backend cannot be used.
pub fn store_address(scheme: &str, why: &AddressProblem) -> Diagnostic {
    Diagnostic::error("Invalid store address", format!("{scheme}://...: {why}."))
}

/// A required argument is set neither in the settings nor in the environment.
pub fn required(name: &str) -> Diagnostic {
    Diagnostic::error(format!("\"{name}\": required field is not set"), "")
}

/// The type of a value does not match its argument.
pub fn wrong_type(name: &str, wanted: &str, found: &Json) -> Diagnostic {
    let found = match found {
        Json::Null => "null",
        Json::Bool(_) => "a bool",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    };
    Diagnostic::error(
        "Invalid backend configuration",
        format!("The argument {name:?} must be {wanted}, but is {found}."),
    )
}

/// The value of an environment variable does not match the type of its argument.
pub fn wrong_variable(name: &str, wanted: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid backend configuration",
        format!(
            "The argument {name:?} must be {wanted}, but the environment variable that sets this argument has another \
             value."
        ),
    )
}

/// An argument requires another argument, which is not set.
pub fn needs(name: &str, other: &str) -> Diagnostic {
    Diagnostic::error(format!("\"{name}\": all of `{name},{other}` must be specified"), "")
}

/// Two arguments exclude each other.
pub fn conflicts(name: &str, other: &str) -> Diagnostic {
    Diagnostic::error(format!("\"{name}\": conflicts with {other}"), "Remove one of the two arguments.")
}

/// A customer key does not have the required form.
pub fn customer_key(name: &str, length: usize) -> Diagnostic {
    Diagnostic::error(
        "Invalid customer key",
        format!("The argument {name:?} must be the base64 text of {length} bytes, or a file with such a text."),
    )
}

/// Credentials cannot be read.
pub fn credentials(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Error loading credentials", format!("{error}."))
}

/// The URL is not an HTTP or HTTPS URL.
pub fn not_a_web_address(name: &str) -> Diagnostic {
    Diagnostic::error(format!("{name} must be HTTP or HTTPS"), "Only the schemes http and https are supported.")
}

/// A URL cannot be parsed.
pub fn invalid_address(name: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::error(format!("failed to parse {name} URL: {error}"), "")
}

/// The name of a header has characters other than letters, digits, `-` and `_`.
pub fn header_name(name: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid header name",
        format!("The header {name:?} may only have letters, digits, \"-\" and \"_\" in its name."),
    )
}

/// The value of a header is blank or not ASCII.
pub fn header_value(name: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid header value",
        format!("The value of the header {name:?} must be ASCII text that is not blank."),
    )
}

/// The settings have a header that the backend sets itself.
pub fn reserved_header(name: &str) -> Diagnostic {
    Diagnostic::error("Reserved header", format!("The header {name:?} is set by the backend itself. Remove it."))
}

/// The header `Authorization` is set in addition to a user name.
pub fn two_authorizations() -> Diagnostic {
    Diagnostic::error(
        "Conflicting authorization",
        "The header \"Authorization\" and the argument \"username\" exclude each other. Remove one of them.",
    )
}

/// A certificate or key cannot be read, or the HTTP client cannot be made for another reason.
pub fn no_client(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Invalid settings of secure connections", format!("{error}."))
}

/// A connection string of PostgreSQL cannot be read.
pub fn connection_string(error: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Invalid connection string",
        format!(
            "The argument \"conn_str\" or the variable PG_CONN_STR: {error}. Write postgres://USER@HOST/DATABASE or \
             \"host=HOST dbname=DATABASE user=USER\"."
        ),
    )
}

/// The backend does not support the mode of encryption.
pub fn ssl_mode(mode: &str, known: &[&str]) -> Diagnostic {
    Diagnostic::error(format!("unsupported sslmode {mode:?}"), format!("The modes are {}.", known.join(", ")))
}

/// A prefix of keys begins with `/` or `./`.
pub fn prefix_of_keys(name: &str) -> Diagnostic {
    Diagnostic::error(format!("{name} must not start with '/' or './'"), "Keys of objects do not begin with a slash.")
}

/// A key begins or ends with a slash.
pub fn key_with_slashes() -> Diagnostic {
    Diagnostic::error("key can not start and end with '/'", "Remove the slashes at its ends.")
}

/// The access list is not valid in COS.
pub fn cos_acl(acl: &str) -> Diagnostic {
    Diagnostic::error(format!("acl value invalid, expected private or public-read, got {acl}"), "")
}

/// A number is too low.
pub fn lower(name: &str, least: i64, number: i64) -> Diagnostic {
    Diagnostic::error(format!("{name:?} cannot be lower than {least}: {number}"), "")
}

/// A number is too high.
pub fn higher(name: &str, most: i64, number: i64) -> Diagnostic {
    Diagnostic::error(format!("{name:?} cannot be higher than {most}: {number}"), "")
}

/// The access list is not valid in OSS.
pub fn oss_acl(acl: &str) -> Diagnostic {
    let known = "private, public-read or public-read-write";
    Diagnostic::error(format!("\"acl\" must be a valid ACL value , expected {known}, got {acl:?}"), "")
}

/// A number is outside its range.
pub fn out_of_range(name: &str, least: i64, most: i64, number: i64) -> Diagnostic {
    Diagnostic::error(format!("expected {name} to be in the range ({least} - {most}), got {number}"), "")
}
