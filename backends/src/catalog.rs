//! The types of backends.

use std::sync::Arc;

use serde_json::{Map, Value as Json};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::schema::Block;
use weft_state::remote::Backend;

use crate::{gcs, http, pg, s3};

/// The settings of a backend: every attribute of its schema, null where nothing is written, as in
/// `.terraform/terraform.tfstate`.
pub type Settings = Map<String, Json>;

/// The variables of the environment by name. Empty ones count as absent.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A backend that is ready for requests.
#[derive(Debug)]
pub struct Connected {
    /// The backend.
    pub backend: Arc<dyn Backend>,
    /// Warnings about its settings.
    pub warnings: Vec<Diagnostic>,
}

/// The answer of [`connect`]: the errors have no place.
pub type Connecting = Result<Connected, Vec<Diagnostic>>;

/// What is known about a type of backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It is a backend, and Weft has it.
    Known,
    /// OpenTofu has it, and Weft does not yet.
    Missing,
    /// OpenTofu had it once. The text names what to use instead, if anything.
    Removed(Option<&'static str>),
    /// There is no such backend.
    Unknown,
}

/// The types of backends that Weft has, `local` apart.
pub const KINDS: &[&str] = &["gcs", "http", "pg", "s3"];
/// The types that only OpenTofu has.
const MISSING: &[&str] = &["azurerm", "consul", "cos", "inmem", "kubernetes", "oss", "remote"];
/// The types that OpenTofu had once.
const REMOVED: &[(&str, Option<&str>)] = &[
    ("artifactory", None),
    ("azure", Some("azurerm")),
    ("etcd", None),
    ("etcdv3", None),
    ("manta", None),
    ("swift", None),
];

/// What is known about this type.
pub fn kind(name: &str) -> Kind {
    if name == "local" || KINDS.contains(&name) {
        return Kind::Known;
    }
    if MISSING.contains(&name) {
        return Kind::Missing;
    }
    REMOVED.iter().find(|(removed, _)| *removed == name).map_or(Kind::Unknown, |(_, instead)| Kind::Removed(*instead))
}

/// The schema of the settings of a backend other than `local`, or `None` if Weft does not have it.
pub fn schema(kind: &str) -> Option<Block> {
    match kind {
        "gcs" => Some(gcs::schema()),
        "http" => Some(http::schema()),
        "pg" => Some(pg::schema()),
        "s3" => Some(s3::schema()),
        _ => None,
    }
}

/// The required settings that neither the settings nor the environment have, in the order of their names.
pub fn missing(kind: &str, settings: &Settings, environment: Environment<'_>) -> Vec<String> {
    let variables: &[(&str, &str)] = match kind {
        "http" => &[("address", "TF_HTTP_ADDRESS")],
        _ => &[],
    };
    let set = |name: &str| {
        let variable = variables.iter().find(|(argument, _)| *argument == name).map(|(_, variable)| *variable);
        settings.get(name).is_some_and(|value| !value.is_null())
            || variable.and_then(environment).is_some_and(|value| !value.is_empty())
    };
    let required = schema(kind).unwrap_or_default().attributes;
    let required = required.into_iter().filter(|(name, attribute)| attribute.required && !set(name));
    required.map(|(name, _)| name.to_string()).collect()
}

/// Makes a backend from its settings. Does not ask the service: credentials are looked for at the first request.
///
/// # Errors
/// Invalid settings. The diagnostics have no place.
pub fn connect(kind: &str, settings: &Settings, environment: Environment<'_>) -> Connecting {
    match kind {
        "gcs" => gcs::connect(settings, environment),
        "http" => http::connect(settings, environment),
        "pg" => pg::connect(settings, environment),
        "s3" => s3::connect(settings, environment),
        _ => Err(vec![crate::problems::not_here(kind)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_type_has_a_schema() {
        for name in KINDS {
            assert_eq!(kind(name), Kind::Known);
            assert!(schema(name).is_some(), "{name}");
        }
        for name in MISSING {
            assert_eq!(kind(name), Kind::Missing);
            assert!(schema(name).is_none(), "{name}");
        }
        assert_eq!(kind("azure"), Kind::Removed(Some("azurerm")));
        assert_eq!(kind("s4"), Kind::Unknown);
    }
}
