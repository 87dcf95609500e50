//! The types of backends.

use std::sync::Arc;

use weft_graph_format::schema::Block;

pub use crate::arguments::{BackendSettings, Environment};
#[cfg(feature = "azurerm")]
use crate::azurerm;
pub use crate::connected::{Connected, Connecting};
#[cfg(feature = "consul")]
use crate::consul;
#[cfg(feature = "cos")]
use crate::cos;
#[cfg(feature = "gcs")]
use crate::gcs;
use crate::hosts::{Hosts, NoHosts};
#[cfg(feature = "http")]
use crate::http;
#[cfg(feature = "inmem")]
use crate::inmem;
#[cfg(feature = "kubernetes")]
use crate::kubernetes;
#[cfg(feature = "oss")]
use crate::oss;
#[cfg(feature = "pg")]
use crate::pg;
#[cfg(feature = "remote")]
use crate::remote;
#[cfg(feature = "s3")]
use crate::s3;

/// The support for a type of backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendKind {
    /// The type exists, and this build supports it.
    Known,
    /// The type exists, but this build does not support it.
    Missing,
    /// Earlier versions of OpenTofu had the type. The string names a replacement, if any.
    Removed(Option<&'static str>),
    /// The type does not exist.
    Unknown,
}

/// A type of backend in this build.
struct Entry {
    /// The name in configurations, which is also the name of the cargo feature.
    name: &'static str,
    schema: fn() -> Block,
    connect: Connect,
    /// The variables of the environment that may replace required arguments.
    variables: &'static [(&'static str, &'static str)],
}

/// The constructor of a backend.
enum Connect {
    /// The constructor needs only the settings.
    Alone(fn(&BackendSettings, Environment<'_>) -> Connecting),
    /// The constructor needs the settings, and the services and tokens of hosts.
    AtHost(fn(&BackendSettings, Environment<'_>, &Arc<dyn Hosts>) -> Connecting),
}

use Connect::{Alone, AtHost};

/// The types of backends in this build, except `local`, in the order of their names. `cloud` is the type of `cloud`
/// blocks.
const ENTRIES: &[Entry] = &[
    #[cfg(feature = "azurerm")]
    Entry { name: "azurerm", schema: azurerm::schema, connect: Alone(azurerm::connect), variables: &[] },
    #[cfg(feature = "remote")]
    Entry { name: "cloud", schema: remote::cloud_schema, connect: AtHost(remote::connect_cloud), variables: &[] },
    #[cfg(feature = "consul")]
    Entry { name: "consul", schema: consul::schema, connect: Alone(consul::connect), variables: &[] },
    #[cfg(feature = "cos")]
    Entry {
        name: "cos",
        schema: cos::schema,
        connect: Alone(cos::connect),
        variables: &[("region", "TENCENTCLOUD_REGION")],
    },
    #[cfg(feature = "gcs")]
    Entry { name: "gcs", schema: gcs::schema, connect: Alone(gcs::connect), variables: &[] },
    #[cfg(feature = "http")]
    Entry {
        name: "http",
        schema: http::schema,
        connect: Alone(http::connect),
        variables: &[("address", "TF_HTTP_ADDRESS")],
    },
    #[cfg(feature = "inmem")]
    Entry { name: "inmem", schema: inmem::schema, connect: Alone(inmem::connect), variables: &[] },
    #[cfg(feature = "kubernetes")]
    Entry { name: "kubernetes", schema: kubernetes::schema, connect: Alone(kubernetes::connect), variables: &[] },
    #[cfg(feature = "oss")]
    Entry { name: "oss", schema: oss::schema, connect: Alone(oss::connect), variables: &[] },
    #[cfg(feature = "pg")]
    Entry { name: "pg", schema: pg::schema, connect: Alone(pg::connect), variables: &[] },
    #[cfg(feature = "remote")]
    Entry { name: "remote", schema: remote::schema, connect: AtHost(remote::connect), variables: &[] },
    #[cfg(feature = "s3")]
    Entry { name: "s3", schema: s3::schema, connect: Alone(s3::connect), variables: &[] },
];
/// The types of backends in OpenTofu, without `local`.
const ALL: &[&str] =
    &["azurerm", "cloud", "consul", "cos", "gcs", "http", "inmem", "kubernetes", "oss", "pg", "remote", "s3"];
/// The types that only earlier versions of OpenTofu had.
const REMOVED: &[(&str, Option<&str>)] = &[
    ("artifactory", None),
    ("azure", Some("azurerm")),
    ("etcd", None),
    ("etcdv3", None),
    ("manta", None),
    ("swift", None),
];

/// The types of backends in this build without `local`, in the order of their names.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    ENTRIES.iter().map(|entry| entry.name)
}

fn entry(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.name == name)
}

/// The support for this type of backend.
pub fn kind(name: &str) -> BackendKind {
    if name == "local" || entry(name).is_some() {
        return BackendKind::Known;
    }
    if ALL.contains(&name) {
        return BackendKind::Missing;
    }
    REMOVED
        .iter()
        .find(|(removed, _)| *removed == name)
        .map_or(BackendKind::Unknown, |(_, instead)| BackendKind::Removed(*instead))
}

/// The schema of the settings of a backend other than `local`. `None` if this build does not have the backend.
pub fn schema(kind: &str) -> Option<Block> {
    entry(kind).map(|entry| (entry.schema)())
}

/// The required arguments that are set neither in the settings nor in the environment, in the order of their names.
pub fn missing(kind: &str, settings: &BackendSettings, environment: Environment<'_>) -> Vec<String> {
    let Some(entry) = entry(kind) else { return Vec::new() };
    let set = |name: &str| {
        let mut variables = entry.variables.iter().filter(|(argument, _)| *argument == name);
        settings.get(name).is_some_and(|value| !value.is_null())
            || variables.any(|(_, variable)| environment(variable).is_some_and(|value| !value.is_empty()))
    };
    let required = (entry.schema)().attributes.into_iter().filter(|(name, rule)| rule.required && !set(name));
    required.map(|(name, _)| name.to_string()).collect()
}

/// Makes a backend from its settings. Sends no request: credentials are obtained at the first request.
///
/// # Errors
/// Returns an error if the settings are not valid. The diagnostics have no source range.
pub fn connect(kind: &str, settings: &BackendSettings, environment: Environment<'_>) -> Connecting {
    connect_at(kind, settings, environment, &(Arc::new(NoHosts) as Arc<dyn Hosts>))
}

/// Like [`connect`], but works for all types of backends. Some types need `hosts` to discover the services of a host
/// and to find the token for the host.
///
/// # Errors
/// Returns an error if the settings are not valid. The diagnostics have no source range.
pub fn connect_at(
    kind: &str,
    settings: &BackendSettings,
    environment: Environment<'_>,
    hosts: &Arc<dyn Hosts>,
) -> Connecting {
    match entry(kind).map(|entry| &entry.connect) {
        Some(Alone(connect)) => connect(settings, environment),
        Some(AtHost(connect)) => connect(settings, environment, hosts),
        None => Err(vec![crate::problems::not_here(kind)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_in_this_build_has_a_schema() {
        for name in kinds() {
            assert_eq!(kind(name), BackendKind::Known);
            assert!(ALL.contains(&name), "{name}");
            assert!(schema(name).is_some(), "{name}");
        }
        assert!(kinds().is_sorted());
        assert_eq!(kind("azure"), BackendKind::Removed(Some("azurerm")));
        assert_eq!(kind("s4"), BackendKind::Unknown);
    }
}
