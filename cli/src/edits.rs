//! Changing the state outside of any run, for `state mv`, `state push`, `taint` and their like: under the lock, from
//! one snapshot, all of it or nothing.

use weft_graph_format::diagnostic::Diagnostic;
use weft_state::tfstate::StateFile;
use weft_state::{Doubt, Edit, EditAnswer, Held, InstanceWrite, OutputWrite, Snapshot, Writes};

use crate::command::Invocation;
use crate::exit::Exit;
use crate::runtime::block_on;
use crate::store::{self, Access, Place};

/// What is to become of the state.
#[derive(Clone, Debug)]
pub enum Change {
    /// Nothing.
    Nothing,
    /// This content, with the lineage that is there and the next serial.
    Content(Box<StateFile>),
    /// This content with its own lineage and serial.
    Whole(Box<StateFile>),
}

/// Locks the state, lets `decide` look at it, and writes what that wants. Problems are told.
///
/// # Errors
/// What was told already.
pub fn change<Answer>(
    invocation: &Invocation<'_>,
    place: &Place,
    decide: impl FnOnce(&Snapshot) -> Result<(Change, Answer), Vec<Diagnostic>>,
) -> Result<Answer, Exit> {
    let done = block_on(async {
        let one = |problem: Diagnostic| vec![problem];
        let store = place.open(Access::Change).await.map_err(one)?;
        let snapshot = store.snapshot().await.map_err(|error| one(store::problem(&error)))?;
        let (change, answer) = decide(&snapshot)?;
        let (file, identity) = match change {
            Change::Nothing => return Ok(answer),
            Change::Content(file) => (file, None),
            Change::Whole(file) => {
                let identity = (file.lineage.clone(), file.serial);
                (file, Some(identity))
            }
        };
        let edit = Edit { seen: snapshot.serial, writes: writes(&snapshot, &file), identity };
        match store.edit(edit).await {
            Ok(EditAnswer::Edited) => Ok(answer),
            Ok(refused) => Err(one(refusal(&refused))),
            Err(error) => Err(one(store::problem(&error))),
        }
    });
    done.unwrap_or_else(|problem| Err(vec![problem])).map_err(|problems| invocation.fail(&problems))
}

/// A snapshot as a file of version 4.
pub fn file_of(snapshot: &Snapshot) -> StateFile {
    StateFile {
        terraform_version: snapshot.terraform_version.clone(),
        serial: snapshot.serial,
        lineage: snapshot.lineage.clone(),
        outputs: snapshot.outputs.iter().map(|(name, stored)| (name.clone(), stored.record.clone())).collect(),
        instances: snapshot.instances.iter().map(|(name, stored)| (name.clone(), stored.record.clone())).collect(),
        checks: snapshot.checks.clone(),
    }
}

/// What must be written so that the state holds what the file does.
pub fn writes(snapshot: &Snapshot, file: &StateFile) -> Writes {
    let mut writes = Writes::default();
    for (address, record) in &file.instances {
        if snapshot.instances.get(address).is_none_or(|known| known.record != *record) {
            writes.instances.push(InstanceWrite { address: address.clone(), record: Some(record.clone()) });
        }
    }
    for address in snapshot.instances.keys().filter(|address| !file.instances.contains_key(*address)) {
        writes.instances.push(InstanceWrite { address: address.clone(), record: None });
    }
    for (name, record) in &file.outputs {
        if snapshot.outputs.get(name).is_none_or(|known| known.record != *record) {
            writes.outputs.push(OutputWrite { name: name.clone(), record: Some(record.clone()) });
        }
    }
    for name in snapshot.outputs.keys().filter(|name| !file.outputs.contains_key(*name)) {
        writes.outputs.push(OutputWrite { name: name.clone(), record: None });
    }
    if snapshot.checks != file.checks {
        writes.checks = Some(file.checks.clone());
    }
    writes
}

/// Says why an edit was not made.
pub fn refusal(answer: &EditAnswer) -> Diagnostic {
    match answer {
        EditAnswer::Refused { held, doubts } => in_use(held, doubts),
        EditAnswer::Edited | EditAnswer::Changed { .. } => Diagnostic::error(
            "Failed to save state",
            "Somebody else has changed the state meanwhile. Nothing was written; try again.",
        ),
    }
}

/// Says that runs hold what was to be written.
fn in_use(held: &[Held], doubts: &[Doubt]) -> Diagnostic {
    /// Names that are listed; more would hide the advice.
    const LISTED: usize = 20;
    let mut lines: Vec<String> = held
        .iter()
        .map(|held| format!("{} is held by run {} of {}", held.subject, held.run, held.holder.user))
        .chain(doubts.iter().map(|doubt| format!("{} is in doubt since run {}", doubt.key, doubt.run)))
        .collect();
    lines.dedup();
    let more = lines.len().saturating_sub(LISTED);
    lines.truncate(LISTED);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    Diagnostic::error(
        "State is held by a run",
        format!(
            "An unfinished run needs this part of the state as it is:\n  - {}\n\nNothing was written. Let the run go on \
             with \"weft runs resume\", or give it up with \"weft runs abandon\".",
            lines.join("\n  - ")
        ),
    )
}
