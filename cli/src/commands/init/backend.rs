//! `init` and the backend: saves its settings, and moves the state when they change.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_evaluator::config::CompiledModule;
use weft_graph_format::diagnostic::Diagnostic;
use weft_state::Snapshot;
use weft_state::tfstate::StateFile;

use super::problems;
use super::tell;
use crate::backend::LocalBackend;
use crate::command::Invocation;
use crate::edits::{Change, change, file_of};
use crate::exit::Exit;
use crate::prompt::Prompt;
use crate::runtime::block_on;
use crate::store::{self, StoreLocation};

/// Saves the backend's settings, and determines where the state of this workspace is. Reports problems.
pub fn settle(invocation: &Invocation<'_>, root: &Arc<CompiledModule>) -> Result<StoreLocation, Exit> {
    let fail = |problems: Vec<Diagnostic>| invocation.fail(&problems);
    let Invocation { arguments, context, .. } = invocation;
    if let Settled::Left = settings(invocation, root)? {
        // The next command asks for an init that copies the state, as in OpenTofu.
        let workspace = context.workspace().map_err(|problem| fail(vec![problem]))?;
        return local(invocation, &LocalBackend::default(), &workspace);
    }
    StoreLocation::find(context, arguments, Some(root)).map_err(fail)
}

/// How saved settings relate to the configuration.
enum Settled {
    /// They match it.
    UpToDate,
    /// Their block is gone, but they stay.
    Left,
}

fn settings(invocation: &Invocation<'_>, root: &Arc<CompiledModule>) -> Result<Settled, Exit> {
    let Invocation { arguments, context, .. } = invocation;
    let one = |problem: Diagnostic| invocation.fail(&[problem]);
    if let Some(block) =
        root.settings.backend.as_ref().filter(|block| block.kind != "local" && store::is_named(arguments))
    {
        let kind = block.kind.as_str();
        tell(invocation, &format!("\nState is in the store of -store. The backend \"{kind}\" is not used."));
        return Ok(Settled::UpToDate);
    }
    let written = LocalBackend::of(root).map_err(|problems| invocation.fail(&problems))?;
    if arguments.has("backend-config") && !written.configured {
        invocation.view.diagnostics(&[problems::backend_options_unused()]);
    }
    let now = match written.configured {
        true => written.clone().with(arguments.values("backend-config")),
        false => Ok(written.clone()),
    };
    let now = now.map_err(|problems| invocation.fail(&problems))?;
    let known = LocalBackend::remembered(&context.data_directory).map_err(one)?;
    // Only saved settings are left behind: state that was stored without any is never lost.
    if arguments.switch("reconfigure", false) && known.settings.configured {
        if !written.configured {
            return Ok(Settled::Left);
        }
        now.remember(&written, &context.data_directory).map_err(one)?;
        return Ok(Settled::UpToDate);
    }
    // Earlier -backend-config options hold until the block changes or others are given.
    let as_before = !arguments.has("backend-config") && written.configured && known.settings.configured;
    if as_before && written.is_part_of(&known) {
        return Ok(Settled::UpToDate);
    }
    if known.settings == now {
        // The same settings from another block, or from none: only its number is saved.
        now.remember(&written, &context.data_directory).map_err(one)?;
        return Ok(Settled::UpToDate);
    }
    let before = known.settings;
    let migrate = arguments.switch("migrate-state", false) || arguments.switch("force-copy", false);
    if before.configured && !migrate {
        return Err(one(problems::backend_changed()));
    }
    move_states(invocation, &before, &now)?;
    now.remember(&written, &context.data_directory).map_err(one)?;
    tell(invocation, "\nSuccessfully configured the backend \"local\"! Weft will use it from now on.");
    Ok(Settled::UpToDate)
}

/// Copies the states of all workspaces to the place of the new settings.
fn move_states(invocation: &Invocation<'_>, before: &LocalBackend, now: &LocalBackend) -> Result<(), Exit> {
    let mut found = Vec::new();
    for workspace in before.workspaces().into_iter().map(SmolStr::from) {
        if before.state_file(&workspace) == now.state_file(&workspace) {
            continue;
        }
        let state = read(invocation, before, &workspace)?;
        if !state.is_empty() || state.serial > 0 {
            found.push((workspace, file_of(&state)));
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    if !invocation.arguments.switch("force-copy", false) && !agreed(invocation, found.len())? {
        return Ok(());
    }
    for (workspace, file) in found {
        copy(invocation, before, now, &workspace, file)?;
    }
    Ok(())
}

fn read(invocation: &Invocation<'_>, backend: &LocalBackend, workspace: &SmolStr) -> Result<Snapshot, Exit> {
    let place = local(invocation, backend, workspace)?;
    block_on(place.snapshot()).and_then(|read| read).map_err(|problem| invocation.fail(&[problem]))
}

fn local(invocation: &Invocation<'_>, backend: &LocalBackend, workspace: &SmolStr) -> Result<StoreLocation, Exit> {
    let sealing = invocation.context.sealing(&invocation.arguments, None);
    let sealing = sealing.map_err(|problems| invocation.fail(&problems))?;
    Ok(StoreLocation::local(backend, workspace, &invocation.arguments, sealing))
}

fn agreed(invocation: &Invocation<'_>, count: usize) -> Result<bool, Exit> {
    if !invocation.asks() {
        return Err(invocation.fail(&[problems::migration_not_confirmed()]));
    }
    let question = if count == 1 {
        "Do you want to copy existing state to the new backend?".to_owned()
    } else {
        format!("Do you want to migrate all {count} workspaces to the new backend?")
    };
    let detail = "The previous backend has state. Enter \"yes\" to copy it to the new backend,\nor \"no\" to begin \
    with an empty state there.";
    Ok(Prompt::new().confirm(&question, detail))
}

fn copy(
    invocation: &Invocation<'_>,
    before: &LocalBackend,
    now: &LocalBackend,
    workspace: &SmolStr,
    file: StateFile,
) -> Result<(), Exit> {
    let forced = invocation.arguments.switch("force-copy", false);
    change(invocation, &local(invocation, now, workspace)?, |there| {
        if !there.is_empty() && there.lineage != file.lineage && !forced {
            return Err(vec![problems::both_have_state(workspace, &now.state_file(workspace))]);
        }
        Ok((Change::Whole(Box::new(file)), ()))
    })?;
    if before.configured {
        return Ok(());
    }
    // Without a reference the file would be mistaken for the state. Its backup stays.
    change(invocation, &local(invocation, before, workspace)?, |_| Ok((Change::Content(Box::default()), ())))
}
