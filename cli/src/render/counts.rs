//! How many objects a plan or an apply adds, changes and so on.

use weft_graph_format::changes::{ChangeAction, Changes};
use weft_graph_format::graph::Action;

/// The number of objects that an operation adds, changes and so on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeCounts {
    /// Created.
    pub add: usize,
    /// Updated in place.
    pub change: usize,
    /// Imported.
    pub import: usize,
    /// Destroyed.
    pub remove: usize,
    /// Removed from the state.
    pub forget: usize,
}

impl ChangeCounts {
    /// The counts of a plan.
    pub fn of_plan(changes: &Changes) -> ChangeCounts {
        let mut counts = ChangeCounts::default();
        for change in &changes.resources {
            if change.address.resource.mode != weft_graph_format::address::ResourceMode::Managed {
                continue;
            }
            counts.import += usize::from(change.importing.is_some());
            match change.action {
                ChangeAction::Only(Action::Create) => counts.add += 1,
                ChangeAction::Only(Action::Update) => counts.change += 1,
                ChangeAction::Only(Action::Delete) => counts.remove += 1,
                ChangeAction::Only(Action::Forget) => counts.forget += 1,
                ChangeAction::DeleteThenCreate | ChangeAction::CreateThenDelete => {
                    counts.add += 1;
                    counts.remove += 1;
                }
                ChangeAction::ForgetThenCreate => {
                    counts.add += 1;
                    counts.forget += 1;
                }
                ChangeAction::Only(Action::NoOp | Action::Read) => {}
            }
        }
        counts
    }
}
