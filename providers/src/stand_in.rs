//! Stand-ins for providers, so that a test of a configuration makes no calls.
//!
//! A stand-in takes the place of a real provider: [`crate::Provider::standing_in`] wraps one. It may replace the whole
//! provider, which is not configured then, or single resources. Schemas, validation, functions and the upgrade of
//! stored objects still come from the real one.

use std::fmt::Debug;

use weft_graph_format::address::{ConfigResource, ProviderConfig};
use weft_graph_format::schema::Block;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use crate::call::Reply;
use crate::diagnostic::ProviderDiagnostic;

/// Answers in place of providers.
pub trait StandIns: Debug + Send + Sync {
    /// How much of this provider it replaces.
    fn extent(&self, provider: &ProviderConfig) -> StandInExtent;

    /// Whether it replaces the objects of a resource.
    fn covers(&self, provider: &ProviderConfig, resource: &ConfigResource) -> bool;

    /// The whole object for a configuration, unknown only where the configuration is. Neither is null.
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
    /// Nothing of it.
    Nothing,
    /// Single resources. The real provider is configured, and handles the others.
    Some,
    /// Everything.
    Whole,
}

/// The error of an object that could not be made.
pub fn nothing_made(diagnostics: Vec<ProviderDiagnostic>) -> Reply<Value> {
    Reply { value: Value::null(Type::Dynamic), diagnostics }
}
