//! The rules on values of resources that planning and applying share, as plain functions over values and schemas.
//!
//! [`proposed_new`] merges configuration and prior object before a provider plans. [`plan_problems`] checks a
//! provider's plan, and [`result_problems`] compares its result with the plan. [`replace_paths`] and [`action`] derive
//! what follows from a plan; [`ignore_changes`] implements `ignore_changes`. All of them look at content only: callers
//! remove marks first.

mod compatible;
mod ignore;
mod opened;
mod plan_valid;
mod proposed;
mod replacement;
mod schema_marks;
mod schema_path;
mod sets;
mod stored;

use std::fmt;

use weft_graph_format::path::Path;

pub use compatible::{result_problems, value_problems};
pub use ignore::{ignore_changes, prior_for_ignoring_all};
pub use opened::opened_problem;
pub use plan_valid::plan_problems;
pub use proposed::{all_null, proposed_new};
pub use replacement::{ReplacePaths, replace_paths};
pub use schema_marks::{deprecated_paths, sensitive_paths};
pub use schema_path::attribute_at;
pub use stored::{all_unknown, settle_unknowns, without_write_only};

/// A value that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleProblem {
    /// Where in the object.
    pub path: Path,
    /// The problem, without a full stop. Contains nothing sensitive.
    pub message: String,
}

impl RuleProblem {
    fn new(path: &Path, message: impl Into<String>) -> RuleProblem {
        RuleProblem { path: path.clone(), message: message.into() }
    }
}

/// `.network[0].id: was present, but now absent`
impl fmt::Display for RuleProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.0.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.path, self.message) }
    }
}
