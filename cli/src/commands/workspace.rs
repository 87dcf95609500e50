//! `weft workspace list`, `show`, `new`, `select` and `delete`: manage workspaces.

mod problems;

use weft_graph_format::address::ResourceMode;
use weft_graph_format::diagnostic::Diagnostic;
use weft_state::tfstate::StateFile;

use crate::backend::StateBackend;
use crate::command::{self, Command, Invocation, OnMistake};
use crate::context::{DEFAULT_WORKSPACE, environment, is_workspace_name, remember_workspace};
use crate::edits::{Change, change};
use crate::exit::Exit;
use crate::options::{switch, text};
use crate::packages::require_locked;
use crate::render::events;
use crate::sealing::read_state;
use crate::store::{StoreLocation, Workspaces};

/// The command.
pub const LIST: Command = Command {
    words: &["workspace", "list"],
    alias: None,
    operands: "",
    about: "List workspaces",
    main: false,
    flags: &[command::VIEW, command::JSON, command::VARIABLES],
    mixed: false,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: true,
    run: |invocation| {
        invocation.view.tell_lines();
        list(invocation).unwrap_or_else(|exit| exit)
    },
};

/// The command.
pub const SHOW: Command = Command {
    words: &["workspace", "show"],
    about: "Print the name of the selected workspace",
    flags: &[command::VIEW, command::VARIABLES],
    events: false,
    run: |invocation| show(invocation).unwrap_or_else(|exit| exit),
    ..LIST
};

/// The command.
pub const NEW: Command = Command {
    words: &["workspace", "new"],
    operands: "NAME",
    about: "Create a workspace and select it",
    flags: &[
        command::VIEW,
        command::JSON,
        command::VARIABLES_UNLISTED,
        command::LOCK,
        &[text("state", "FILE", "Start with the state in FILE.")],
    ],
    run: |invocation| {
        invocation.view.tell_lines();
        new(invocation).unwrap_or_else(|exit| exit)
    },
    events: true,
    ..LIST
};

/// The command.
pub const SELECT: Command = Command {
    words: &["workspace", "select"],
    operands: "NAME",
    about: "Select a workspace",
    flags: &[
        command::VIEW,
        command::JSON,
        command::VARIABLES_UNLISTED,
        &[switch("or-create", "Create it if it does not exist.")],
    ],
    run: |invocation| {
        invocation.view.tell_lines();
        select(invocation).unwrap_or_else(|exit| exit)
    },
    events: true,
    ..LIST
};

/// The command.
pub const DELETE: Command = Command {
    words: &["workspace", "delete"],
    operands: "NAME",
    about: "Delete a workspace",
    flags: &[
        command::VIEW,
        command::JSON,
        command::VARIABLES_UNLISTED,
        command::LOCK,
        &[switch("force", "Delete it even if its state has objects. Weft no longer manages these objects.")],
    ],
    run: |invocation| {
        invocation.view.tell_lines();
        delete(invocation).unwrap_or_else(|exit| exit)
    },
    events: true,
    ..LIST
};

/// The location of the states of all workspaces.
fn workspaces(invocation: &Invocation<'_>) -> Result<Workspaces, Exit> {
    let found = StoreLocation::workspaces(&invocation.context, &invocation.arguments);
    let usable = found.and_then(|workspaces| require_locked(&invocation.context).map(|()| workspaces));
    usable.map_err(|problems| invocation.fail(&problems))
}

/// The names of all workspaces, the default one first.
fn all(invocation: &Invocation<'_>) -> Result<Vec<String>, Exit> {
    workspaces(invocation)?.names().map_err(|problem| invocation.fail(&[problem]))
}

fn selected(invocation: &Invocation<'_>) -> Result<String, Exit> {
    let name = invocation.context.workspace().map_err(|problem| invocation.fail(&[problem]))?;
    Ok(name.to_string())
}

/// Refuses arguments of commands that take none.
fn no_operands(invocation: &Invocation<'_>) -> Result<(), Exit> {
    invocation.at_most(0, crate::commands::problems::workspace_arguments)
}

