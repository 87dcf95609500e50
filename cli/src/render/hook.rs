//! The subject of an operation of an apply, for lines and events about it.

use weft_graph_format::address::{DeposedKey, ObjectName, ResourceInstance};
use weft_protocol::ShownName;

/// The subject of an operation of an apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The instance.
    pub address: ResourceInstance,
    /// The key of a deposed object; `None` for the current one.
    pub deposed: Option<DeposedKey>,
    /// `create`, `update`, `delete`, `read`...
    pub action: String,
    /// `id` or `name` and its value, if the object has one that is not sensitive.
    pub id: Option<ShownName>,
    /// Seconds since its start.
    pub elapsed_seconds: u64,
}

impl Hook {
    /// The current object of an instance.
    pub fn current(address: ResourceInstance, action: &str, id: Option<ShownName>, elapsed_seconds: u64) -> Hook {
        Hook { address, deposed: None, action: action.to_owned(), id, elapsed_seconds }
    }

    /// The object's name in lines for people. Events name only its instance.
    pub fn object_name(&self) -> ObjectName<'_> {
        ObjectName { address: &self.address, deposed: self.deposed.as_ref() }
    }
}
