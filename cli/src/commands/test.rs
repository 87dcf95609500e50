//! `weft test`: carries out the runs of test files, and reports whether their expectations hold.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use weft_evaluator::config::test_file::TestFile;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};

use crate::command::{self, Command, Invocation, OnMistake};
use crate::commands::problems;
use crate::exit::Exit;
use crate::options::{switch, text};
use crate::packages::{InstalledPackages, PlannedPackages};
use crate::project::Project;
use crate::render::events;
use crate::runtime::block_on;
use crate::testing::engine::Engine;
use crate::testing::given::Globals;
use crate::testing::interrupts::{Interrupts, Wish};
use crate::testing::load::Tests;
use crate::testing::report::TestReport;
use crate::testing::runs::FileRunner;
use crate::testing::status::{StatusCounts, TestStatus};

/// The command.
pub const TEST: Command = Command {
    words: &["test"],
    alias: None,
    operands: "",
    about: "Run the tests of the configuration",
    main: false,
    flags: &[
        command::VIEW_WITH_WARNINGS,
        command::JSON,
        command::VARIABLES,
        &[
            text("filter", "FILE", "Run only this test file. Can be repeated."),
            text("test-directory", "DIR", "Directory of test files. [default: tests]"),
            switch("verbose", "Show the plan or the state of each run."),
        ],
    ],
    mixed: false,
    on_mistake: OnMistake::Hint,
    check: command::unchecked,
    events: true,
    run: |invocation| test(invocation).unwrap_or_else(|exit| exit),
};

/// The default directory of tests.
const DIRECTORY: &str = "tests";

fn test(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, view, .. } = invocation;
    view.event(events::version());
    let fail = |problems: Vec<Diagnostic>| invocation.fail(&problems);
    let globals = Globals::gather(arguments, arguments.value("test-directory").unwrap_or(DIRECTORY));
    view.know(&globals.sources);
    if has_errors(&globals.problems) {
        return Err(fail(globals.problems.clone()));
    }
    let mut said = globals.problems.clone();
    let (project, tests) = loaded(invocation, &mut said).map_err(fail)?;
    let files = selected(&tests, arguments.values("filter"), &mut said);
    let requirements = tests.all_requirements(&project).map_err(fail)?;
    let (installed, found) = InstalledPackages::present(&invocation.context, &requirements).map_err(fail)?;
    said.extend(found);
    let (packages, found) = PlannedPackages::new(&invocation.context, &[]);
    said.extend(found);
    view.diagnostics(&said);
    let suite = Suite { invocation, project: &project, tests: &tests, globals: &globals, files };
    block_on(suite.run(&installed, Arc::new(packages))).unwrap_or_else(|problem| Err(vec![problem])).map_err(fail)
}

/// Loads the configuration with its tests.
fn loaded(invocation: &Invocation<'_>, said: &mut Vec<Diagnostic>) -> Result<(Project, Tests), Vec<Diagnostic>> {
    let (mut tests, of_tests) = Tests::read(invocation);
    if has_errors(&of_tests) {
        // The tests belong to the root module. Called modules are read after the tests.
        let mut problems = Project::load_root(invocation).err().unwrap_or_default();
        problems.extend(of_tests);
        return Err(problems);
    }
    let (project, mut problems) = Project::load_quietly(invocation);
    problems.extend(of_tests);
    // Errors of called modules do not hide those of the modules that tests call.
    if !has_errors(&problems) || Project::load_root(invocation).is_ok() {
        problems.extend(tests.load_installed(invocation));
    }
    if has_errors(&problems) {
        return Err(problems);
    }
    said.extend(problems);
    Ok((project, tests))
}

/// The files to run: the files in `-filter`, or all files.
fn selected<'a>(
    tests: &Tests,
    filters: impl Iterator<Item = &'a str>,
    said: &mut Vec<Diagnostic>,
) -> Vec<Arc<TestFile>> {
    let wanted: Vec<&str> = filters.collect();
    if wanted.is_empty() {
        return tests.files.clone();
    }
    let by_name: BTreeMap<&str, &Arc<TestFile>> = tests.files.iter().map(|file| (file.name.as_str(), file)).collect();
    let found: BTreeMap<&str, &Arc<TestFile>> =
        wanted.iter().filter_map(|name| Some((*name, *by_name.get(name)?))).collect();
    if found.is_empty() {
        said.push(problems::no_tests_found());
    }
    found.into_values().cloned().collect()
}

/// The test files to run, with everything that their runs need.
struct Suite<'a> {
    invocation: &'a Invocation<'a>,
    project: &'a Project,
    tests: &'a Tests,
    globals: &'a Globals,
    files: Vec<Arc<TestFile>>,
}

impl Suite<'_> {
    async fn run(self, installed: &InstalledPackages, packages: Arc<PlannedPackages>) -> Result<Exit, Vec<Diagnostic>> {
        let Suite { invocation, project, tests, globals, files } = self;
        let Invocation { arguments, context, view, .. } = invocation;
        let report = TestReport::new(view);
        let names = |file: &Arc<TestFile>| file.runs.iter().map(|run| run.name.to_string()).collect();
        let list: Vec<(String, Vec<String>)> = files.iter().map(|file| (file.name.to_string(), names(file))).collect();
        report.begin(&list);
        let json = view.is_json();
        let engine = Engine {
            context,
            view,
            workspace: context.workspace().map_err(|problem| vec![problem])?,
            installed,
            packages,
            interrupts: Interrupts::begin(move |wish| tell(wish, json)),
            kept: AtomicUsize::new(0),
        };
        let mut worst = TestStatus::Pass;
        let mut statuses: Vec<TestStatus> = Vec::new();
        for file in files {
            let mut runner = FileRunner {
                engine: &engine,
                root: project.root.clone(),
                tests,
                file: file.clone(),
                globals,
                verbose: arguments.switch("verbose", false),
                states: BTreeMap::new(),
                making: Vec::new(),
            };
            let (status, of_runs) = runner.execute(&report).await;
            worst = worst.with(status);
            statuses.extend(of_runs);
            if engine.interrupts.wish() == Wish::Cancel {
                return Ok(Exit::FAILED);
            }
        }
        report.end(worst, &StatusCounts::of(statuses));
        Ok(if worst == TestStatus::Pass { Exit::DONE } else { Exit::FAILED })
    }
}

/// Reports what happens after an interrupt.
fn tell(wish: Wish, json: bool) {
    let text = match wish {
        Wish::GoOn => return,
        Wish::Stop => {
            "Interrupted. Weft finishes the current run, then cleans up. Press Ctrl-C again to quit without cleaning \
            up."
        }
        Wish::Cancel => "Interrupted again. Weft stops as soon as possible, without cleaning up.",
    };
    if json {
        tracing::warn!("{text}");
    }
    eprintln!("\n{text}");
}
