//! The built-in provider, `terraform.io/builtin/terraform`. It has `terraform_data` and `terraform_remote_state`.
//!
//! `terraform_data` exists only in the state, so its calls are pure computation. `terraform_remote_state` reads other
//! states.

mod problems;
mod remote_state;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::value::RawValue;
use weft_graph_format::address::ResourceInstance;
use weft_graph_format::codec::json;
use weft_graph_format::path::Path;
use weft_graph_format::schema::{Attribute, Block, ProviderSchema, Schema};
use weft_graph_format::types::Type;
use weft_graph_format::value::{Refinement, Value};
use weft_sealing::Sealing;

use crate::call::{
    AppliedChange, ApplyRequest, CallError, ImportTarget, ImportedObject, MoveRequest, ObjectState, PlanRequest,
    PlannedChange, RawState, ReadRequest, Reply,
};
use crate::diagnostic::ProviderDiagnostic;
use crate::states::StateBackends;

/// The only managed type.
const DATA: &str = "terraform_data";

/// The built-in provider, with the settings that open other states.
#[derive(Clone, Debug, Default)]
pub struct Builtin {
    sealing: Arc<Sealing>,
    states: Option<Arc<dyn StateBackends>>,
}

static SCHEMA: LazyLock<Arc<ProviderSchema>> = LazyLock::new(|| {
    let attribute = |ty: Type, change: fn(&mut Attribute)| {
        let mut attribute = Attribute::new(ty);
        change(&mut attribute);
        attribute
    };
    let block = Block {
        attributes: [
            ("id", attribute(Type::String, |a| a.computed = true)),
            ("input", attribute(Type::Dynamic, |a| a.optional = true)),
            ("output", attribute(Type::Dynamic, |a| a.computed = true)),
            ("triggers_replace", attribute(Type::Dynamic, |a| a.optional = true)),
        ]
        .into_iter()
        .map(|(name, a)| (name.into(), a))
        .collect(),
        ..Block::default()
    };
    Arc::new(ProviderSchema {
        resources: [(DATA.into(), Arc::new(Schema { version: 0, block }))].into(),
        data_sources: [(remote_state::TYPE.into(), Arc::new(remote_state::schema()))].into(),
        schema_optional: true,
        move_resource_state: true,
        ..ProviderSchema::default()
    })
});

/// A part of an object; null if the object is null.
fn part(object: &Value, name: &str) -> Value {
    object.as_fields().and_then(|f| f.get(name)).cloned().unwrap_or_else(|| Value::null(Type::Dynamic))
}

fn unknown_id() -> Value {
    Value::refined(Type::String, Refinement::not_null())
}

fn known_type(type_name: &str) -> Result<(), CallError> {
    if type_name == DATA {
        return Ok(());
    }
    Err(CallError::UnknownType { what: "resource type", name: type_name.into() })
}

/// Removes the attributes of a stored object that its type does not have, as OpenTofu does. Bytes that are not a JSON
/// object are returned unchanged. All bytes are returned unchanged if the type is not an object type.
fn known_attributes(bytes: &[u8], ty: &Type) -> Vec<u8> {
    let (Type::Object(object), Ok(mut stored)) = (ty, serde_json::from_slice::<BTreeMap<String, Box<RawValue>>>(bytes))
    else {
        return bytes.to_vec();
    };
    stored.retain(|name, _| object.attributes.contains_key(name.as_str()));
    serde_json::to_vec(&stored).unwrap_or_else(|_| bytes.to_vec())
}

fn known_data(type_name: &str) -> Result<(), CallError> {
    if type_name == remote_state::TYPE {
        return Ok(());
    }
    Err(CallError::UnknownType { what: "data source", name: type_name.into() })
}

impl Builtin {
    /// A provider that decrypts states with these settings, and reads states in these backends.
    pub fn new(sealing: Arc<Sealing>, states: Option<Arc<dyn StateBackends>>) -> Builtin {
        Builtin { sealing, states }
    }

