//! Settings that are not valid.

/// Why the settings are not valid.
#[derive(Debug, thiserror::Error)]
pub(super) enum BaoProblem {
    /// The message does not quote the address, because the address may contain a password.
    #[error("the address of OpenBao cannot be read: {0}")]
    Address(#[source] url::ParseError),
    #[error("the address of OpenBao begins with {0}://, but must be one of HTTP or HTTPS")]
    Scheme(String),
    #[error("{path}: {error}")]
    Unreadable { path: String, error: std::io::Error },
    #[error("BAO_CLIENT_CERT and BAO_CLIENT_KEY are needed together")]
    HalfIdentity,
    #[error("key_length is {0}, but must be 16, 32 or 64 bytes")]
    Length(u64),
    #[error("the token contains characters that cannot be printed")]
    Token,
    #[error("the variable BAO_{0} must be true or false")]
    Flag(String),
    #[error("the variable BAO_MAX_RETRIES must be a whole number")]
    Retries,
}
