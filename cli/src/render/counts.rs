//! The numbers of objects that a plan or an apply adds, changes and so on.

use weft_graph_format::address::ResourceMode;
use weft_graph_format::changes::{ChangeAction, Changes, ResourceChange};
use weft_graph_format::graph::Action;

/// The numbers of objects that a plan or an apply adds, changes and so on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeCounts {
    /// The number of created objects.
    pub add: usize,
    /// The number of objects that are updated in place.
    pub change: usize,
    /// The number of imported objects.
    pub import: usize,
    /// The number of destroyed objects.
    pub remove: usize,
    /// The number of objects that are removed from the state without being destroyed.
    pub forget: usize,
}

impl ChangeCounts {
    /// The counts of a plan.
    pub fn of_plan(changes: &Changes) -> ChangeCounts {
        let mut counts = ChangeCounts::default();
        changes.resources.iter().for_each(|change| counts.add_change(change));
        counts
    }

    /// Counts one change of a plan.
    pub fn add_change(&mut self, change: &ResourceChange) {
        if change.address.resource.mode != ResourceMode::Managed {
            return;
        }
        self.import += usize::from(change.importing.is_some());
        match change.action {
            ChangeAction::Only(Action::Create) => self.add += 1,
            ChangeAction::Only(Action::Update) => self.change += 1,
            ChangeAction::Only(Action::Delete) => self.remove += 1,
            ChangeAction::Only(Action::Forget) => self.forget += 1,
            ChangeAction::DeleteThenCreate | ChangeAction::CreateThenDelete => {
                self.add += 1;
                self.remove += 1;
            }
            ChangeAction::ForgetThenCreate => {
                self.add += 1;
                self.forget += 1;
            }
            ChangeAction::Only(Action::NoOp | Action::Read) => {}
        }
    }
}
