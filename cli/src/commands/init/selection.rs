//! The selection of a workspace by `init`. If the selected workspace does not exist in the backend, another one is
//! selected.

use smol_str::SmolStr;
use weft_graph_format::diagnostic::Diagnostic;

use super::problems;
use crate::backend::{CLOUD, StateBackend};
use crate::command::Invocation;
use crate::context::{is_workspace_name, remember_workspace};
use crate::prompt::Prompt;

/// If the selected workspace does not exist, selects one that exists. If there are several, the user chooses. If there
/// is none and the configuration has a `cloud` block, the user enters the name of the first workspace.
///
/// # Errors
/// Returns an error if there is no workspace, if the user cannot be asked, or if the answer is not valid.
pub fn select(invocation: &Invocation<'_>, backend: &StateBackend) -> Result<(), Diagnostic> {
    if !backend.has_workspaces()? {
        return Ok(());
    }
    let all = backend.workspaces()?;
    let selected = invocation.context.workspace()?;
    if all.iter().any(|name| *name == selected) {
        return Ok(());
    }
    let remember = |name: &str| remember_workspace(&invocation.context.data_directory, name);
    match all.as_slice() {
        [] if backend.kind() == CLOUD && invocation.asks() => remember(&first_workspace(backend)?),
        [] => Err(problems::no_workspaces()),
        [only] => remember(only),
        _ if !invocation.asks() => Err(problems::selected_workspace_missing(&selected, &all)),
        _ => remember(&one_of(&selected, &all)?),
    }
}

/// Asks for the name of the first workspace. The workspace is created when its state is read.
fn first_workspace(backend: &StateBackend) -> Result<String, Diagnostic> {
    let tags = backend.tags().join(", ");
    let detail = format!(
        "There are no workspaces with the tags of the configuration ({tags}) in the organization.\nWeft can create a \
         workspace with these tags. Enter its name."
    );
    let answer = Prompt::new().answer("No workspaces found.", &detail, false).unwrap_or_default();
    match is_workspace_name(&answer) {
        true => Ok(answer),
        false => Err(problems::no_workspace_name()),
    }
}

fn one_of(selected: &str, all: &[String]) -> Result<String, Diagnostic> {
    let lines = (1..).zip(all).map(|(number, name)| format!("  {number}. {name}\n"));
    let detail = format!(
        "This is expected where the settings of the backend have changed. Enter the number of the workspace to use:\n{}",
        lines.collect::<String>()
    );
    let question = format!("The currently selected workspace ({selected}) does not exist.");
    let answer = Prompt::new().answer(&question, &detail, false).unwrap_or_default();
    let index = answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    index.and_then(|index| all.get(index)).cloned().ok_or_else(problems::not_a_workspace_number)
}

/// A new name for the workspace `default`, for a new backend that cannot have a workspace named `default`. If the new
/// backend is a `cloud` block without tags and with only one workspace, the name of that workspace is used. Otherwise
/// the user is asked.
///
/// # Errors
/// Returns an error if there is no input, or if the answer is not a valid name. Returns errors of the service.
pub fn name_for_default(invocation: &Invocation<'_>, now: &StateBackend) -> Result<SmolStr, Diagnostic> {
    if now.kind() == CLOUD
        && now.tags().is_empty()
        && let [only] = now.workspaces()?.as_slice()
    {
        return Ok(only.into());
    }
    if !invocation.asks() {
        return Err(problems::default_needs_name());
    }
    let detail = "The new backend has no workspace \"default\". Enter the name that its state gets there.";
    let answer = Prompt::new().answer("Please provide a new workspace name", detail, false).unwrap_or_default();
    match is_workspace_name(&answer) && answer != crate::context::DEFAULT_WORKSPACE {
        true => Ok(answer.into()),
        false => Err(problems::no_workspace_name()),
    }
}
