//! The credentials for Redis. Passwords, and the paths of files with passwords, certificates and keys, come from the
//! environment. The address in `WEFT_STORE` may contain a password. An address in an argument must not, because other
//! users can see the arguments of a process. Plans record addresses without user and password.

use weft_graph_format::diagnostic::Diagnostic;
use weft_sealing::Secret;
use weft_state::{PasswordSource, RedisServer, RedisSettings};

use super::problems;
use crate::context::environment;
use crate::options::Arguments;

/// The variable with the file of trusted authorities.
const CA_FILE: &str = "WEFT_REDIS_CA_FILE";
/// The variable with the file of the client certificate.
const CERT_FILE: &str = "WEFT_REDIS_CERT_FILE";
/// The variable with the file of the key of the client certificate.
const KEY_FILE: &str = "WEFT_REDIS_KEY_FILE";
/// The variable with the expected name in the certificate of the server.
const SERVER_NAME: &str = "WEFT_REDIS_SERVER_NAME";
/// The variables with the password, and with a file that contains the password.
const PASSWORD: [&str; 2] = ["WEFT_REDIS_PASSWORD", "WEFT_REDIS_PASSWORD_FILE"];
/// The variables with the password for Sentinels, and with a file that contains this password.
const SENTINEL_PASSWORD: [&str; 2] = ["WEFT_REDIS_SENTINEL_PASSWORD", "WEFT_REDIS_SENTINEL_PASSWORD_FILE"];

/// The server at an address in the options or the environment.
///
/// # Errors
/// Returns an error if the password is in an argument, or if it is set twice.
pub(super) fn server(arguments: &Arguments, url: String) -> Result<RedisServer, Vec<Diagnostic>> {
    let in_address = RedisServer::has_password(&url);
    if in_address && arguments.value("store").is_some() {
        return Err(vec![problems::password_in_argument()]);
    }
    let password = password(PASSWORD)?;
    if in_address && password.is_some() {
        return Err(vec![problems::two_passwords("WEFT_STORE", &PASSWORD.join(" or "))]);
    }
    let settings = RedisSettings {
        authorities: environment(CA_FILE).map(Into::into),
        certificate: environment(CERT_FILE).map(Into::into),
        key: environment(KEY_FILE).map(Into::into),
        server_name: environment(SERVER_NAME),
        password,
        sentinel_password: self::password(SENTINEL_PASSWORD)?,
    };
    Ok(RedisServer::new(url, settings))
}

fn password([text, file]: [&str; 2]) -> Result<Option<PasswordSource>, Vec<Diagnostic>> {
    match (environment(text), environment(file)) {
        (None, None) => Ok(None),
        (Some(password), None) => Ok(Some(PasswordSource::Text(Secret::new(password)))),
        (None, Some(path)) => Ok(Some(PasswordSource::File(path.into()))),
        (Some(_), Some(_)) => Err(vec![problems::two_passwords(text, file)]),
    }
}
