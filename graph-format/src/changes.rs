//! The changes of a plan, for the reviewer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::address::{DeposedKey, ProviderInstance, ResourceInstance};
use crate::graph::{Action, StateRecord};
use crate::path::Path;
use crate::value::Value;

/// What happens to one resource instance, as a pair of actions where an object is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ChangeAction {
    /// One thing.
    Only(Action),
    /// The old object is deleted, then the new one created.
    DeleteThenCreate,
    /// The new object is created, then the old one deleted.
    CreateThenDelete,
    /// The old object is left alone, a new one created.
    ForgetThenCreate,
}

impl ChangeAction {
    /// The words of `actions` in JSON output.
    pub fn words(self) -> Vec<&'static str> {
        match self {
            ChangeAction::Only(action) => vec![action.word()],
            ChangeAction::DeleteThenCreate => vec!["delete", "create"],
            ChangeAction::CreateThenDelete => vec!["create", "delete"],
            ChangeAction::ForgetThenCreate => vec!["forget", "create"],
        }
    }

    /// Whether one object takes the place of another.
    pub fn is_replace(self) -> bool {
        matches!(self, ChangeAction::DeleteThenCreate | ChangeAction::CreateThenDelete | ChangeAction::ForgetThenCreate)
    }

    /// Whether nothing happens.
    pub fn is_no_op(self) -> bool {
        self == ChangeAction::Only(Action::NoOp)
    }
}

/// Why an action was chosen, where it is not plain.
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
    /// The word of `action_reason` in JSON output; `None` without a reason.
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

    /// The word of `reason` in the event stream; `None` without a reason.
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

/// What names an object that is taken over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Importing {
    /// The provider's name for it.
    Id(SmolStr),
    /// An object with all attributes of the type's identity schema. Missing attributes are null.
    Identity(Value),
}

/// The change of one object. Sensitive values have marks; unknown parts of `after` are unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceChange {
    /// Whose.
    pub address: ResourceInstance,
    /// Where it was before it was moved.
    pub previous_address: Option<Box<ResourceInstance>>,
    /// Which object, when it is not the current one.
    pub deposed: Option<DeposedKey>,
    /// Which provider.
    pub provider: ProviderInstance,
    /// What happens.
    pub action: ChangeAction,
    /// Why.
    pub reason: Reason,
    /// The object as it is; null for a create.
    pub before: Value,
    /// The object as it is planned to be; null for a delete.
    pub after: Value,
    /// The paths that require a replacement.
    pub replace_paths: Vec<Path>,
    /// The object that is taken over, where one is.
    pub importing: Option<Box<Importing>>,
    /// The record in the state before the change, if there is one.
    pub before_record: Option<Box<StateRecord>>,
    /// Version of the schema that `after` follows.
    pub schema_version: u64,
}

/// The change of one output of the root module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputChange {
    /// What happens: create, update, delete or nothing.
    pub action: Action,
    /// The value as stored; null when there is none.
    pub before: Value,
    /// The value as planned; unknown parts are unknown.
    pub after: Value,
    /// Declared sensitive, in state.
    pub sensitive_before: bool,
    /// Declared sensitive, in the configuration.
    pub sensitive_after: bool,
}

/// All that a plan changes, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    /// Objects in the order of [`ResourceInstance::in_lists`], including those without a change.
    pub resources: Vec<ResourceChange>,
    /// Objects that were found to be other than state has them.
    pub drift: Vec<ResourceChange>,
    /// Outputs of the root module.
    pub outputs: BTreeMap<SmolStr, OutputChange>,
    /// The attributes that contribute to the changes, by the references of the configuration, ordered.
    pub relevant: Vec<RelevantAttribute>,
}

/// An attribute of a resource that contributes to what a plan changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RelevantAttribute {
    /// Whose. Without a key all instances are meant where the resource has several.
    pub resource: ResourceInstance,
    /// Where in it; empty for all of it.
    pub path: Path,
}

impl Changes {
    /// Whether applying would do nothing and store nothing new.
    pub fn is_empty(&self) -> bool {
        self.resources.iter().all(|c| c.action.is_no_op() && c.previous_address.is_none() && c.importing.is_none())
            && self.outputs.values().all(|o| o.action == Action::NoOp)
    }
}
