//! The migration of states by `init` when the backend changes. As in OpenTofu, `init` asks the user first, and then
//! copies the states.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::ResourceInstance;
use weft_graph_format::diagnostic::Diagnostic;
use weft_state::{Edit, EditAnswer, RunHeader, RunStore, Snapshot, StoredInstance, Writes};

use super::failure::BackendFailure;
use super::{problems, selection};
use crate::backend::StateBackend;
use crate::command::Invocation;
use crate::context::{DEFAULT_WORKSPACE, remember_workspace};
use crate::edits::{Change, change, file_of, refusal, writes};
use crate::prompt::Prompt;
use crate::runtime::block_on;
use crate::store::{self, Access, StoreLocation};

/// The maximum number of times that a question is asked. Without a yes or no, the answer is no.
const TRIES: usize = 2;
/// The maximum number of names in a question. More would hide the question.
const LISTED: usize = 10;

/// A change from one backend to another one.
pub struct Migration<'a> {
    /// The command.
    pub invocation: &'a Invocation<'a>,
    /// The previous backend.
    pub before: &'a StateBackend,
    /// The new backend.
    pub now: &'a StateBackend,
}

/// A workspace whose state moves, with its name in the new backend.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WorkspaceMove {
    from: SmolStr,
    to: SmolStr,
}

/// The states that move. The variant also decides which question the user must answer first.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Route {
    /// The state of the default workspace is copied. The question depends on the old and the new state.
    Default,
    /// The state of the selected workspace is copied to the default workspace. Other states are not copied. The user is
    /// first asked whether to copy only this state.
    Selected(SmolStr),
    /// The states of all workspaces are copied under their names. Holds these workspaces. The copies overwrite existing
    /// states.
    All(Vec<SmolStr>),
}

/// The outcome for one state.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CopyOutcome {
    /// There is no state to copy.
    Empty,
    /// The user has declined the copy.
    Declined,
    /// The new backend has the state, with this lineage and serial number.
    There(String, u64),
}

/// A state and its location.
struct Found {
    place: StoreLocation,
    snapshot: Snapshot,
}

/// The route of a migration. `names` are the workspaces of the old backend. `several` says whether the new backend
/// supports several workspaces.
fn route(names: &[SmolStr], several: bool, selected: SmolStr) -> Route {
    match names {
        [only] if only == DEFAULT_WORKSPACE => Route::Default,
        _ if !several => Route::Selected(selected),
        _ => {
            let mut names = names.to_vec();
            names.sort();
            Route::All(names)
        }
    }
}

/// Whether a state has any content to copy.
pub fn has_content(snapshot: &Snapshot) -> bool {
    !snapshot.instances.is_empty() || !snapshot.outputs.is_empty()
}

/// Whether both states have the same lineage and the same content.
fn equal(one: &Snapshot, other: &Snapshot) -> bool {
    one.lineage == other.lineage && writes(other, &file_of(one)) == Writes::default()
}