fn list(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    no_operands(invocation)?;
    let selected = selected(invocation)?;
    let names = all(invocation)?;
    let lines: Vec<String> =
        names.iter().map(|name| format!("{} {name}\n", if *name == selected { "*" } else { " " })).collect();
    let overridden = match environment("TF_WORKSPACE") {
        Some(_) => "\n\n\nThe active workspace is being overridden using the TF_WORKSPACE environment\nvariable.\n",
        None => "",
    };
    invocation.view.event(events::workspaces(&names, &selected));
    if !invocation.view.is_json() {
        invocation.view.document(&(lines.concat() + overridden + "\n"));
    }
    Ok(Exit::DONE)
}

fn show(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    no_operands(invocation)?;
    let name = selected(invocation)?;
    invocation.view.line(&name);
    Ok(Exit::DONE)
}

fn wanted<'a>(invocation: &'a Invocation<'_>) -> Result<&'a str, Exit> {
    let [name] = invocation.arguments.positionals.as_slice() else {
        return Err(invocation.mistake(&problems::workspace_name_expected()));
    };
    if !is_workspace_name(name) {
        let message = problems::invalid_workspace_name_message(name);
        return Err(invocation.fail_with_message(problems::invalid_workspace_name(name), &message));
    }
    Ok(name)
}

/// Refuses to select a workspace other than `let_pass` when the environment has already selected one.
fn not_overridden(
    invocation: &Invocation<'_>,
    let_pass: Option<&str>,
    (what, message): (&str, &str),
) -> Result<(), Exit> {
    if environment("TF_WORKSPACE").is_none_or(|set| let_pass == Some(set.as_str())) {
        return Ok(());
    }
    Err(invocation.fail_with_message(problems::workspace_overridden(what), message))
}

fn exists(invocation: &Invocation<'_>, name: &str) -> Result<bool, Exit> {
    Ok(all(invocation)?.iter().any(|known| known == name))
}

fn missing(invocation: &Invocation<'_>, name: &str) -> Exit {
    invocation.fail_with_message(problems::unknown_workspace(name), &problems::unknown_workspace_message(name))
}

fn remember(invocation: &Invocation<'_>, name: &str) -> Result<(), Exit> {
    remember_workspace(&invocation.context.data_directory, name).map_err(|problem| invocation.fail(&[problem]))
}

fn make(invocation: &Invocation<'_>, name: &str) -> Result<(), Exit> {
    let Invocation { context, arguments, .. } = invocation;
    if let Workspaces::Backend(StateBackend::Local(local)) = workspaces(invocation)? {
        let path = local.folder().join(name);
        let made = std::fs::create_dir_all(&path);
        return made.map_err(|error| invocation.fail(&[problems::workspace_not_created(&path, &error)]));
    }
    // In a remote service, a workspace exists as soon as it has a state.
    let place = StoreLocation::of_workspace(context, arguments, name).map_err(|problems| invocation.fail(&problems))?;
    change(invocation, &place, |known| {
        let change = if known.serial > 0 { Change::Nothing } else { Change::Whole(Box::new(StateFile::create())) };
        Ok((change, ()))
    })
}

fn new(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, context, .. } = invocation;
    let name = wanted(invocation)?;
    not_overridden(invocation, Some(name), ("workspace", problems::OVERRIDDEN_NEW_MESSAGE))?;
    if exists(invocation, name)? {
        let problem = problems::workspace_exists(name);
        let message = problem.summary.clone();
        return Err(invocation.fail_with_message(problem, &message));
    }
    make(invocation, name)?;
    remember(invocation, name)?;
    tell_created(invocation, name);
    // As in OpenTofu, the workspace exists and is selected even if the given state cannot be read.
    if let Some(path) = arguments.value("state") {
        let file = given_state(invocation, path)?;
        if matches!(workspaces(invocation)?, Workspaces::Backend(StateBackend::Local(_))) {
            // As in OpenTofu, `-state` also selects the state file of a local backend. This file already contains the
            // given state, so the workspace stays empty.
            return Ok(Exit::DONE);
        }
        let place =
            StoreLocation::of_workspace(context, arguments, name).map_err(|problems| invocation.fail(&problems))?;
        change(invocation, &place, |_| Ok((Change::Whole(Box::new(file)), ())))?;
    }
    Ok(Exit::DONE)
}

