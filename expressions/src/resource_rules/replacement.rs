//! Determines which of the replacements that a provider requests are needed.

use weft_graph_format::path::Path;
use weft_graph_format::value::Value;

use super::RuleProblem;
use crate::operators::equal;

/// The paths that require replacement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplacePaths {
    /// Paths whose values change or may change.
    pub paths: Vec<Path>,
    /// Problems with paths that exist in neither object.
    pub problems: Vec<RuleProblem>,
}

/// Selects the paths whose values change. `named` are the paths that the provider named. An unknown value counts as a
/// change, but a change of marks does not. Without a prior object, there is nothing to replace.
pub fn replace_paths(prior: &Value, planned: &Value, named: &[Path]) -> ReplacePaths {
    let mut found = ReplacePaths::default();
    if prior.is_null() {
        return found;
    }
    for path in named {
        let changed = match (prior.at_path(path), planned.at_path(path)) {
            (Err(_), Err(_)) => {
                found
                    .problems
                    .push(RuleProblem::new(path, "\"requires replacement\" on a non-existent attribute path"));
                false
            }
            (Ok(before), Ok(after)) => !unchanged(&before, &after),
            // A missing value counts as null.
            (Ok(only), Err(_)) | (Err(_), Ok(only)) => !only.is_null(),
        };
        if changed && !found.paths.contains(path) {
            found.paths.push(path.clone());
        }
    }
    found
}

fn unchanged(before: &Value, after: &Value) -> bool {
    let (before, _) = before.unmark_deep();
    let (after, _) = after.unmark_deep();
    equal(&before, &after) == Some(true)
}