impl Migration<'_> {
    /// Copies the states. With `empties`, the function then empties the copied states in the old backend.
    ///
    /// # Errors
    /// Returns the reason why the states cannot be copied.
    pub fn run(&self, empties: bool) -> Result<(), BackendFailure> {
        let selected = self.invocation.context.workspace()?;
        let names: Vec<SmolStr> = self.before.all_states()?.into_iter().map(SmolStr::from).collect();
        let several = self.now.has_workspaces()?;
        let mut forced = self.invocation.arguments.switch("force-copy", false);
        let name = |name: &str| SmolStr::from(name);
        let moves = match route(&names, several, selected) {
            Route::Default => vec![WorkspaceMove { from: name(DEFAULT_WORKSPACE), to: name(DEFAULT_WORKSPACE) }],
            Route::Selected(selected) => {
                if !forced {
                    self.asked_for_selected(&selected)?;
                }
                remember_workspace(&self.invocation.context.data_directory, DEFAULT_WORKSPACE)?;
                vec![WorkspaceMove { from: selected, to: name(DEFAULT_WORKSPACE) }]
            }
            Route::All(names) => {
                let moves: Vec<WorkspaceMove> =
                    names.into_iter().map(|name| WorkspaceMove { from: name.clone(), to: name }).collect();
                if !forced {
                    self.asked_for_all(&moves)?;
                    forced = true;
                }
                moves
            }
        };
        let mut there = Vec::new();
        for step in moves {
            if let CopyOutcome::There(lineage, serial) = self.copy(&step, forced)? {
                there.push((step, lineage, serial));
            }
        }
        // The old states are emptied after all of them are copied. The backup files of the old states are not deleted.
        for (step, lineage, serial) in there.into_iter().filter(|_| empties) {
            if !self.same_file(&step) {
                self.empty(&step.from, &lineage, serial)?;
            }
        }
        Ok(())
    }

    /// Copies one state. Asks the user, unless the copy is `forced`.
    fn copy(&self, step: &WorkspaceMove, forced: bool) -> Result<CopyOutcome, BackendFailure> {
        let Migration { invocation, before, now } = self;
        let (source, runs) = self.read(before, &step.from)?;
        unfinished(&runs)?;
        if !has_content(&source.snapshot) {
            return Ok(CopyOutcome::Empty);
        }
        let to = self.destination(&step.to)?;
        let (target, _) = self.read(now, &to)?;
        target.place.check_version(invocation)?;
        if self.same_file(step) || equal(&source.snapshot, &target.snapshot) {
            // Both states may have the same lock, so this check comes before any lock is acquired.
            return Ok(CopyOutcome::There(source.snapshot.lineage, source.snapshot.serial));
        }
        let done = block_on(async {
            let (_source_lock, from) = held(&source.place, "migration source state").await?;
            let (store, there) = held(&target.place, "migration destination state").await?;
            if !has_content(&from) {
                return Ok(CopyOutcome::Empty);
            }
            let places = [&source.place, &target.place].map(StoreLocation::shown);
            if !forced && !self.asked_for_one(&from, &there, &places)? {
                return Ok(CopyOutcome::Declined);
            }
            let file = file_of(&from);
            let identity = Some((file.lineage.clone(), file.serial));
            let edit = Edit { seen: there.serial, writes: writes(&there, &file), identity };
            match store.edit(edit).await {
                Ok(EditAnswer::Edited) => Ok(CopyOutcome::There(file.lineage, file.serial)),
                Ok(refused) => Err(refusal(&refused)),
                Err(error) => Err(store::problem(&error)),
            }
        });
        Ok(done??)
    }

    /// Empties a state that was copied. It is an error if the state has changed since the copy.
    fn empty(&self, workspace: &SmolStr, lineage: &str, serial: u64) -> Result<(), BackendFailure> {
        // The configuration no longer refers to the old backend. If the state in the old backend were not emptied, it
        // could be mistaken for the current state.
        let place = self.place(self.before, workspace)?;
        change(self.invocation, &place, |there| match there.lineage == lineage && there.serial == serial {
            true => Ok((Change::Content(Box::default()), ())),
            false => Err(vec![problems::changed_after_copy(workspace)]),
        })?;
        // As in OpenTofu, the state file of a local backend is truncated, but not deleted.
        match &place {
            StoreLocation::Embedded(options) => std::fs::write(&options.state, "")
                .map_err(|error| problems::state_not_emptied(&options.state, &error).into()),
            _ => Ok(()),
        }
    }

    /// The name of a workspace in the new backend. In a backend without a default workspace, the default workspace
    /// needs another name.
    fn destination(&self, name: &SmolStr) -> Result<SmolStr, BackendFailure> {
        if name != DEFAULT_WORKSPACE || self.now.has_default() {
            return Ok(name.clone());
        }
        let Invocation { context, .. } = self.invocation;
        let chosen = selection::name_for_default(self.invocation, self.now)?;
        if context.workspace()? == DEFAULT_WORKSPACE && self.now.has_workspaces()? {
            remember_workspace(&context.data_directory, &chosen)?;
        }
        Ok(chosen)
    }

    /// Whether the state is in the same file in both backends.
    fn same_file(&self, step: &WorkspaceMove) -> bool {
        match (self.before, self.now) {
            (StateBackend::Local(before), StateBackend::Local(now)) => {
                before.state_file(&step.from) == now.state_file(&step.to)
            }
            _ => false,
        }
    }

    fn place(&self, backend: &StateBackend, workspace: &SmolStr) -> Result<StoreLocation, BackendFailure> {
        Ok(super::place(self.invocation, backend, workspace)?)
    }

    /// Reads a state and its runs, without a lock.
    fn read(&self, backend: &StateBackend, workspace: &SmolStr) -> Result<(Found, Vec<RunHeader>), BackendFailure> {
        let place = self.place(backend, workspace)?;
        let read = block_on(place.overview()).and_then(|read| read);
        let (snapshot, runs) = read?;
        Ok((Found { place, snapshot }, runs))
    }

    /// Asks whether only the state of the selected workspace is to be copied.
    fn asked_for_selected(&self, selected: &str) -> Result<(), BackendFailure> {
        let (before, now) = (self.before.kind(), self.now.kind());
        let question = format!(
            "Destination state \"{now}\" doesn't support workspaces.\nDo you want to copy only your current workspace?"
        );
        let detail = format!(
            "The backend \"{before}\" has several workspaces, and the new backend \"{now}\" has one state. With \"yes\", the \
             state of\nworkspace \"{selected}\" is copied, and the default workspace is selected. The other states stay \
             where they are.\nWith \"no\", nothing changes."
        );
        self.agreed_or_aborted(&question, &detail)
    }

    /// Asks whether the states of all workspaces are to be copied. Lists the workspaces whose states would be
    /// overwritten.
    fn asked_for_all(&self, moves: &[WorkspaceMove]) -> Result<(), BackendFailure> {
        if !self.invocation.asks() {
            return Err(problems::migration_not_confirmed().into());
        }
        let mut lost = Vec::new();
        for step in moves {
            let (from, there) = (self.read(self.before, &step.from)?.0, self.read(self.now, &step.to)?.0);
            let (from, there) = (from.snapshot, there.snapshot);
            if has_content(&from) && has_content(&there) && !equal(&from, &there) {
                lost.push(step.to.to_string());
            }
        }
        let (before, now) = (self.before.kind(), self.now.kind());
        let question = format!("Do you want to migrate all workspaces to \"{now}\"?");
        let overwrites = match lost.is_empty() {
            true => "The new backend has no other states of these workspaces.".to_owned(),
            false => format!("THIS OVERWRITES other states of these workspaces in the new backend: {}.", listed(&lost)),
        };
        let detail = format!(
            "The states of all workspaces of the backend \"{before}\" are copied under their names:\n{}.\n{overwrites}\nWith \
             \"no\", nothing changes.",
            listed(&moves.iter().map(|step| step.from.to_string()).collect::<Vec<_>>())
        );
        self.agreed_or_aborted(&question, &detail)
    }

    /// Asks whether a state is to be copied. `places` are the locations of both states.
    fn asked_for_one(&self, from: &Snapshot, there: &Snapshot, places: &[String; 2]) -> Result<bool, Diagnostic> {
        let mut detail =
            format!("The previous backend \"{}\" has this state:\n  {}\n", self.before.kind(), words(from, &places[0]));
        let now = self.now.kind();
        if has_content(there) {
            let what =
                if from.lineage == there.lineage { "a different version of this state" } else { "another state" };
            detail.push_str(&format!("The new backend \"{now}\" has {what}:\n  {}\n", words(there, &places[1])));
            detail.push_str(&differences(from, there));
            detail.push_str(
                "Enter \"yes\" to overwrite the state in the new backend with the previous state,\nor \"no\" to use \
                 the state in the new backend.",
            );
        } else {
            detail.push_str(&format!(
                "The new backend \"{now}\" has no state. Enter \"yes\" to copy this state to it, or \"no\" to begin \
                 with an empty state."
            ));
        }
        self.agreed("Do you want to copy existing state to the new backend?", &detail, problems::copy_not_confirmed)
    }

    fn agreed_or_aborted(&self, question: &str, detail: &str) -> Result<(), BackendFailure> {
        match self.agreed(question, detail, problems::migration_not_confirmed)? {
            true => Ok(()),
            false => Err(problems::migration_aborted().into()),
        }
    }

    /// Asks a question with the answers yes and no. `unasked` creates the problem if input is not possible.
    fn agreed(&self, question: &str, detail: &str, unasked: fn() -> Diagnostic) -> Result<bool, Diagnostic> {
        if !self.invocation.asks() {
            return Err(unasked());
        }
        let prompt = Prompt::new();
        for _ in 0..TRIES {
            let Some(answer) = prompt.answer(question, detail, false) else {
                return Err(unasked());
            };
            match answer.to_lowercase().as_str() {
                "yes" => return Ok(true),
                "no" => return Ok(false),
                _ => {}
            }
        }
        Ok(false)
    }
}

