//! Changes of the state outside of any run: what `state mv`, `state push`, `taint` and their like do.
//!
//! An edit is made from one snapshot and takes effect as a whole or not at all. It never touches what a run has claimed
//! or what is in doubt: the run would commit over it.

use crate::content::subjects;
use crate::ledger::Ledger;
use crate::snapshot::{Doubt, Subject};
use crate::step::{Held, Writes};

/// A change of the state.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Edit {
    /// The serial of the snapshot that it was made from.
    pub seen: u64,
    /// What it writes.
    pub writes: Writes,
    /// Lineage and serial to take over from a state that is put in place of this one; the serial then goes up from
    /// there.
    pub identity: Option<(String, u64)>,
}

/// Answer to an edit. Anything but `Edited` means that nothing was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditAnswer {
    /// Durable.
    Edited,
    /// Somebody else has changed the state meanwhile.
    Changed {
        /// Its serial now.
        serial: u64,
    },
    /// Runs hold what would be written, or its outcome is not known.
    Refused {
        /// Held by a run.
        held: Vec<Held>,
        /// In doubt.
        doubts: Vec<Doubt>,
    },
}

impl Edit {
    /// Everything that it writes.
    pub fn subjects(&self) -> Vec<Subject> {
        subjects(&self.writes)
    }
}

impl Ledger {
    /// EDIT in memory; the serial is the caller's affair.
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
