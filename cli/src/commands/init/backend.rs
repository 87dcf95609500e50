//! The backend part of `init`: saves the settings, and migrates the states when the settings change.

use std::sync::Arc;

use weft_backends::catalog;
use weft_evaluator::config::CompiledModule;
use weft_graph_format::diagnostic::Diagnostic;

use super::failure::BackendFailure;
use super::migration::{Migration, has_content};
use super::problems;
use super::selection;
use super::{place, tell};
use crate::backend::{CLOUD, SavedBackend, StateBackend, WrittenBackend};
use crate::command::Invocation;
use crate::context::environment;
use crate::prompt::Prompt;
use crate::runtime::block_on;
use crate::store::{self, StoreLocation};

/// Saves the settings of the backend, and returns the location of the state of the selected workspace.
pub fn settle(invocation: &Invocation<'_>, root: &Arc<CompiledModule>) -> Result<StoreLocation, BackendFailure> {
    let Invocation { arguments, context, .. } = invocation;
    if let SettingsStatus::Left = settings(invocation, root)? {
        // `-reconfigure` leaves the saved settings of the removed block in place. As in OpenTofu, other commands
        // therefore fail until an `init` without `-reconfigure` has copied the state.
        let workspace = context.workspace()?;
        return Ok(place(invocation, &StateBackend::default(), &workspace)?);
    }
    Ok(StoreLocation::find(context, arguments, Some(root))?)
}

/// The location of the state of the selected workspace in the backend that an earlier `init` has saved.
///
/// # Errors
/// Returns an error if the saved settings are invalid.
pub fn saved_place(invocation: &Invocation<'_>) -> Result<StoreLocation, Vec<Diagnostic>> {
    let Invocation { arguments, context, .. } = invocation;
    let saved = SavedBackend::read(&context.data_directory).map_err(|problem| vec![problem])?;
    let backend = StateBackend::saved(saved.as_ref())?;
    let workspace = context.workspace().map_err(|problem| vec![problem])?;
    let sealing = match arguments.switch("backend", true) {
        true => context.sealing(arguments, None)?,
        false => Arc::default(),
    };
    StoreLocation::of_backend(&backend, &workspace, context, arguments, sealing)
}

/// How the saved settings relate to the configuration.
enum SettingsStatus {
    /// The settings match the configuration.
    UpToDate,
    /// The configuration no longer has the block. With `-reconfigure`, the saved settings stay.
    Left,
}

