//! Reads the arguments of a connection.

use std::path::PathBuf;
use std::time::Duration;

use weft_graph_format::go_duration::go_duration;
use weft_graph_format::value::Value;
use weft_remote::{Agent, DEFAULT_PORT, Endpoint, Platform, Proxy, ProxyScheme, RemoteTarget, Secret};

use super::text_of;

/// The default user.
const USER: &str = "root";
/// The default time limit for connecting.
const TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// The default paths of scripts, by platform. `%RAND%` is replaced by a number.
const UNIX_SCRIPT: &str = "/tmp/terraform_%RAND%.sh";
const WINDOWS_SCRIPT: &str = "C:/windows/temp/terraform_%RAND%.cmd";
/// The environment variable with the socket of the user's SSH agent.
const AGENT_SOCKET: &str = "SSH_AUTH_SOCK";

/// A connection, as described by its arguments.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Connection {
    pub(super) target: RemoteTarget,
    /// The path to which scripts are written.
    pub(super) script_path: String,
}

/// Why arguments are unsuitable.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unsuitable {
    #[error(
        "Missing connection configuration for provisioner. Add a connection block to the provisioner or its resource."
    )]
    Missing,
    #[error("connection type '{0}' not supported: use ssh")]
    Type(String),
    #[error("host for provisioner cannot be empty")]
    NoHost,
    #[error("target_platform for provisioner has to be either unix or windows, not {0:?}")]
    Platform(String),
    #[error("{name} must be a port number up to 65535")]
    Port { name: &'static str },
    #[error("proxy_scheme must be http, https or socks5, not {0:?}")]
    ProxyScheme(String),
    #[error(
        "agent is true, but the environment variable {AGENT_SOCKET} is not set: start an SSH agent, or set agent to false"
    )]
    NoAgent,
}

/// The arguments of a connection.
struct Arguments<'a>(&'a Value);

impl Arguments<'_> {
    fn value(&self, name: &str) -> Option<&Value> {
        self.0.as_fields()?.get(name).filter(|value| !value.is_null())
    }

    /// A string argument. `None` if the string is empty.
    fn text(&self, name: &str) -> Option<String> {
        text_of(self.value(name)).filter(|text| !text.is_empty())
    }

    fn secret(&self, name: &str) -> Option<Secret> {
        self.text(name).map(Secret::new)
    }

    /// A port. 0 counts as absent.
    fn port(&self, name: &'static str) -> Result<Option<u16>, Unsuitable> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let port: u16 = text.parse().map_err(|_| Unsuitable::Port { name })?;
        Ok(Some(port).filter(|port| *port != 0))
    }

    fn machine(&self) -> Result<Endpoint, Unsuitable> {
        Ok(Endpoint {
            host: self.text("host").map(bare).ok_or(Unsuitable::NoHost)?,
            port: self.port("port")?.unwrap_or(DEFAULT_PORT),
            user: self.text("user").unwrap_or_else(|| USER.to_owned()),
            password: self.secret("password"),
            private_key: self.secret("private_key"),
            certificate: self.text("certificate"),
            host_key: self.text("host_key"),
        })
    }

    /// The bastion host. Missing settings have the values of the target machine.
    fn bastion(&self, machine: &Endpoint) -> Result<Option<Endpoint>, Unsuitable> {
        let Some(host) = self.text("bastion_host") else { return Ok(None) };
        Ok(Some(Endpoint {
            host: bare(host),
            port: self.port("bastion_port")?.unwrap_or(machine.port),
            user: self.text("bastion_user").unwrap_or_else(|| machine.user.clone()),
            password: self.secret("bastion_password").or_else(|| machine.password.clone()),
            private_key: self.secret("bastion_private_key").or_else(|| machine.private_key.clone()),
            certificate: self.text("bastion_certificate").or_else(|| machine.certificate.clone()),
            host_key: self.text("bastion_host_key").or_else(|| machine.host_key.clone()),
        }))
    }

    fn proxy(&self) -> Result<Option<Proxy>, Unsuitable> {
        let Some(host) = self.text("proxy_host") else { return Ok(None) };
        let scheme = match self.text("proxy_scheme").as_deref() {
            None | Some("http" | "https") => ProxyScheme::Http,
            Some("socks5") => ProxyScheme::Socks5,
            Some(other) => return Err(Unsuitable::ProxyScheme(other.to_owned())),
        };
        let port = self.port("proxy_port")?.ok_or(Unsuitable::Port { name: "proxy_port" })?;
        let (user, password) = (self.text("proxy_user_name"), self.secret("proxy_user_password"));
        Ok(Some(Proxy { scheme, host: bare(host), port, user, password }))
    }

    fn agent(&self, socket: Option<PathBuf>) -> Result<Option<Agent>, Unsuitable> {
        let wanted = self.value("agent").and_then(Value::as_bool);
        match (wanted, socket) {
            (Some(false), _) | (None, None) => Ok(None),
            (Some(true), None) => Err(Unsuitable::NoAgent),
            (Some(true) | None, Some(socket)) => Ok(Some(Agent { socket, identity: self.text("agent_identity") })),
        }
    }
}

