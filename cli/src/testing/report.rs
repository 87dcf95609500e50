//! The output of tests: lines for users and events for programs.

use serde_json::{Value as Json, json};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::plan_file::PlanFile;
use weft_state::tfstate::StateFile;

use super::status::{StatusCounts, TestStatus};
use crate::render::counted::counted;
use crate::render::schemas::Schemas;
use crate::render::{events, plan, show_json, state};
use crate::view::View;

/// The result of a run.
pub struct RunResult {
    /// The name of the run.
    pub name: String,
    /// The status of the run.
    pub status: TestStatus,
    /// The diagnostics of the run.
    pub problems: Vec<Diagnostic>,
    /// The plan or state of the run, if it is to be shown.
    pub shown: Option<Shown>,
}

/// The plan or state of a run.
pub enum Shown {
    /// The plan, if the run only plans.
    Plan(Box<PlanFile>),
    /// The state after the run.
    State(Box<StateFile>, Schemas),
}

/// An object that the cleanup has left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOver {
    /// The instance.
    pub address: String,
    /// The key, if the object is deposed.
    pub deposed: Option<String>,
}

impl LeftOver {
    fn line(&self) -> String {
        match &self.deposed {
            Some(key) => format!("  - {} ({key})", self.address),
            None => format!("  - {}", self.address),
        }
    }

    fn document(&self) -> Json {
        match &self.deposed {
            Some(key) => json!({"instance": self.address, "deposed_key": key}),
            None => json!({"instance": self.address}),
        }
    }
}

/// The existing and planned objects at the time when the user quit.
#[derive(Clone, Debug, Default)]
pub struct Interrupted {
    /// The objects of the configuration.
    pub state: Vec<LeftOver>,
    /// The objects of modules that a `run` block tests in place of the configuration. Each entry has the name of the
    /// `run` block that last changed the objects of a module, and the source of this module.
    pub states: Vec<(String, String, Vec<LeftOver>)>,
    /// The objects that were being created.
    pub planned: Vec<String>,
}

/// Reports the progress and the results of tests.
pub struct TestReport<'a> {
    view: &'a View,
}

