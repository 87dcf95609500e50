//! `weft state push`: replaces the state with a state file.

use std::io::Read;

use weft_graph_format::diagnostic::Diagnostic;
use weft_state::Snapshot;
use weft_state::tfstate::{FormatDigit, StateFile, find_format_digit};

use crate::command::{self, Command, Invocation, OnMistake};
use crate::commands::problems;
use crate::commands::state::problems as state_problems;
use crate::edits::{Change, change, file_of};
use crate::exit::Exit;
use crate::options::switch;
use crate::store::StoreLocation;

/// The command.
pub const PUSH: Command = Command {
    words: &["state", "push"],
    alias: None,
    operands: "FILE",
    about: "Replace the state with a file",
    main: false,
    flags: &[
        command::VIEW,
        command::JSON,
        command::VARIABLES_UNLISTED,
        command::LOCK,
        command::STORE,
        &[switch("force", "Ignore lineage and serial."), switch("ignore-remote-version", "")],
    ],
    mixed: false,
    on_mistake: OnMistake::Usage,
    events: true,
    run: |invocation| {
        invocation.view.tell_lines();
        push(invocation).unwrap_or_else(|exit| exit)
    },
};

fn push(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let [path] = invocation.arguments.positionals.as_slice() else {
        return Err(invocation.mistake(&problems::one_argument()));
    };
    let fail = |problem: Diagnostic| invocation.fail(&[problem]);
    let bytes = if path == "-" {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        read.map(|_| bytes).map_err(|error| fail(state_problems::source_state_unreadable(&error)))?
    } else {
        std::fs::read(path).map_err(|error| fail(state_problems::state_file_unreadable(path, &error)))?
    };
    let pushed = StateFile::parse(&bytes, path).map_err(|error| fail(state_problems::not_a_state(path, &error)))?;
    // Such a file belongs to an unfinished run, and is useless elsewhere.
    if find_format_digit(&bytes, path).is_ok_and(FormatDigit::is_guarded) {
        return Err(fail(state_problems::guarded_state(path)));
    }
    let force = invocation.arguments.switch("force", false);
    let place = StoreLocation::for_edit(invocation, "state-push", false)?;
    change(invocation, &place, |snapshot| {
        if !force && let Err(problem) = follows(snapshot, &pushed) {
            return Err(vec![problem]);
        }
        let mut wanted = pushed;
        if wanted.lineage.is_empty() {
            wanted.lineage.clone_from(&snapshot.lineage);
        }
        let same = file_of(snapshot).lineage == wanted.lineage && equal(snapshot, &wanted);
        if same && snapshot.serial >= wanted.serial {
            return Ok((Change::Nothing, ()));
        }
        Ok((Change::Whole(Box::new(wanted)), ()))
    })?;
    Ok(Exit::DONE)
}

fn equal(snapshot: &Snapshot, file: &StateFile) -> bool {
    let held = file_of(snapshot);
    (&held.instances, &held.outputs, &held.checks) == (&file.instances, &file.outputs, &file.checks)
}

/// Whether the pushed state is a later one of the existing state.
fn follows(snapshot: &Snapshot, pushed: &StateFile) -> Result<(), Diagnostic> {
    // An empty state loses nothing. A state without a lineage is older than lineages, so its age is unknown.
    if snapshot.is_empty() || pushed.lineage.is_empty() || snapshot.lineage.is_empty() {
        return Ok(());
    }
    if pushed.lineage != snapshot.lineage {
        return Err(state_problems::unrelated_state(&pushed.lineage, &snapshot.lineage));
    }
    if pushed.serial < snapshot.serial {
        return Err(state_problems::older_state(pushed.serial, snapshot.serial));
    }
    if pushed.serial == snapshot.serial && !equal(snapshot, pushed) {
        return Err(state_problems::same_serial(snapshot.serial));
    }
    Ok(())
}
