//! What happens to objects.

use serde::{Deserialize, Serialize};

/// What happens to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Action {
    /// Nothing.
    NoOp,
    /// The object is created.
    Create,
    /// The object is read.
    Read,
    /// The object is changed in place.
    Update,
    /// The object is deleted.
    Delete,
    /// The object is removed from the state, but not destroyed.
    Forget,
}

impl Action {
    /// The name of the action in events and listings.
    pub fn word(self) -> &'static str {
        match self {
            Action::NoOp => "no-op",
            Action::Create => "create",
            Action::Read => "read",
            Action::Update => "update",
            Action::Delete => "delete",
            Action::Forget => "forget",
        }
    }
}
