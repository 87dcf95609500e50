//! `weft force-unlock`: removes a lock that a dead process left behind.

mod problems;

use std::sync::Arc;

use weft_graph_format::diagnostic::Diagnostic;

use crate::command::{self, Command, Invocation, OnMistake};
use crate::exit::Exit;
use crate::options::switch;
use crate::packages::require_locked;
use crate::prompt::Prompt;
use crate::runtime::block_on;
use crate::store::{Access, RemoteLocation, StoreLocation};

/// The command.
pub const FORCE_UNLOCK: Command = Command {
    words: &["force-unlock"],
    alias: None,
    operands: "LOCK_ID",
    about: "Remove the lock of a dead process",
    main: false,
    flags: &[
        command::VIEW,
        command::JSON,
        command::INPUT,
        command::VARIABLES_UNLISTED,
        command::STORE,
        &[switch("force", "Do not ask for confirmation.")],
    ],
    mixed: false,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: true,
    run: |invocation| {
        invocation.view.tell_lines();
        unlock(invocation).unwrap_or_else(|exit| exit)
    },
};

fn unlock(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, context, view, .. } = invocation;
    let [id] = arguments.positionals.as_slice() else {
        return Err(invocation.mistake(&problems::lock_id_expected()));
    };
    let failed = |problem: Diagnostic| invocation.fail(&[problem]);
    let place = StoreLocation::find(context, arguments, None).map_err(|problems| invocation.fail(&problems))?;
    require_locked(context).map_err(|problems| invocation.fail(&problems))?;
    if let StoreLocation::Remote(remote) = &place {
        return unlock_remote(invocation, remote, id);
    }
    let StoreLocation::Embedded(options) = &place else {
        return Err(failed(problems::no_locks()));
    };
    let info = options.lock_info();
    if !info.exists() {
        return Err(failed(problems::not_locked(&options.state)));
    }
    let held: serde_json::Value =
        std::fs::read(&info).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    let known = held.get("ID").and_then(serde_json::Value::as_str).unwrap_or_default();
    if known != id {
        return Err(failed(problems::other_lock(id, known)));
    }
    if !approved(invocation)? {
        view.line("force-unlock cancelled.");
        return Ok(Exit::FAILED);
    }
    // If this process can acquire the lock, no other process holds it. Releasing the lock removes the lock file.
    let taken = block_on(place.open(Access::Change)).and_then(|opened| opened);
    drop(taken.map_err(|problem| invocation.fail(&[problem]))?);
    tell_unlocked(invocation);
    Ok(Exit::DONE)
}

/// Removes the lock of a backend, even if another user holds it.
fn unlock_remote(invocation: &Invocation<'_>, remote: &RemoteLocation, id: &str) -> Result<Exit, Exit> {
    if !approved(invocation)? {
        invocation.view.line("force-unlock cancelled.");
        return Ok(Exit::FAILED);
    }
    let state = Arc::clone(&remote.options.state);
    let unlocked = block_on(async move { state.unlock(id).await }).map_err(|problem| invocation.fail(&[problem]))?;
    unlocked.map_err(|error| invocation.fail(&[problems::not_unlocked(&error)]))?;
    tell_unlocked(invocation);
    Ok(Exit::DONE)
}

/// Asks whether to remove the lock.
fn approved(invocation: &Invocation<'_>) -> Result<bool, Exit> {
    if invocation.arguments.switch("force", false) {
        return Ok(true);
    }
    if !invocation.asks() {
        return Err(invocation.fail(&[problems::unlock_not_approved()]));
    }
    let detail = "Weft will remove the lock on the state. This lets others change the state while the holder may still \
    be running.\nOnly 'yes' will be accepted to confirm.";
    Ok(Prompt::new().confirm("Do you really want to force-unlock?", detail))
}

fn tell_unlocked(invocation: &Invocation<'_>) {
    let text = "The state has been successfully unlocked, and Weft commands should now be able to obtain a new lock.";
    invocation.view.line(text);
}
