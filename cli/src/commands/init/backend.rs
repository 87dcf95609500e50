//! `init` and the backend: saves its settings, and moves the states when they change.

use std::sync::Arc;

use smol_str::SmolStr;
use weft_backends::catalog;
use weft_evaluator::config::CompiledModule;
use weft_graph_format::diagnostic::Diagnostic;
use weft_state::tfstate::StateFile;
use weft_state::{RunStore, Snapshot};

use super::problems;
use super::selection;
use super::tell;
use crate::backend::{CLOUD, SavedBackend, StateBackend, WrittenBackend};
use crate::command::Invocation;
use crate::context::DEFAULT_WORKSPACE;
use crate::context::environment;
use crate::edits::{Change, change, file_of};
use crate::exit::Exit;
use crate::prompt::Prompt;
use crate::runtime::block_on;
use crate::store::{self, Access, StoreLocation};

/// Saves the backend's settings, and determines where the state of this workspace is. Reports problems.
pub fn settle(invocation: &Invocation<'_>, root: &Arc<CompiledModule>) -> Result<StoreLocation, Exit> {
    let fail = |problems: Vec<Diagnostic>| invocation.fail(&problems);
    let Invocation { arguments, context, .. } = invocation;
    if let Settled::Left = settings(invocation, root)? {
        // The next command asks for an init that copies the state, as in OpenTofu.
        let workspace = context.workspace().map_err(|problem| fail(vec![problem]))?;
        return place(invocation, &StateBackend::default(), &workspace);
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
    let all = |problems: Vec<Diagnostic>| invocation.fail(&problems);
    let unused = store::names_backend(arguments) || store::names_store(arguments) && !store::is_behind(root);
    let written = root.settings.cloud.as_ref().or(root.settings.backend.as_ref());
    if let Some(block) = written.filter(|block| block.kind != "local" && unused) {
        let kind = block.kind.as_str();
        tell(invocation, &format!("\nState is in the store of -store. The backend \"{kind}\" is not used."));
        return Ok(Settled::UpToDate);
    }
    let block = WrittenBackend::read(root, true).map_err(all)?;
    let saved = SavedBackend::read(&context.data_directory).map_err(one)?;
    let reconfigure = arguments.switch("reconfigure", false);
    let migrate = arguments.switch("migrate-state", false) || arguments.switch("force-copy", false);
    let Some(block) = block else { return without_block(invocation, saved, reconfigure, migrate) };
    if block.kind == CLOUD && arguments.has("backend-config") {
        return Err(one(problems::no_settings_for_cloud()));
    }
    // Earlier -backend-config options hold until the block changes or others are given.
    let as_before = !arguments.has("backend-config") && !reconfigure;
    if as_before && saved.as_ref().is_some_and(|saved| saved.is_from(&block)) {
        let known = StateBackend::saved(saved.as_ref()).map_err(all)?;
        known.check().map_err(one)?;
        selection::select(invocation, &known).map_err(one)?;
        return Ok(Settled::UpToDate);
    }
    let saved = saved.filter(|_| !(reconfigure && block.kind == CLOUD));
    let mut written = block.with(arguments.values("backend-config")).map_err(all)?;
    ask_for_missing(invocation, &mut written);
    let unchanged = saved.as_ref().is_some_and(|saved| saved.equals(&written));
    let clouds = (saved.as_ref().is_some_and(|saved| saved.kind == CLOUD), written.kind == CLOUD);
    if !unchanged && clouds != (false, false) {
        let from_elsewhere = match &saved {
            Some(_) => clouds.0 != clouds.1,
            None => has_local_state(invocation)?,
        };
        cloud_options(invocation, from_elsewhere).map_err(one)?;
    }
    let (now, warnings) = StateBackend::connect(&written.kind, &written.settings).map_err(all)?;
    invocation.view.diagnostics(&warnings);
    now.check().map_err(one)?;
    if !unchanged && clouds != (true, true) {
        // Only saved settings are left behind: state that was stored without any is never lost.
        let leave = reconfigure && saved.is_some();
        if saved.is_some() && !migrate && !leave && clouds == (false, false) {
            return Err(one(problems::backend_changed()));
        }
        if !leave {
            let before = StateBackend::saved(saved.as_ref()).map_err(all)?;
            move_states(invocation, &before, &now, saved.is_none())?;
        }
    }
    let selected = selection::select(invocation, &now);
    // Without workspaces, the settings of this backend are saved all the same: "workspace new" needs them.
    if selected.is_ok() || written.kind == "remote" {
        SavedBackend::new(&written).write(&context.data_directory).map_err(one)?;
    }
    selected.map_err(one)?;
    if !unchanged {
        let kind = now.kind();
        let text = match kind == CLOUD {
            true => "\nSuccessfully configured the cloud backend! Weft will use it from now on.".to_owned(),
            false => format!("\nSuccessfully configured the backend \"{kind}\"! Weft will use it from now on."),
        };
        tell(invocation, &text);
    }
    Ok(Settled::UpToDate)
}

/// The configuration has no backend block, or none any more.
fn without_block(
    invocation: &Invocation<'_>,
    saved: Option<SavedBackend>,
    reconfigure: bool,
    migrate: bool,
) -> Result<Settled, Exit> {
    let Invocation { arguments, context, .. } = invocation;
    let one = |problem: Diagnostic| invocation.fail(&[problem]);
    if arguments.has("backend-config") {
        invocation.view.diagnostics(&[problems::backend_options_unused()]);
    }
    let Some(saved) = saved else { return Ok(Settled::UpToDate) };
    if reconfigure {
        return Ok(Settled::Left);
    }
    if saved.kind == CLOUD {
        cloud_options(invocation, true).map_err(one)?;
    } else if !migrate {
        return Err(one(problems::backend_changed()));
    }
    let before = StateBackend::saved(Some(&saved)).map_err(|problems| invocation.fail(&problems))?;
    move_states(invocation, &before, &StateBackend::default(), false)?;
    SavedBackend::remove(&context.data_directory).map_err(one)?;
    let kind = &saved.kind;
    tell(invocation, &format!("\nSuccessfully unset the backend \"{kind}\". Weft now stores state locally."));
    Ok(Settled::UpToDate)
}

/// Refuses options that are about backends where a `cloud` block comes or goes, or changes.
fn cloud_options(invocation: &Invocation<'_>, moving: bool) -> Result<(), Diagnostic> {
    let given = |name: &str| invocation.arguments.switch(name, false);
    let found = [("reconfigure", "-reconfigure"), ("force-copy", "-force-copy"), ("migrate-state", "-migrate-state")];
    match found.into_iter().find(|(name, _)| given(name)) {
        Some((_, option)) => Err(problems::option_not_for_cloud(option, moving)),
        None => Ok(()),
    }
}

/// Whether there is state beside the configuration, which a new backend takes over.
fn has_local_state(invocation: &Invocation<'_>) -> Result<bool, Exit> {
    let one = |problem: Diagnostic| invocation.fail(&[problem]);
    let local = StateBackend::default();
    for name in local.workspaces().map_err(one)? {
        let here = place(invocation, &local, &name.into())?;
        let known = block_on(here.snapshot()).and_then(|read| read).map_err(one)?;
        if !known.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Asks for required settings that are set nowhere, if there is somebody to ask.
fn ask_for_missing(invocation: &Invocation<'_>, written: &mut WrittenBackend) {
    if !invocation.asks() {
        return;
    }
    for name in catalog::missing(&written.kind, &written.settings, &environment) {
        if let Some(answer) = Prompt::new().setting(&name).filter(|answer| !answer.is_empty()) {
            written.settings.insert(name, answer.into());
        }
    }
}

/// A state to be copied.
struct Found {
    from: SmolStr,
    to: SmolStr,
    file: StateFile,
    /// Holds the lock of the source.
    source: Arc<dyn RunStore>,
}

/// Copies the states of all workspaces to the new backend. `empties` removes them from the old one.
fn move_states(
    invocation: &Invocation<'_>,
    before: &StateBackend,
    now: &StateBackend,
    empties: bool,
) -> Result<(), Exit> {
    let one = |problem: Diagnostic| invocation.fail(&[problem]);
    let mut found = Vec::new();
    for (from, to) in pairs(invocation, before, now)? {
        if same_file(before, now, &from, &to) {
            continue;
        }
        let here = place(invocation, before, &from)?;
        let known = block_on(here.snapshot()).and_then(|read| read).map_err(one)?;
        if known.is_empty() && known.serial == 0 {
            continue;
        }
        let renamed = to == DEFAULT_WORKSPACE && !now.has_default();
        let to = if renamed { selection::name_for_default(invocation, now).map_err(one)? } else { to };
        let (source, snapshot) = locked(&here).map_err(one)?;
        found.push(Found { from, to, file: file_of(&snapshot), source });
    }
    if found.is_empty() {
        return Ok(());
    }
    if !invocation.arguments.switch("force-copy", false) && !agreed(invocation, found.len())? {
        return Ok(());
    }
    for Found { from, to, file, source } in found {
        copy(invocation, now, &to, file)?;
        // The lock is released before the state of the source is emptied.
        drop(source);
        if empties {
            // Without a reference the file would be mistaken for the state. Its backup stays.
            let here = place(invocation, before, &from)?;
            change(invocation, &here, |_| Ok((Change::Content(Box::default()), ())))?;
        }
    }
    Ok(())
}

/// The workspaces whose states move, each with its name in the new backend.
fn pairs(
    invocation: &Invocation<'_>,
    before: &StateBackend,
    now: &StateBackend,
) -> Result<Vec<(SmolStr, SmolStr)>, Exit> {
    let one = |problem: Diagnostic| invocation.fail(&[problem]);
    let names = before.all_states().map_err(one)?;
    if now.has_workspaces().map_err(one)? {
        return Ok(names.into_iter().map(|name| (SmolStr::from(&name), SmolStr::from(&name))).collect());
    }
    // The new backend has one state: that of the selected workspace becomes it.
    let selected = invocation.context.workspace().map_err(one)?;
    Ok(vec![(selected, DEFAULT_WORKSPACE.into())])
}

/// Whether both settings mean the same state file.
fn same_file(before: &StateBackend, now: &StateBackend, from: &str, to: &str) -> bool {
    match (before, now) {
        (StateBackend::Local(before), StateBackend::Local(now)) => before.state_file(from) == now.state_file(to),
        _ => false,
    }
}

/// Locks a state and reads it. A run that is not finished must end first: it would be left behind.
fn locked(place: &StoreLocation) -> Result<(Arc<dyn RunStore>, Snapshot), Diagnostic> {
    block_on(async {
        let store = place.open(Access::Change).await?;
        let (snapshot, runs) = store.overview().await.map_err(|error| store::problem(&error))?;
        match runs.iter().find(|run| !run.status.is_final() && run.claimed) {
            Some(run) => Err(problems::unfinished_run(&run.id)),
            None => Ok((store, snapshot)),
        }
    })?
}

fn place(invocation: &Invocation<'_>, backend: &StateBackend, workspace: &SmolStr) -> Result<StoreLocation, Exit> {
    let Invocation { arguments, context, .. } = invocation;
    let sealing = context.sealing(arguments, None).map_err(|problems| invocation.fail(&problems))?;
    StoreLocation::of_backend(backend, workspace, context, arguments, sealing)
        .map_err(|problems| invocation.fail(&problems))
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

fn copy(invocation: &Invocation<'_>, now: &StateBackend, workspace: &SmolStr, file: StateFile) -> Result<(), Exit> {
    let forced = invocation.arguments.switch("force-copy", false);
    let target = place(invocation, now, workspace)?;
    target.check_version(invocation)?;
    change(invocation, &target, |there| {
        if there.lineage == file.lineage && there.serial == file.serial {
            return Ok((Change::Nothing, ()));
        }
        if !there.is_empty() && there.lineage != file.lineage && !forced {
            return Err(vec![problems::both_have_state(workspace, &target.shown())]);
        }
        Ok((Change::Whole(Box::new(file)), ()))
    })
}
