//! The address of a Redis store: `redis://[USER:PASSWORD@]HOST[:PORT]/DB?state=NAME`.

use std::net::IpAddr;

use super::codec::percent_decoded;
use crate::store::StoreError;

/// The port where the address names none.
const DEFAULT_PORT: u16 = 6379;
/// Longest name of a state: it is part of every key.
const NAME_LENGTH: usize = 200;

/// An address, taken apart.
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
    /// Takes a URL apart.
    ///
    /// # Errors
    /// [`StoreError::Address`] or, for a host that is not this machine, [`StoreError::Unfit`].
    pub(super) fn parse(url: &str) -> Result<Address, StoreError> {
        let wrong = |what: &str| {
            StoreError::Address(format!("the store address must look like redis://HOST[:PORT]/DB?state=NAME: {what}"))
        };
        if url.starts_with("rediss:") {
            return Err(StoreError::Unfit(
                "Redis over TLS is not there yet: use redis:// to a server on this machine".to_owned(),
            ));
        }
        let rest = url.strip_prefix("redis://").ok_or_else(|| wrong("it does not begin with redis://"))?;
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
            return Err(wrong("it names no host"));
        }
        let port = port.map_or(Ok(DEFAULT_PORT), str::parse).map_err(|_| wrong("the port is not a number"))?;
        let database = match database {
            "" => 0,
            text => text.parse().ok().filter(|number| *number >= 0).ok_or_else(|| wrong("DB is not a number"))?,
        };
        let mut state = None;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("state", name)) => state = Some(percent_decoded(name).ok_or_else(|| wrong("bad % in NAME"))?),
                _ => return Err(wrong(&format!("it has the unknown parameter {pair:?}"))),
            }
        }
        let state = state.filter(|name| !name.is_empty()).ok_or_else(|| wrong("state=NAME is missing"))?;
        check_name(&state).map_err(|what| wrong(&what))?;
        let (user, password) = match login.map(|login| login.split_once(':').unwrap_or((login, ""))) {
            None => (None, None),
            Some((user, password)) => {
                let part = |text: &str| percent_decoded(text).ok_or_else(|| wrong("bad % in user or password"));
                let (user, password) = (part(user)?, part(password)?);
                (Some(user).filter(|user| !user.is_empty()), Some(password).filter(|word| !word.is_empty()))
            }
        };
        let address = Address { host: host.to_owned(), port, database, user, password, state };
        if !address.is_loopback() {
            return Err(StoreError::Unfit(format!(
                "the Redis server {host} is not on this machine, and what travels to it would not be encrypted: TLS is \
                 not there yet. Use a server on localhost, or a tunnel to one"
            )));
        }
        Ok(address)
    }

    /// Without user and password.
    pub(super) fn place(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("redis://{host}:{}/{}?state={}", self.port, self.database, self.state)
    }

    fn is_loopback(&self) -> bool {
        let address: Option<IpAddr> = self.host.parse().ok();
        self.host == "localhost" || address.is_some_and(|address| address.is_loopback())
    }
}

/// Whether a name of a state or workspace may be part of a key's hash tag.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let fits = |character: char| character.is_alphanumeric() || "._-+@:".contains(character);
    if name.is_empty() || name.len() > NAME_LENGTH || !name.chars().all(fits) {
        return Err(format!("the name {name:?} may only have letters, digits and . _ - + @ :, at most {NAME_LENGTH}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
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
