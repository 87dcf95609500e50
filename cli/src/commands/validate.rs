//! `weft validate`: checks a configuration, whatever the values of its variables are.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use smol_str::SmolStr;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_planner::{ProviderSet, validate};
use weft_providers::ProviderPool;

use crate::command::{self, Command, Invocation, OnMistake};
use crate::commands::problems;
use crate::context::{DEFAULT_WORKSPACE, is_directory};
use crate::exit::Exit;
use crate::options::{switch, text};
use crate::packages::{Installed, pool_options};
use crate::plan::PARALLELISM;
use crate::project::Project;
use crate::runtime::block_on;
use crate::testing::load::Tests;
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
    events: false,
    run,
};

fn run(invocation: &Invocation<'_>) -> Exit {
    let Invocation { arguments, view, .. } = invocation;
    let mut problems = match arguments.positionals.as_slice() {
        [] => Vec::new(),
        [directory] if is_directory(Path::new(directory)) => match std::env::set_current_dir(directory) {
            Ok(()) => Vec::new(),
            Err(error) => vec![problems::directory_unusable(directory, &error)],
        },
        [directory] => vec![problems::directory_unreadable(directory)],
        _ => return invocation.mistake(&problems::one_directory_expected()),
    };
    if problems.is_empty() {
        problems.extend(validated(invocation));
        if let Some(directory) = arguments.positionals.first() {
            name_from_outside(view, &mut problems, Path::new(directory));
        }
    }
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

/// Names files relative to the directory of the command, which is outside of the validated one.
fn name_from_outside(view: &View, problems: &mut [Diagnostic], directory: &Path) {
    let directory: PathBuf = directory.components().filter(|part| *part != Component::CurDir).collect();
    let named = |file: &str| SmolStr::from(directory.join(file).display().to_string());
    view.know(&view.known_files().into_iter().map(|(file, tree)| (named(&file), tree)).collect());
    for range in problems.iter_mut().flat_map(|problem| [&mut problem.subject, &mut problem.context]).flatten() {
        range.file = named(&range.file);
    }
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

fn validated(invocation: &Invocation<'_>) -> Vec<Diagnostic> {
    let Invocation { context, .. } = invocation;
    let (mut tests, mut problems) = match invocation.arguments.switch("no-tests", false) {
        true => (Tests::default(), Vec::new()),
        false => Tests::read(invocation),
    };
    let (project, found) = Project::load_quietly(invocation);
    problems.extend(found);
    if !has_errors(&problems) {
        problems.extend(tests.load_installed(invocation));
    }
    if has_errors(&problems) {
        return problems;
    }
    let requirements = match tests.all_requirements(&project) {
        Ok(requirements) => requirements,
        Err(found) => return [problems, found].concat(),
    };
    let packages = match Installed::find(context, &requirements, true) {
        Ok((packages, said)) => {
            problems.extend(said);
            packages
        }
        Err(found) => return [problems, found].concat(),
    };
    let validating = block_on(async {
        let pool = ProviderPool::new(pool_options(context));
        let providers = Arc::new(ProviderSet::new(packages.plugins(), pool, PARALLELISM));
        let mut found = Vec::new();
        for root in tests.roots(&project.root) {
            let environment = context.environment(DEFAULT_WORKSPACE.into(), String::new());
            found.extend(validate(root, environment, providers.clone()).await);
        }
        providers.close().await;
        found.extend(tests.problems());
        found
    });
    match validating {
        Ok(found) => problems.extend(found),
        Err(problem) => problems.push(problem),
    }
    problems
}
