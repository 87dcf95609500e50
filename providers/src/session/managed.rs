//! Calls for managed resources.

use std::collections::HashMap;

use smol_str::SmolStr;
use weft_graph_format::value::Value;
use weft_proto::tfplugin6 as messages;

use super::exchange::{capabilities, decode, undecodable, with_deferral};
use super::{ProviderSession, TypeOf};
use crate::call::{
    AppliedChange, ApplyRequest, CallError, CallKind, ImportTarget, ImportedObject, MoveRequest, ObjectState,
    PlanRequest, PlannedChange, RawState, ReadRequest, Reply,
};
use crate::convert;
use crate::diagnostic::{ProviderDiagnostic, has_errors};

impl ProviderSession {
    /// Validates a configuration of a managed resource. Unknown values are allowed.
    pub async fn validate_resource_config(
        &self,
        type_name: &str,
        config: &Value,
    ) -> Result<Vec<ProviderDiagnostic>, CallError> {
        let request = messages::validate_resource_config::Request {
            type_name: type_name.to_owned(),
            config: self.encode("config", config, TypeOf::Resource, type_name).await?,
            client_capabilities: capabilities(),
        };
        let call = self.inner.wire.validate_resource(request);
        Ok(convert::diagnostics(self.call(CallKind::Validate, "ValidateResourceConfig", call).await?.diagnostics))
    }

    /// Upgrades a stored object to the current schema version. Must be called for every stored object, even for one of
    /// the current version, because only the provider can decode its stored data.
    pub async fn upgrade_resource_state(
        &self,
        type_name: &str,
        version: u64,
        state: RawState,
    ) -> Result<Reply<Value>, CallError> {
        const METHOD: &str = "UpgradeResourceState";
        let ty = self.ty(TypeOf::Resource, type_name).await?;
        let request = messages::upgrade_resource_state::Request {
            type_name: type_name.to_owned(),
            version: version_number(version),
            raw_state: Some(raw_state(state)),
        };
        let reply = self.call(CallKind::Upgrade, METHOD, self.inner.wire.upgrade_state(request)).await?;
        Ok(Reply {
            value: decode(METHOD, reply.upgraded_state, &ty)?,
            diagnostics: convert::diagnostics(reply.diagnostics),
        })
    }

    /// Upgrades a stored identity (JSON text) to the current version of its schema.
    pub async fn upgrade_resource_identity(
        &self,
        type_name: &str,
        version: u64,
        identity: Vec<u8>,
    ) -> Result<Reply<Value>, CallError> {
        const METHOD: &str = "UpgradeResourceIdentity";
        let ty = self.ty(TypeOf::Identity, type_name).await?;
        let request = messages::upgrade_resource_identity::Request {
            type_name: type_name.to_owned(),
            version: version_number(version),
            raw_identity: Some(raw_state(RawState::Json(identity))),
        };
        let reply = self.call(CallKind::Upgrade, METHOD, self.inner.wire.upgrade_identity(request)).await?;
        Ok(Reply {
            value: decode(METHOD, reply.upgraded_identity.and_then(|i| i.identity_data), &ty)?,
            diagnostics: convert::diagnostics(reply.diagnostics),
        })
    }

    /// Reads the real object. The result is null if the object no longer exists.
    pub async fn read_resource(&self, request: ReadRequest) -> Result<Reply<ObjectState>, CallError> {
        const METHOD: &str = "ReadResource";
        let name = &request.type_name;
        let message = messages::read_resource::Request {
            type_name: name.to_string(),
            current_state: self.encode("current_state", &request.current_state, TypeOf::Resource, name).await?,
            private: request.private,
            provider_meta: self.encode_meta(request.provider_meta.as_ref()).await?,
            client_capabilities: capabilities(),
            current_identity: self.encode_identity(request.identity.as_ref(), name).await?,
        };
        let reply = self.call(CallKind::Read, METHOD, self.inner.wire.read_resource(message)).await?;
        let ty = self.ty(TypeOf::Resource, name).await?;
        Ok(Reply {
            value: ObjectState {
                state: decode(METHOD, reply.new_state, &ty)?,
                private: reply.private,
                identity: self.decode_identity(METHOD, reply.new_identity, name).await?,
            },
            diagnostics: with_deferral(reply.diagnostics, reply.deferred),
        })
    }

    /// Plans a change of an object.
    pub async fn plan_resource_change(&self, request: PlanRequest) -> Result<Reply<PlannedChange>, CallError> {
        const METHOD: &str = "PlanResourceChange";
        let name = &request.type_name;
        let of = TypeOf::Resource;
        let message = messages::plan_resource_change::Request {
            type_name: name.to_string(),
            prior_state: self.encode("prior_state", &request.prior_state, of, name).await?,
            proposed_new_state: self.encode("proposed_new_state", &request.proposed_new_state, of, name).await?,
            config: self.encode("config", &request.config, of, name).await?,
            prior_private: request.prior_private,
            provider_meta: self.encode_meta(request.provider_meta.as_ref()).await?,
            client_capabilities: capabilities(),
            prior_identity: self.encode_identity(request.prior_identity.as_ref(), name).await?,
        };
        let reply = self.call(CallKind::Plan, METHOD, self.inner.wire.plan_change(message)).await?;
        let ty = self.ty(of, name).await?;
        Ok(Reply {
            value: PlannedChange {
                planned_state: decode(METHOD, reply.planned_state, &ty)?,
                requires_replace: reply.requires_replace.into_iter().map(convert::path).collect(),
                planned_private: reply.planned_private,
                legacy_type_system: reply.legacy_type_system,
                planned_identity: self.decode_identity(METHOD, reply.planned_identity, name).await?,
            },
            diagnostics: with_deferral(reply.diagnostics, reply.deferred),
        })
    }

