//! A configured provider with one interface for planner and executor, whether it is a plugin, built in, or a stand-in.
//!
//! A running call of a plugin needs about nine kilobytes. Planning has a task for each resource instance, and most of
//! these tasks are waiting for something else. So the state of a call is on the heap, and only while the call is
//! running.

mod stood_in_for;

use std::sync::Arc;

use weft_graph_format::address::{ResourceInstance, ResourceMode};
use weft_graph_format::schema::ProviderSchema;
use weft_graph_format::value::Value;

use crate::builtin::Builtin;
use crate::call::{
    AppliedChange, ApplyRequest, CallError, ImportTarget, ImportedObject, MoveRequest, ObjectState, OpenedEphemeral,
    PlanRequest, PlannedChange, RawState, ReadRequest, RenewedEphemeral, Reply,
};
use crate::diagnostic::ProviderDiagnostic;
use crate::pool::PooledProvider;

pub use stood_in_for::StoodInFor;

/// A provider that is ready for calls.
pub enum Provider {
    /// The built-in provider.
    Builtin(Builtin),
    /// A running plugin.
    Plugin(PooledProvider),
    /// A provider with a stand-in, while a configuration is tested.
    StoodInFor(Box<StoodInFor>),
}

impl Provider {
    /// The plugin of the provider; `None` for the built-in provider.
    pub fn plugin(&self) -> Option<&PooledProvider> {
        match self {
            Provider::Builtin(_) => None,
            Provider::Plugin(lease) => Some(lease),
            Provider::StoodInFor(stand_in) => stand_in.real.plugin(),
        }
    }

    /// The schema of the provider.
    pub async fn schema(&self) -> Result<Arc<ProviderSchema>, CallError> {
        match self {
            Provider::Builtin(_) => Ok(Builtin::schema()),
            Provider::Plugin(lease) => Box::pin(lease.schema()).await,
            Provider::StoodInFor(stand_in) => Box::pin(stand_in.real.schema()).await,
        }
    }

    /// The problems in the configuration of a resource. The mode selects the call of the provider, for example
    /// [`crate::ProviderSession::validate_resource_config`].
    pub async fn validate_config(
        &self,
        mode: ResourceMode,
        type_name: &str,
        config: &Value,
    ) -> Result<Vec<ProviderDiagnostic>, CallError> {
        match (self, mode) {
            (Provider::Builtin(builtin), ResourceMode::Managed) => builtin.validate_resource_config(type_name, config),
            (Provider::Builtin(builtin), ResourceMode::Data) => builtin.validate_data_config(type_name, config),
            // The provider has no ephemeral resources, so a configuration of one never passes decoding.
            (Provider::Builtin(_), ResourceMode::Ephemeral) => Ok(Vec::new()),
            (Provider::Plugin(lease), ResourceMode::Managed) => {
                Box::pin(lease.validate_resource_config(type_name, config)).await
            }
            (Provider::Plugin(lease), ResourceMode::Data) => {
                Box::pin(lease.validate_data_config(type_name, config)).await
            }
            (Provider::Plugin(lease), ResourceMode::Ephemeral) => {
                Box::pin(lease.validate_ephemeral_config(type_name, config)).await
            }
            (Provider::StoodInFor(stand_in), mode) => {
                Box::pin(stand_in.real.validate_config(mode, type_name, config)).await
            }
        }
    }

    /// See [`crate::ProviderSession::open_ephemeral`].
    pub async fn open_ephemeral(&self, type_name: &str, config: &Value) -> Result<Reply<OpenedEphemeral>, CallError> {
        match self {
            Provider::Builtin(_) => Err(no_ephemeral(type_name)),
            Provider::Plugin(lease) => Box::pin(lease.open_ephemeral(type_name, config)).await,
            Provider::StoodInFor(stand_in) => match stand_in.open_ephemeral(type_name, config).await {
                Some(made) => made,
                None => Box::pin(stand_in.real.open_ephemeral(type_name, config)).await,
            },
        }
    }

    /// See [`crate::ProviderSession::renew_ephemeral`].
    pub async fn renew_ephemeral(
        &self,
        type_name: &str,
        private: Option<Vec<u8>>,
    ) -> Result<Reply<RenewedEphemeral>, CallError> {
        match self {
            Provider::Builtin(_) => Err(no_ephemeral(type_name)),
            Provider::Plugin(lease) => Box::pin(lease.renew_ephemeral(type_name, private)).await,
            Provider::StoodInFor(stand_in) => Box::pin(stand_in.real.renew_ephemeral(type_name, private)).await,
        }
    }

