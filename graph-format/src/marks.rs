//! Marks: properties that follow a value.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

/// A notice that a value comes from a deprecated output or variable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Deprecation {
    /// The output or variable, as text.
    pub source: SmolStr,
    /// The author's message.
    pub message: SmolStr,
}

/// The marks on one value. Most values have none, which costs nothing.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Marks {
    sensitive: bool,
    ephemeral: bool,
    deprecations: Option<Arc<BTreeSet<Deprecation>>>,
}

impl Marks {
    /// No marks.
    pub const NONE: Marks = Marks { sensitive: false, ephemeral: false, deprecations: None };
    /// The mark of values that are never shown.
    pub const SENSITIVE: Marks = Marks { sensitive: true, ephemeral: false, deprecations: None };
    /// The mark of values that are never stored.
    pub const EPHEMERAL: Marks = Marks { sensitive: false, ephemeral: true, deprecations: None };

    /// The mark of a deprecated value.
    pub fn deprecated(notice: Deprecation) -> Marks {
        Marks { deprecations: Some(Arc::new(BTreeSet::from([notice]))), ..Marks::NONE }
    }

    /// Whether the value must never be shown.
    pub fn is_sensitive(&self) -> bool {
        self.sensitive
    }

    /// Whether the value must never be stored.
    pub fn is_ephemeral(&self) -> bool {
        self.ephemeral
    }

    /// Whether there are no marks.
    pub fn is_empty(&self) -> bool {
        !self.sensitive && !self.ephemeral && self.deprecations.is_none()
    }

    /// The deprecation notices, in order.
    pub fn deprecations(&self) -> impl Iterator<Item = &Deprecation> {
        self.deprecations.iter().flat_map(|d| d.iter())
    }

    /// All marks of both sets.
    #[must_use]
    pub fn union(&self, other: &Marks) -> Marks {
        let deprecations = match (&self.deprecations, &other.deprecations) {
            (None, d) | (d, None) => d.clone(),
            (Some(a), Some(b)) if Arc::ptr_eq(a, b) => Some(a.clone()),
            (Some(a), Some(b)) => Some(Arc::new(a.union(b).cloned().collect())),
        };
        Marks {
            sensitive: self.sensitive || other.sensitive,
            ephemeral: self.ephemeral || other.ephemeral,
            deprecations,
        }
    }

    /// These marks without the sensitive mark.
    #[must_use]
    pub fn without_sensitive(&self) -> Marks {
        Marks { sensitive: false, ..self.clone() }
    }

    /// These marks without the ephemeral mark.
    #[must_use]
    pub fn without_ephemeral(&self) -> Marks {
        Marks { ephemeral: false, ..self.clone() }
    }

    /// These marks without deprecation notices.
    #[must_use]
    pub fn without_deprecations(&self) -> Marks {
        Marks { deprecations: None, ..self.clone() }
    }
}

impl fmt::Debug for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        if self.sensitive {
            words.push("sensitive");
        }
        if self.ephemeral {
            words.push("ephemeral");
        }
        if self.deprecations.is_some() {
            words.push("deprecated");
        }
        write!(f, "{{{}}}", words.join(" "))
    }
}
