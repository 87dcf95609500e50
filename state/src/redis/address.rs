//! The address of a Redis store: `redis://[USER:PASSWORD@]HOST[:PORT]/DB?state=NAME`.

use std::net::IpAddr;

use super::codec::percent_decoded;
use super::problems::{self, AddressFault, wrong_address};
use crate::error::StoreError;

/// The port of addresses that name none.
const DEFAULT_PORT: u16 = 6379;
/// The longest name of a state, because it is part of every key.
const NAME_LENGTH: usize = 200;

/// A parsed address.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) database: i64,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) state: String,
}

impl std::fmt::Debug for Address {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.place())
    }
}

impl Address {
    /// Parses a URL.
    ///
    /// # Errors
    /// [`StoreError::Address`] or, for a host other than this machine, [`StoreError::Unfit`].
    pub(super) fn parse(url: &str) -> Result<Address, StoreError> {
        if url.starts_with("rediss:") {
            return Err(problems::no_tls());
        }
        let rest = url.strip_prefix("redis://").ok_or_else(|| wrong_address(AddressFault::Scheme))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, server) = match authority.rsplit_once('@') {
            Some((login, server)) => (Some(login), server),
            None => (None, authority),
        };
        let (host, port) = match server.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => server.split_once(':').map_or((server, None), |(host, port)| (host, Some(port))),
        };
        if host.is_empty() {
            return Err(wrong_address(AddressFault::Host));
        }
        let port = port.map_or(Ok(DEFAULT_PORT), str::parse).map_err(|_| wrong_address(AddressFault::Port))?;
        let database = match database {
            "" => 0,
            text => {
                text.parse().ok().filter(|number| *number >= 0).ok_or_else(|| wrong_address(AddressFault::Database))?
            }
        };
        let mut state = None;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("state", name)) => {
                    state = Some(percent_decoded(name).ok_or_else(|| wrong_address(AddressFault::NameEncoding))?)
                }
                _ => return Err(wrong_address(AddressFault::Parameter(pair))),
            }
        }
        let state = state.filter(|name| !name.is_empty()).ok_or_else(|| wrong_address(AddressFault::NoState))?;
        check_name(&state).map_err(|limit| wrong_address(AddressFault::Name(&state, limit)))?;
        let (user, password) = match login.map(|login| login.split_once(':').unwrap_or((login, ""))) {
            None => (None, None),
            Some((user, password)) => {
                let part = |text: &str| percent_decoded(text).ok_or_else(|| wrong_address(AddressFault::LoginEncoding));
                let (user, password) = (part(user)?, part(password)?);
                (Some(user).filter(|user| !user.is_empty()), Some(password).filter(|word| !word.is_empty()))
            }
        };
        let address = Address { host: host.to_owned(), port, database, user, password, state };
        if !address.is_loopback() {
            return Err(problems::remote_server(host));
        }
        Ok(address)
    }

    /// The address without user and password.
    pub(super) fn place(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("redis://{host}:{}/{}?state={}", self.port, self.database, self.state)
    }

    fn is_loopback(&self) -> bool {
        let address: Option<IpAddr> = self.host.parse().ok();
        self.host == "localhost" || address.is_some_and(|address| address.is_loopback())
    }
}

/// The name of the state in an address; `None` when the address is invalid.
pub fn state_name(url: &str) -> Option<String> {
    Address::parse(url).ok().map(|address| address.state)
}

/// Checks whether a name of a state or workspace may be part of a key's hash tag.
///
/// # Errors
/// The maximum length, for the message.
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

    #[test]
    fn addresses_are_parsed() {
        let plain = Address::parse("redis://localhost/0?state=prod").unwrap();
        assert_eq!((plain.port, plain.database, plain.state.as_str()), (6379, 0, "prod"));
        let full = Address::parse("redis://ann:s%40cret@[::1]:7000/3?state=a.b-c").unwrap();
        assert_eq!((full.host.as_str(), full.password.as_deref()), ("::1", Some("s@cret")));
        assert_eq!(full.place(), "redis://[::1]:7000/3?state=a.b-c");
        assert!(!format!("{full:?}").contains("cret"));
        for bad in [
            "redis://localhost/0",
            "redis://localhost/0?state=",
            "redis://localhost/x?state=a",
            "redis://localhost/0?state=a&x=1",
            "redis://localhost/0?state=a%7Db",
            "redis:///0?state=a",
            "http://localhost?state=a",
            "redis://localhost:x/0?state=a",
        ] {
            assert!(matches!(Address::parse(bad), Err(StoreError::Address(_))), "{bad}");
        }
        for far in ["redis://10.0.0.1/0?state=a", "rediss://localhost/0?state=a", "redis://example.com/0?state=a"] {
            assert!(matches!(Address::parse(far), Err(StoreError::Unfit(_))), "{far}");
        }
    }
}
