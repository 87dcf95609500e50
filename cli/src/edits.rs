//! Changes to the state outside of runs, for `state mv`, `state push`, `taint` and similar commands. Each change is
//! made under the lock, based on one snapshot, and is atomic.

use weft_graph_format::diagnostic::Diagnostic;
use weft_state::tfstate::StateFile;
use weft_state::{
    Doubt, Edit, EditAnswer, HeldSubject, InstanceWrite, OutputWrite, RunStore, Snapshot, StoreError, Writes,
};

use crate::command::Invocation;
use crate::exit::Exit;
use crate::problems;
use crate::runtime::block_on;
use crate::store::{self, Access, StoreLocation};

/// A change to the state.
#[derive(Clone, Debug)]
pub enum Change {
    /// No change.
    Nothing,
    /// The state gets this content, with the existing lineage and the next serial.
    Content(Box<StateFile>),
    /// The state gets this content, with the lineage and serial of the content.
    Whole(Box<StateFile>),
}

/// Locks the state, calls `decide` with its snapshot, and writes the change. Reports problems.
///
/// # Errors
/// Returns the exit code. The problems have been reported.
pub fn change<Answer>(
    invocation: &Invocation<'_>,
    place: &StoreLocation,
    decide: impl FnOnce(&Snapshot) -> Result<(Change, Answer), Vec<Diagnostic>>,
) -> Result<Answer, Exit> {
    let done = block_on(async {
        let one = |problem: Diagnostic| vec![problem];
        let store = place.open(Access::Change).await.map_err(one)?;
        change_in(store.as_ref(), decide).await
    });
    done.unwrap_or_else(|problem| Err(vec![problem])).map_err(|problems| invocation.fail(&problems))
}

/// Like [`change`], for a store that is already open.
///
/// # Errors
/// Returns the reasons why nothing was changed.
pub async fn change_in<Answer>(
    store: &dyn RunStore,
    decide: impl FnOnce(&Snapshot) -> Result<(Change, Answer), Vec<Diagnostic>>,
) -> Result<Answer, Vec<Diagnostic>> {
    let failed = |error: StoreError| vec![store::problem(&error)];
    let snapshot = store.snapshot().await.map_err(failed)?;
    let (change, answer) = decide(&snapshot)?;
    let (mut file, identity) = match change {
        Change::Nothing => return Ok(answer),
        Change::Content(file) => (file, None),
        Change::Whole(file) => {
            let identity = (file.lineage.clone(), file.serial);
            (file, Some(identity))
        }
    };
    file.forget_unused_providers();
    let edit = Edit { seen: snapshot.serial, writes: writes(&snapshot, &file), identity };
    match store.edit(edit).await.map_err(failed)? {
        EditAnswer::Edited => Ok(answer),
        refused => Err(vec![refusal(&refused)]),
    }
}

/// Converts a snapshot to a state file of version 4.
pub fn file_of(snapshot: &Snapshot) -> StateFile {
    StateFile {
        terraform_version: snapshot.terraform_version.clone(),
        serial: snapshot.serial,
        lineage: snapshot.lineage.clone(),
        outputs: snapshot.outputs.iter().map(|(name, stored)| (name.clone(), stored.record.clone())).collect(),
        instances: snapshot.instances.iter().map(|(name, stored)| (name.to_string(), stored.record.clone())).collect(),
        checks: snapshot.checks.clone(),
    }
}

/// The writes that give the state the contents of the file.
pub fn writes(snapshot: &Snapshot, file: &StateFile) -> Writes {
    let mut writes = Writes::default();
    for (address, record) in &file.instances {
        if snapshot.instances.get(&record.address).is_none_or(|known| known.record != *record) {
            writes.instances.push(InstanceWrite { address: address.clone(), record: Some(record.clone()) });
        }
    }
    let all = snapshot.instances.keys().map(ToString::to_string);
    let mut removed: Vec<String> = all.filter(|address| !file.instances.contains_key(address)).collect();
    removed.sort();
    writes.instances.extend(removed.into_iter().map(|address| InstanceWrite { address, record: None }));
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

/// Describes the reason why a change was not made.
pub fn refusal(answer: &EditAnswer) -> Diagnostic {
    match answer {
        EditAnswer::Refused { held, doubts } => in_use(held, doubts),
        EditAnswer::Edited | EditAnswer::Changed { .. } => problems::state_changed_meanwhile(),
    }
}

/// Reports that unfinished runs hold the records that were to be written.
fn in_use(held: &[HeldSubject], doubts: &[Doubt]) -> Diagnostic {
    /// The maximum number of listed names. More would hide the advice.
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
    problems::state_held(&lines)
}
