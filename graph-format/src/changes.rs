//! The changes of a plan, for the reviewer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::address::{DeposedKey, ProviderInstance, ResourceInstance};
use crate::graph::{Action, StateRecord};
use crate::path::Path;
use crate::value::Value;

/// What happens to one resource instance. A replacement is a pair of actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ChangeAction {
    /// A single action.
    Only(Action),
    /// The old object is deleted, then the new object is created.
    DeleteThenCreate,
    /// The new object is created, then the old object is deleted.
    CreateThenDelete,
    /// The old object is only removed from the state, then a new one is created.
    ForgetThenCreate,
}

impl ChangeAction {
    /// The `actions` in JSON output.
    pub fn words(self) -> Vec<&'static str> {
        match self {
            ChangeAction::Only(action) => vec![action.word()],
            ChangeAction::DeleteThenCreate => vec!["delete", "create"],
            ChangeAction::CreateThenDelete => vec!["create", "delete"],
            ChangeAction::ForgetThenCreate => vec!["forget", "create"],
        }
    }

    /// Whether a new object replaces the old one.
    pub fn is_replace(self) -> bool {
        matches!(self, ChangeAction::DeleteThenCreate | ChangeAction::CreateThenDelete | ChangeAction::ForgetThenCreate)
    }

    /// Whether nothing happens.
    pub fn is_no_op(self) -> bool {
        self == ChangeAction::Only(Action::NoOp)
    }
}

/// Why an action was chosen, if that is not obvious.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Reason {
    None,
    ReplaceBecauseCannotUpdate,
    ReplaceBecauseTainted,
    ReplaceByRequest,
    ReplaceByTriggers,
    DeleteBecauseNoResourceConfig,
    DeleteBecauseWrongRepetition,
    DeleteBecauseCountIndex,
    DeleteBecauseEnabledFalse,
    DeleteBecauseEachKey,
    DeleteBecauseNoModule,
    DeleteBecauseNoMoveTarget,
    ReadBecauseConfigUnknown,
    ReadBecauseDependencyPending,
    ReadBecauseCheckNested,
    ForgotBecauseLifecycleDestroyInState,
    ForgotBecauseLifecycleDestroyInConfig,
}

impl Reason {
    /// The `action_reason` in JSON output; `None` without a reason.
    pub fn word(self) -> Option<&'static str> {
        Some(match self {
            Reason::None => return None,
            Reason::ReplaceBecauseCannotUpdate => "replace_because_cannot_update",
            Reason::ReplaceBecauseTainted => "replace_because_tainted",
            Reason::ReplaceByRequest => "replace_by_request",
            Reason::ReplaceByTriggers => "replace_by_triggers",
            Reason::DeleteBecauseNoResourceConfig => "delete_because_no_resource_config",
            Reason::DeleteBecauseWrongRepetition => "delete_because_wrong_repetition",
            Reason::DeleteBecauseCountIndex => "delete_because_count_index",
            Reason::DeleteBecauseEnabledFalse => "delete_because_enabled_false",
            Reason::DeleteBecauseEachKey => "delete_because_each_key",
            Reason::DeleteBecauseNoModule => "delete_because_no_module",
            Reason::DeleteBecauseNoMoveTarget => "delete_because_no_move_target",
            Reason::ReadBecauseConfigUnknown => "read_because_config_unknown",
            Reason::ReadBecauseDependencyPending => "read_because_dependency_pending",
            Reason::ReadBecauseCheckNested => "read_because_check_nested",
            Reason::ForgotBecauseLifecycleDestroyInState => "forgot_because_lifecycle_destroy_in_state",
            Reason::ForgotBecauseLifecycleDestroyInConfig => "forgot_because_lifecycle_destroy_in_config",
        })
    }

    /// The `reason` in the event stream; `None` without a reason.
    pub fn event_word(self) -> Option<&'static str> {
        Some(match self {
            Reason::ReplaceBecauseCannotUpdate => "cannot_update",
            Reason::ReplaceBecauseTainted => "tainted",
            Reason::ReplaceByRequest => "requested",
            Reason::ReplaceByTriggers => "replace_triggered_by",
            other => return other.word(),
        })
    }
}

/// How an imported object is identified.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Importing {
    /// The import ID.
    Id(SmolStr),
    /// An object with all attributes of the type's identity schema. Missing attributes are null.
    Identity(Value),
}

/// The change of one object. Sensitive values have marks; unknown parts of `after` are unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceChange {
    /// The address of the instance.
    pub address: ResourceInstance,
    /// The previous address, if the object was moved.
    pub previous_address: Option<Box<ResourceInstance>>,
    /// The key of a deposed object; `None` for the current object.
    pub deposed: Option<DeposedKey>,
    /// The provider instance that makes the change.
    pub provider: ProviderInstance,
    /// The planned action.
    pub action: ChangeAction,
    /// Why this action was chosen.
    pub reason: Reason,
    /// The current object; null for a create.
    pub before: Value,
    /// The planned object; null for a delete.
    pub after: Value,
    /// The paths that require a replacement.
    pub replace_paths: Vec<Path>,
    /// How the imported object is identified, if this is an import.
    pub importing: Option<Box<Importing>>,
    /// The record in the state before the change, if there is one.
    pub before_record: Option<Box<StateRecord>>,
    /// The version of the schema that `after` follows.
    pub schema_version: u64,
}

/// The change of one output of the root module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputChange {
    /// The planned action: create, update, delete or nothing.
    pub action: Action,
    /// The stored value; null if there is none.
    pub before: Value,
    /// The planned value. Unknown parts are unknown.
    pub after: Value,
    /// Whether the output is sensitive in the state.
    pub sensitive_before: bool,
    /// Whether the output is sensitive in the configuration.
    pub sensitive_after: bool,
}

/// All changes of a plan, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    /// The changes of objects, in the order of [`ResourceInstance::in_lists`]. Objects without a change are included.
    pub resources: Vec<ResourceChange>,
    /// Objects that differ from the state, as the refresh found.
    pub drift: Vec<ResourceChange>,
    /// The changes of outputs of the root module.
    pub outputs: BTreeMap<SmolStr, OutputChange>,
    /// The attributes that contribute to the changes, as the configuration refers to them, in order.
    pub relevant: Vec<RelevantAttribute>,
}

/// An attribute of a resource that contributes to what a plan changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RelevantAttribute {
    /// The resource instance. An address without a key stands for all instances of the resource, if the resource has
    /// several.
    pub resource: ResourceInstance,
    /// The path to the attribute. Empty for the whole object.
    pub path: Path,
}

impl Changes {
    /// Whether applying the plan would change nothing: no object, no output, and no address of an object. An import
    /// counts as a change.
    pub fn is_empty(&self) -> bool {
        self.resources.iter().all(|c| c.action.is_no_op() && c.previous_address.is_none() && c.importing.is_none())
            && self.outputs.values().all(|o| o.action == Action::NoOp)
    }
}
