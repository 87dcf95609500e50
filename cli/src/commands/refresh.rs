//! `weft refresh`: updates the state to match the real objects.

use std::sync::Arc;

use weft_graph_format::address::ResourceMode;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::plan_file::UiMode;
use weft_state::tfstate::StateFile;
use weft_state::{Edit, EditAnswer, Snapshot, StoredInstance};

use super::output::show_outputs;
use super::plan::Loaded;
use crate::apply::checks::begin_state;
use crate::command::{self, Command, Invocation, OnMistake};
use crate::commands::problems;
use crate::commands::state::problems as state_problems;
use crate::edits::{file_of, refusal, writes};
use crate::exit::Exit;
use crate::plan::Wishes;
use crate::render::events;
use crate::runtime::block_on;
use crate::store::{self, Access};

/// The command.
pub const REFRESH: Command = Command {
    words: &["refresh"],
    alias: None,
    operands: "",
    about: "Update the state to match the real objects",
    main: false,
    flags: &[
        command::VIEW_WITH_PROGRESS,
        command::JSON,
        command::INPUT,
        command::SENSITIVE,
        command::VARIABLES,
        command::LOCK,
        command::STATE,
        command::STORE,
        command::PLANNING_UNLISTED,
        command::SELECTION,
        command::PARALLELISM,
    ],
    mixed: false,
    on_mistake: OnMistake::Hint,
    check: |arguments| {
        let operands = (!arguments.positionals.is_empty()).then(problems::refresh_arguments);
        operands.into_iter().chain(Wishes::mistakes(arguments, false)).collect()
    },
    events: true,
    run: |invocation| refresh(invocation).unwrap_or_else(|exit| exit),
};

fn refresh(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { view, .. } = invocation;
    view.event(events::version());
    // As in OpenTofu, other planning options are accepted and have no effect, because the command only refreshes.
    let read = Wishes::read(invocation, false)?;
    let wishes = Wishes {
        prior_state: true,
        mode: UiMode::Normal,
        refresh: true,
        replace: Vec::new(),
        configuration: false,
        ..read
    };
    let loaded = Loaded::load(invocation, "Refresh", true)?;
    let outcome = block_on(refreshed(invocation, &loaded, &wishes));
    let (snapshot, said) =
        outcome.unwrap_or_else(|problem| Err(vec![problem])).map_err(|problems| invocation.fail(&problems))?;
    view.diagnostics(&said);
    show_outputs(invocation, &snapshot);
    Ok(Exit::DONE)
}

/// Refreshes the objects, and writes the result to the state. Returns the new state and warnings.
async fn refreshed(
    invocation: &Invocation<'_>,
    loaded: &Loaded,
    wishes: &Wishes,
) -> Result<(Snapshot, Vec<Diagnostic>), Vec<Diagnostic>> {
    let one = |problem: Diagnostic| vec![problem];
    let of_store = |error| vec![store::problem(&error)];
    let store = loaded.place.open(Access::Change).await.map_err(one)?;
    let snapshot = Arc::new(store.snapshot().await.map_err(of_store)?);
    let managed = |stored: &StoredInstance| stored.record.mode() == ResourceMode::Managed;
    let nothing = (!snapshot.instances.values().any(managed)).then(nothing_there);
    let made = loaded.plan(invocation, snapshot.clone(), wishes).await?;
    if has_errors(&made.diagnostics) {
        // If there is no plan at all, the configuration is invalid, and a warning about an empty state is useless.
        let nothing = nothing.filter(|_| made.file.is_some());
        return Err(made.diagnostics.into_iter().chain(nothing).collect());
    }
    let text = made.file.and_then(|file| file.manifest.prior_state);
    if let Some(text) = text {
        let found = StateFile::parse(text.as_bytes(), "the refreshed state")
            .map_err(|error| one(problems::state_not_saved(&error)))?;
        // As in OpenTofu, an output is stored with its planned value if this value is known. Only an apply stores
        // results of checks.
        let file = StateFile { instances: found.instances, outputs: found.outputs, checks: None, ..file_of(&snapshot) };
        let edit = Edit { seen: snapshot.serial, writes: writes(&snapshot, &file), identity: None };
        let answer = store.edit(edit).await.map_err(of_store)?;
        if answer != EditAnswer::Edited {
            return Err(one(refusal(&answer)));
        }
    }
    begin_state(&*store, &invocation.arguments).await.map_err(of_store)?;
    let said = made.diagnostics.into_iter().chain(nothing).collect();
    Ok((store.snapshot().await.map_err(of_store)?, said))
}

fn nothing_there() -> Diagnostic {
    state_problems::nothing_to_refresh()
}
