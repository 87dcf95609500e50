//! The results of checks, in the form that the state stores.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use weft_graph_format::checked::CheckedAddress;

/// The status of a check in the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredStatus {
    /// All conditions hold.
    Pass,
    /// The result is not known.
    Unknown,
    /// A condition does not hold.
    Fail,
    /// A condition could not be evaluated.
    Error,
    /// An unknown status, from another version of the format. It is stored unchanged.
    Other(Box<str>),
}

impl StoredStatus {
    /// Parses the status as the state stores it.
    pub fn read(word: &str) -> StoredStatus {
        match word {
            "pass" => StoredStatus::Pass,
            "unknown" => StoredStatus::Unknown,
            "fail" => StoredStatus::Fail,
            "error" => StoredStatus::Error,
            other => StoredStatus::Other(other.into()),
        }
    }

    /// The status as the state stores it.
    pub fn word(&self) -> &str {
        match self {
            StoredStatus::Pass => "pass",
            StoredStatus::Unknown => "unknown",
            StoredStatus::Fail => "fail",
            StoredStatus::Error => "error",
            StoredStatus::Other(word) => word,
        }
    }
}

/// Serialized as its word.
impl Serialize for StoredStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for StoredStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<StoredStatus, D::Error> {
        String::deserialize(deserializer).map(|word| StoredStatus::read(&word))
    }
}

/// The results of all checks of one object of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRecord {
    /// `resource`, `output`, `check` or `var`.
    pub object_kind: String,
    /// The address in configuration, without instance keys.
    pub config_addr: CheckedAddress,
    /// The combined status of the instances.
    pub status: StoredStatus,
    /// The instances, or `None` (JSON null) if the object was never expanded.
    pub objects: Option<Vec<CheckObject>>,
}

/// The results of the checks of one instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckObject {
    /// The address with instance keys.
    pub object_addr: CheckedAddress,
    /// The status.
    pub status: StoredStatus,
    /// The error messages of the failed conditions.
    pub failure_messages: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::bytes_of;

    #[test]
    fn every_word_is_kept() {
        for word in ["pass", "unknown", "fail", "error", "", "later"] {
            let status = StoredStatus::read(word);
            assert_eq!(
                (status.word(), matches!(status, StoredStatus::Other(_))),
                (word, word.is_empty() || word == "later")
            );
            assert_eq!(bytes_of(&status), bytes_of(&word));
            assert_eq!(postcard::from_bytes::<StoredStatus>(&bytes_of(&word)).unwrap(), status);
        }
    }
}