    /// The schema of the provider.
    pub fn schema() -> Arc<ProviderSchema> {
        SCHEMA.clone()
    }

    /// Checks a configuration of `terraform_data`. Any input is valid, but computed attributes cannot be set.
    pub fn validate_resource_config(
        &self,
        type_name: &str,
        config: &Value,
    ) -> Result<Vec<ProviderDiagnostic>, CallError> {
        known_type(type_name)?;
        Ok(["id", "output"]
            .into_iter()
            .filter(|name| !part(config, name).is_null())
            .map(problems::read_only_attribute)
            .collect())
    }

    /// Checks the known parts of the configuration of a data source.
    pub fn validate_data_config(&self, type_name: &str, config: &Value) -> Result<Vec<ProviderDiagnostic>, CallError> {
        known_data(type_name)?;
        Ok(remote_state::validate(config, self.states.as_deref()))
    }

    /// Reads the data source of this address. Paths are relative to the current directory of this process.
    pub async fn read_data_source(
        &self,
        address: &ResourceInstance,
        config: &Value,
    ) -> Result<Reply<Value>, CallError> {
        known_data(&address.resource.type_name)?;
        let (address, config) = (address.to_string(), config.clone());
        let (sealing, states) = (self.sealing.clone(), self.states.clone());
        let reading =
            tokio::task::spawn_blocking(move || remote_state::read(&address, &config, &sealing, states.as_deref()));
        // The task ends early only if the process ends.
        reading.await.map_err(|_| CallError::Closed)
    }

    /// Decodes a stored object. The stored form is the object itself.
    pub fn upgrade_resource_state(&self, type_name: &str, state: &RawState) -> Result<Reply<Value>, CallError> {
        known_type(type_name)?;
        let RawState::Json(bytes) = state else {
            let problem = problems::stored_as_flat_map();
            return Ok(Reply { value: Value::null(Type::Dynamic), diagnostics: vec![problem] });
        };
        let ty = SCHEMA.resources[DATA].block.implied_type();
        // Hardly any object has attributes that the type does not have.
        let decoded = json::decode(bytes, &ty);
        match decoded.or_else(|error| json::decode(&known_attributes(bytes, &ty), &ty).map_err(|_| error)) {
            Ok(value) => Ok(Reply { value, diagnostics: Vec::new() }),
            Err(error) => {
                Ok(Reply { value: Value::null(ty), diagnostics: vec![problems::stored_object_unreadable(&error)] })
            }
        }
    }

    /// Moves an object of `null_resource` to `terraform_data`. Its triggers become the replacement trigger.
    pub fn move_resource_state(&self, request: &MoveRequest) -> Result<Reply<ObjectState>, CallError> {
        known_type(&request.target_type_name)?;
        let ty = SCHEMA.resources[DATA].block.implied_type();
        let failed = |problem: ProviderDiagnostic| {
            let object = ObjectState { state: Value::null(ty.clone()), private: Vec::new(), identity: None };
            Ok(Reply { value: object, diagnostics: vec![problem] })
        };
        let source = (request.source_type_name.as_str(), request.source_provider.rsplit('/').next());
        let RawState::Json(bytes) = request.source_state.clone() else {
            return failed(problems::moved_flat_map());
        };
        if source != ("null_resource", Some("null")) {
            return failed(problems::moved_from_other_type(&request.source_type_name));
        }
        let stored = Type::object([("id", Type::String), ("triggers", Type::map(Type::String))]);
        match json::decode(&bytes, &stored) {
            Ok(object) => {
                let part = |name: &str| object.as_fields().and_then(|fields| fields.get(name)).cloned();
                let state = Value::object([
                    ("id", part("id").unwrap_or_else(|| Value::null(Type::String))),
                    ("input", Value::null(Type::Dynamic)),
                    ("output", Value::null(Type::Dynamic)),
                    ("triggers_replace", part("triggers").unwrap_or_else(|| Value::null(Type::Dynamic))),
                ]);
                let object = ObjectState { state, private: Vec::new(), identity: None };
                Ok(Reply { value: object, diagnostics: Vec::new() })
            }
            Err(error) => failed(problems::stored_object_unreadable(&error)),
        }
    }

