//! Objects as the operations carry them: before a change, and as planned.

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::action::Action;
use crate::path::Path;
use crate::value::Value;

/// The object in the state after the refresh, typed by its schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PriorObject {
    /// The value, with marks at the sensitive paths of the state.
    pub value: Value,
    /// The provider's own data.
    pub private: Vec<u8>,
    /// The object is to be replaced.
    pub tainted: bool,
    /// The instance's revision in the store that was planned from; 0 when it has none.
    pub revision: u64,
    /// The rest of its record in the state.
    pub record: StateRecord,
}

/// The record of an object in the state, besides its attributes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateRecord {
    /// Version of the schema that the attributes follow.
    pub schema_version: u64,
    /// Addresses of resource configurations that must outlive this object, sorted.
    pub dependencies: Vec<SmolStr>,
    /// Replacements create first.
    pub create_before_destroy: bool,
    /// The object is left alone when it is dropped from the configuration.
    pub skip_destroy: bool,
    /// Identity as JSON text, where the type has one.
    pub identity: Option<String>,
    /// Version of the identity schema.
    pub identity_schema_version: u64,
}

/// The planned and reviewed change of one object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedObject {
    /// The action.
    pub action: Action,
    /// The planned value: null for a delete; unknown parts are known at apply.
    pub value: Value,
    /// The provider's own data, to be handed to the apply.
    pub private: Vec<u8>,
    /// The provider has the legacy type system: its results are checked loosely.
    pub legacy: bool,
    /// Provisioners run after the create: the object is tainted until the last of them is done.
    pub provisioned: bool,
    /// The configuration was wholly known during planning, so the provider has already validated it.
    pub config_known: bool,
    /// The record of the new object.
    pub record: StateRecord,
    /// Sensitive paths, by schema and configuration.
    pub sensitive: Vec<Path>,
    /// A template of the import id that finds the object of a create in doubt: text with attribute names of the planned
    /// value in braces. `None` unless the type promises that such a look-up is strongly consistent.
    pub lookup: Option<String>,
}
