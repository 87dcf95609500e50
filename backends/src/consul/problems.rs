//! Constructors of the diagnostics of settings.

use weft_graph_format::diagnostic::Diagnostic;

/// The path cannot be the key of a state.
pub(super) fn invalid_path(path: &str) -> Diagnostic {
    let rule = match path.starts_with('/') {
        true => "begin with a '/'",
        false => "have a part '.' or '..'",
    };
    Diagnostic::error(format!("Invalid key. Key must not {rule}: {path}"), "Correct the argument \"path\".")
}

/// The scheme of the address is not supported.
pub(super) fn unknown_scheme(scheme: &str) -> Diagnostic {
    Diagnostic::error(
        format!("Unknown protocol scheme: {scheme}"),
        "The address of Consul begins with http://, https:// or unix://, or it has no scheme.",
    )
}

/// The file of the token cannot be read.
pub(super) fn token_file(path: &str, error: &std::io::Error) -> Diagnostic {
    Diagnostic::error(
        format!("Error loading token file {path} : {error}"),
        "The variable CONSUL_HTTP_TOKEN_FILE names the file.",
    )
}

/// The client has a certificate without a key, or a key without a certificate.
pub(super) fn half_identity() -> Diagnostic {
    Diagnostic::error(
        "both client cert and client key must be provided",
        "Set both cert_file (or CONSUL_CLIENT_CERT) and key_file (or CONSUL_CLIENT_KEY), or neither.",
    )
}
