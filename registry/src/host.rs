//! Normalized names of hosts.

use std::fmt;
use std::str::FromStr;

use smol_str::SmolStr;
use url::Url;

/// A host name in lower case and ASCII, with the port unless it is 443.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host(SmolStr);

/// A string that is not a host name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not the name of a host")]
pub struct HostError(pub String);

impl Host {
    /// The host of an address.
    pub fn of_url(url: &Url) -> Option<Host> {
        let name = url.host_str()?;
        let port = url.port().filter(|port| *port != 443);
        Some(Host(port.map_or_else(|| name.into(), |port| format!("{name}:{port}").into())))
    }

    /// The normalized name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Host {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Host, HostError> {
        let refused = || HostError(text.to_owned());
        if text.is_empty() || text.contains(|c: char| c.is_whitespace() || "/\\@?#".contains(c)) {
            return Err(refused());
        }
        let url = Url::parse(&format!("https://{text}/")).map_err(|_| refused())?;
        Host::of_url(&url).ok_or_else(refused)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_normalized() {
        for (text, form) in [
            ("Registry.Example.com", "registry.example.com"),
            ("example.com:443", "example.com"),
            ("localhost:8443", "localhost:8443"),
            ("bücher.example", "xn--bcher-kva.example"),
        ] {
            assert_eq!(text.parse::<Host>().unwrap().as_str(), form);
        }
        for bad in ["", "a/b", "user@x", "a b", "x:port"] {
            assert!(bad.parse::<Host>().is_err(), "{bad}");
        }
    }
}
