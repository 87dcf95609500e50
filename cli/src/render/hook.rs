//! The object of an operation during an apply, for lines and events about the operation.

use weft_graph_format::address::{DeposedKey, ObjectName, ResourceInstance};
use weft_protocol::ShownName;

/// The object of an operation during an apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The instance.
    pub address: ResourceInstance,
    /// The key of a deposed object. `None` for the current object.
    pub deposed: Option<DeposedKey>,
    /// `create`, `update`, `delete`, `read`...
    pub action: String,
    /// The attribute `id` or `name` of the object: the name of the attribute, and its value. `None` if the object has
    /// neither attribute, or if the value is sensitive.
    pub id: Option<ShownName>,
    /// The seconds since the operation began.
    pub elapsed_seconds: u64,
}

impl Hook {
    /// An operation on the current object of an instance.
    pub fn current(address: ResourceInstance, action: &str, id: Option<ShownName>, elapsed_seconds: u64) -> Hook {
        Hook { address, deposed: None, action: action.to_owned(), id, elapsed_seconds }
    }

    /// The name of the object in text output. Events name only its instance.
    pub fn object_name(&self) -> ObjectName<'_> {
        ObjectName { address: &self.address, deposed: self.deposed.as_ref() }
    }
}
