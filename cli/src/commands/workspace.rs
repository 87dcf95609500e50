//! `weft workspace list`, `show`, `new`, `select`: workspaces beside the local state.

use std::path::{Path, PathBuf};

use weft_graph_format::diagnostic::Diagnostic;

use crate::command::{self, Command, Invocation, OnMistake};
use crate::context::{DEFAULT_WORKSPACE, environment, is_workspace_name};
use crate::exit::Exit;
use crate::options::{switch, text};
use crate::store::Place;

/// The command.
pub const LIST: Command = Command {
    words: &["workspace", "list"],
    alias: None,
    operands: "",
    about: "List workspaces",
    main: false,
    flags: &[command::VIEW, command::VARIABLES],
    mixed: false,
    on_mistake: OnMistake::Usage,
    events: false,
    run: |invocation| list(invocation).unwrap_or_else(|exit| exit),
};

/// The command.
pub const SHOW: Command = Command {
    words: &["workspace", "show"],
    about: "Print the name of the selected workspace",
    run: |invocation| show(invocation).unwrap_or_else(|exit| exit),
    ..LIST
};

/// The command.
pub const NEW: Command = Command {
    words: &["workspace", "new"],
    operands: "NAME",
    about: "Make a workspace and select it",
    flags: &[command::VIEW, command::VARIABLES, command::LOCK, &[text("state", "FILE", "")]],
    run: |invocation| new(invocation).unwrap_or_else(|exit| exit),
    ..LIST
};

/// The command.
pub const SELECT: Command = Command {
    words: &["workspace", "select"],
    operands: "NAME",
    about: "Select a workspace",
    flags: &[command::VIEW, command::VARIABLES, &[switch("or-create", "Make it if it is not there.")]],
    run: |invocation| select(invocation).unwrap_or_else(|exit| exit),
    ..LIST
};

/// The folder of all workspaces but the default one.
fn folder(invocation: &Invocation<'_>) -> Result<PathBuf, Exit> {
    Place::workspaces(&invocation.arguments).map_err(|problems| invocation.fail(&problems))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.retain(|name| name != DEFAULT_WORKSPACE);
    names.sort();
    names.insert(0, DEFAULT_WORKSPACE.to_owned());
    names
}

fn selected(invocation: &Invocation<'_>) -> Result<String, Exit> {
    let name = invocation.context.workspace().map_err(|problem| invocation.fail(&[problem]))?;
    Ok(name.to_string())
}

fn list(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let selected = selected(invocation)?;
    let mut names = names(&folder(invocation)?);
    if !names.contains(&selected) {
        names.push(selected.clone());
        names[1..].sort();
    }
    let lines: Vec<String> =
        names.iter().map(|name| format!("{} {name}\n", if *name == selected { "*" } else { " " })).collect();
    let overridden = match environment("TF_WORKSPACE") {
        Some(_) => "\n\n\nThe active workspace is being overridden using the TF_WORKSPACE environment\nvariable.\n",
        None => "",
    };
    invocation.view.document(&(lines.concat() + overridden + "\n"));
    Ok(Exit::DONE)
}

fn show(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let name = selected(invocation)?;
    invocation.view.line(&name);
    Ok(Exit::DONE)
}

fn wanted<'a>(invocation: &'a Invocation<'_>) -> Result<&'a str, Exit> {
    let [name] = invocation.arguments.positionals.as_slice() else {
        return Err(
            invocation.mistake(&Diagnostic::error("Invalid number of arguments", "Expected a single argument: NAME."))
        );
    };
    if !is_workspace_name(name) {
        return Err(invocation.fail(&[Diagnostic::error(
            "Invalid workspace name",
            format!("The workspace name {name:?} is not allowed. The name must contain only URL safe characters, and no path separators."),
        )]));
    }
    if environment("TF_WORKSPACE").is_some_and(|set| set != *name) {
        return Err(invocation.fail(&[Diagnostic::error(
            "Workspace is overridden",
            "The selected workspace is set by the environment variable TF_WORKSPACE. Unset it first.",
        )]));
    }
    Ok(name)
}

fn remember(invocation: &Invocation<'_>, name: &str) -> Result<(), Exit> {
    let directory = &invocation.context.data_directory;
    let written = std::fs::create_dir_all(directory).and_then(|()| std::fs::write(directory.join("environment"), name));
    written.map_err(|error| {
        invocation.fail(&[Diagnostic::error("Cannot select workspace", format!("{}: {error}.", directory.display()))])
    })
}

fn make(invocation: &Invocation<'_>, name: &str) -> Result<(), Exit> {
    let path = folder(invocation)?.join(name);
    std::fs::create_dir_all(&path).map_err(|error| {
        invocation.fail(&[Diagnostic::error("Cannot make workspace", format!("{}: {error}.", path.display()))])
    })
}

fn new(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    invocation.refuse_unsupported(&["state"])?;
    let name = wanted(invocation)?;
    if names(&folder(invocation)?).iter().any(|known| known == name) {
        return Err(
            invocation.fail(&[Diagnostic::error(format!("Workspace \"{name}\" already exists"), "Select it instead.")])
        );
    }
    make(invocation, name)?;
    remember(invocation, name)?;
    let style = invocation.view.style();
    invocation.view.line(&format!(
        // OpenTofu's words: scripts look for them.
        "{}\n\nYou're now on a new, empty workspace. Workspaces isolate their state,\nso if you run \"tofu plan\" OpenTofu will \
         not see any existing state\nfor this configuration.",
        style.paint("1;32", &format!("Created and switched to workspace \"{name}\"!"))
    ));
    Ok(Exit::DONE)
}

fn select(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let name = wanted(invocation)?;
    if !names(&folder(invocation)?).iter().any(|known| known == name) {
        if !invocation.arguments.switch("or-create", false) {
            return Err(invocation.fail(&[Diagnostic::error(
                format!("Workspace \"{name}\" doesn't exist"),
                "Make it with \"weft workspace new\" or with the option -or-create.",
            )]));
        }
        make(invocation, name)?;
    }
    remember(invocation, name)?;
    let style = invocation.view.style();
    invocation.view.line(&style.paint("32", &format!("Switched to workspace \"{name}\".")));
    Ok(Exit::DONE)
}
