//! Key providers that are services: keys for the encryption of states and plans.
//!
//! The key provider of a cloud finds its credentials with the code of the backend of the same cloud, and belongs to the
//! cargo feature of that backend. `openbao` has no such backend, and is part of every build. The trait
//! [`weft_sealing::KeyService`] describes what a client does. The metadata has OpenTofu's format.
//!
//! Not in this module: the `encryption` block (`evaluator`, `cli`), and the use of the keys (`sealing`).

use weft_graph_format::diagnostic::{Cause, Diagnostic};
use weft_graph_format::schema::Block;
use weft_sealing::ServiceClient;

pub use crate::arguments::BackendSettings;
use crate::arguments::Environment;
use crate::keeper::Keeping;
use crate::openbao;

/// All key providers that are services, even those that this build does not have, in the order of their names.
pub const SERVICES: [&str; 4] = ["aws_kms", "azure_vault", "gcp_kms", "openbao"];

/// A key provider in this build.
struct KeyProviderEntry {
    /// The name in configurations.
    name: &'static str,
    schema: fn() -> Block,
    connect: fn(&BackendSettings, Environment<'_>) -> Keeping,
}

/// The key providers in this build, in the order of their names.
const ENTRIES: &[KeyProviderEntry] = &[
    #[cfg(feature = "s3")]
    KeyProviderEntry { name: "aws_kms", schema: crate::s3::kms::schema, connect: crate::s3::kms::connect },
    #[cfg(feature = "azurerm")]
    KeyProviderEntry {
        name: "azure_vault",
        schema: crate::azurerm::vault::schema,
        connect: crate::azurerm::vault::connect,
    },
    #[cfg(feature = "gcs")]
    KeyProviderEntry { name: "gcp_kms", schema: crate::gcs::kms::schema, connect: crate::gcs::kms::connect },
    KeyProviderEntry { name: "openbao", schema: openbao::schema, connect: openbao::connect },
];

/// The schema of the arguments of a key provider. `None` if this build does not have the key provider.
pub fn schema(kind: &str) -> Option<Block> {
    ENTRIES.iter().find(|entry| entry.name == kind).map(|entry| (entry.schema)())
}

/// Makes the client of a key provider. `settings` has every argument of the schema. Arguments that are not set are
/// null. Sends no request.
pub fn connect(kind: &str, settings: &BackendSettings, environment: Environment<'_>) -> ServiceClient {
    let client = match ENTRIES.iter().find(|entry| entry.name == kind) {
        Some(entry) => (entry.connect)(settings, environment).map_err(|problems| in_words(&problems)),
        None => Err(format!("this build of Weft does not have {kind}")),
    };
    ServiceClient { client }
}

fn in_words(problems: &[Diagnostic]) -> String {
    let words = problems.iter().map(|problem| match (problem.cause, problem.detail.trim_end_matches('.')) {
        (Cause::KeyProvider, detail) => detail.to_owned(),
        (_, "") => problem.summary.clone(),
        (_, detail) => format!("{}: {detail}", problem.summary),
    });
    words.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_service_in_this_build_has_a_schema() {
        for entry in ENTRIES {
            assert!(SERVICES.contains(&entry.name), "{}", entry.name);
            assert!(!(entry.schema)().attributes.is_empty(), "{}", entry.name);
        }
        assert!(schema("pbkdf2").is_none());
    }
}