    /// See [`crate::ProviderSession::close_ephemeral`].
    pub async fn close_ephemeral(
        &self,
        type_name: &str,
        private: Option<Vec<u8>>,
    ) -> Result<Vec<ProviderDiagnostic>, CallError> {
        match self {
            Provider::Builtin(_) => Err(no_ephemeral(type_name)),
            Provider::Plugin(lease) => Box::pin(lease.close_ephemeral(type_name, private)).await,
            Provider::StoodInFor(stand_in) if stand_in.is_whole() => Ok(Vec::new()),
            Provider::StoodInFor(stand_in) => Box::pin(stand_in.real.close_ephemeral(type_name, private)).await,
        }
    }

    /// See [`crate::ProviderSession::upgrade_resource_state`].
    pub async fn upgrade_resource_state(
        &self,
        type_name: &str,
        version: u64,
        state: RawState,
    ) -> Result<Reply<Value>, CallError> {
        match self {
            Provider::Builtin(builtin) => builtin.upgrade_resource_state(type_name, &state),
            Provider::Plugin(lease) => Box::pin(lease.upgrade_resource_state(type_name, version, state)).await,
            Provider::StoodInFor(stand_in) => {
                Box::pin(stand_in.real.upgrade_resource_state(type_name, version, state)).await
            }
        }
    }

    /// See [`crate::ProviderSession::move_resource_state`].
    pub async fn move_resource_state(&self, request: MoveRequest) -> Result<Reply<ObjectState>, CallError> {
        match self {
            Provider::Builtin(builtin) => builtin.move_resource_state(&request),
            Provider::Plugin(lease) => Box::pin(lease.move_resource_state(request)).await,
            Provider::StoodInFor(stand_in) => Box::pin(stand_in.real.move_resource_state(request)).await,
        }
    }

    /// See [`crate::ProviderSession::read_resource`].
    pub async fn read_resource(&self, request: ReadRequest) -> Result<Reply<ObjectState>, CallError> {
        match self {
            Provider::Builtin(builtin) => builtin.read_resource(request),
            Provider::Plugin(lease) => Box::pin(lease.read_resource(request)).await,
            Provider::StoodInFor(stand_in) => Box::pin(stand_in.read(request)).await,
        }
    }

    /// See [`crate::ProviderSession::plan_resource_change`].
    pub async fn plan_resource_change(&self, request: PlanRequest) -> Result<Reply<PlannedChange>, CallError> {
        match self {
            Provider::Builtin(builtin) => builtin.plan_resource_change(request),
            Provider::Plugin(lease) => Box::pin(lease.plan_resource_change(request)).await,
            Provider::StoodInFor(stand_in) => Box::pin(stand_in.plan(request)).await,
        }
    }

    /// See [`crate::ProviderSession::apply_resource_change`].
    pub async fn apply_resource_change(&self, request: ApplyRequest) -> Result<Reply<AppliedChange>, CallError> {
        match self {
            Provider::Builtin(builtin) => builtin.apply_resource_change(request),
            Provider::Plugin(lease) => Box::pin(lease.apply_resource_change(request)).await,
            Provider::StoodInFor(stand_in) => Box::pin(stand_in.apply(request)).await,
        }
    }

    /// See [`crate::ProviderSession::import_resource_state`].
    pub async fn import_resource_state(
        &self,
        type_name: &str,
        target: ImportTarget,
    ) -> Result<Reply<Vec<ImportedObject>>, CallError> {
        match self {
            Provider::Builtin(builtin) => builtin.import_resource_state(type_name, target),
            Provider::Plugin(lease) => Box::pin(lease.import_resource_state(type_name, target)).await,
            Provider::StoodInFor(stand_in) => Box::pin(stand_in.import(type_name, target)).await,
        }
    }

    /// See [`crate::ProviderSession::read_data_source`].
    pub async fn read_data_source(
        &self,
        address: &ResourceInstance,
        config: &Value,
        meta: Option<&Value>,
    ) -> Result<Reply<Value>, CallError> {
        match self {
            Provider::Builtin(builtin) => builtin.read_data_source(address, config).await,
            Provider::Plugin(lease) => {
                Box::pin(lease.read_data_source(&address.resource.type_name, config, meta)).await
            }
            Provider::StoodInFor(stand_in) => match stand_in.data(&address.config(), config).await {
                Some(made) => made,
                None => Box::pin(stand_in.real.read_data_source(address, config, meta)).await,
            },
        }
    }
}

fn no_ephemeral(type_name: &str) -> CallError {
    CallError::UnknownType { what: "ephemeral resource type", name: type_name.into() }
}
