//! What follows from a planned object: which replacements are real, and what is to be done.

use weft_graph_format::path::Path;
use weft_graph_format::value::Value;

use super::RuleProblem;
use crate::operators::equal;

/// In which order an object is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReplaceOrder {
    /// The old object goes first.
    DeleteThenCreate,
    /// `create_before_destroy`
    CreateThenDelete,
}

/// What is to be done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Nothing.
    NoOp,
    /// It is made.
    Create,
    /// It is changed in place.
    Update,
    /// It is replaced by a new one.
    Replace(ReplaceOrder),
    /// It is removed.
    Delete,
}

/// The paths that make a provider want a new object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplacePaths {
    /// Those where something really changes, or may.
    pub paths: Vec<Path>,
    /// Those that lead nowhere in either object.
    pub problems: Vec<RuleProblem>,
}

/// Of the paths that the provider named, those whose value changes: unknown counts as a change, marks do not. Without
/// a prior object there is nothing to replace.
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
            // What is not there counts as null.
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

/// What is to be done for a planned object; null stands for absence. `replace` is the order in which the object is
/// replaced when it must be: a real replace path, `-replace`, a trigger, or a tainted object.
pub fn action(prior: &Value, planned: &Value, replace: Option<ReplaceOrder>) -> Action {
    match (prior.is_null(), planned.is_null()) {
        (true, true) => Action::NoOp,
        (true, false) => Action::Create,
        (false, true) => Action::Delete,
        (false, false) => match replace {
            Some(order) => Action::Replace(order),
            None if unchanged(prior, planned) => Action::NoOp,
            None => Action::Update,
        },
    }
}
