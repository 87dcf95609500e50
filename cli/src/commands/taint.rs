//! `weft taint` and `weft untaint`: mark an object to be replaced by the next plan, or remove the mark.

use weft_graph_format::address::ResourceMode;
use weft_graph_format::diagnostic::{Diagnostic, Severity};

use crate::addresses::{ONE_INSTANCE, invalid_address, written_instance};
use crate::command::{self, Command, Invocation, OnMistake};
use crate::commands::problems;
use crate::commands::state::problems as state_problems;
use crate::edits::{Change, change, file_of};
use crate::exit::Exit;
use crate::options::switch;
use crate::project::Project;
use crate::store::StoreLocation;

/// The command.
pub const TAINT: Command = Command {
    words: &["taint"],
    alias: None,
    operands: "ADDRESS",
    about: "Mark an object to be replaced by the next plan",
    main: false,
    flags: &[
        command::VIEW,
        command::JSON,
        command::VARIABLES_UNLISTED,
        command::LOCK,
        command::STATE,
        command::STORE,
        &[switch("allow-missing", "Succeed if there is no such object."), switch("ignore-remote-version", "")],
    ],
    mixed: false,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: true,
    run: |invocation| {
        invocation.view.tell_lines();
        mark(invocation, true).unwrap_or_else(|exit| exit)
    },
};

/// The command.
pub const UNTAINT: Command = Command {
    words: &["untaint"],
    about: "Remove the mark of a tainted object",
    run: |invocation| {
        invocation.view.tell_lines();
        mark(invocation, false).unwrap_or_else(|exit| exit)
    },
    events: true,
    ..TAINT
};

fn mark(invocation: &Invocation<'_>, tainted: bool) -> Result<Exit, Exit> {
    let Invocation { arguments, view, .. } = invocation;
    let name = invocation.command.name();
    let [text] = arguments.positionals.as_slice() else {
        return Err(invocation.mistake(&problems::taint_arguments(&name)));
    };
    let address =
        written_instance(text).ok_or_else(|| invocation.mistakes(&invalid_address(text, None, ONE_INSTANCE)))?;
    if tainted && address.resource.mode != ResourceMode::Managed {
        return Err(invocation.mistake(&state_problems::not_managed(&address, &name)));
    }
    let allowed = arguments.switch("allow-missing", false);
    let place = StoreLocation::for_edit(invocation, &name, false)?;
    let problem = change(invocation, &place, |snapshot| {
        // As in OpenTofu, `taint` needs a valid configuration.
        if tainted && !snapshot.is_empty() {
            Project::refuse_wrong(invocation)?;
        }
        let mut file = file_of(snapshot);
        let missing = |problem: Diagnostic| {
            if allowed {
                return Ok((Change::Nothing, Some(Diagnostic { severity: Severity::Warning, ..problem })));
            }
            Err(vec![problem])
        };
        let Some(record) = file.instances.get_mut(&address.to_string()) else {
            return missing(state_problems::nothing_to_taint(&address));
        };
        let Some(object) = &mut record.current else {
            return missing(state_problems::taint_during_replacement(&address));
        };
        if !tainted && !object.tainted {
            return Err(vec![state_problems::not_tainted(&address)]);
        }
        object.tainted = tainted;
        Ok((Change::Content(Box::new(file)), None))
    })?;
    match problem {
        Some(warning) => view.diagnostics(&[warning]),
        None if tainted => view.line(&format!("Resource instance {address} has been marked as tainted.")),
        None => view.line(&format!("Resource instance {address} has been successfully untainted.")),
    }
    Ok(Exit::DONE)
}
