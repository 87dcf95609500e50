//! `weft validate`: checks a configuration for all possible values of its variables.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use weft_evaluator::config::CompiledModule;
use weft_evaluator::unknown_provisioners;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::module_source::clean;
use weft_planner::{ProviderSet, validate};
use weft_providers::ProviderPool;
use weft_providers::lock_file::{self, LockFile};

use crate::command::{self, Command, Invocation, OnMistake};
use crate::commands::problems;
use crate::context::{Context, DEFAULT_WORKSPACE, is_directory};
use crate::exit::Exit;
use crate::options::{switch, text};
use crate::packages::{InstalledPackages, pool_options};
use crate::plan::PARALLELISM;
use crate::project::{Project, of_configuration};
use crate::runtime::block_on;
use crate::testing::load::Tests;
use crate::variables;
use crate::view::View;

/// The version of the JSON document.
const FORMAT: &str = "1.0";

/// The command.
pub const VALIDATE: Command = Command {
    words: &["validate"],
    alias: None,
    operands: "",
    about: "Check whether the configuration is valid",
    main: true,
    flags: &[
        command::VIEW_WITH_WARNINGS,
        command::DOCUMENT,
        command::VARIABLES,
        &[
            text("test-directory", "DIR", "Directory of test files. [default: tests]"),
            switch("no-tests", "Do not check test files."),
        ],
    ],
    mixed: false,
    on_mistake: OnMistake::Hint,
    check: command::unchecked,
    events: false,
    run,
};

fn run(invocation: &Invocation<'_>) -> Exit {
    let Invocation { arguments, view, .. } = invocation;
    let problems = match arguments.positionals.as_slice() {
        [] => validated(invocation, None),
        [directory] if directory.is_empty() => validated(invocation, None),
        [directory] if is_directory(Path::new(directory)) => match clean(directory).as_str() {
            "." => validated(invocation, None),
            directory => validated(invocation, Some(directory)),
        },
        [file] if Path::new(file).exists() && !arguments.switch("no-tests", false) => {
            vec![problems::tests_unreadable(file)]
        }
        [directory] => vec![problems::directory_unreadable(directory)],
        _ => return invocation.mistake(&problems::one_directory_expected()),
    };
    let failed = has_errors(&problems);
    let json = match invocation.document(|| format!("{:#}\n", document(view, &problems))) {
        Ok(json) => json,
        Err(exit) => return exit,
    };
    if !json {
        view.diagnostics(&problems);
        if !failed {
            let success = view.style().paint("1;32", "Success!");
            view.line(&match problems.is_empty() {
                true => format!("{success} The configuration is valid."),
                false => format!(
                    "{success} The configuration is valid, but there were some validation warnings as shown above."
                ),
            });
        }
    }
    if failed { Exit::FAILED } else { Exit::DONE }
}

fn document(view: &View, problems: &[Diagnostic]) -> serde_json::Value {
    let errors = problems.iter().filter(|problem| problem.is_error()).count();
    json!({
        "format_version": FORMAT,
        "valid": errors == 0,
        "error_count": errors,
        "warning_count": problems.len() - errors,
        "diagnostics": view.objects(problems),
    })
}

/// The problems of the configuration in `directory`, or in the working directory. The lock file, the installed modules
/// and packages, and the base of file paths are always those of the working directory.
fn validated(invocation: &Invocation<'_>, directory: Option<&str>) -> Vec<Diagnostic> {
    let Invocation { arguments, context, .. } = invocation;
    let (sources, unreadable) = variables::unreadable(arguments);
    if has_errors(&unreadable) {
        invocation.view.know(&sources);
        return unreadable;
    }
    let (mut tests, mut problems) = match arguments.switch("no-tests", false) {
        true => (Tests::default(), Vec::new()),
        false => Tests::read_in(invocation, directory.unwrap_or(".")),
    };
    if directory.is_none() && has_errors(&problems) {
        // The tests belong to the root module. Called modules are read after the tests.
        return [Project::load_root(invocation).err().unwrap_or_default(), problems].concat();
    }
    let (project, found) = match directory {
        Some(directory) => Project::load_quietly_in(invocation, directory),
        None => Project::load_quietly(invocation),
    };
    problems.extend(found);
    // Errors of called modules do not hide those of the modules that tests call.
    let is_root_sound = || directory.is_none() && Project::load_root(invocation).is_ok();
    if !has_errors(&problems) || is_root_sound() {
        problems.extend(tests.load_installed(invocation));
    }
    if has_errors(&problems) {
        return problems;
    }
    let requirements = match tests.all_requirements(&project) {
        Ok(requirements) => requirements,
        Err(found) => return [problems, found].concat(),
    };
    let packages = match InstalledPackages::find(context, &requirements, true) {
        Ok((packages, said)) => {
            problems.extend(said);
            packages
        }
        Err(found) => return [problems, unavailable(invocation, &tests.roots(&project.root), found)].concat(),
    };
    match block_on(problems_of(context, tests.roots(&project.root), &packages)) {
        Ok(found) => problems.extend(found.into_iter().chain(tests.problems())),
        Err(problem) => problems.push(problem),
    }
    problems
}

/// The problems that validation finds in configurations whose packages are installed.
pub(super) async fn problems_of(
    context: &Context,
    roots: Vec<Arc<CompiledModule>>,
    packages: &InstalledPackages,
) -> Vec<Diagnostic> {
    let pool = ProviderPool::new(pool_options(context));
    let providers = Arc::new(ProviderSet::new(packages.plugins(), pool, PARALLELISM));
    let mut found = Vec::new();
    for root in roots {
        let environment = context.environment(DEFAULT_WORKSPACE.into(), String::new());
        found.extend(validate(root, environment, providers.clone()).await);
    }
    providers.close().await;
    found
}

/// The problems of a configuration whose providers are not available. `found` are the problems of all its providers,
/// including those of tests. As in OpenTofu, unknown provisioners are among the problems, and modules that tests call
/// report their providers again. `roots` are the configuration and these modules.
fn unavailable(
    invocation: &Invocation<'_>,
    roots: &[Arc<CompiledModule>],
    mut found: Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    let (_, said) = LockFile::load(Path::new(lock_file::FILE_NAME));
    if has_errors(&said) {
        return found;
    }
    for (number, root) in roots.iter().enumerate() {
        if number > 0 {
            match InstalledPackages::find(&invocation.context, &of_configuration(root).0, true) {
                Ok(_) => continue,
                Err(problems) => found.extend(problems),
            }
        }
        found.extend(unknown_provisioners(root));
    }
    found
}
