//! `weft init`: everything that the other commands need in this directory.

mod backend;
mod seed;

use std::path::{Path, PathBuf};

use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_providers::lock_file::{self, LockFile};
use weft_providers::packages::require;
use weft_providers::platform::Platform;
use weft_registry::settle::{LockMode, LockOutcome, incomplete_warning, override_warning, settle};
use weft_registry::{InstallEvent, Installer};

use super::get::install;
use crate::command::{self, Command, Invocation, OnMistake};
use crate::exit::Exit;
use crate::modules::{FromManifest, ModuleManifest};
use crate::options::{switch, text};
use crate::project::Project;
use crate::render::events;
use crate::runtime::block_on;
use crate::testing::load::Tests;

/// The command.
pub const INIT: Command = Command {
    words: &["init"],
    alias: None,
    operands: "",
    about: "Prepare this directory for the other commands",
    main: true,
    flags: &[
        command::VIEW,
        command::JSON,
        command::INPUT,
        command::SENSITIVE,
        command::VARIABLES,
        command::LOCK,
        command::STORE,
        &[
            switch("upgrade", "Install modules anew, and select versions of modules and providers anew."),
            text("plugin-dir", "DIR", "Take provider packages from here only. May be given several times."),
            text("lockfile", "MODE", "readonly: do not change the dependency lock file."),
            switch("backend", "Look at the state for the providers that it needs (the default)."),
            switch("get", "Install modules (the default)."),
            switch("cloud", ""),
            switch("reconfigure", "Take other backend settings and leave the state where it is."),
            switch("ignore-remote-version", ""),
            switch("migrate-state", "Take the state along to where other backend settings put it."),
            switch("force-copy", "The same without asking."),
            text(
                "backend-config",
                "WHAT",
                "A setting NAME=VALUE of the backend, or a file of such. May be given several times.",
            ),
            text("from-module", "SOURCE", "Begin with a copy of this module; the directory must be empty."),
            text("test-directory", "DIR", "Where test files are, beside those of this directory (tests)."),
        ],
    ],
    mixed: false,
    on_mistake: OnMistake::Usage,
    events: true,
    run: |invocation| initialise(invocation).unwrap_or_else(|exit| exit),
};