impl<'a> TestReport<'a> {
    /// A report to this output.
    pub fn new(view: &'a View) -> TestReport<'a> {
        TestReport { view }
    }

    /// Reports the files and runs to come.
    pub fn begin(&self, files: &[(String, Vec<String>)]) {
        let runs: usize = files.iter().map(|(_, runs)| runs.len()).sum();
        let message = format!("Found {} and {}", counted(files.len(), "file"), counted(runs, "run block"));
        let abstracted: serde_json::Map<String, Json> =
            files.iter().map(|(name, runs)| (name.clone(), json!(runs))).collect();
        let fields = [("test_abstract", Json::Object(abstracted))];
        self.view.event(events::test("test_abstract", "info", message, fields));
    }

    /// Reports a file whose runs have all ended.
    pub fn file(&self, name: &str, status: TestStatus, runs: &[RunResult]) {
        let shown = self.view.style().paint(status.colour(), status.shown());
        self.view.line(&format!("{name}... {shown}"));
        let fields = [("test_file", json!({"path": name, "status": status.word()})), ("@testfile", name.into())];
        self.view.event(events::test("test_file", "info", format!("{name}... {}", status.shown()), fields));
        for run in runs {
            self.run(name, run);
        }
    }

    fn run(&self, file: &str, run: &RunResult) {
        let shown = self.view.style().paint(run.status.colour(), run.status.shown());
        self.view.line(&format!("  run {:?}... {shown}", run.name));
        let fields = [
            ("test_run", json!({"path": file, "run": run.name, "status": run.status.word()})),
            ("@testfile", file.into()),
            ("@testrun", run.name.as_str().into()),
        ];
        let message = format!("  {:?}... {}", run.name, run.status.shown());
        self.view.event(events::test("test_run", "info", message, fields));
        match &run.shown {
            None => {}
            Some(Shown::Plan(file_of_plan)) => {
                self.view.line(&plan::human(file_of_plan, self.view.style()));
                self.document(file, run, "plan", &|| show_json::plan(file_of_plan));
            }
            Some(Shown::State(found, schemas)) => {
                self.view.line(&state::human(found, schemas, self.view.style()));
                self.document(file, run, "state", &|| show_json::state(Some(found.as_ref()), schemas));
            }
        }
        self.problems(file, Some(&run.name), &run.problems);
    }

    fn document(&self, file: &str, run: &RunResult, what: &str, make: &dyn Fn() -> Json) {
        if !self.view.takes_events() {
            return;
        }
        let kind = format!("test_{what}");
        let fields = [(kind.as_str(), make()), ("@testfile", file.into()), ("@testrun", run.name.as_str().into())];
        self.view.event(events::test(&kind, "info", format!("-verbose flag enabled, printing {what}"), fields));
    }

    /// Reports problems of a file, or of one of its runs.
    pub fn problems(&self, file: &str, run: Option<&str>, problems: &[Diagnostic]) {
        let mut belong = vec![("@testfile", file)];
        belong.extend(run.map(|run| ("@testrun", run)));
        self.view.diagnostics_of(problems, &belong);
    }

    /// Reports the cleanup after a run: its problems, the objects that it left behind, and the file with their state.
    pub fn cleaned(&self, file: &str, run: &str, problems: &[Diagnostic], left: &[LeftOver], written: Option<&str>) {
        if has_errors(problems) && !self.view.is_json() {
            self.view.aside(&format!("Weft encountered an error when it destroyed the objects of {file}/{run}."));
        }
        if !left.is_empty() {
            let place = match written {
                Some(path) => format!("they are kept in the state file {path}"),
                None => "their state could not be written".to_owned(),
            };
            let message = format!("Objects of {file}/{run} still exist; {place}. Destroy them manually:");
            let list: Vec<Json> = left.iter().map(LeftOver::document).collect();
            let fields = [
                ("test_cleanup", json!({"failed_resources": list})),
                ("@testfile", file.into()),
                ("@testrun", run.into()),
            ];
            self.view.event(events::test("test_cleanup", "error", message.clone(), fields));
            if !self.view.is_json() {
                self.view.aside(&format!("\n{message}"));
                left.iter().for_each(|one| self.view.aside(&one.line()));
            }
        }
        self.problems(file, Some(run), problems);
    }

    /// Reports that the user has quit.
    pub fn left(&self, file: &str, run: &str, found: &Interrupted, written: &[String]) {
        if found.state.is_empty() && found.states.is_empty() && found.planned.is_empty() {
            return;
        }
        let message = format!("The test was interrupted in {file} without cleaning up.");
        let documents = |list: &[LeftOver]| list.iter().map(LeftOver::document).collect::<Vec<Json>>();
        let states: serde_json::Map<String, Json> =
            found.states.iter().map(|(run, _, list)| (run.clone(), documents(list).into())).collect();
        let mut told = serde_json::Map::new();
        for (name, value) in [
            ("state", Json::from(documents(&found.state))),
            ("states", Json::Object(states)),
            ("planned", json!(found.planned)),
        ] {
            if value.as_array().is_none_or(|list| !list.is_empty())
                && value.as_object().is_none_or(|map| !map.is_empty())
            {
                told.insert(name.to_owned(), value);
            }
        }
        let fields = [("test_interrupt", Json::Object(told)), ("@testfile", file.into())];
        self.view.event(events::test("test_interrupt", "error", message.clone(), fields));
        if self.view.is_json() {
            return;
        }
        self.view.aside(&format!("\n{message}"));
        if !found.state.is_empty() {
            self.view.aside("\nThese objects of the tested configuration exist:");
            found.state.iter().for_each(|one| self.view.aside(&one.line()));
        }
        for (run, source, list) in &found.states {
            self.view.aside(&format!("\nThese objects of {source:?} exist, created by the run {run:?}:"));
            list.iter().for_each(|one| self.view.aside(&one.line()));
        }
        if !found.planned.is_empty() {
            self.view.aside(&format!("\nThese objects were being created by the run {run:?}, and may exist:"));
            found.planned.iter().for_each(|one| self.view.aside(&format!("  - {one}")));
        }
        for path in written {
            self.view.aside(&format!("\nThe state file {path} has a record of them."));
        }
    }

    /// Reports the end of the test.
    pub fn end(&self, status: TestStatus, tally: &StatusCounts) {
        let passed = status == TestStatus::Pass;
        let (word, colour) = if passed { ("Success!", "32") } else { ("Failure!", "31") };
        let words = tally.words();
        self.view.line(&format!("\n{} {words}", self.view.style().paint(colour, word)));
        let summary = json!({
            "status": status.word(),
            "passed": tally.passed,
            "failed": tally.failed,
            "errored": tally.errored,
            "skipped": tally.skipped,
        });
        self.view.event(events::test("test_summary", "info", format!("{word} {words}"), [("test_summary", summary)]));
    }
}
