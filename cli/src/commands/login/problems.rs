//! The diagnostics of `login` and `logout`, as constructors.

use std::fmt::Display;

use weft_graph_format::diagnostic::Diagnostic;
use weft_registry::Host;

/// The command takes one host.
pub fn one_host(verb: &str) -> Diagnostic {
    Diagnostic::error("Unexpected argument", format!("The {verb} command expects exactly one argument: the host."))
}

/// The argument is not the name of a host.
pub fn invalid_host(name: &str) -> Diagnostic {
    Diagnostic::error("Invalid hostname", format!("{name:?} is not the name of a host, such as \"app.example.com\"."))
}

/// A login is interactive, but input is disabled.
pub fn interactive() -> Diagnostic {
    Diagnostic::error(
        "Login is an interactive command",
        "A login asks questions, but input is disabled. Instead, set the variable TF_TOKEN_HOST to a token, where HOST \
         is the name of the host with underscores for dots. Or write the token to a credentials block of a CLI \
         configuration file.",
    )
}

/// The user has put a token into a file that Weft does not change.
pub fn own_credentials(host: &Host, verb: &str) -> Diagnostic {
    Diagnostic::error(
        format!("Credentials for {host} are manually configured"),
        format!(
            "One of your CLI configuration files has the token for this host, and \"weft {verb}\" does not change this \
             file. Revoke the token, and remove its block from the file."
        ),
    )
}

/// Service discovery failed for the host.
pub fn no_discovery(host: &Host, error: &dyn Display) -> Diagnostic {
    Diagnostic::error(format!("Service discovery failed for {host}"), format!("{error}."))
}

/// The login service of the host cannot be used.
pub fn no_login(error: &dyn Display) -> Diagnostic {
    Diagnostic::warning("Host does not support OpenTofu login", format!("{error}."))
}

/// The host offers no grant type that Weft supports.
pub fn no_grant(host: &Host) -> Diagnostic {
    Diagnostic::error(
        "Host does not support OpenTofu login",
        format!(
            "{host} offers no login method that this version of Weft supports. Instead, set the variable TF_TOKEN_HOST \
             to a token, where HOST is the name of the host with underscores for dots."
        ),
    )
}

/// The host has no service for tokens.
pub fn no_tokens(host: &Host, error: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Host does not support OpenTofu tokens API",
        format!(
            "{host} does not let users create tokens for the command line: {error}. Instead, set the variable \
             TF_TOKEN_HOST to a token, where HOST is the name of the host with underscores for dots."
        ),
    )
}

/// The user has declined the login.
pub fn cancelled() -> Diagnostic {
    Diagnostic::error("Login cancelled", "The login was not confirmed with \"yes\". Nothing has changed.")
}

/// The local server for the answer of the browser cannot listen.
pub fn no_server(error: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Can't start temporary login server",
        format!(
            "The browser passes the response of the host to a local server, which cannot start: {error}. Instead, set \
             the variable TF_TOKEN_HOST to a token, where HOST is the name of the host with underscores for dots."
        ),
    )
}

/// The host returned no token for the authorization code.
pub fn no_token(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to obtain auth token", format!("The host did not return a token: {error}."))
}

/// The host returned no token for the password.
pub fn password_refused(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to retrieve API token", format!("The host did not return a token: {error}."))
}

/// The host does not accept the token.
pub fn invalid_token(host: &Host) -> Diagnostic {
    Diagnostic::error(
        "Token is invalid",
        format!("{host} does not accept the token. Copy the whole token from the page."),
    )
}

/// The host does not return the user of the token.
pub fn user_unknown(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to retrieve user account details", format!("{error}."))
}

/// The token cannot be stored.
pub fn not_kept(error: &dyn Display) -> Diagnostic {
    Diagnostic::error(
        "Failed to save API token",
        format!("The host returned a token, but it cannot be saved: {error}."),
    )
}

/// The token cannot be removed.
pub fn not_forgotten(error: &dyn Display) -> Diagnostic {
    Diagnostic::error("Failed to remove API token", format!("Unable to remove the stored token: {error}."))
}