    /// Returns the object unchanged, because it exists only in the state.
    pub fn read_resource(&self, request: ReadRequest) -> Result<Reply<ObjectState>, CallError> {
        known_type(&request.type_name)?;
        let object = ObjectState { state: request.current_state, private: request.private, identity: None };
        Ok(Reply { value: object, diagnostics: Vec::new() })
    }

    /// Plans a change. The output equals the input, and a change of the trigger replaces the object.
    pub fn plan_resource_change(&self, request: PlanRequest) -> Result<Reply<PlannedChange>, CallError> {
        known_type(&request.type_name)?;
        let (prior, proposed) = (&request.prior_state, &request.proposed_new_state);
        let mut requires_replace = Vec::new();
        let planned = if proposed.is_null() {
            proposed.clone()
        } else {
            let (input, triggers) = (part(proposed, "input"), part(proposed, "triggers_replace"));
            let created = prior.is_null();
            if !created && !part(prior, "triggers_replace").same_unmarked(&triggers) {
                requires_replace.push(Path::ROOT.attribute("triggers_replace"));
            }
            let id = if created { unknown_id() } else { part(prior, "id") };
            let unchanged = !created && part(prior, "input").same_unmarked(&input);
            let output = if unchanged {
                part(prior, "output")
            } else if created && input.is_null() {
                Value::null(input.ty())
            } else {
                Value::unknown(input.ty())
            };
            Value::object([("id", id), ("input", input), ("output", output), ("triggers_replace", triggers)])
        };
        let change = PlannedChange {
            planned_state: planned,
            requires_replace,
            planned_private: request.prior_private,
            legacy_type_system: false,
            planned_identity: None,
        };
        Ok(Reply { value: change, diagnostics: Vec::new() })
    }

    /// The planned object, with a new id if it has none.
    pub fn apply_resource_change(&self, request: ApplyRequest) -> Result<Reply<AppliedChange>, CallError> {
        known_type(&request.type_name)?;
        let planned = &request.planned_state;
        let state = if planned.is_null() {
            planned.clone()
        } else {
            let id = part(planned, "id");
            let id = if id.is_known() && !id.is_null() { id } else { Value::string(uuid::Uuid::new_v4().to_string()) };
            let input = part(planned, "input");
            let output = part(planned, "output");
            let output = if output.is_wholly_known() { output } else { input.clone() };
            Value::object([
                ("id", id),
                ("input", input),
                ("output", output),
                ("triggers_replace", part(planned, "triggers_replace")),
            ])
        };
        let object = ObjectState { state, private: request.planned_private, identity: None };
        Ok(Reply { value: AppliedChange { object, legacy_type_system: false }, diagnostics: Vec::new() })
    }

    /// Imports an empty object, for any id.
    pub fn import_resource_state(
        &self,
        type_name: &str,
        target: ImportTarget,
    ) -> Result<Reply<Vec<ImportedObject>>, CallError> {
        known_type(type_name)?;
        let ImportTarget::Id(id) = target else {
            let problem = problems::import_without_id();
            return Ok(Reply { value: Vec::new(), diagnostics: vec![problem] });
        };
        let null = || Value::null(Type::Dynamic);
        let state = Value::object([
            ("id", Value::string(id)),
            ("input", null()),
            ("output", null()),
            ("triggers_replace", null()),
        ]);
        let object = ObjectState { state, private: Vec::new(), identity: None };
        Ok(Reply { value: vec![ImportedObject { type_name: type_name.into(), object }], diagnostics: Vec::new() })
    }
}
