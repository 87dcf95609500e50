//! What happens to objects.

use serde::{Deserialize, Serialize};

/// What happens to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Action {
    /// Nothing.
    NoOp,
    /// The object is created.
    Create,
    /// It is read.
    Read,
    /// It is changed in place.
    Update,
    /// It ceases to be.
    Delete,
    /// The object is removed from the state and not destroyed.
    Forget,
}

impl Action {
    /// The word in events and listings.
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
