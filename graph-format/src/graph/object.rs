//! Objects as they are stored in operations: before a change, and as planned.

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::action::Action;
use crate::path::Path;
use crate::value::Value;

/// An object in the state after the refresh, typed by its schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PriorObject {
    /// The value, with marks at the sensitive paths of the state.
    pub value: Value,
    /// Private data of the provider.
    pub private: Vec<u8>,
    /// Whether the object is tainted.
    pub tainted: bool,
    /// The revision of the instance in the store when the plan was made; 0 if the instance had no revision.
    pub revision: u64,
    /// The rest of the object's record in the state.
    pub record: StateRecord,
}

/// The record of an object in the state, without its attributes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateRecord {
    /// The version of the schema that the attributes follow.
    pub schema_version: u64,
    /// Addresses of resource configurations that must outlive this object, sorted.
    pub dependencies: Vec<SmolStr>,
    /// Whether a replacement is created before the object is destroyed.
    pub create_before_destroy: bool,
    /// Whether the real object survives when it is removed from the configuration.
    pub skip_destroy: bool,
    /// The identity as JSON text, if the type has one.
    pub identity: Option<String>,
    /// The version of the identity schema.
    pub identity_schema_version: u64,
}

/// The planned and reviewed change of one object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedObject {
    /// The action.
    pub action: Action,
    /// The planned value: null for a delete. Its unknown parts become known at apply.
    pub value: Value,
    /// Private data of the provider, to be passed to the apply call.
    pub private: Vec<u8>,
    /// Whether the provider has the legacy type system, so that its results are checked less strictly.
    pub legacy: bool,
    /// Whether provisioners run after the create. The object is tainted until the last provisioner has finished.
    pub provisioned: bool,
    /// Whether the configuration was wholly known during planning, so that the provider has already validated it.
    pub config_known: bool,
    /// The record of the new object.
    pub record: StateRecord,
    /// The sensitive paths, according to schema and configuration.
    pub sensitive: Vec<Path>,
    /// A template of an import id, with names of planned attributes in braces. If a create is in doubt, the object is
    /// looked up by this id. `None` unless the type promises that such a look-up is strongly consistent.
    pub lookup: Option<String>,
}
