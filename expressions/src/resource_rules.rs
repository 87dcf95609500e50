//! Rules on the values of resources that planner and executor share: what is proposed to a provider, and what of its
//! answers is acceptable.
//!
//! Plain functions over values and schemas; the rules are those of the plugin protocol as OpenTofu holds providers to
//! them.

mod compatible;
mod ignore;
mod planned;
mod proposed;

pub use compatible::{check_applied, check_final_plan};
pub use ignore::ignore_changes;
pub use planned::{changed_paths, check_planned, settle_unknowns};
pub use proposed::{all_unknown, null_object, proposed_new, without_write_only};

use weft_graph_format::path::Path;

/// A value that a provider should not have given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where.
    pub path: Path,
    /// What is wrong, as a sentence without the path.
    pub message: String,
}

impl Violation {
    fn new(path: &Path, message: impl Into<String>) -> Violation {
        Violation { path: path.clone(), message: message.into() }
    }
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.path.0.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.path, self.message) }
    }
}
