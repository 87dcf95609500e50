//! Errors, grouped by the time at which they occur: before, during and after connecting.

use std::io;
use std::time::Duration;

/// The settings of a connection are unusable. Retrying does not help.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A private key cannot be read.
    #[error("the private key cannot be read: {0}")]
    PrivateKey(String),
    /// An RSA key cannot be used.
    #[error("the private key cannot be read: {0}")]
    RsaKey(#[from] RsaKeyError),
    /// A private key needs a passphrase.
    #[error(
        "the private key is protected by a passphrase, which is not supported: decrypt it before use, for example with ssh-keygen -p"
    )]
    Passphrase,
    /// A certificate cannot be read.
    #[error("the certificate cannot be read: {0}")]
    Certificate(String),
    /// The certificate is a plain public key.
    #[error(
        "the certificate is a plain public key of type {0}: give the text of a file whose name ends in -cert.pub, or \
         remove the argument certificate"
    )]
    NotACertificate(String),
    /// A host key cannot be read.
    #[error("the host key cannot be read: {0}. A host key is one line, such as: ssh-ed25519 AAAA...")]
    HostKey(String),
    /// The agent does not respond.
    #[error("the SSH agent at {socket} does not respond: {reason}")]
    Agent {
        /// The path of the socket of the agent.
        socket: String,
        /// The error.
        reason: String,
    },
}

/// No connection could be made. Nothing was changed on the machine.
#[derive(Debug, thiserror::Error)]
#[error("timeout after {} without a connection - last error: {last}", shown(.waited))]
pub struct ConnectError {
    /// The time spent on attempts.
    pub waited: Duration,
    /// The last error.
    pub last: AttemptError,
}

