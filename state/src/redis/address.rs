//! The address of a Redis store:
//!
//! - `redis://[USER[:PASSWORD]@]HOST[:PORT]/DB?state=NAME`, with `rediss` for TLS,
//! - `redis+unix:///PATH?db=DB&state=NAME`, with the user as `redis+unix://USER@/PATH`,
//! - `redis+sentinel://[USER@]HOST[:PORT][,HOST[:PORT]...]/MASTER/DB?state=NAME`, with `rediss+sentinel` for TLS to
//!   Sentinels and servers.
//!
//! Every form accepts a password after the user, and the parameter `replicas=N`: the minimum number of replicas that
//! must confirm a write.

use std::net::IpAddr;
use std::path::PathBuf;

use weft_sealing::Secret;

use super::codec::percent_decoded;
use super::problems::{self, AddressFault, Unprotected, wrong_address};
use super::settings::RedisSettings;
use crate::error::StoreError;

/// The default port of servers.
const DEFAULT_PORT: u16 = 6379;
/// The default port of Sentinels.
const SENTINEL_PORT: u16 = 26379;
/// The maximum length of the name of a state, which is part of every key.
const NAME_LENGTH: usize = 200;
/// The maximum number of Sentinels in an address.
const MOST_SENTINELS: usize = 32;

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Host {
    pub(super) name: String,
    pub(super) port: u16,
}

impl Host {
    /// Whether the host is this machine.
    pub(super) fn is_loopback(&self) -> bool {
        let address: Option<IpAddr> = self.name.parse().ok();
        self.name == "localhost" || address.is_some_and(|address| address.is_loopback())
    }
}

impl std::fmt::Display for Host {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name.contains(':') {
            true => write!(out, "[{}]:{}", self.name, self.port),
            false => write!(out, "{}:{}", self.name, self.port),
        }
    }
}

/// The location of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    /// A server at a host.
    Host(Host),
    /// A server at a Unix socket.
    Socket(PathBuf),
    /// The server that Sentinels name.
    Sentinels {
        /// The Sentinels, at least one.
        hosts: Vec<Host>,
        /// The name of the master.
        master: String,
    },
}

/// A parsed address.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) endpoint: Endpoint,
    pub(super) tls: bool,
    pub(super) database: i64,
    pub(super) user: Option<String>,
    pub(super) password: Option<Secret>,
    pub(super) state: String,
    /// The number of replicas that must confirm each write.
    pub(super) replicas: Option<u32>,
}

impl std::fmt::Debug for Address {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.place())
    }
}

/// The forms of addresses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AddressForm {
    Host,
    Socket,
    Sentinels,
}

/// The parameters in the query of an address.
#[derive(Default)]
struct Query {
    state: Option<String>,
    database: Option<String>,
    replicas: Option<u32>,
}

