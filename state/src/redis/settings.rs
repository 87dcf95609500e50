//! The settings that are needed to log in to a server, besides its address. `Debug` shows no secret.

use std::path::PathBuf;

use weft_sealing::Secret;

/// The source of a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PasswordSource {
    /// The password itself.
    Text(Secret),
    /// A file with the password. It is read for each connection, so the password can be changed while a program runs.
    File(PathBuf),
}

/// The settings for connections that are not part of the address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedisSettings {
    /// The certificates of trusted authorities (PEM). By default, the authorities of the system.
    pub authorities: Option<PathBuf>,
    /// The certificate of this program, followed by intermediate certificates (PEM).
    pub certificate: Option<PathBuf>,
    /// The private key of the certificate (PEM).
    pub key: Option<PathBuf>,
    /// The name that the certificate of the server must have, if it is not the host of the address.
    pub server_name: Option<String>,
    /// The password of the user, unless the address has it.
    pub password: Option<PasswordSource>,
    /// The password of the Sentinels.
    pub sentinel_password: Option<PasswordSource>,
}
