//! The description of a remote machine, with everything needed to connect to it.

use std::path::PathBuf;
use std::time::Duration;

use weft_sealing::Secret;

/// The port of SSH.
pub const DEFAULT_PORT: u16 = 22;

/// An SSH server with a user account, the credentials of the user, and the expected key of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// The name or address of the host. IPv6 addresses are without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The user.
    pub user: String,
    /// The user's password.
    pub password: Option<Secret>,
    /// The content of the file with the user's private key.
    pub private_key: Option<Secret>,
    /// The content of the file with the certificate of the private key.
    pub certificate: Option<String>,
    /// The public key of the host, or of an authority that signed the host's key. `None` accepts any host.
    pub host_key: Option<String>,
}

impl Endpoint {
    /// `HOST:PORT`, with brackets around an IPv6 address.
    pub fn address(&self) -> String {
        address_of(&self.host, self.port)
    }
}

/// `HOST:PORT`, with brackets around an IPv6 address.
pub(crate) fn address_of(host: &str, port: u16) -> String {
    match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}

/// The kind of operating system of the other machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Platform {
    /// Commands run with a terminal.
    #[default]
    Unix,
    /// Commands run without a terminal, and files have no permissions.
    Windows,
}

/// The kind of a proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProxyScheme {
    /// `CONNECT` of HTTP. As in OpenTofu, the connection to a proxy with the scheme `https` is not encrypted.
    #[default]
    Http,
    /// SOCKS 5.
    Socks5,
}

/// A proxy for the connection to the first machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// The kind of the proxy.
    pub scheme: ProxyScheme,
    /// The name or address of the proxy.
    pub host: String,
    /// The port of the proxy.
    pub port: u16,
    /// The user of the proxy.
    pub user: Option<String>,
    /// The user's password.
    pub password: Option<Secret>,
}

/// The user's SSH agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// The path of the socket of the agent.
    pub socket: PathBuf,
    /// The name of the preferred key: a file, or the end of the key's comment.
    pub identity: Option<String>,
}

/// A remote machine, with everything needed to connect to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteTarget {
    /// The machine.
    pub machine: Endpoint,
    /// The machine through which the connection to `machine` goes.
    pub bastion: Option<Endpoint>,
    /// The proxy for the connection to the bastion or, without a bastion, to the machine.
    pub proxy: Option<Proxy>,
    /// The SSH agent of the user, which has further keys. The agent is forwarded to the machine.
    pub agent: Option<Agent>,
    /// The maximum time for connecting.
    pub timeout: Duration,
    /// The kind of operating system of the machine.
    pub platform: Platform,
}
