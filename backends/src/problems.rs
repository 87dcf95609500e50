//! The diagnostics of settings, as constructors.

use serde_json::Value as Json;
use weft_graph_format::diagnostic::Diagnostic;

/// Weft does not have this type of backend.
pub fn not_here(kind: &str) -> Diagnostic {
    Diagnostic::error("Backend not supported yet", format!("This version of Weft does not have the backend {kind:?}."))
}

/// A required argument is set nowhere.
pub fn required(name: &str) -> Diagnostic {
    Diagnostic::error(format!("\"{name}\": required field is not set"), "")
}

/// A value has another type than its argument.
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
        format!("The argument {name:?} must be {wanted}, and is {found}."),
    )
}

/// The variable of the environment for an argument has another type.
pub fn wrong_variable(name: &str, wanted: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid backend configuration",
        format!(
            "The argument {name:?} must be {wanted}. The variable of the environment that sets it has another value."
        ),
    )
}

/// An argument that another one needs is not set.
pub fn needs(name: &str, other: &str) -> Diagnostic {
    Diagnostic::error(format!("\"{name}\": all of `{name},{other}` must be specified"), "")
}

/// Two arguments exclude each other.
pub fn conflicts(name: &str, other: &str) -> Diagnostic {
    Diagnostic::error(format!("\"{name}\": conflicts with {other}"), "")
}

/// A key of the customer has another form.
pub fn customer_key(name: &str, length: usize) -> Diagnostic {
    Diagnostic::error(
        "Invalid customer key",
        format!("The argument {name:?} must be the base64 text of {length} bytes, or a file with such a text."),
    )
}

/// Credentials cannot be read.
pub fn credentials(error: &str) -> Diagnostic {
    Diagnostic::error("Error loading credentials", format!("{error}."))
}

/// An address is not one of a web server.
pub fn not_a_web_address(name: &str) -> Diagnostic {
    Diagnostic::error(format!("{name} must be HTTP or HTTPS"), "")
}

/// An address cannot be parsed.
pub fn invalid_address(name: &str, error: &dyn std::fmt::Display) -> Diagnostic {
    Diagnostic::error(format!("failed to parse {name} URL: {error}"), "")
}

/// The name of a header has other characters than letters, digits, `-` and `_`.
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

/// A header that the backend sets itself.
pub fn reserved_header(name: &str) -> Diagnostic {
    Diagnostic::error("Reserved header", format!("The header {name:?} is set by the backend itself. Remove it."))
}

/// The header `Authorization` is set beside a user name.
pub fn two_authorizations() -> Diagnostic {
    Diagnostic::error(
        "Conflicting authorization",
        "The header \"Authorization\" and the argument \"username\" exclude each other. Remove one of them.",
    )
}

/// A certificate or key cannot be read, or the client cannot be made for another reason.
pub fn no_client(error: &str) -> Diagnostic {
    Diagnostic::error("Invalid settings of secure connections", format!("{error}."))
}

/// A connection string of PostgreSQL cannot be read.
pub fn connection_string(error: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid connection string",
        format!(
            "The argument \"conn_str\" or the variable PG_CONN_STR: {error}. Write postgres://USER@HOST/DATABASE or \
             \"host=HOST dbname=DATABASE user=USER\"."
        ),
    )
}

/// A mode of encryption that the backend does not know.
pub fn ssl_mode(mode: &str, known: &[&str]) -> Diagnostic {
    Diagnostic::error(format!("unsupported sslmode {mode:?}"), format!("The modes are {}.", known.join(", ")))
}
