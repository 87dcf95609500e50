//! Known facts about unknown values.

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::number::Number;
use crate::types::Type;

/// A value of which only the type, as far as known, and a refinement are known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unknown {
    /// Its type, [`Type::Dynamic`] when even that is open.
    pub ty: Type,
    /// What else is known.
    pub refinement: Refinement,
}

/// The maximum length of a list that is built from unknown elements when only its length is known.
const LARGEST_LIST_FROM_LENGTH: u64 = 1024;

/// Facts about an unknown value. The default has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refinement {
    /// It will not be null.
    pub not_null: bool,
    /// The text begins with this (strings).
    pub prefix: SmolStr,
    /// Least number, and whether it is included (numbers).
    pub min: Option<(Number, bool)>,
    /// Greatest number, and whether it is included (numbers).
    pub max: Option<(Number, bool)>,
    /// Least number of elements (collections).
    pub length_min: u64,
    /// Greatest number of elements (collections).
    pub length_max: Option<u64>,
}

impl Refinement {
    /// Only: not null.
    pub fn not_null() -> Refinement {
        Refinement { not_null: true, ..Refinement::default() }
    }

    /// A string that begins with `prefix` and is not null.
    pub fn with_prefix(prefix: impl Into<SmolStr>) -> Refinement {
        Refinement { not_null: true, prefix: prefix.into(), ..Refinement::default() }
    }

    /// Whether a value of this type can be one value only, so that it is not unknown at all.
    pub fn leaves_one_value(&self, ty: &Type) -> bool {
        if !self.not_null {
            return false;
        }
        let bounds = || match (&self.min, &self.max) {
            (Some((low, true)), Some((high, true))) => low == high,
            _ => false,
        };
        match ty {
            Type::Number => bounds(),
            Type::List(_) => {
                self.length_max == Some(0)
                    || (self.length_max == Some(self.length_min) && self.length_min <= LARGEST_LIST_FROM_LENGTH)
            }
            Type::Set(_) | Type::Map(_) => self.length_max == Some(0),
            _ => false,
        }
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Refinement::default()
    }
}