/// Locks a state and reads it. Processes that wait for the lock show `operation`.
async fn held(place: &StoreLocation, operation: &str) -> Result<(Arc<dyn RunStore>, Snapshot), Diagnostic> {
    let mut place = place.clone();
    match &mut place {
        StoreLocation::Embedded(options) => operation.clone_into(&mut options.operation),
        StoreLocation::Remote(remote) => operation.clone_into(&mut remote.options.operation),
        StoreLocation::Redis { .. } => {}
    }
    let store = place.open(Access::Change).await?;
    let (snapshot, runs) = store.overview().await.map_err(|error| store::problem(&error))?;
    unfinished(&runs)?;
    Ok((store, snapshot))
}

/// Fails if a run has not finished. The migration would separate the run from its state.
fn unfinished(runs: &[RunHeader]) -> Result<(), Diagnostic> {
    match runs.iter().find(|run| !run.status.is_final() && run.claimed) {
        Some(run) => Err(problems::unfinished_run(&run.id)),
        None => Ok(()),
    }
}

/// Describes a state in a question.
fn words(snapshot: &Snapshot, place: &str) -> String {
    format!(
        "{place}: resource instances: {}, outputs: {}, serial {}, lineage {}, written by version {}",
        snapshot.instances.len(),
        snapshot.named_outputs().count(),
        snapshot.serial,
        snapshot.lineage,
        snapshot.terraform_version
    )
}

