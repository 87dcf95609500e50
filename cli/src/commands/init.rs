//! `weft init`: prepares a directory for the other commands.

mod backend;
mod failure;
mod migration;
mod problems;
mod providers;
mod seed;
mod selection;

use smol_str::SmolStr;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_providers::packages::require;
use weft_state::Snapshot;

use self::failure::BackendFailure;
use super::get::{OnFailure, install, tell};
use crate::backend::StateBackend;
use crate::command::{self, Command, Invocation, OnMistake};
use crate::exit::Exit;
use crate::modules::{FromManifest, ModuleManifest};
use crate::options::{switch, switch_on, text};
use crate::project::Project;
use crate::render::events;
use crate::runtime::block_on;
use crate::store::StoreLocation;
use crate::testing::load::Tests;

/// The command.
pub const INIT: Command = Command {
    words: &["init"],
    alias: None,
    operands: "",
    about: "Prepare this directory for other commands",
    main: true,
    flags: &[
        command::VIEW_WITH_WARNINGS,
        command::JSON,
        command::INPUT,
        command::SENSITIVE_UNLISTED,
        command::VARIABLES,
        command::LOCK,
        command::STORE,
        &[
            switch("upgrade", "Select the newest allowed versions of modules and providers."),
            text("plugin-dir", "DIR", "Use provider packages from DIR only. Can be repeated."),
            text("lockfile", "MODE", "The only mode is readonly: fail if the lock file needs a change."),
            switch_on("backend", "Do not set up the backend."),
            switch_on("get", "Do not install modules."),
            switch_on("cloud", ""),
            switch("reconfigure", "Use new backend settings without copying the state."),
            switch("ignore-remote-version", ""),
            switch("migrate-state", "Use new backend settings, and copy the state to its new place."),
            switch("force-copy", "Like -migrate-state, without asking."),
            text(
                "backend-config",
                "SETTING",
                "A backend setting NAME=VALUE, or a file with settings. Can be repeated.",
            ),
            text("from-module", "SOURCE", "Start with a copy of this module. The directory must be empty."),
            text("test-directory", "DIR", "Directory of test files. [default: tests]"),
        ],
    ],
    mixed: false,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: true,
    run: |invocation| initialise(invocation).unwrap_or_else(|exit| exit),
};

fn initialise(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, context, view, .. } = invocation;
    view.event(events::version());
    check_options(invocation)?;
    if let Some(source) = arguments.value("from-module") {
        seed::copy_module(context, source, &|line| tell(invocation, line))
            .map_err(|problems| invocation.fail(&problems))?;
    }
    let root = Project::load_root(invocation).map_err(|problems| refuse(invocation, problems))?;
    // As in OpenTofu, `-backend=false` disables the encryption of the state, too.
    if arguments.switch("backend", true) {
        context.settle_sealing(&root.root).map_err(|problems| refuse(invocation, problems))?;
    }
    if root.empty {
        tell(
            invocation,
            "Weft initialized in an empty directory!\n\nThe directory has no configuration files. Write a \
            configuration, then run this command again.",
        );
        return Ok(Exit::DONE);
    }
    let (mut tests, said) = Tests::read(invocation);
    if has_errors(&said) {
        return Err(refuse(invocation, said));
    }
    view.diagnostics(&said);
    let backend = match arguments.switch("backend", true) && arguments.switch("cloud", true) {
        true => snapshot_of_backend(invocation, &root)?,
        false => snapshot_of_place(invocation, backend::saved_place(invocation).map_err(BackendFailure::Problems))?,
    };
    // As in OpenTofu, problems of the backend are reported after the modules are installed, and before other problems
    // of the configuration. They are not reported if a module cannot be installed.
    let (project, said) = load_modules(invocation, &root, &mut tests)?;
    let snapshot = backend.map_err(|problems| invocation.fail(&problems))?;
    if has_errors(&said) {
        return Err(refuse(invocation, said));
    }
    tell(invocation, "\nInitializing provider plugins...");
    let mut requirements = project.requirements(Some(&snapshot)).map_err(|problems| refuse(invocation, problems))?;
    let of_tests = tests.requirements(&project.root).map_err(|problems| refuse(invocation, problems))?;
    for (source, constraints) in of_tests {
        require(&mut requirements, source, &constraints);
    }
    providers::install(invocation, &requirements)?;
    tell(invocation, &format!("\n{}", view.style().paint("1;32", "Weft has been successfully initialized!")));
    if !context.automation {
        tell(invocation, "\nTry \"weft plan\" to see what would change.");
    }
    Ok(Exit::DONE)
}