fn settings(invocation: &Invocation<'_>, root: &Arc<CompiledModule>) -> Result<SettingsStatus, BackendFailure> {
    let Invocation { arguments, context, .. } = invocation;
    let unused = store::names_backend(arguments) || store::names_store(arguments) && !store::is_behind(root);
    let written = root.settings.cloud.as_ref().or(root.settings.backend.as_ref());
    if let Some(block) = written.filter(|block| block.kind != "local" && unused) {
        let kind = block.kind.as_str();
        tell(invocation, &format!("\nState is in the store of -store. The backend \"{kind}\" is not used."));
        return Ok(SettingsStatus::UpToDate);
    }
    let block = WrittenBackend::read(root, true)?;
    let saved = SavedBackend::read(&context.data_directory)?;
    let reconfigure = arguments.switch("reconfigure", false);
    let migrate = arguments.switch("migrate-state", false) || arguments.switch("force-copy", false);
    let Some(block) = block else { return without_block(invocation, saved, reconfigure, migrate) };
    if block.kind == CLOUD && arguments.has("backend-config") {
        return Err(problems::no_settings_for_cloud().into());
    }
    // Earlier `-backend-config` options are valid until the block changes or other options are given.
    let as_before = arguments.values("backend-config").next().is_none() && !reconfigure;
    if as_before && saved.as_ref().is_some_and(|saved| saved.is_from(&block)) {
        let known = StateBackend::saved(saved.as_ref())?;
        known.check()?;
        selection::select(invocation, &known)?;
        return Ok(SettingsStatus::UpToDate);
    }
    // With `-reconfigure`, the states of the saved backend are not migrated. States in local files are always migrated.
    let saved = saved.filter(|_| !reconfigure);
    // An empty option removes the earlier options.
    let options = arguments.values("backend-config").filter(|text| !text.is_empty());
    let mut written = block.with(options)?;
    ask_for_missing(invocation, &mut written);
    let unchanged = saved.as_ref().is_some_and(|saved| saved.equals(&written));
    let clouds = (saved.as_ref().is_some_and(|saved| saved.kind == CLOUD), written.kind == CLOUD);
    if !unchanged && clouds != (false, false) {
        let from_elsewhere = match &saved {
            Some(_) => clouds.0 != clouds.1,
            None => has_local_state(invocation)?,
        };
        cloud_options(invocation, from_elsewhere)?;
    }
    let (now, warnings) = StateBackend::connect(&written.kind, &written.settings)?;
    invocation.view.diagnostics(&warnings);
    now.check()?;
    if !unchanged && clouds != (true, true) {
        if saved.is_some() && !migrate && clouds == (false, false) {
            return Err(problems::backend_changed().into());
        }
        if saved.is_some() || has_local_state(invocation)? {
            let before = StateBackend::saved(saved.as_ref())?;
            Migration { invocation, before: &before, now: &now }.run(saved.is_none())?;
        }
    }
    let selected = selection::select(invocation, &now);
    // The settings of a `remote` backend are saved even if it has no workspaces, because `workspace new` needs them.
    if selected.is_ok() || written.kind == "remote" {
        SavedBackend::new(&written).write(&context.data_directory)?;
    }
    selected?;
    if !unchanged {
        let kind = now.kind();
        let text = match kind == CLOUD {
            true => "\nSuccessfully configured the cloud backend! Weft will use it from now on.".to_owned(),
            false => format!("\nSuccessfully configured the backend \"{kind}\"! Weft will use it from now on."),
        };
        tell(invocation, &text);
    }
    Ok(SettingsStatus::UpToDate)
}

/// Handles a configuration that has no backend block, or no longer has one.
fn without_block(
    invocation: &Invocation<'_>,
    saved: Option<SavedBackend>,
    reconfigure: bool,
    migrate: bool,
) -> Result<SettingsStatus, BackendFailure> {
    let Invocation { arguments, context, .. } = invocation;
    if arguments.has("backend-config") {
        invocation.view.diagnostics(&[problems::backend_options_unused()]);
    }
    let Some(saved) = saved else { return Ok(SettingsStatus::UpToDate) };
    if reconfigure {
        return Ok(SettingsStatus::Left);
    }
    if saved.kind == CLOUD {
        cloud_options(invocation, true)?;
    } else if !migrate {
        return Err(problems::backend_changed().into());
    }
    let before = StateBackend::saved(Some(&saved))?;
    Migration { invocation, before: &before, now: &StateBackend::default() }.run(false)?;
    SavedBackend::remove(&context.data_directory)?;
    let kind = &saved.kind;
    tell(invocation, &format!("\nSuccessfully unset the backend \"{kind}\". Weft now stores state locally."));
    Ok(SettingsStatus::UpToDate)
}

/// Refuses options about changes of backends. Called if a `cloud` block is added, removed or changed. `moving` says
/// whether states move.
fn cloud_options(invocation: &Invocation<'_>, moving: bool) -> Result<(), Diagnostic> {
    let given = |name: &str| invocation.arguments.switch(name, false);
    let found = [("reconfigure", "-reconfigure"), ("force-copy", "-force-copy"), ("migrate-state", "-migrate-state")];
    match found.into_iter().find(|(name, _)| given(name)) {
        Some((_, option)) => Err(problems::option_not_for_cloud(option, moving)),
        None => Ok(()),
    }
}

/// Whether a workspace has a state in local files, which a new backend takes over.
fn has_local_state(invocation: &Invocation<'_>) -> Result<bool, BackendFailure> {
    let local = StateBackend::default();
    for name in local.workspaces()? {
        let here = place(invocation, &local, &name.into())?;
        let known = block_on(here.snapshot()).and_then(|read| read)?;
        if has_content(&known) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Asks for required settings that have no value, if input is possible.
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
