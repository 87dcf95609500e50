//! `weft get`: installs the modules that a configuration calls.

use weft_graph_format::diagnostic::{Diagnostic, Severity, has_errors};

use crate::command::{self, Command, Invocation, OnMistake};
use crate::commands::problems;
use crate::exit::Exit;
use crate::modules::install::{InstallStep, ModuleInstaller};
use crate::options::{switch, text};
use crate::project::Project;
use crate::render::events;
use crate::testing::load::Tests;

/// The command.
pub const GET: Command = Command {
    words: &["get"],
    alias: None,
    operands: "",
    about: "Install the modules that the configuration calls",
    main: false,
    flags: &[
        command::VIEW,
        command::JSON,
        command::VARIABLES,
        &[
            switch("update", "Check for newer versions of installed modules."),
            text("test-directory", "DIR", "Directory of test files. [default: tests]"),
        ],
    ],
    mixed: false,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: true,
    run: |invocation| get(invocation).unwrap_or_else(|exit| exit),
};

fn get(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    invocation.view.event(events::version());
    invocation.at_most(0, problems::too_many_arguments)?;
    let update = invocation.arguments.switch("update", false);
    let (mut tests, said) = Tests::read(invocation);
    invocation.view.diagnostics(&said);
    let wrong = has_errors(&said);
    let project = install(invocation, update, OnFailure::KeepNothing, &mut tests)
        .map_err(|problems| invocation.fail(&problems))?;
    project.readable().map_err(|problems| invocation.fail(&problems))?;
    // Conflicts between modules stop the commands that use the modules, not the command that installs them.
    let mut said = project.settled().err().unwrap_or_default();
    said.iter_mut().for_each(|problem| problem.severity = Severity::Warning);
    invocation.view.diagnostics(&said);
    Ok(if wrong { Exit::FAILED } else { Exit::DONE })
}

/// What happens to the manifest of modules if some modules cannot be installed. Each variant is the behavior of an
/// OpenTofu command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// The manifest lists the modules that were installed.
    KeepOthers,
    /// The manifest is not changed. Errors of the root module do not count.
    KeepNothing,
}

/// Installs the modules that the configuration and its tests call, and reports each of them. With `update`, modules
/// that are already installed are installed again.
///
/// # Errors
/// Returns errors if a module cannot be installed, or if the manifest cannot be read or written.
pub fn install(
    invocation: &Invocation<'_>,
    update: bool,
    on_failure: OnFailure,
    tests: &mut Tests,
) -> Result<Project, Vec<Diagnostic>> {
    let report = |step: InstallStep<'_>| match step {
        InstallStep::Download { what, key } => tell(invocation, &format!("Downloading {what} for {key}...")),
        InstallStep::Installed { key, directory } => {
            let place = format!("{key} in {directory}");
            tell_both(invocation, &format!("- {place}"), &format!("installing {place}"));
        }
    };
    let context = &invocation.context;
    let mut installer = ModuleInstaller::new(context, update, &report).map_err(|problem| vec![problem])?;
    let project = Project::load_from(invocation, &mut installer);
    let of_tests = tests.load_modules(invocation, &mut installer);
    let wrong = installer.failed || has_errors(&of_tests) || project.has_wrong_calls(invocation);
    if !wrong || on_failure == OnFailure::KeepOthers {
        installer.manifest.write(&context.data_directory).map_err(|problem| vec![problem])?;
    }
    if has_errors(&of_tests) {
        return Err(of_tests);
    }
    invocation.view.diagnostics(&of_tests);
    if installer.failed { Err(project.settled().err().unwrap_or_default()) } else { Ok(project) }
}

/// Prints a line, and sends it as an event. The event omits the dash of a list item.
pub fn tell(invocation: &Invocation<'_>, text: &str) {
    let plain = text.trim();
    tell_both(invocation, text, plain.strip_prefix("- ").unwrap_or(plain));
}

/// Prints a line, and sends a message as an event.
fn tell_both(invocation: &Invocation<'_>, text: &str, message: &str) {
    invocation.view.line(text);
    if !message.is_empty() {
        invocation.view.event(events::told(message));
    }
}
