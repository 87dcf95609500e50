//! `weft state push`: replaces the state with a state file.

use std::fmt::Display;
use std::io::Read;

use weft_graph_format::diagnostic::Diagnostic;
use weft_sealing::is_sealed;
use weft_state::tfstate::{FormatDigit, StateFile, find_format_digit};
use weft_state::{EmbeddedStore, RunStore, StoreError};

use crate::command::{self, Command, Invocation, OnMistake};
use crate::commands::problems;
use crate::commands::stalled::report_stalled;
use crate::commands::state::problems as state_problems;
use crate::edits::{Change, change_in, file_of};
use crate::exit::Exit;
use crate::options::switch;
use crate::runtime::block_on;
use crate::store::{self, Access, StoreLocation};

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
    check: command::unchecked,
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
    let pushed = parsed(invocation, &bytes, path).map_err(|problems| invocation.fail(&problems))?;
    // A guarded file belongs to an unfinished run, and is useless as another state.
    if find_format_digit(&bytes, path).is_ok_and(FormatDigit::is_guarded) {
        return Err(fail(state_problems::guarded_state(path)));
    }
    let force = invocation.arguments.switch("force", false);
    let place = StoreLocation::for_edit(invocation, "state-push", false)?;
    let push = Push { pushed, force };
    let done = block_on(async {
        match place.open_store(Access::Change).await {
            Ok(store) => push.over(invocation, store.as_ref()).await,
            Err(error) => push.over_orphan(&place, &error),
        }
    });
    done.unwrap_or_else(|problem| Err(vec![problem])).map_err(|problems| invocation.fail(&problems))?;
    Ok(Exit::DONE)
}

/// Parses the state in a file, encrypted or not.
fn parsed(invocation: &Invocation<'_>, bytes: &[u8], path: &str) -> Result<StateFile, Vec<Diagnostic>> {
    let unread = |error: &dyn Display| vec![state_problems::not_a_state(path, error)];
    if !is_sealed(bytes) {
        return StateFile::parse(bytes, path).map_err(|error| unread(&error));
    }
    let sealing = invocation.context.sealing(&invocation.arguments, None)?;
    let opened = sealing.open_state(bytes).map_err(|error| unread(&error))?;
    StateFile::parse(&opened.plain, path).map_err(|error| unread(&error))
}

/// A state to push, and the options.
struct Push {
    pushed: StateFile,
    force: bool,
}

impl Push {
    async fn over(self, invocation: &Invocation<'_>, store: &dyn RunStore) -> Result<(), Vec<Diagnostic>> {
        change_in(store, |snapshot| {
            let held = file_of(snapshot);
            let wanted = self.wanted(&held).map_err(|problem| vec![problem])?;
            let same = held.lineage == wanted.lineage && equal(&held, &wanted);
            if same && held.serial == wanted.serial {
                return Ok((Change::Nothing, ()));
            }
            Ok((Change::Whole(Box::new(wanted)), ()))
        })
        .await?;
        // A push does not end unfinished runs. These runs still guard the state, so they are reported.
        if let Ok(headers) = store.runs().await {
            report_stalled(&invocation.view, &headers);
        }
        Ok(())
    }

    /// Replaces a state that is guarded by a run whose journal is lost.
    fn over_orphan(self, place: &StoreLocation, error: &StoreError) -> Result<(), Vec<Diagnostic>> {
        let failed = |error: &StoreError| vec![store::problem(error)];
        let decide = |held: &StateFile| self.wanted(held);
        let replaced = match (error, place) {
            (StoreError::Damaged { .. }, StoreLocation::Embedded(options)) => {
                EmbeddedStore::replace_orphan(options, decide)
            }
            (StoreError::Damaged { .. }, StoreLocation::Remote(remote)) => {
                EmbeddedStore::replace_orphan_remote(remote.options.clone(), decide)
            }
            _ => return Err(failed(error)),
        };
        match replaced.map_err(|error| failed(&error))? {
            Some(answer) => answer.map_err(|problem| vec![problem]),
            None => Err(failed(error)),
        }
    }

    /// The state to write over the existing one, if this is allowed.
    fn wanted(self, held: &StateFile) -> Result<StateFile, Diagnostic> {
        if !self.force {
            follows(held, &self.pushed)?;
        }
        Ok(self.pushed)
    }
}

fn equal(held: &StateFile, file: &StateFile) -> bool {
    (&held.instances, &held.outputs, &held.checks) == (&file.instances, &file.outputs, &file.checks)
}

/// Checks that the pushed state may replace the existing one: it has the same lineage and is not older.
fn follows(held: &StateFile, pushed: &StateFile) -> Result<(), Diagnostic> {
    // An empty state has nothing to lose. Without lineages, the ages of the states cannot be compared.
    if held.is_empty() || !pushed.has_lineage() || !held.has_lineage() {
        return Ok(());
    }
    if pushed.lineage != held.lineage {
        return Err(state_problems::unrelated_state(&pushed.lineage, &held.lineage));
    }
    if pushed.serial < held.serial {
        return Err(state_problems::older_state(pushed.serial, held.serial));
    }
    if pushed.serial == held.serial && !equal(held, pushed) {
        return Err(state_problems::same_serial(held.serial));
    }
    Ok(())
}