/// Refuses options that exclude each other.
fn check_options(invocation: &Invocation<'_>) -> Result<(), Exit> {
    let arguments = &invocation.arguments;
    invocation.at_most(0, crate::commands::problems::too_many_arguments)?;
    let problem = if arguments.switch("migrate-state", false) && arguments.switch("reconfigure", false) {
        problems::migrate_and_reconfigure()
    } else if arguments.has("backend") && arguments.has("cloud") {
        problems::backend_and_cloud()
    } else {
        return Ok(());
    };
    Err(invocation.mistake(&problem))
}

/// Reports a configuration that is not valid.
fn refuse(invocation: &Invocation<'_>, problems: Vec<Diagnostic>) -> Exit {
    let view = &invocation.view;
    view.aside(&view.style().wrapped(
        "\nWeft encountered problems during initialization, described below. The configuration must be valid so that \
        Weft can determine which providers to install.\n",
    ));
    invocation.fail(&problems)
}

/// Prepares the backend and reads its state. Returns the problems of the backend if it cannot be used. Problems of the
/// state are reported here, and end the command.
fn snapshot_of_backend(invocation: &Invocation<'_>, root: &Project) -> Result<Result<Snapshot, Vec<Diagnostic>>, Exit> {
    let what = if root.root.settings.cloud.is_some() { "cloud backend" } else { "the backend" };
    tell(invocation, &format!("\nInitializing {what}..."));
    snapshot_of_place(invocation, backend::settle(invocation, &root.root))
}

/// Reads the state, because its objects may need providers.
fn snapshot_of_place(
    invocation: &Invocation<'_>,
    place: Result<StoreLocation, BackendFailure>,
) -> Result<Result<Snapshot, Vec<Diagnostic>>, Exit> {
    let place = match place {
        Ok(place) => place,
        Err(BackendFailure::Problems(problems)) => return Ok(Err(problems)),
        Err(BackendFailure::Reported(exit)) => return Err(exit),
    };
    let read = block_on(place.snapshot()).and_then(|read| read);
    read.map(Ok).map_err(|problem| invocation.fail(&[problem]))
}

/// Loads the whole configuration and the modules of its tests. Installs modules, unless `-get=false` is given. Returns
/// the problems of the configuration, too. Problems of the installation are reported here, and end the command.
fn load_modules(
    invocation: &Invocation<'_>,
    root: &Project,
    tests: &mut Tests,
) -> Result<(Project, Vec<Diagnostic>), Exit> {
    let Invocation { arguments, context, .. } = invocation;
    let upgrade = arguments.switch("upgrade", false);
    let mut said = Vec::new();
    let project = if root.root.calls.is_empty() && !tests.call_modules() {
        Project::load_from(invocation, &mut FromManifest { manifest: &ModuleManifest::default(), root: ".".into() })
    } else if arguments.switch("get", true) {
        tell(invocation, if upgrade { "\nUpgrading modules..." } else { "\nInitializing modules..." });
        install(invocation, upgrade, OnFailure::KeepOthers, tests).map_err(|problems| invocation.fail(&problems))?
    } else {
        let manifest = ModuleManifest::read(&context.data_directory).map_err(|problem| invocation.fail(&[problem]))?;
        let mut places = FromManifest { manifest: &manifest, root: ".".into() };
        said = tests.load_modules(invocation, &mut places);
        Project::load_from(invocation, &mut places)
    };
    if !has_errors(&said) {
        said = project.settled().err().unwrap_or_default();
    }
    Ok((project, said))
}

/// The location of the state of a workspace in a backend.
fn place(
    invocation: &Invocation<'_>,
    backend: &StateBackend,
    workspace: &SmolStr,
) -> Result<StoreLocation, Vec<Diagnostic>> {
    let Invocation { arguments, context, .. } = invocation;
    let sealing = context.sealing(arguments, None)?;
    StoreLocation::of_backend(backend, workspace, context, arguments, sealing)
}