impl Address {
    /// Parses a URL.
    ///
    /// # Errors
    /// [`StoreError::Address`].
    pub(super) fn parse(url: &str) -> Result<Address, StoreError> {
        let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong_address(AddressFault::Scheme))?;
        let (form, tls) = match scheme {
            "redis" => (AddressForm::Host, false),
            "rediss" => (AddressForm::Host, true),
            "redis+unix" => (AddressForm::Socket, false),
            "redis+sentinel" => (AddressForm::Sentinels, false),
            "rediss+sentinel" => (AddressForm::Sentinels, true),
            _ => return Err(wrong_address(AddressFault::Scheme)),
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let query = Query::parse(query, form)?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, server) = match authority.rsplit_once('@') {
            Some((login, server)) => (Some(login), server),
            None => (None, authority),
        };
        let (endpoint, database) = match form {
            AddressForm::Host => (Endpoint::Host(host(server, DEFAULT_PORT)?), path),
            AddressForm::Socket if !server.is_empty() || path.is_empty() => {
                return Err(wrong_address(AddressFault::Socket));
            }
            AddressForm::Socket => {
                let path = percent_decoded(path).ok_or_else(|| wrong_address(AddressFault::Socket))?;
                (Endpoint::Socket(PathBuf::from(format!("/{path}"))), query.database.as_deref().unwrap_or_default())
            }
            AddressForm::Sentinels => {
                let (master, database) = path.split_once('/').unwrap_or((path, ""));
                let master = percent_decoded(master).filter(|master| !master.is_empty());
                let master = master.ok_or_else(|| wrong_address(AddressFault::Master))?;
                let hosts = server.split(',').take(MOST_SENTINELS).map(|server| host(server, SENTINEL_PORT));
                (Endpoint::Sentinels { hosts: hosts.collect::<Result<_, _>>()?, master }, database)
            }
        };
        let database = match database {
            "" => 0,
            text => {
                text.parse().ok().filter(|number| *number >= 0).ok_or_else(|| wrong_address(AddressFault::Database))?
            }
        };
        let state = query.state.filter(|name| !name.is_empty()).ok_or_else(|| wrong_address(AddressFault::NoState))?;
        check_name(&state).map_err(|limit| wrong_address(AddressFault::Name(&state, limit)))?;
        let (user, password) = login.map(self::login).transpose()?.unwrap_or_default();
        Ok(Address { endpoint, tls, database, user, password, state, replicas: query.replicas })
    }

    /// The address without user and password.
    pub(super) fn place(&self) -> String {
        let Address { endpoint, database, state, .. } = self;
        let secure = if self.tls { "s" } else { "" };
        match endpoint {
            Endpoint::Host(host) => format!("redis{secure}://{host}/{database}?state={state}"),
            Endpoint::Socket(path) => format!("redis+unix://{}?db={database}&state={state}", path.display()),
            Endpoint::Sentinels { hosts, master } => {
                let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
                format!("redis{secure}+sentinel://{}/{master}/{database}?state={state}", hosts.join(","))
            }
        }
    }

    /// The user, for messages.
    pub(super) fn user_name(&self) -> &str {
        self.user.as_deref().unwrap_or("default")
    }

    /// Refuses an address of another machine if the connection would not be encrypted, or if the client would have
    /// neither a password nor a certificate. For every address, refuses a certificate without its key, and a key
    /// without its certificate.
    ///
    /// # Errors
    /// [`StoreError::Unfit`] with the missing protection or setting.
    pub(super) fn check_protection(&self, settings: &RedisSettings) -> Result<(), StoreError> {
        if settings.certificate.is_some() != settings.key.is_some() {
            return Err(problems::half_certificate(settings.certificate.is_some()));
        }
        let far = match &self.endpoint {
            Endpoint::Socket(_) => None,
            Endpoint::Host(host) => (!host.is_loopback()).then_some(host),
            Endpoint::Sentinels { hosts, .. } => hosts.iter().find(|host| !host.is_loopback()),
        };
        far.map_or(Ok(()), |host| self.check_far(host, settings))
    }

    /// Checks the protection of the connection to a server on another machine.
    ///
    /// # Errors
    /// See [`Address::check_protection`].
    pub(super) fn check_far(&self, host: &Host, settings: &RedisSettings) -> Result<(), StoreError> {
        if !self.tls {
            return Err(problems::unprotected(&host.name, Unprotected::NoTls));
        }
        let known = self.password.is_some() || settings.password.is_some() || settings.certificate.is_some();
        if !known {
            return Err(problems::unprotected(&host.name, Unprotected::NoPassword));
        }
        Ok(())
    }
}

impl Query {
    fn parse(text: &str, form: AddressForm) -> Result<Query, StoreError> {
        let mut query = Query::default();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("state", name)) => {
                    let name = percent_decoded(name).ok_or_else(|| wrong_address(AddressFault::NameEncoding))?;
                    query.state = Some(name);
                }
                Some(("db", number)) if form == AddressForm::Socket => query.database = Some(number.to_owned()),
                Some(("replicas", number)) => {
                    query.replicas = Some(number.parse().map_err(|_| wrong_address(AddressFault::Replicas))?);
                }
                // The text may be a part of a password that contains a question mark.
                _ if pair.contains('@') => return Err(wrong_address(AddressFault::LoginEncoding)),
                parameter => {
                    let name = parameter.map_or(pair, |(name, _)| name);
                    return Err(wrong_address(AddressFault::Parameter(name)));
                }
            }
        }
        Ok(query)
    }
}

fn host(server: &str, default_port: u16) -> Result<Host, StoreError> {
    let (name, port) = match server.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, port)) => (name, port.strip_prefix(':')),
        None => server.split_once(':').map_or((server, None), |(name, port)| (name, Some(port))),
    };
    if name.is_empty() {
        return Err(wrong_address(AddressFault::Host));
    }
    let port = port.map_or(Ok(default_port), str::parse).map_err(|_| wrong_address(AddressFault::Port))?;
    Ok(Host { name: name.to_owned(), port })
}

fn login(text: &str) -> Result<(Option<String>, Option<Secret>), StoreError> {
    let (user, password) = text.split_once(':').unwrap_or((text, ""));
    let part = |text: &str| percent_decoded(text).ok_or_else(|| wrong_address(AddressFault::LoginEncoding));
    let (user, password) = (part(user)?, part(password)?);
    Ok((Some(user).filter(|user| !user.is_empty()), Some(password).filter(|word| !word.is_empty()).map(Secret::new)))
}

/// The address for display, without user and password. From an invalid address, more than these may be removed.
pub(super) fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    // Neither the name of a state nor another parameter can contain a question mark, but a password can.
    let (server, query) = rest.rsplit_once('?').map_or((rest, None), |(server, query)| (server, Some(query)));
    let server = server.rsplit_once('@').map_or(server, |(_, server)| server);
    match query {
        Some(query) => format!("{scheme}://{server}?{query}"),
        None => format!("{scheme}://{server}"),
    }
}