/// Reports the creation of a workspace. The text and colors are OpenTofu's, because scripts look for them.
fn tell_created(invocation: &Invocation<'_>, name: &str) {
    let view = &invocation.view;
    let (reset, green, bold) = (view.escape("0"), view.escape("32"), view.escape("1"));
    let about = "You're now on a new, empty workspace. Workspaces isolate their state,\nso if you run \"tofu plan\" \
                 OpenTofu will not see any existing state\nfor this configuration";
    let created = format!("Created and switched to workspace \"{name}\"");
    view.line_or_event(
        &format!("{reset}{green}{bold}{created}!{reset}{green}\n\n{about}.{reset}"),
        &format!("{created}. {about}"),
    );
}

fn given_state(invocation: &Invocation<'_>, path: &str) -> Result<StateFile, Exit> {
    let failed = |why: &dyn std::fmt::Display| invocation.fail(&[problems::given_state_unreadable(path, why)]);
    let sealing = invocation.context.sealing(&invocation.arguments, None);
    let sealing = sealing.map_err(|problems| invocation.fail(&problems))?;
    read_state(&sealing, path).map_err(|error| failed(&error))?.ok_or_else(|| failed(&"it is empty"))
}

fn select(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let name = wanted(invocation)?;
    not_overridden(invocation, None, ("selected workspace", problems::OVERRIDDEN_SELECTED_MESSAGE))?;
    let known = exists(invocation, name)?;
    // If the workspace is already selected, the command succeeds, even if the workspace no longer exists.
    if selected(invocation)? == name {
        return Ok(Exit::DONE);
    }
    if !known {
        if !invocation.arguments.switch("or-create", false) {
            return Err(missing(invocation, name));
        }
        make(invocation, name)?;
        remember(invocation, name)?;
        tell_created(invocation, name);
        return Ok(Exit::DONE);
    }
    remember(invocation, name)?;
    let (reset, green) = (invocation.view.escape("0"), invocation.view.escape("32"));
    invocation.view.line_or_event(
        &format!("{reset}{green}Switched to workspace \"{name}\".{reset}"),
        &format!("Switched to workspace \"{name}\""),
    );
    Ok(Exit::DONE)
}

fn delete(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, context, view, .. } = invocation;
    let name = wanted(invocation)?;
    let fail = |problem: Diagnostic| invocation.fail(&[problem]);
    if !exists(invocation, name)? {
        return Err(missing(invocation, name));
    }
    if selected(invocation)? == name {
        let message = problems::workspace_is_active_message(name);
        return Err(invocation.fail_with_message(problems::workspace_is_active(name), &message));
    }
    let force = arguments.switch("force", false);
    let place = StoreLocation::of_workspace(context, arguments, name).map_err(|problems| invocation.fail(&problems))?;
    let (tracked, serial) = change(invocation, &place, |snapshot| {
        let all = snapshot.in_text_order().into_iter();
        let managed = all.filter(|(_, stored)| stored.record.mode() == ResourceMode::Managed);
        let tracked: Vec<String> = managed.map(|(address, _)| format!("\n  - {address}")).collect();
        if !tracked.is_empty() && !force {
            return Err(vec![problems::workspace_not_empty(name, &tracked)]);
        }
        if name == DEFAULT_WORKSPACE {
            return Err(vec![problems::default_workspace_stays()]);
        }
        Ok((Change::Nothing, (!tracked.is_empty(), snapshot.serial)))
    })?;
    workspaces(invocation)?.delete(&place, name, serial, force).map_err(fail)?;
    let (reset, green) = (view.escape("0"), view.escape("32"));
    view.line_or_event(
        &format!("{reset}{green}Deleted workspace \"{name}\"!{reset}"),
        &format!("Deleted workspace \"{name}\""),
    );
    if tracked && view.is_json() {
        view.event(events::cautioned(&problems::workspace_was_not_empty_message(name)));
    } else if tracked {
        view.warning_in_output(problems::workspace_was_not_empty(name));
        view.document("\n");
    }
    Ok(Exit::DONE)
}
