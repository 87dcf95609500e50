//! Stand-ins for providers, so that a test of a configuration needs no real objects.
//!
//! A stand-in wraps a real provider: see [`crate::Provider::standing_in`]. It replaces single resources, or the whole
//! provider. A provider that is replaced as a whole is not configured. Schemas, validation, functions and the upgrade
//! of stored objects still come from the real provider.

use std::fmt::Debug;

use weft_graph_format::address::{ConfigResource, ProviderConfig};
use weft_graph_format::schema::Block;
use weft_graph_format::value::Value;

use crate::call::Reply;

/// Answers in place of providers.
pub trait StandIns: Debug + Send + Sync {
    /// How much of this provider the stand-in replaces.
    fn extent(&self, provider: &ProviderConfig) -> StandInExtent;

    /// Whether the stand-in replaces the objects of a resource.
    fn covers(&self, provider: &ProviderConfig, resource: &ConfigResource) -> bool;

    /// The complete object for the arguments of a resource instance (`config`). The object is unknown only where
    /// `config` is unknown. Neither the object nor `config` is null.
    fn object(
        &self,
        provider: &ProviderConfig,
        resource: &ConfigResource,
        schema: &Block,
        config: &Value,
    ) -> Reply<Value>;
}

/// How much of a provider is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandInExtent {
    /// Nothing is replaced.
    Nothing,
    /// Single resources are replaced. The real provider is configured, and handles the other resources.
    Some,
    /// The whole provider is replaced.
    Whole,
}
