//! Refinements: known facts about unknown values.

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::number::Number;
use crate::types::Type;

/// An unknown value. Only its type and a refinement are known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unknown {
    /// The type; [`Type::Dynamic`] if the type is unknown too.
    pub ty: Type,
    /// The known facts.
    pub refinement: Refinement,
}

/// The maximum length of a list that is created from unknown elements if only the length is known.
const LARGEST_LIST_FROM_LENGTH: u64 = 1024;

/// Facts about an unknown value. The default is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refinement {
    /// The value is not null.
    pub not_null: bool,
    /// The prefix of a string.
    pub prefix: SmolStr,
    /// The lower bound of a number, and whether the bound is inclusive.
    pub min: Option<(Number, bool)>,
    /// The upper bound of a number, and whether the bound is inclusive.
    pub max: Option<(Number, bool)>,
    /// The minimum number of elements of a collection.
    pub length_min: u64,
    /// The maximum number of elements of a collection.
    pub length_max: Option<u64>,
}

impl Refinement {
    /// The refinement that a value is not null.
    pub fn not_null() -> Refinement {
        Refinement { not_null: true, ..Refinement::default() }
    }

    /// The refinement that a string begins with `prefix` and is not null.
    pub fn with_prefix(prefix: impl Into<SmolStr>) -> Refinement {
        Refinement { not_null: true, prefix: prefix.into(), ..Refinement::default() }
    }

    /// Whether only one value of this type has these properties, so that the value is not unknown.
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
            Type::Set(_) => self.length_max == Some(0) || (self.length_min, self.length_max) == (1, Some(1)),
            Type::Map(_) => self.length_max == Some(0),
            _ => false,
        }
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Refinement::default()
    }
}
