//! The rules on resource values that planning and applying share, as pure functions over values and schemas.
//!
//! [`proposed_new`] merges the configuration and the prior object before the provider plans. [`plan_problems`] lists
//! the errors in a provider's plan, and [`result_problems`] lists how a result contradicts the plan. [`replace_paths`]
//! finds the changes that require replacement. [`ignore_changes`] implements the argument of that name. All functions
//! compare content only. Callers remove marks first.

mod compatible;
mod ignore;
mod located;
mod opened;
mod plan_valid;
mod proposed;
mod replacement;
mod schema_marks;
mod schema_path;
mod sets;
mod stored;

use std::borrow::Cow;
use std::fmt;

use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

pub use compatible::{result_problems, value_problems};
pub use ignore::{ignore_changes, prior_for_ignoring_all};
pub use located::{Located, located};
pub use opened::opened_problem;
pub use plan_valid::plan_problems;
pub use proposed::{all_null, proposed_new};
pub use replacement::{ReplacePaths, replace_paths};
pub use schema_marks::{deprecated_paths, sensitive_paths};
pub use schema_path::{attribute_above, attribute_at};
pub use stored::{all_unknown, has_infinity, settle_unknowns, without_write_only};

/// A value that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleProblem {
    /// The path to the part of the object that breaks the rule.
    pub path: Path,
    /// What is wrong, without a full stop. Contains no sensitive content.
    pub message: String,
}

impl RuleProblem {
    fn new(path: &Path, message: impl Into<String>) -> RuleProblem {
        RuleProblem { path: path.clone(), message: message.into() }
    }
}

/// The attribute or block `name` of an object, with the marks of the object; null of the type `ty` if there is none.
fn part<'v>(object: &'v Value, name: &str, ty: &Type) -> Cow<'v, Value> {
    if object.marks().is_empty()
        && object.origin().is_none()
        && let Some(found) = object.as_fields().and_then(|fields| fields.get(name))
    {
        return Cow::Borrowed(found);
    }
    let found = object.step(&ValueStep::Attribute(name.into()));
    Cow::Owned(found.unwrap_or_else(|| Value::null(ty.without_optional())))
}

/// Displays the path and the message: `.network[0].id: was present, but now absent`.
impl fmt::Display for RuleProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.0.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.path, self.message) }
    }
}
