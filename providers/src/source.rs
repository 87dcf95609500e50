//! Provider source addresses as users write them: `lab`, `acme/lab`, `registry.example.com/acme/lab`.

use weft_graph_format::address::{DEFAULT_REGISTRY, ProviderSource};

/// The default namespace.
pub const DEFAULT_NAMESPACE: &str = "hashicorp";

/// The host whose versions in lock files carry over to the default registry.
pub const TERRAFORM_HOST: &str = "registry.terraform.io";

/// The maximum length of a part of an address, as for a DNS name.
const MAX_PART: usize = 253;

/// Why a text is not a provider source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The text has no parts, or more than three.
    #[error("\"{0}\" is not in the format \"[hostname/][namespace/]name\"")]
    Format(String),
    /// A part has characters that are not allowed.
    #[error(
        "invalid provider {part} \"{text}\": must contain only letters, digits, and dashes, and may not use leading \
         or trailing dashes"
    )]
    Part {
        /// "hostname", "namespace" or "type".
        part: &'static str,
        /// The part as written.
        text: String,
    },
    /// The type begins with the prefix of program names.
    #[error("the provider type \"{0}\" begins with \"terraform-provider-\", which source addresses do not include")]
    ProgramPrefix(String),
}

/// Parses a source address. Missing parts get their defaults.
pub fn parse(text: &str) -> Result<ProviderSource, SourceError> {
    let parts: Vec<&str> = text.split('/').collect();
    let (host, namespace, type_name) = match parts.as_slice() {
        [type_name] => (DEFAULT_REGISTRY, DEFAULT_NAMESPACE, *type_name),
        [namespace, type_name] => (DEFAULT_REGISTRY, *namespace, *type_name),
        [host, namespace, type_name] => (*host, *namespace, *type_name),
        _ => return Err(SourceError::Format(text.to_owned())),
    };
    let source = ProviderSource {
        host: self::host(host)?.into(),
        namespace: part("namespace", namespace)?.into(),
        type_name: part("type", type_name)?.into(),
    };
    if source.type_name.starts_with("terraform-provider-") {
        return Err(SourceError::ProgramPrefix(source.type_name.to_string()));
    }
    Ok(source)
}

/// Normalizes one part to lower case.
///
/// # Errors
/// Returns an error if the part is empty or too long, has characters other than letters, digits and dashes, or begins
/// or ends with a dash. `what` names the part in the error.
pub fn part(what: &'static str, text: &str) -> Result<String, SourceError> {
    let refused = || SourceError::Part { part: what, text: text.to_owned() };
    let normal = text.to_lowercase();
    let sound = !normal.is_empty()
        && normal.len() <= MAX_PART
        && !normal.starts_with('-')
        && !normal.ends_with('-')
        && normal.chars().all(|c| c == '-' || c.is_alphanumeric());
    if sound { Ok(normal) } else { Err(refused()) }
}

/// Normalizes a host name, with its port if it has one.
///
/// # Errors
/// Returns an error if the text is not a valid host name.
pub fn host(text: &str) -> Result<String, SourceError> {
    let refused = || SourceError::Part { part: "hostname", text: text.to_owned() };
    let (name, port) = match text.split_once(':') {
        Some((name, port)) => (name, Some(port.parse::<u16>().map_err(|_| refused())?)),
        None => (text, None),
    };
    // A host without a dot would look like a namespace. `localhost` is the exception.
    if !name.contains('.') && name != "localhost" && port.is_none() {
        return Err(refused());
    }
    let labels = name.split('.').map(|label| part("hostname", label)).collect::<Result<Vec<_>, _>>();
    let name = labels.map_err(|_| refused())?.join(".");
    if name.len() > MAX_PART {
        return Err(refused());
    }
    Ok(port.map_or(name.clone(), |port| format!("{name}:{port}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_completed_and_normalized() {
        assert_eq!(parse("aws").unwrap().to_string(), "registry.opentofu.org/hashicorp/aws");
        assert_eq!(parse("Acme/Lab").unwrap().to_string(), "registry.opentofu.org/acme/lab");
        assert_eq!(parse("Example.com:8443/a/b").unwrap().to_string(), "example.com:8443/a/b");
        assert!(parse("terraform.io/builtin/terraform").unwrap().is_builtin());
    }

    #[test]
    fn invalid_addresses_are_refused() {
        assert!(matches!(parse("too/many/parts/here"), Err(SourceError::Format(_))));
        assert!(matches!(parse("weft.test/lab/terraform-provider-lab"), Err(SourceError::ProgramPrefix(_))));
        for bad in ["", "not valid", "a//b", "-a/b", "a/b-", "nohost/a/b", "a.b:x/c/d", "../a/b", "weft.test/../b"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