/// Checks whether a name of a state or workspace may be part of a key's hash tag.
///
/// # Errors
/// Returns the maximum length, for the message.
pub(super) fn check_name(name: &str) -> Result<(), usize> {
    let fits = |character: char| character.is_alphanumeric() || "._-+@:".contains(character);
    if name.is_empty() || name.len() > NAME_LENGTH || !name.chars().all(fits) {
        return Err(NAME_LENGTH);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::settings::PasswordSource;

    #[test]
    fn addresses_are_parsed() {
        let plain = Address::parse("redis://localhost/0?state=prod").unwrap();
        let at = |name: &str, port| Endpoint::Host(Host { name: name.to_owned(), port });
        assert_eq!((&plain.endpoint, plain.database, plain.state.as_str()), (&at("localhost", 6379), 0, "prod"));
        let full = Address::parse("redis://ann:s%40cret@[::1]:7000/3?state=a.b-c&replicas=2").unwrap();
        assert_eq!(
            (&full.endpoint, full.password.as_ref().map(Secret::expose)),
            (&at("::1", 7000), Some(&b"s@cret"[..]))
        );
        assert_eq!((full.user_name(), full.replicas), ("ann", Some(2)));
        assert_eq!(full.place(), "redis://[::1]:7000/3?state=a.b-c");
        assert!(!format!("{full:?} {:?}", full.password).contains("s@cret"));
        let sentinels = Address::parse("rediss+sentinel://weft@a,b:1/main/2?state=s").unwrap();
        assert_eq!(sentinels.place(), "rediss+sentinel://a:26379,b:1/main/2?state=s");
        assert!(sentinels.tls && sentinels.user_name() == "weft");
        let socket = Address::parse("redis+unix:///run/redis/r.sock?db=4&state=s").unwrap();
        assert_eq!(socket.endpoint, Endpoint::Socket("/run/redis/r.sock".into()));
        assert_eq!(socket.place(), "redis+unix:///run/redis/r.sock?db=4&state=s");
        for bad in [
            "redis://localhost/0",
            "redis://localhost/0?state=",
            "redis://localhost/x?state=a",
            "redis://localhost/0?state=a&x=1",
            "redis://localhost/0?state=a&db=1",
            "redis://localhost/0?state=a&replicas=all",
            "redis://localhost/0?state=a%7Db",
            "redis:///0?state=a",
            "http://localhost?state=a",
            "redis://localhost:x/0?state=a",
            "redis+unix://host/path?state=a",
            "redis+unix://?state=a",
            "redis+sentinel://a,b?state=a",
            "redis+sentinel://a,/main?state=a",
        ] {
            assert!(matches!(Address::parse(bad), Err(StoreError::Address(_))), "{bad}");
        }
    }

    #[test]
    fn connections_over_networks_must_be_protected() {
        let password = RedisSettings {
            password: Some(PasswordSource::File("/run/secrets/redis".into())),
            ..RedisSettings::default()
        };
        let certificate = RedisSettings {
            certificate: Some("tls.crt".into()),
            key: Some("tls.key".into()),
            ..RedisSettings::default()
        };
        let half = RedisSettings { certificate: Some("tls.crt".into()), ..RedisSettings::default() };
        let nothing = RedisSettings::default();
        let cases: [(&str, &RedisSettings, Option<&str>); 13] = [
            ("redis://localhost/0?state=a", &nothing, None),
            ("redis+unix:///r.sock?state=a", &nothing, None),
            ("rediss://localhost/0?state=a", &nothing, None),
            ("redis+sentinel://127.0.0.1/main?state=a", &nothing, None),
            ("redis://10.0.0.1/0?state=a", &password, Some("rediss://")),
            ("redis+sentinel://localhost,example.com/main?state=a", &password, Some("rediss+sentinel://")),
            ("rediss://example.com/0?state=a", &nothing, Some("WEFT_REDIS_PASSWORD_FILE")),
            ("rediss+sentinel://example.com/main?state=a", &nothing, Some("WEFT_REDIS_PASSWORD_FILE")),
            ("rediss://example.com/0?state=a", &password, None),
            ("rediss://example.com/0?state=a", &certificate, None),
            ("rediss://weft:word@example.com/0?state=a", &nothing, None),
            ("rediss://example.com/0?state=a", &half, Some("WEFT_REDIS_KEY_FILE")),
            ("rediss://localhost/0?state=a", &half, Some("WEFT_REDIS_KEY_FILE")),
        ];
        for (url, settings, missing) in cases {
            let checked = Address::parse(url).unwrap().check_protection(settings).map_err(|error| error.to_string());
            match missing {
                None => assert_eq!(checked, Ok(()), "{url}"),
                Some(missing) => assert!(checked.clone().unwrap_err().contains(missing), "{url}: {checked:?}"),
            }
        }
    }

    #[test]
    fn passwords_are_not_shown() {
        for (url, expected) in [
            ("redis://ann:s3cret@h/0?state=a@b", "redis://h/0?state=a@b"),
            ("redis://ann:s3/c?ret@h/0?state=a", "redis://h/0?state=a"),
            ("redis://h/0?state=a@b", "redis://h/0?state=a@b"),
            ("rediss+sentinel://u:s3cret@a,b/m/0?state=a", "rediss+sentinel://a,b/m/0?state=a"),
            ("redis://ann:s3cret@h", "redis://h"),
        ] {
            assert_eq!(shown(url), expected);
        }
    }
}
