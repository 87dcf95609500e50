//! Paths into values: attribute names, keys and indexes.

use std::fmt;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

/// One step into a value. No step leads into a set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ValueStep {
    /// The attribute `.name` of an object.
    Attribute(SmolStr),
    /// The element `["key"]` of a map.
    Key(SmolStr),
    /// The element `[3]` of a list or tuple.
    Index(u64),
}

/// A path into a value. Empty for the value itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Path(pub Vec<ValueStep>);

impl Path {
    /// The path to the value itself.
    pub const ROOT: Path = Path(Vec::new());

    /// The path with one more step.
    #[must_use]
    pub fn with(&self, step: ValueStep) -> Path {
        let mut steps = Vec::with_capacity(self.0.len() + 1);
        steps.extend_from_slice(&self.0);
        steps.push(step);
        Path(steps)
    }

    /// The path to an attribute of the part at this path.
    #[must_use]
    pub fn attribute(&self, name: impl Into<SmolStr>) -> Path {
        self.with(ValueStep::Attribute(name.into()))
    }

    /// Whether `self` leads to the same part as `other`, or to a container of that part.
    pub fn is_prefix_of(&self, other: &Path) -> bool {
        other.0.starts_with(&self.0)
    }
}

/// As a user would write it: `.a["b"][0]`.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.0 {
            match step {
                ValueStep::Attribute(name) => write!(f, ".{name}")?,
                ValueStep::Key(key) => write!(f, "[{}]", crate::address::quoted(key))?,
                ValueStep::Index(i) => write!(f, "[{i}]")?,
            }
        }
        Ok(())
    }
}
