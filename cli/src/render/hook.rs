//! The object of an operation during an apply, for lines and events about the operation.

use weft_graph_format::address::{DeposedKey, ObjectName, ResourceInstance};
use weft_graph_format::operation_kind::OperationKind;
use weft_protocol::ShownName;

/// What happens to an object, for lines and events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookAction {
    /// The object is created.
    Create,
    /// The object is changed in place.
    Update,
    /// The object is destroyed.
    Delete,
    /// A data source is read.
    Read,
    /// The object is removed from the state.
    Forget,
    /// The object of the state is read before planning.
    Refresh,
}

impl HookAction {
    /// The action of an operation. `None` if the operation does not act on an object.
    pub fn of(kind: OperationKind) -> Option<HookAction> {
        match kind {
            OperationKind::Create => Some(HookAction::Create),
            OperationKind::Update => Some(HookAction::Update),
            OperationKind::Delete => Some(HookAction::Delete),
            OperationKind::Read => Some(HookAction::Read),
            OperationKind::Forget => Some(HookAction::Forget),
            OperationKind::Evaluate
            | OperationKind::Output
            | OperationKind::Depose
            | OperationKind::Record
            | OperationKind::Check
            | OperationKind::Provision => None,
        }
    }

    /// The name of the action in events.
    pub fn word(self) -> &'static str {
        match self {
            HookAction::Create => "create",
            HookAction::Update => "update",
            HookAction::Delete => "delete",
            HookAction::Read => "read",
            HookAction::Forget => "forget",
            HookAction::Refresh => "refresh",
        }
    }
}

/// The object of an operation during an apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The instance.
    pub address: ResourceInstance,
    /// The key of a deposed object. `None` for the current object.
    pub deposed: Option<DeposedKey>,
    /// What happens to the object.
    pub action: HookAction,
    /// The attribute `id` or `name` of the object: the name of the attribute, and its value. `None` if the object has
    /// neither attribute, or if the value is sensitive.
    pub id: Option<ShownName>,
    /// The seconds since the operation began.
    pub elapsed_seconds: u64,
}

impl Hook {
    /// An operation on the current object of an instance.
    pub fn current(address: ResourceInstance, action: HookAction, id: Option<ShownName>, elapsed_seconds: u64) -> Hook {
        Hook { address, deposed: None, action, id, elapsed_seconds }
    }

    /// The name of the object in text output. Events name only its instance.
    pub fn object_name(&self) -> ObjectName<'_> {
        ObjectName { address: &self.address, deposed: self.deposed.as_ref() }
    }
}