/// An address without the brackets of IPv6.
fn bare(host: String) -> String {
    match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(inner) => inner.to_owned(),
        None => host,
    }
}

/// The socket of the user's SSH agent.
pub(super) fn agent_socket() -> Option<PathBuf> {
    std::env::var_os(AGENT_SOCKET).filter(|socket| !socket.is_empty()).map(PathBuf::from)
}

/// Reads the arguments of a connection. `socket` is the socket of the user's SSH agent.
pub(super) fn read(arguments: Option<&Value>, socket: Option<PathBuf>) -> Result<Connection, Unsuitable> {
    let arguments = Arguments(arguments.filter(|value| !value.is_null()).ok_or(Unsuitable::Missing)?);
    match arguments.text("type").as_deref() {
        None | Some("ssh") => {}
        Some(other) => return Err(Unsuitable::Type(other.to_owned())),
    }
    let machine = arguments.machine()?;
    let (platform, script_path) = match arguments.text("target_platform").as_deref() {
        None | Some("unix") => (Platform::Unix, UNIX_SCRIPT),
        Some("windows") => (Platform::Windows, WINDOWS_SCRIPT),
        Some(other) => return Err(Unsuitable::Platform(other.to_owned())),
    };
    let target = RemoteTarget {
        bastion: arguments.bastion(&machine)?,
        proxy: arguments.proxy()?,
        agent: arguments.agent(socket)?,
        // As in OpenTofu, an invalid value means the default.
        timeout: arguments.text("timeout").and_then(|text| go_duration(&text)).unwrap_or(TIMEOUT),
        platform,
        machine,
    };
    Ok(Connection { target, script_path: arguments.text("script_path").unwrap_or_else(|| script_path.to_owned()) })
}

/// The lines that announce an attempt to connect.
pub(super) fn announcement(target: &RemoteTarget) -> Vec<String> {
    let has = |name: &str, is: bool| format!("  {name}: {is}");
    let of = |endpoint: &Endpoint| {
        vec![
            format!("  Host: {}", shown(&endpoint.host)),
            format!("  User: {}", endpoint.user),
            has("Password", endpoint.password.is_some()),
            has("Private key", endpoint.private_key.is_some()),
            has("Certificate", endpoint.certificate.is_some()),
            has("SSH Agent", target.agent.is_some()),
            has("Checking Host Key", endpoint.host_key.is_some()),
        ]
    };
    let mut lines = vec!["Connecting to remote host via SSH...".to_owned()];
    lines.extend(of(&target.machine));
    lines.push(format!("  Target Platform: {}", if target.platform == Platform::Unix { "unix" } else { "windows" }));
    if let Some(bastion) = &target.bastion {
        lines.push("Using configured bastion host...".to_owned());
        lines.extend(of(bastion));
    }
    if let Some(proxy) = &target.proxy {
        lines.push("Using configured proxy host...".to_owned());
        lines.push(format!("  ProxyHost: {}", proxy.host));
        lines.push(format!("  ProxyPort: {}", proxy.port));
        lines.push(format!("  ProxyUserName: {}", proxy.user.as_deref().unwrap_or_default()));
        lines.push(has("ProxyUserPassword", proxy.password.is_some()));
    }
    lines
}