/// Describes the instances that only one of the states has, and the instances that differ.
fn differences(from: &Snapshot, there: &Snapshot) -> String {
    let only = |one: &Snapshot, other: &Snapshot| -> Vec<String> {
        one.instances.keys().filter(|key| !other.instances.contains_key(*key)).map(ToString::to_string).collect()
    };
    let differ = |(key, stored): (&ResourceInstance, &StoredInstance)| {
        there.instances.get(key).is_some_and(|known| known.record != stored.record).then(|| ToString::to_string(key))
    };
    let changed: Vec<String> = from.instances.iter().filter_map(differ).collect();
    let lines = [
        ("Only in the previous state:", only(from, there)),
        ("Only in the new state:", only(there, from)),
        ("In both states, but different:", changed),
    ];
    lines
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what} {}\n", listed(names)))
        .collect()
}

/// A list of names in a question.
fn listed(names: &[String]) -> String {
    let shown = names.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(words: &[&str]) -> Vec<SmolStr> {
        words.iter().map(|word| SmolStr::from(*word)).collect()
    }

    #[test]
    fn routes_depend_on_the_number_of_states() {
        let selected = SmolStr::from("b");
        assert_eq!(route(&names(&["default"]), true, selected.clone()), Route::Default);
        assert_eq!(route(&names(&["default"]), false, selected.clone()), Route::Default);
        assert_eq!(route(&names(&["default", "b"]), false, selected.clone()), Route::Selected(selected.clone()));
        assert_eq!(route(&names(&["default", "b"]), true, selected), Route::All(names(&["b", "default"])));
    }

    #[test]
    fn long_lists_are_cut() {
        let many: Vec<String> = (0..12).map(|number| format!("n{number}")).collect();
        assert_eq!(listed(&many[..2]), "n0, n1");
        assert!(listed(&many).ends_with("n9 and 2 more"));
    }
}
