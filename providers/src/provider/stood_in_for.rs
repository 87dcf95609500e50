//! A provider that is wrapped in a stand-in.

use std::sync::Arc;

use weft_graph_format::address::{ConfigResource, ProviderConfig, ProviderInstance, ResourceMode};
use weft_graph_format::value::Value;

use super::Provider;
use crate::call::{
    AppliedChange, ApplyRequest, CallError, ImportTarget, ImportedObject, ObjectState, OpenedEphemeral, PlanRequest,
    PlannedChange, ReadRequest, Reply,
};
use crate::stand_in::{StandInExtent, StandIns};

/// A stand-in that wraps a provider.
pub struct StoodInFor {
    answers: Arc<dyn StandIns>,
    provider: ProviderConfig,
    /// The real provider.
    pub(crate) real: Provider,
}

impl Provider {
    /// Wraps a provider in a stand-in. Returns the provider itself if the stand-in replaces nothing of it.
    #[must_use]
    pub fn standing_in(self, instance: &ProviderInstance, answers: Option<Arc<dyn StandIns>>) -> Provider {
        match answers {
            Some(answers) if answers.extent(&instance.config()) != StandInExtent::Nothing => {
                let provider = instance.config();
                Provider::StoodInFor(Box::new(StoodInFor { answers, provider, real: self }))
            }
            _ => self,
        }
    }
}

impl StoodInFor {
    fn covers(&self, resource: &ConfigResource) -> bool {
        self.answers.covers(&self.provider, resource)
    }

    async fn block(
        &self,
        mode: ResourceMode,
        type_name: &str,
    ) -> Result<Arc<weft_graph_format::schema::Schema>, CallError> {
        let schema = Box::pin(self.real.schema()).await?;
        let what = match mode {
            ResourceMode::Managed => "resource type",
            ResourceMode::Data => "data source",
            ResourceMode::Ephemeral => "ephemeral resource type",
        };
        let found = schema.types(mode).get(type_name).cloned();
        found.ok_or_else(|| CallError::UnknownType { what, name: type_name.into() })
    }

    async fn made(&self, resource: &ConfigResource, config: &Value) -> Result<Reply<Value>, CallError> {
        let schema = self.block(resource.resource.mode, &resource.resource.type_name).await?;
        Ok(self.answers.object(&self.provider, resource, &schema.block, config))
    }

    /// Returns the object unchanged.
    pub(crate) async fn read(&self, request: ReadRequest) -> Result<Reply<ObjectState>, CallError> {
        if !self.covers(&request.address.config()) {
            return Box::pin(self.real.read_resource(request)).await;
        }
        let object = ObjectState { state: request.current_state, private: request.private, identity: request.identity };
        Ok(Reply { value: object, diagnostics: Vec::new() })
    }

    /// Plans a change. The whole object is known at once, if its configuration is known.
    pub(crate) async fn plan(&self, request: PlanRequest) -> Result<Reply<PlannedChange>, CallError> {
        let address = request.address.config();
        if !self.covers(&address) {
            return Box::pin(self.real.plan_resource_change(request)).await;
        }
        let planned = match request.config.is_null() {
            true => Reply { value: request.proposed_new_state, diagnostics: Vec::new() },
            false => self.made(&address, &request.config).await?,
        };
        let change = PlannedChange {
            planned_state: planned.value,
            requires_replace: Vec::new(),
            planned_private: request.prior_private,
            legacy_type_system: false,
            planned_identity: request.prior_identity,
        };
        Ok(Reply { value: change, diagnostics: planned.diagnostics })
    }

    /// Returns the planned object.
    pub(crate) async fn apply(&self, request: ApplyRequest) -> Result<Reply<AppliedChange>, CallError> {
        if !self.covers(&request.address.config()) {
            return Box::pin(self.real.apply_resource_change(request)).await;
        }
        let object = ObjectState {
            state: request.planned_state,
            private: request.planned_private,
            identity: request.planned_identity,
        };
        Ok(Reply { value: AppliedChange { object, legacy_type_system: false }, diagnostics: Vec::new() })
    }

    /// Refuses an import if the whole provider is replaced, because objects of a stand-in do not exist.
    pub(crate) async fn import(
        &self,
        type_name: &str,
        target: ImportTarget,
    ) -> Result<Reply<Vec<ImportedObject>>, CallError> {
        if self.answers.extent(&self.provider) != StandInExtent::Whole {
            return Box::pin(self.real.import_resource_state(type_name, target)).await;
        }
        Ok(Reply { value: Vec::new(), diagnostics: vec![crate::problems::import_with_mock()] })
    }

    /// The object for the configuration of a data source; `None` if the real provider handles it.
    pub(crate) async fn data(
        &self,
        resource: &ConfigResource,
        config: &Value,
    ) -> Option<Result<Reply<Value>, CallError>> {
        if !self.covers(resource) { None } else { Some(self.made(resource, config).await) }
    }

    /// The object for the configuration of an ephemeral resource. It needs no renewal and no closing. `None` if the
    /// real provider handles it.
    pub(crate) async fn open_ephemeral(
        &self,
        type_name: &str,
        config: &Value,
    ) -> Option<Result<Reply<OpenedEphemeral>, CallError>> {
        if !self.is_whole() {
            return None;
        }
        // Tests give no values for single ephemeral resources, so the name does not matter.
        let resource = weft_graph_format::address::Resource {
            mode: ResourceMode::Ephemeral,
            type_name: type_name.into(),
            name: type_name.into(),
        };
        let resource = ConfigResource { module: weft_graph_format::address::Module::root(), resource };
        let made = self.made(&resource, config).await.map(|made| Reply {
            value: OpenedEphemeral { result: made.value, private: None, renew_at: None },
            diagnostics: made.diagnostics,
        });
        Some(made)
    }

    /// Whether the stand-in replaces the whole provider.
    pub(crate) fn is_whole(&self) -> bool {
        self.answers.extent(&self.provider) == StandInExtent::Whole
    }
}
