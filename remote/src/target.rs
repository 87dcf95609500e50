//! The description of another machine and the way to it.

use std::path::PathBuf;
use std::time::Duration;

use weft_sealing::Secret;

/// The port of SSH.
pub const DEFAULT_PORT: u16 = 22;

/// An SSH server, the user there, and what proves their identities.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// Its name or address. IPv6 addresses are without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The user.
    pub user: String,
    /// The user's password.
    pub password: Option<Secret>,
    /// The user's private key, as the text of its file.
    pub private_key: Option<Secret>,
    /// The certificate of that key, as the text of its file.
    pub certificate: Option<String>,
    /// The public key of the host, or of an authority that signed it. Without one, any host is accepted.
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

/// What the other machine is.
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
    /// `CONNECT` of HTTP. OpenTofu does not encrypt the connection to a proxy with the scheme `https` either.
    #[default]
    Http,
    /// SOCKS 5.
    Socks5,
}

/// A proxy before the first machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// Its kind.
    pub scheme: ProxyScheme,
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The user there.
    pub user: Option<String>,
    /// The user's password.
    pub password: Option<Secret>,
}

/// The user's SSH agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// Its socket.
    pub socket: PathBuf,
    /// The name of the preferred key: a file, or the end of the key's comment.
    pub identity: Option<String>,
}

/// A machine and the way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteTarget {
    /// The machine.
    pub machine: Endpoint,
    /// The machine that connects to it.
    pub bastion: Option<Endpoint>,
    /// The proxy before the first machine.
    pub proxy: Option<Proxy>,
    /// The agent with more keys. It is forwarded to the machine.
    pub agent: Option<Agent>,
    /// How long to try to connect.
    pub timeout: Duration,
    /// What the machine is.
    pub platform: Platform,
}