    /// Applies a change. After an error, unless [`CallError::was_not_sent`], it is unknown whether the change was made.
    pub async fn apply_resource_change(&self, request: ApplyRequest) -> Result<Reply<AppliedChange>, CallError> {
        const METHOD: &str = "ApplyResourceChange";
        let name = &request.type_name;
        let of = TypeOf::Resource;
        let message = messages::apply_resource_change::Request {
            type_name: name.to_string(),
            prior_state: self.encode("prior_state", &request.prior_state, of, name).await?,
            planned_state: self.encode("planned_state", &request.planned_state, of, name).await?,
            config: self.encode("config", &request.config, of, name).await?,
            planned_private: request.planned_private,
            provider_meta: self.encode_meta(request.provider_meta.as_ref()).await?,
            planned_identity: self.encode_identity(request.planned_identity.as_ref(), name).await?,
        };
        let reply = self.call(CallKind::Apply, METHOD, self.inner.wire.apply_change(message)).await?;
        let diagnostics = convert::diagnostics(reply.diagnostics);
        // A deleted object is returned as null. A reply without any value and without an error is not valid.
        if is_absent(reply.new_state.as_ref()) && !has_errors(&diagnostics) {
            return Err(undecodable(METHOD, "it has neither a new state nor an error"));
        }
        let ty = self.ty(of, name).await?;
        Ok(Reply {
            value: AppliedChange {
                object: ObjectState {
                    state: decode(METHOD, reply.new_state, &ty)?,
                    private: reply.private,
                    identity: self.decode_identity(METHOD, reply.new_identity, name).await?,
                },
                legacy_type_system: reply.legacy_type_system,
            },
            diagnostics,
        })
    }

    /// Finds an existing object to import. The result must be read next.
    pub async fn import_resource_state(
        &self,
        type_name: &str,
        target: ImportTarget,
    ) -> Result<Reply<Vec<ImportedObject>>, CallError> {
        const METHOD: &str = "ImportResourceState";
        let (id, identity) = match target {
            ImportTarget::Id(id) => (id, None),
            ImportTarget::Identity(identity) => {
                (String::new(), self.encode_identity(Some(&identity), type_name).await?)
            }
        };
        let message = messages::import_resource_state::Request {
            type_name: type_name.to_owned(),
            id,
            client_capabilities: capabilities(),
            identity,
        };
        let reply = self.call(CallKind::Read, METHOD, self.inner.wire.import_state(message)).await?;
        let mut objects = Vec::with_capacity(reply.imported_resources.len());
        for imported in reply.imported_resources {
            let type_name = SmolStr::from(imported.type_name);
            let ty = self.ty(TypeOf::Resource, &type_name).await.map_err(|e| undecodable(METHOD, e))?;
            objects.push(ImportedObject {
                object: ObjectState {
                    state: decode(METHOD, imported.state, &ty)?,
                    private: imported.private,
                    identity: self.decode_identity(METHOD, imported.identity, &type_name).await?,
                },
                type_name,
            });
        }
        Ok(Reply { value: objects, diagnostics: with_deferral(reply.diagnostics, reply.deferred) })
    }

    /// Converts a stored object of another type to a type of this provider. Providers without support reply with
    /// [`StatusCode::Unimplemented`].
    pub async fn move_resource_state(&self, request: MoveRequest) -> Result<Reply<ObjectState>, CallError> {
        const METHOD: &str = "MoveResourceState";
        let name = &request.target_type_name;
        let ty = self.ty(TypeOf::Resource, name).await?;
        let (identity, identity_version) = request.source_identity.unzip();
        let message = messages::move_resource_state::Request {
            source_provider_address: request.source_provider,
            source_type_name: request.source_type_name.to_string(),
            source_schema_version: version_number(request.source_schema_version),
            source_state: Some(raw_state(request.source_state)),
            target_type_name: name.to_string(),
            source_private: request.source_private,
            source_identity: identity.map(|json| raw_state(RawState::Json(json))),
            source_identity_schema_version: version_number(identity_version.unwrap_or_default()),
        };
        let reply = self.call(CallKind::Upgrade, METHOD, self.inner.wire.move_state(message)).await?;
        Ok(Reply {
            value: ObjectState {
                state: decode(METHOD, reply.target_state, &ty)?,
                private: reply.target_private,
                identity: self.decode_identity(METHOD, reply.target_identity, name).await?,
            },
            diagnostics: convert::diagnostics(reply.diagnostics),
        })
    }
}

fn raw_state(state: RawState) -> messages::RawState {
    match state {
        RawState::Json(json) => messages::RawState { json, flatmap: HashMap::new() },
        RawState::Flatmap(map) => messages::RawState { json: Vec::new(), flatmap: map.into_iter().collect() },
    }
}

fn version_number(version: u64) -> i64 {
    i64::try_from(version).unwrap_or(i64::MAX)
}

/// Whether a reply contains no value at all. This differs from a null value.
fn is_absent(value: Option<&messages::DynamicValue>) -> bool {
    value.is_none_or(|value| value.msgpack.is_empty() && value.json.is_empty())
}
