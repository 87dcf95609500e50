//! The kinds of operations, and how records, events and listings name them.

use std::fmt;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

/// The kind of an operation, as far as it matters to a coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationKind {
    /// A provider creates an object.
    Create,
    /// A provider changes an object.
    Update,
    /// A provider destroys an object.
    Delete,
    /// A data source is read.
    Read,
    /// A value is computed.
    Evaluate,
    /// A root output is computed and stored.
    Output,
    /// An object is removed from the state and not destroyed.
    Forget,
    /// The current object becomes a deposed object.
    Depose,
    /// The state is written without a provider.
    Record,
    /// A condition is checked.
    Check,
    /// A provisioner runs.
    Provision,
}

impl OperationKind {
    /// All kinds.
    pub const ALL: [OperationKind; 11] = [
        OperationKind::Create,
        OperationKind::Update,
        OperationKind::Delete,
        OperationKind::Read,
        OperationKind::Evaluate,
        OperationKind::Output,
        OperationKind::Forget,
        OperationKind::Depose,
        OperationKind::Record,
        OperationKind::Check,
        OperationKind::Provision,
    ];

    /// The name in records, events and listings.
    pub fn word(self) -> &'static str {
        match self {
            OperationKind::Create => "create",
            OperationKind::Update => "update",
            OperationKind::Delete => "delete",
            OperationKind::Read => "read",
            OperationKind::Evaluate => "evaluate",
            OperationKind::Output => "output",
            OperationKind::Forget => "forget",
            OperationKind::Depose => "depose",
            OperationKind::Record => "record",
            OperationKind::Check => "check",
            OperationKind::Provision => "provision",
        }
    }
}

impl fmt::Display for OperationKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.word())
    }
}

/// The kind of an operation, as read from a record, an event or a listing. Another version of Weft may have written it,
/// so the kind may be unknown to this version. Serialized as the word for the kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "SmolStr", from = "SmolStr")]
pub enum NamedAction {
    /// A kind that this version knows.
    Known(OperationKind),
    /// The word for a kind that this version does not know.
    Other(SmolStr),
}

impl NamedAction {
    /// The kind. `None` if this version does not know it.
    pub fn kind(&self) -> Option<OperationKind> {
        match self {
            NamedAction::Known(kind) => Some(*kind),
            NamedAction::Other(_) => None,
        }
    }

    /// The word.
    pub fn word(&self) -> &str {
        match self {
            NamedAction::Known(kind) => kind.word(),
            NamedAction::Other(word) => word,
        }
    }
}

impl From<OperationKind> for NamedAction {
    fn from(kind: OperationKind) -> NamedAction {
        NamedAction::Known(kind)
    }
}

impl From<&str> for NamedAction {
    fn from(word: &str) -> NamedAction {
        let kind = OperationKind::ALL.into_iter().find(|kind| kind.word() == word);
        kind.map_or_else(|| NamedAction::Other(word.into()), NamedAction::Known)
    }
}

impl From<SmolStr> for NamedAction {
    fn from(word: SmolStr) -> NamedAction {
        NamedAction::from(word.as_str())
    }
}

impl From<NamedAction> for SmolStr {
    fn from(action: NamedAction) -> SmolStr {
        match action {
            NamedAction::Known(kind) => SmolStr::new_static(kind.word()),
            NamedAction::Other(word) => word,
        }
    }
}

impl fmt::Display for NamedAction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_stored_as_the_words_of_earlier_versions() {
        for kind in OperationKind::ALL {
            let (action, word) = (NamedAction::from(kind), kind.word().to_owned());
            assert_eq!(postcard::to_stdvec(&action), postcard::to_stdvec(&word));
            assert_eq!(serde_json::to_value(&action).ok(), Some(word.clone().into()));
            assert_eq!(NamedAction::from(word.as_str()), action);
        }
        let Ok(bytes) = postcard::to_stdvec("ponder") else { panic!("a word") };
        let later: Result<NamedAction, _> = postcard::from_bytes(&bytes);
        assert_eq!(later, Ok(NamedAction::Other("ponder".into())));
        assert_eq!(format!("{:<8}|", NamedAction::from("read")), "read    |");
    }
}