/// Why one attempt to connect failed.
#[derive(Debug, thiserror::Error)]
pub enum AttemptError {
    /// The attempt did not end in time.
    #[error("the host does not respond")]
    Silent,
    /// There is no TCP connection.
    #[error("{0}")]
    Tcp(#[source] TcpError),
    /// The proxy cannot be reached.
    #[error("proxy: {0}")]
    Proxy(#[source] TcpError),
    /// The proxy made no tunnel.
    #[error("proxy {place}: {error}")]
    Tunnel {
        /// The address of the proxy.
        place: String,
        /// The error.
        error: TunnelError,
    },
    /// The attempt to connect to the bastion failed.
    #[error("bastion: {0}")]
    Bastion(#[source] Box<AttemptError>),
    /// The bastion made no connection to the machine.
    #[error("bastion {bastion}: no connection to {machine}: {error}")]
    Forwarding {
        /// The address of the bastion.
        bastion: String,
        /// The address of the machine.
        machine: String,
        /// The error.
        error: russh::Error,
    },
    /// The machine and the user did not authenticate each other.
    #[error("SSH authentication failed ({user}@{place}): {error}")]
    Authentication {
        /// The name of the user.
        user: String,
        /// The address of the machine.
        place: String,
        /// The error.
        error: AuthenticationError,
    },
}

/// Why there is no TCP connection.
#[derive(Debug, thiserror::Error)]
pub enum TcpError {
    /// The connection is refused, or the name of the machine is unknown.
    #[error("dial tcp {place}: {error}")]
    Refused {
        /// The address.
        place: String,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The machine does not respond.
    #[error("dial tcp {place}: no response within {limit:?}")]
    Silent {
        /// The address.
        place: String,
        /// The time limit.
        limit: Duration,
    },
}

/// Why a proxy made no tunnel.
#[derive(Debug, thiserror::Error)]
pub enum TunnelError {
    /// The connection to the proxy failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The proxy does not respond.
    #[error("no response within {0:?}")]
    Silent(Duration),
    /// The name of the machine cannot be part of a request to the proxy.
    #[error("the name of the target host is not a valid host name")]
    HostName,
    /// The response is longer than any real one.
    #[error("the response is too long")]
    TooLong,
    /// The proxy refused the connection with this line.
    #[error("the proxy refused the connection: {0}")]
    Refused(String),
    /// SOCKS 5 has one byte for the lengths of names and passwords.
    #[error("a name or password is longer than 255 bytes")]
    LongName,
    /// The user name or the password is wrong.
    #[error("the proxy refused the user name and password")]
    WrongPassword,
    /// The proxy requires another method of authentication.
    #[error("the proxy supports no authentication method that Weft supports")]
    NoMethod,
    /// The proxy refused the connection with this code of SOCKS 5.
    #[error("the proxy refused the connection with code {0}")]
    Code(u8),
    /// The response does not follow the protocol.
    #[error("the response is not SOCKS 5")]
    NotSocks,
}

/// Why the machine and the user did not authenticate each other.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticationError {
    /// The connection failed.
    #[error("{0}")]
    Connection(#[from] russh::Error),
    /// The private key does not sign.
    #[error("{0}")]
    Signature(#[from] SignError),
    /// The agent of the user does not respond.
    #[error("{0}")]
    Agent(#[from] SetupError),
    /// The agent of the user does not list its keys.
    #[error("{0}")]
    AgentKeys(#[from] russh::keys::Error),
    /// The machine has another key than the expected one. The text is the fingerprint of its key.
    #[error("the host presented another key than the expected one (host_key or bastion_host_key): {0}")]
    OtherHostKey(String),
    /// There are no credentials.
    #[error(
        "the host requires authentication, but the connection block has no credentials: set private_key, password or \
         agent"
    )]
    NoCredentials,
    /// The machine refused all credentials.
    #[error("unable to authenticate, attempted: {}", .0.join(", "))]
    Refused(Vec<&'static str>),
}

/// Why a private key does not sign.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    /// The connection ended.
    #[error(transparent)]
    Send(#[from] russh::SendError),
    /// The library does not sign with the key.
    #[error("the RSA key cannot sign")]
    Rsa,
}

/// Why AWS-LC cannot use an RSA key.
#[derive(Debug, thiserror::Error)]
pub enum RsaKeyError {
    /// A part of the key is negative.
    #[error("the key contains a negative number")]
    Negative,
    /// A prime of the key is too small.
    #[error("one of the primes of the key is not a prime number")]
    NotPrime,
    /// A number does not fit the encoding.
    #[error("{0}")]
    Encoding(pkcs1::der::Error),
    /// The library refuses the key.
    #[error("{0}")]
    Rejected(#[from] aws_lc_rs::error::KeyRejected),
}

fn shown(waited: &Duration) -> String {
    format!("{waited:?}")
}

/// A command or an upload failed.
#[derive(Debug, thiserror::Error)]
pub enum RemoteCallError {
    /// The command ended with an exit status other than 0.
    #[error("Process exited with status {0}")]
    Exit(u32),
    /// A signal ended the command.
    #[error("the command was ended by the signal {0}")]
    Signal(String),
    /// The machine refused to run the command.
    #[error("the host refused {0}")]
    Refused(&'static str),
    /// The machine cannot receive a file.
    #[error("{0}")]
    Upload(String),
    /// `scp` is missing on the machine.
    #[error("scp did not start: the program scp must be installed on the host")]
    NoScp,
    /// A local file cannot be read.
    #[error("{path}: {reason}")]
    Local {
        /// The path of the file.
        path: String,
        /// The error.
        reason: String,
    },
    /// The connection ended before the outcome was known.
    #[error("the connection was lost: {0}")]
    Lost(String),
}

impl RemoteCallError {
    pub(crate) fn lost(error: impl std::fmt::Display) -> RemoteCallError {
        RemoteCallError::Lost(error.to_string())
    }

    pub(crate) fn local(path: &std::path::Path, reason: impl std::fmt::Display) -> RemoteCallError {
        RemoteCallError::Local { path: path.display().to_string(), reason: reason.to_string() }
    }
}
