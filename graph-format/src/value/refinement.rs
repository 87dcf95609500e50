//! What is known of a value that is not known.

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

/// Facts about an unknown value. The default says nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Refinement::default()
    }
}
