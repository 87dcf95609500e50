//! The subject of an operation of an apply, for lines and events about it.

use weft_graph_format::address::ResourceInstance;
use weft_protocol::ShownName;

/// The subject of an operation of an apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// The instance.
    pub address: ResourceInstance,
    /// `create`, `update`, `delete`, `read`...
    pub action: String,
    /// `id` or `name` and its value, if the object has one that is not sensitive.
    pub id: Option<ShownName>,
    /// Seconds since its start.
    pub elapsed_seconds: u64,
}
