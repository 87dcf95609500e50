//! The identity of this program in a cluster: certificates and tokens, from options and the environment.

use std::path::PathBuf;

use weft_coordinator::{Dialer, Guard};
use weft_graph_format::diagnostic::Diagnostic;
use weft_identity::files::{Callers, OwnFiles, Reloading};
use weft_identity::token::Tokens;
use weft_identity::{AccessRules, Policy, TlsFiles};

use crate::context::environment;
use crate::options::Arguments;
use crate::problems;

/// The variable with the token of a pipeline.
const TOKEN: &str = "WEFT_TOKEN";
/// The variable with the path of a file that contains the token of a pipeline. Each command reads the file.
const TOKEN_FILE: &str = "WEFT_TOKEN_FILE";

/// The TLS files in the options or the environment. `None` if there are none.
fn tls_files(arguments: &Arguments) -> Result<Option<TlsFiles>, Diagnostic> {
    let file = |option: &str, variable: &str| {
        let given = arguments.value(option).map(str::to_owned).or_else(|| environment(variable));
        given.filter(|path| !path.is_empty()).map(PathBuf::from)
    };
    let authorities = file("tls-ca", "WEFT_TLS_CA");
    let certificate = file("tls-cert", "WEFT_TLS_CERT");
    let key = file("tls-key", "WEFT_TLS_KEY");
    let own = match (certificate, key) {
        (Some(certificate), Some(key)) => Some(OwnFiles { certificate, key }),
        (None, None) => None,
        (Some(_), None) => return Err(problems::incomplete_tls("-tls-cert", "-tls-key", "WEFT_TLS_KEY")),
        (None, Some(_)) => return Err(problems::incomplete_tls("-tls-key", "-tls-cert", "WEFT_TLS_CERT")),
    };
    match (authorities, own) {
        (Some(authorities), own) => Ok(Some(TlsFiles { authorities, own })),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(problems::incomplete_tls("-tls-cert", "-tls-ca", "WEFT_TLS_CA")),
    }
}

/// A dialer for coordinators, with the certificate or token in the options or the environment.
///
/// # Errors
/// Returns an error if the files cannot be used.
pub fn dialer(arguments: &Arguments) -> Result<Dialer, Vec<Diagnostic>> {
    let unusable = |error: &dyn std::fmt::Display| vec![problems::tls_unusable(error)];
    let files = tls_files(arguments).map_err(|problem| vec![problem])?;
    let tls = files.map(Reloading::client).transpose().map_err(|error| unusable(&error))?;
    let token = token().map_err(|problem| vec![problem])?;
    Dialer::new(tls, token.as_deref()).map_err(|error| unusable(&error))
}

/// The token in the environment.
fn token() -> Result<Option<String>, Diagnostic> {
    if let Some(token) = environment(TOKEN).filter(|token| !token.is_empty()) {
        return Ok(Some(token));
    }
    let Some(path) = environment(TOKEN_FILE).filter(|path| !path.is_empty()) else { return Ok(None) };
    std::fs::read_to_string(&path).map(Some).map_err(|error| problems::token_unreadable(TOKEN_FILE, &path, &error))
}

/// The guard of a coordinator for the state with this name. The guard decides who may connect.
///
/// # Errors
/// Returns an error if the TLS files or the policy cannot be used.
pub fn guard(arguments: &Arguments, state: String) -> Result<Guard, Diagnostic> {
    let policy = arguments.value("policy").map(|path| Policy::read(path.as_ref()));
    let policy = policy.transpose().map_err(|error| problems::policy_unusable(&error))?;
    let issuers = policy.as_ref().map(|policy| policy.issuers().to_vec()).unwrap_or_default();
    let callers = if issuers.is_empty() { Callers::WithCertificate } else { Callers::WithCertificateOrToken };
    let tls = tls_files(arguments)?.map(|files| Reloading::server(files, callers));
    let tls = tls.transpose().map_err(|error| problems::tls_unusable(&error))?;
    let tokens = (!issuers.is_empty()).then(|| Tokens::new(issuers)).transpose();
    let tokens = tokens.map_err(|error| problems::tls_unusable(&error))?;
    Ok(Guard { tls, access: AccessRules { state, policy }, tokens })
}