/// An address with the brackets of IPv6.
fn shown(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(fields: &[(&'static str, Value)]) -> Result<Connection, Unsuitable> {
        read(Some(&Value::object(fields.iter().cloned())), None)
    }

    #[test]
    fn what_is_not_set_has_the_defaults_of_opentofu() {
        let found = connection(&[("host", Value::string("h"))]).unwrap();
        let machine = Endpoint { host: "h".into(), port: 22, user: "root".into(), ..Endpoint::default() };
        assert_eq!(found.target.machine, machine);
        assert_eq!((found.target.timeout, found.script_path.as_str()), (TIMEOUT, UNIX_SCRIPT));
        assert_eq!((found.target.bastion, found.target.proxy, found.target.agent), (None, None, None));
        let windows = connection(&[("host", Value::string("h")), ("target_platform", Value::string("windows"))]);
        assert_eq!(windows.unwrap().script_path, WINDOWS_SCRIPT);
    }

    #[test]
    fn a_bastion_has_what_the_machine_has() {
        let found = connection(&[
            ("host", Value::string("[::1]")),
            ("port", Value::int(2222)),
            ("user", Value::string("u")),
            ("password", Value::string("p")),
            ("host_key", Value::string("k")),
            ("bastion_host", Value::string("b")),
            ("bastion_user", Value::string("v")),
        ])
        .unwrap();
        assert_eq!(found.target.machine.address(), "[::1]:2222");
        let bastion = found.target.bastion.unwrap();
        assert_eq!((bastion.address().as_str(), bastion.user.as_str()), ("b:2222", "v"));
        assert_eq!((bastion.password, bastion.host_key.as_deref()), (Some(Secret::new("p")), Some("k")));
    }

    #[test]
    fn unsuitable_arguments_are_named() {
        let host = ("host", Value::string("h"));
        let problem = |field| connection(&[host.clone(), field]).unwrap_err().to_string();
        assert!(problem(("type", Value::string("winrm"))).contains("connection type 'winrm' not supported"));
        assert!(problem(("port", Value::int(70_000))).contains("port must be"));
        assert!(problem(("target_platform", Value::string("vms"))).contains("\"vms\""));
        assert!(problem(("agent", Value::bool(true))).contains("SSH_AUTH_SOCK"));
        assert!(problem(("proxy_host", Value::string("p"))).contains("proxy_port must be"));
        assert_eq!(connection(&[("host", Value::string(""))]), Err(Unsuitable::NoHost));
        assert_eq!(read(None, None), Err(Unsuitable::Missing));
    }

    #[test]
    fn an_agent_is_used_if_there_is_one() {
        let agent = |wanted: Option<bool>, socket: Option<&str>| {
            let mut fields = vec![("host", Value::string("h"))];
            fields.extend(wanted.map(|wanted| ("agent", Value::bool(wanted))));
            read(Some(&Value::object(fields)), socket.map(PathBuf::from)).map(|found| found.target.agent.is_some())
        };
        assert_eq!(agent(None, Some("/s")), Ok(true));
        assert_eq!(agent(Some(false), Some("/s")), Ok(false));
        assert_eq!(agent(None, None), Ok(false));
        assert_eq!(agent(Some(true), None), Err(Unsuitable::NoAgent));
    }

    #[test]
    fn an_announcement_shows_no_secret() {
        let found = connection(&[
            ("host", Value::string("h")),
            ("password", Value::string("abracadabra")),
            ("private_key", Value::string("abracadabra")),
            ("proxy_host", Value::string("p")),
            ("proxy_port", Value::int(1)),
            ("proxy_user_password", Value::string("abracadabra")),
        ])
        .unwrap();
        let text = announcement(&found.target).join("\n");
        assert!(text.contains("Password: true") && text.contains("ProxyUserPassword: true"), "{text}");
        assert!(!text.contains("abracadabra") && !format!("{found:?}").contains("abracadabra"), "{text}");
    }
}
