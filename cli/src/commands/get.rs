//! `weft get`: takes note of the modules that a configuration calls.

use weft_graph_format::diagnostic::Diagnostic;

use crate::command::{self, Command, Invocation, OnMistake};
use crate::exit::Exit;
use crate::modules::ModuleList;
use crate::options::{switch, text};
use crate::project::Project;

/// The command.
pub const GET: Command = Command {
    words: &["get"],
    alias: None,
    operands: "[DIR]",
    about: "Install the modules that the configuration calls",
    main: false,
    flags: &[
        command::VIEW,
        command::JSON,
        command::VARIABLES,
        &[switch("update", "Look at all modules anew."), text("test-directory", "DIR", "")],
    ],
    mixed: false,
    on_mistake: OnMistake::Usage,
    events: true,
    run: |invocation| get(invocation).unwrap_or_else(|exit| exit),
};

fn get(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    invocation.at_most(1, "Unexpected argument", "Too many command line arguments. Did you mean to use -chdir?")?;
    if let Some(directory) = invocation.arguments.positionals.first()
        && let Err(error) = std::env::set_current_dir(directory)
    {
        let problem = Diagnostic::error("Failed to read module directory", format!("{directory}: {error}."));
        return Err(invocation.fail(&[problem]));
    }
    let project = Project::load_uninstalled(invocation).map_err(|problems| invocation.fail(&problems))?;
    let update = invocation.arguments.switch("update", false);
    install(invocation, &project, update).map_err(|problem| invocation.fail(&[problem]))?;
    Ok(Exit::DONE)
}

/// Writes the list of modules, and tells what is new in it; with `update` all.
///
/// # Errors
/// When the list cannot be read or written.
pub fn install(invocation: &Invocation<'_>, project: &Project, update: bool) -> Result<(), Diagnostic> {
    let directory = &invocation.context.data_directory;
    let older = if update { ModuleList::default() } else { ModuleList::read(directory)? };
    let list = ModuleList::of(&project.root);
    list.write(directory)?;
    for line in list.news(&older) {
        super::init::tell(invocation, &line);
    }
    Ok(())
}
