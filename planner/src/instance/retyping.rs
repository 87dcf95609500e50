//! Objects that moved to an address with another resource type.

use weft_evaluator::glue::DesiredInstance;
use weft_graph_format::address::{ProviderInstance, ResourceInstance};
use weft_graph_format::codec::json;
use weft_providers::Provider;
use weft_providers::call::MoveRequest;
use weft_state::{InstanceObject, Opaque, RawJson};

use super::problems;
use crate::ask::Ask;
use crate::diagnostics::{call_failed, placed};
use crate::prior::raw_state;
use crate::problems::Problems;

impl Ask {
    /// Asks `provider`, the provider of the desired instance, to convert a stored object of another type. `owner` is
    /// the provider instance of the stored object.
    pub(crate) async fn with_new_type(
        &self,
        desired: &DesiredInstance,
        previous: &ResourceInstance,
        object: InstanceObject,
        owner: &ProviderInstance,
        provider: &Provider,
    ) -> Result<InstanceObject, Problems> {
        let text = desired.address.to_string();
        let places = Some(&desired.block.places);
        let schema = provider.schema().await.map_err(|e| vec![call_failed(&e, places, &text)])?;
        if !schema.move_resource_state {
            return Err(vec![problems::type_change_unsupported(desired, previous)]);
        }
        let request = MoveRequest {
            source_provider: owner.source.to_string(),
            source_type_name: previous.resource.type_name.clone(),
            source_schema_version: object.schema_version,
            source_state: raw_state(&object),
            source_private: object.private.0.clone(),
            source_identity: object
                .identity
                .as_ref()
                .map(|identity| (identity.as_str().as_bytes().to_vec(), object.identity_schema_version)),
            target_type_name: desired.address.resource.type_name.clone(),
        };
        let reply = provider.move_resource_state(request).await.map_err(|e| vec![call_failed(&e, places, &text)])?;
        self.report.accept(placed(&reply.diagnostics, places, &text))?;
        let moved = reply.value;
        if moved.state.is_null() || !moved.state.is_wholly_known() {
            return Err(vec![problems::type_change_incomplete(desired)]);
        }
        let encoded = json::encode(&moved.state.unmark_deep().0, &desired.schema.block.implied_type());
        let attributes = encoded.map_err(|error| vec![problems::type_change_unusable(desired, previous, &error)])?;
        Ok(InstanceObject {
            private: Opaque(moved.private),
            dependencies: object.dependencies,
            create_before_destroy: object.create_before_destroy,
            skip_destroy: object.skip_destroy,
            tainted: object.tainted,
            ..InstanceObject::new(desired.schema.version, RawJson::new(attributes))
        })
    }
}
