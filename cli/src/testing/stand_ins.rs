//! The stand-ins for providers and resources in one run of a test.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_evaluator::config::test_file::{GivenValues, MockBlock};
use weft_graph_format::address::{ConfigResource, ProviderConfig};
use weft_graph_format::schema::Block;
use weft_graph_format::value::Value;
use weft_providers::call::Reply;
use weft_providers::{StandInExtent, StandIns};

use super::made_up;

/// The stand-ins for providers and resources.
#[derive(Clone, Debug, Default)]
pub struct TestStandIns {
    /// The mocks of whole providers.
    pub providers: BTreeMap<ProviderConfig, Arc<MockBlock>>,
    /// The overrides of single resources, with any provider.
    pub resources: BTreeMap<ConfigResource, Arc<GivenValues>>,
}

impl TestStandIns {
    /// The values for a resource. An override of the resource takes precedence. Next comes the entry for the resource
    /// in the mock of its provider, and last the entry for the resource type in this mock. `None` if neither the
    /// resource nor the provider is replaced.
    fn given(&self, provider: &ProviderConfig, resource: &ConfigResource) -> Option<Arc<GivenValues>> {
        if let Some(given) = self.resources.get(resource) {
            return Some(given.clone());
        }
        let mock = self.providers.get(provider)?;
        let own = mock.resources.iter().find(|one| one.target == *resource && one.mode == resource.resource.mode);
        let of_type = || mock.types.get(&(resource.resource.mode, resource.resource.type_name.clone()));
        Some(own.map(|one| &one.values).or_else(of_type).cloned().unwrap_or_default())
    }
}

impl StandIns for TestStandIns {
    fn extent(&self, provider: &ProviderConfig) -> StandInExtent {
        if self.providers.contains_key(provider) {
            return StandInExtent::Whole;
        }
        if self.resources.is_empty() { StandInExtent::Nothing } else { StandInExtent::Some }
    }

    fn covers(&self, provider: &ProviderConfig, resource: &ConfigResource) -> bool {
        self.resources.contains_key(resource) || self.providers.contains_key(provider)
    }

    fn object(
        &self,
        provider: &ProviderConfig,
        resource: &ConfigResource,
        schema: &Block,
        config: &Value,
    ) -> Reply<Value> {
        let given = self.given(provider, resource).unwrap_or_default();
        let (value, diagnostics) = made_up::object(&resource.resource.type_name, schema, config, &given);
        Reply { value, diagnostics }
    }
}
