//! The keys of instances.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::quoted;
use crate::number::Number;

/// The key of an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "KeyForm", into = "KeyForm")]
pub enum InstanceKey {
    /// The object has neither `count` nor `for_each`.
    #[default]
    None,
    /// The index, for objects with `count`. A state file may contain negative numbers; no configuration produces them.
    Int(i64),
    /// The key, for objects with `for_each`.
    String(SmolStr),
}

/// The serialized form of an [`InstanceKey`]. Plan files and journals contain it, so the order must not change.
#[derive(Serialize, Deserialize)]
enum KeyForm {
    None,
    Int(u64),
    String(SmolStr),
    /// A negative number: -1 is 0, -2 is 1, and so on.
    Negative(u64),
}

impl From<InstanceKey> for KeyForm {
    fn from(key: InstanceKey) -> KeyForm {
        match key {
            InstanceKey::None => KeyForm::None,
            InstanceKey::Int(number) => match u64::try_from(number) {
                Ok(number) => KeyForm::Int(number),
                Err(_) => KeyForm::Negative(number.unsigned_abs() - 1),
            },
            InstanceKey::String(text) => KeyForm::String(text),
        }
    }
}

impl TryFrom<KeyForm> for InstanceKey {
    type Error = KeyOutOfRange;

    fn try_from(form: KeyForm) -> Result<InstanceKey, KeyOutOfRange> {
        Ok(match form {
            KeyForm::None => InstanceKey::None,
            KeyForm::Int(number) => InstanceKey::Int(i64::try_from(number).map_err(|_| KeyOutOfRange)?),
            KeyForm::String(text) => InstanceKey::String(text),
            KeyForm::Negative(number) => InstanceKey::Int(-1 - i64::try_from(number).map_err(|_| KeyOutOfRange)?),
        })
    }
}

impl InstanceKey {
    /// The key that an address with this number refers to. Only whole numbers of zero or more can be written.
    pub fn written(digits: &str) -> Option<InstanceKey> {
        InstanceKey::counted(Number::parse(digits).ok()?.to_u64()?)
    }

    /// The key of the instance with this count index.
    pub fn counted(index: u64) -> Option<InstanceKey> {
        i64::try_from(index).ok().map(InstanceKey::Int)
    }

    /// Whether the key is a negative number. A state can contain such a key, but an address that a user writes cannot.
    pub fn is_negative(&self) -> bool {
        matches!(self, InstanceKey::Int(number) if *number < 0)
    }
}

/// The error for a serialized key whose number no instance key can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an instance key is out of range")]
struct KeyOutOfRange;

/// The order in which OpenTofu lists instances: the instance without a key, then numbers, then strings.
impl Ord for InstanceKey {
    fn cmp(&self, other: &Self) -> Ordering {
        fn rank(k: &InstanceKey) -> u8 {
            match k {
                InstanceKey::None => 0,
                InstanceKey::Int(_) => 1,
                InstanceKey::String(_) => 2,
            }
        }
        match (self, other) {
            (InstanceKey::Int(a), InstanceKey::Int(b)) => a.cmp(b),
            (InstanceKey::String(a), InstanceKey::String(b)) => a.cmp(b),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

impl PartialOrd for InstanceKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for InstanceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstanceKey::None => Ok(()),
            InstanceKey::Int(i) => write!(f, "[{i}]"),
            InstanceKey::String(s) => write!(f, "[{}]", quoted(s)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_zero_or_more_keep_their_bytes() {
        for (key, bytes) in [
            (InstanceKey::None, &[0][..]),
            (InstanceKey::Int(0), &[1, 0]),
            (InstanceKey::Int(300), &[1, 0xac, 2]),
            (InstanceKey::String("k".into()), &[2, 1, b'k']),
            (InstanceKey::Int(-1), &[3, 0]),
            (InstanceKey::Int(-300), &[3, 0xab, 2]),
        ] {
            assert_eq!(postcard::to_stdvec(&key).unwrap(), bytes);
            assert_eq!(postcard::from_bytes::<InstanceKey>(bytes).unwrap(), key);
        }
        for key in [i64::MIN, i64::MAX].map(InstanceKey::Int) {
            assert_eq!(postcard::from_bytes::<InstanceKey>(&postcard::to_stdvec(&key).unwrap()).unwrap(), key);
        }
        for form in [KeyForm::Int(1 << 63), KeyForm::Negative(1 << 63)] {
            assert!(postcard::from_bytes::<InstanceKey>(&postcard::to_stdvec(&form).unwrap()).is_err());
        }
    }

    #[test]
    fn keys_have_the_order_of_lists() {
        let keys = [
            InstanceKey::None,
            InstanceKey::Int(-2),
            InstanceKey::Int(-1),
            InstanceKey::Int(10),
            InstanceKey::String("0".into()),
        ];
        assert!(keys.is_sorted());
    }
}
