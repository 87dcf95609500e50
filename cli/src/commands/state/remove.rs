//! `weft state rm`: removes objects from the state, and leaves the real objects as they are.

use super::selection::StateSelector;
use crate::command::{self, Command, Invocation, OnMistake};
use crate::commands::state::problems as state_problems;
use crate::edits::{Change, change, file_of};
use crate::exit::Exit;
use crate::options::switch;
use crate::project::Project;
use crate::store::StoreLocation;

/// The command.
pub const REMOVE: Command = Command {
    words: &["state", "rm"],
    alias: Some("remove"),
    operands: "ADDRESS...",
    about: "Remove objects from the state without destroying them",
    main: false,
    flags: &[
        command::VIEW,
        command::JSON,
        command::VARIABLES_UNLISTED,
        command::LOCK,
        command::STATE_IN_PLACE,
        command::STORE,
        &[switch("dry-run", "Only print what would be removed."), switch("ignore-remote-version", "")],
    ],
    mixed: false,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: true,
    run: |invocation| {
        invocation.view.tell_lines();
        remove(invocation).unwrap_or_else(|exit| exit)
    },
};

fn remove(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, view, .. } = invocation;
    if arguments.positionals.is_empty() {
        return Err(invocation.mistake(&state_problems::address_required()));
    }
    let dry = arguments.switch("dry-run", false);
    let place = StoreLocation::for_edit(invocation, "state-rm", true)?;
    let removed = change(invocation, &place, |snapshot| {
        super::present(snapshot)?;
        Project::refuse_wrong(invocation)?;
        let mut file = file_of(snapshot);
        let mut removed = Vec::new();
        for text in &arguments.positionals {
            let selection = StateSelector::parse(text)?;
            // If several arguments select an object, it is listed several times.
            removed.append(&mut selection.of(&file));
        }
        if removed.is_empty() && !dry {
            return Err(vec![state_problems::nothing_to_remove()]);
        }
        for address in &removed {
            file.instances.remove(&address.to_string());
        }
        Ok((if dry { Change::Nothing } else { Change::Content(Box::new(file)) }, removed))
    })?;
    let word = if dry { "Would remove" } else { "Removed" };
    for address in &removed {
        view.line(&format!("{word} {address}"));
    }
    match (dry, removed.len()) {
        (true, 0) => view.sentence("Would have removed nothing"),
        (true, _) => {}
        (false, count) => view.sentence(&format!("Successfully removed {count} resource instance(s)")),
    }
    Ok(Exit::DONE)
}