fn initialise(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, context, view, .. } = invocation;
    view.event(events::version());
    invocation.at_most(0, "Unexpected argument", "Too many command line arguments. Did you mean to use -chdir?")?;
    if arguments.switch("migrate-state", false) && arguments.switch("reconfigure", false) {
        return Err(invocation.mistake(&Diagnostic::error(
            "Invalid init options",
            "The -migrate-state and -reconfigure options are mutually-exclusive.",
        )));
    }
    if arguments.has("backend") && arguments.has("cloud") {
        return Err(invocation.mistake(&Diagnostic::error(
            "Invalid init options",
            "The -backend and -cloud options are aliases of one another and mutually-exclusive in their use.",
        )));
    }
    let fail = |problems: Vec<Diagnostic>| {
        view.aside(&view.style().wrapped(
            "\nWeft met problems while initialising, described below. The configuration must be valid before it can be \
             told which providers it needs.\n",
        ));
        invocation.fail(&problems)
    };
    if let Some(source) = arguments.value("from-module") {
        seed::copy_module(context, source, &|line| tell(invocation, line))
            .map_err(|problems| invocation.fail(&problems))?;
    }
    let project = Project::load_root(invocation).map_err(fail)?;
    if project.empty {
        tell(
            invocation,
            "Weft initialized in an empty directory!\n\nThe directory has no configuration files. Begin by writing some.",
        );
        return Ok(Exit::DONE);
    }
    let snapshot = if arguments.switch("backend", true) {
        tell(invocation, "\nInitializing the backend...");
        let place = backend::settle(invocation, &project.root)?;
        let read = block_on(place.snapshot()).and_then(|read| read);
        Some(read.map_err(|problem| invocation.fail(&[problem]))?)
    } else {
        None
    };
    let upgrade = arguments.switch("upgrade", false);
    let (mut tests, said) = Tests::read(invocation);
    if has_errors(&said) {
        return Err(fail(said));
    }
    view.diagnostics(&said);
    let project = if project.root.calls.is_empty() && !tests.call_modules() {
        Project::load_from(invocation, &mut FromManifest { manifest: &ModuleManifest::default(), root: ".".into() })
    } else if arguments.switch("get", true) {
        tell(invocation, if upgrade { "\nUpgrading modules..." } else { "\nInitializing modules..." });
        install(invocation, upgrade, &mut tests).map_err(|problems| invocation.fail(&problems))?
    } else {
        let manifest = ModuleManifest::read(&context.data_directory).map_err(|problem| invocation.fail(&[problem]))?;
        let mut places = FromManifest { manifest: &manifest, root: ".".into() };
        let said = tests.load_modules(invocation, &mut places);
        if has_errors(&said) {
            return Err(fail(said));
        }
        Project::load_from(invocation, &mut places)
    };
    project.settled().map_err(fail)?;
    tell(invocation, "\nInitializing provider plugins...");
    let mut requirements = project.requirements(snapshot.as_ref()).map_err(fail)?;
    for (source, constraints) in tests.requirements(&project.root).map_err(fail)? {
        require(&mut requirements, source, &constraints);
    }
    let (config, environment, said) = context.cli_config();
    if has_errors(&said) {
        return Err(invocation.fail(&said));
    }
    view.diagnostics(&said);
    let directories: Vec<PathBuf> = arguments.values("plugin-dir").map(PathBuf::from).collect();
    let installer = Installer::new(&config, &environment, &directories, &context.data_directory);
    let path = Path::new(lock_file::FILE_NAME);
    let (lock, said) = LockFile::load(path);
    if has_errors(&said) {
        return Err(invocation.fail(&said));
    }
    view.diagnostics(&said);
    let mut signed = false;
    let mut report = |event: InstallEvent| {
        signed |= event.is_signed();
        match event {
            InstallEvent::Warning(warning) => view.diagnostics(&[warning]),
            event => tell(invocation, &event.to_string()),
        }
    };
    let installing = installer.install(&requirements, &lock, upgrade, &mut report);
    let installation = block_on(installing).map_err(|problem| invocation.fail(&[problem]))?;
    if signed {
        tell(
            invocation,
            "\nA signed provider is the one that the holder of the key has released. More about keys and signatures:\n\
             https://opentofu.org/docs/cli/plugins/signing/",
        );
    }
    if has_errors(&installation.diagnostics) {
        return Err(invocation.fail(&installation.diagnostics));
    }
    let mut said = installation.diagnostics;
    let mode = LockMode::from_flag(arguments.value("lockfile").unwrap_or_default());
    let (outcome, problems) = settle(path, &lock, &installation.lock, mode);
    if matches!(outcome, LockOutcome::Created | LockOutcome::Updated) {
        said.extend(incomplete_warning(&installation.incomplete, &Platform::current()));
    }
    said.extend(problems);
    said.extend(override_warning(&config.dev_overrides));
    if has_errors(&said) {
        return Err(invocation.fail(&said));
    }
    match outcome {
        LockOutcome::Created => tell(
            invocation,
            "\nWeft has created a lock file .terraform.lock.hcl to record the provider selections it made above. Put it under \
             version control, so that the same selections are made by default later.",
        ),
        LockOutcome::Updated => tell(
            invocation,
            "\nWeft has made some changes to the provider dependency selections recorded in the .terraform.lock.hcl file. \
             Review them and put them under version control if they are what you meant.",
        ),
        LockOutcome::Unchanged | LockOutcome::NotSaved => {}
    }
    view.diagnostics(&said);
    tell(invocation, &format!("\n{}", view.style().paint("1;32", "Weft has been successfully initialized!")));
    if !context.automation {
        tell(invocation, "\nTry \"weft plan\" to see what would change.");
    }
    Ok(Exit::DONE)
}

/// Tells something to people, and to whoever takes events.
pub fn tell(invocation: &Invocation<'_>, text: &str) {
    invocation.view.line(text);
    let plain = text.trim();
    if !plain.is_empty() {
        invocation.view.event(events::log(plain));
    }
}
