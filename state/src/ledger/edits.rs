//! EDIT: changes of the state outside of any run.

use super::Ledger;
use crate::edit::{Edit, EditAnswer};
use crate::subject::{Doubt, Subject};

impl Ledger {
    /// Applies EDIT to the data in memory. The caller increments the serial.
    pub(crate) fn edit(&mut self, edit: &Edit) -> EditAnswer {
        if self.serial != edit.seen {
            return EditAnswer::Changed { serial: self.serial };
        }
        let subjects = edit.subjects();
        let held = subjects.iter().flat_map(|subject| self.holders(subject)).collect::<Vec<_>>();
        let touched = |doubt: &Doubt| subjects.contains(&Subject::Instance(doubt.key.address.clone()));
        let doubts: Vec<Doubt> = self.doubts.values().filter(|doubt| touched(doubt)).cloned().collect();
        if !held.is_empty() || !doubts.is_empty() {
            return EditAnswer::Refused { held, doubts };
        }
        self.overwrite(&edit.writes);
        if let Some((lineage, serial)) = &edit.identity {
            self.lineage.clone_from(lineage);
            self.serial = *serial;
        }
        EditAnswer::Edited
    }
}
