//! A worker with a tiny coordinator, with the built-in provider and, if there are any, with real plugins.

mod builtin;
mod coordinator;
mod draft;
mod lifecycle;
mod plugin;

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_executor::{NoPackages, WorkerOptions};
use weft_graph_format::address::ProviderSource;
use weft_graph_format::schema::ProviderSchema;

/// Schemas by provider.
pub type Schemas = BTreeMap<ProviderSource, ProviderSchema>;

/// Schemas of the built-in provider.
pub fn schemas() -> Schemas {
    let schema = (*weft_providers::Builtin::schema()).clone();
    BTreeMap::from([(ProviderSource::builtin("terraform"), schema)])
}

/// A worker without packages.
pub fn options() -> WorkerOptions {
    WorkerOptions::new("w1", "here:1:2:3", Arc::new(NoPackages))
}
