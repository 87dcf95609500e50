//! Modules in registries: `[HOST/]NAMESPACE/NAME/SYSTEM[//FOLDER]`.

use std::fmt;

use super::ModuleSourceError;
use super::remote::split_subdir;
use super::slash_path::clean;

/// The registry of addresses without a host.
pub const DEFAULT_HOST: &str = "registry.opentofu.org";
/// Hosts whose addresses refer to repositories.
const REPOSITORY_HOSTS: [&str; 2] = ["github.com", "bitbucket.org"];
/// The maximum length of a part of an address, in characters.
const LONGEST_PART: usize = 64;
/// The maximum length of a host name in DNS, in bytes.
const LONGEST_HOST: usize = 253;

/// A module in a registry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegistryModule {
    /// The host of the registry, in lowercase, with its port unless the port is 443.
    pub host: String,
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The system that the module is for.
    pub system: String,
    /// The folder inside the package; empty for its top.
    pub subdir: String,
}

impl RegistryModule {
    /// Parses an address.
    ///
    /// # Errors
    /// Returns an error if the text is not an address in a registry.
    pub fn parse(text: &str) -> Result<RegistryModule, ModuleSourceError> {
        let (address, subdir) = split_subdir(text);
        let subdir = if subdir.is_empty() { String::new() } else { clean(&subdir) };
        if subdir.starts_with("../") || subdir == ".." {
            return Err(ModuleSourceError::OutsidePackage(subdir));
        }
        let parts: Vec<&str> = address.split('/').collect();
        let (host, [namespace, name, system]) = match parts[..] {
            [namespace, name, system] => (DEFAULT_HOST.to_owned(), [namespace, name, system]),
            [host, namespace, name, system] => (host_name(host)?, [namespace, name, system]),
            _ => return Err(ModuleSourceError::Parts),
        };
        if REPOSITORY_HOSTS.contains(&host.as_str()) {
            return Err(ModuleSourceError::ReservedHost(host));
        }
        if !is_name(namespace) {
            // The first part is probably a host, and another part is missing.
            return Err(if namespace.contains('.') {
                ModuleSourceError::AfterHost
            } else {
                ModuleSourceError::Name { part: "namespace", text: namespace.to_owned() }
            });
        }
        if !is_name(name) {
            return Err(ModuleSourceError::Name { part: "name", text: name.to_owned() });
        }
        if !is_system(system) {
            return Err(if system.contains('?') {
                ModuleSourceError::RegistryQuery
            } else {
                ModuleSourceError::System(system.to_owned())
            });
        }
        let [namespace, name, system] = [namespace, name, system].map(str::to_owned);
        Ok(RegistryModule { host, namespace, name, system, subdir })
    }

    /// `HOST/NAMESPACE/NAME/SYSTEM`
    pub fn package(&self) -> String {
        format!("{}/{}", self.host, self.path())
    }

    /// `NAMESPACE/NAME/SYSTEM`, as in the URLs of the registry.
    pub fn path(&self) -> String {
        format!("{}/{}/{}", self.namespace, self.name, self.system)
    }
}

impl fmt::Display for RegistryModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.package())?;
        if self.subdir.is_empty() { Ok(()) } else { write!(f, "//{}", self.subdir) }
    }
}

/// Parses a host with or without a port.
fn host_name(text: &str) -> Result<String, ModuleSourceError> {
    let (name, port) = text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port)));
    let wrong = || ModuleSourceError::Host(text.to_owned());
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_alphanumeric() || c == '-')
    };
    if text.contains("--") {
        return Err(ModuleSourceError::Punycode(text.to_owned()));
    }
    if name.len() > LONGEST_HOST || !name.split('.').all(label) {
        return Err(wrong());
    }
    let port = match port {
        None => None,
        Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => Some(digits.parse::<u16>().map_err(|_| wrong())?),
        Some(_) => return Err(wrong()),
    };
    if !name.contains('.') {
        return Err(ModuleSourceError::HostWithoutDot);
    }
    let name = name.to_lowercase();
    Ok(match port {
        None | Some(443) => name,
        Some(port) => format!("{name}:{port}"),
    })
}

fn is_name(text: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.len() <= LONGEST_PART
        && edge(text.chars().next())
        && edge(text.chars().next_back())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

fn is_system(text: &str) -> bool {
    (1..=LONGEST_PART).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}
