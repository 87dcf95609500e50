//! Carries out the runs of one test file, in order. The states stay in memory until the end.

mod cleaning;

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_evaluator::config::test_file::{TestCommand, TestFile, TestRun};
use weft_evaluator::config::{CompiledModule, ProviderName};
use weft_evaluator::{AssertionValues, AssertionVerdict, NeededNames, SessionAnswer, undeclared_in_providers};
use weft_graph_format::address::ResourceMode;
use weft_graph_format::changes::ChangeAction;
use weft_graph_format::diagnostic::{Diagnostic, READ_FOR_CHECK, has_errors};
use weft_graph_format::graph::Action;
use weft_graph_format::marks::Marks;
use weft_graph_format::plan_file::{PlanFile, UiMode};
use weft_graph_format::value::Value;
use weft_state::tfstate::StateFile;
use weft_state::{ModelStore, RevisionRule, RunStore, Snapshot};

use super::engine::{Engine, TestPlan, Tested};
use super::expected::{held_against, is_of_check, of_planning};
use super::given::{Globals, RunValues, values};
use super::interrupts::Wish;
use super::load::Tests;
use super::problems;
use super::report::{RunResult, Shown, TestReport};
use super::status::TestStatus;
use super::transformed::{declare, transformed, with_settled_keys};
use crate::addresses::written_instance;
use crate::apply::applied_a_part;
use crate::plan::{PARALLELISM, Wishes};
use crate::project::of_configuration;
use crate::render::values::decoded;
use cleaning::LastRun;

/// The key of the state of the configuration itself. The key of the state of another module is its source.
pub const MAIN: &str = "";

/// A state that runs of a file use.
pub struct TestState {
    /// The state.
    pub store: Arc<ModelStore>,
    /// The run that last changed the state.
    pub last: Option<LastRun>,
}

/// Carries out the runs of one file.
pub struct FileRunner<'a> {
    /// The engine.
    pub engine: &'a Engine<'a>,
    /// The configuration.
    pub root: Arc<CompiledModule>,
    /// All tests.
    pub tests: &'a Tests,
    /// The file.
    pub file: Arc<TestFile>,
    /// The values for all tests.
    pub globals: &'a Globals,
    /// Whether to show plans and states.
    pub verbose: bool,
    /// The states by their keys.
    pub states: BTreeMap<String, TestState>,
    /// The objects that the current run is creating.
    pub making: Vec<String>,
}

/// The result of a run while it is in progress.
#[derive(Default)]
struct Course {
    status: Option<TestStatus>,
    problems: Vec<Diagnostic>,
    shown: Option<Shown>,
}

/// A run cannot continue because of these problems.
struct Stop(Vec<Diagnostic>);

impl FileRunner<'_> {
    /// Carries out all runs, and reports them. Returns the statuses of the file and of its runs.
    pub async fn execute(&mut self, report: &TestReport<'_>) -> (TestStatus, Vec<TestStatus>) {
        let file = self.file.clone();
        let mut status = TestStatus::Pass;
        let mut results: Vec<RunResult> = Vec::new();
        for (number, run) in file.runs.iter().enumerate() {
            let wish = self.engine.interrupts.wish();
            let mut result = RunResult {
                name: run.name.to_string(),
                status: TestStatus::Pending,
                problems: Vec::new(),
                shown: None,
            };
            if wish == Wish::GoOn && status != TestStatus::Error {
                let course = self.run(number, run).await;
                result.status = course.status.unwrap_or(TestStatus::Error);
                (result.problems, result.shown) = (course.problems, course.shown);
            } else if wish != Wish::Cancel {
                result.status = TestStatus::Skip;
            }
            status = status.with(result.status);
            results.push(result);
            if self.engine.interrupts.wish() == Wish::Cancel {
                break;
            }
        }
        let statuses = results.iter().map(|result| result.status).collect();
        if self.engine.interrupts.wish() == Wish::Cancel {
            let last = results.last().map(|result| result.name.clone()).unwrap_or_default();
            cleaning::leave(self, report, &last).await;
        } else {
            report.file(&file.name, status, &results);
            cleaning::clean(self, report).await;
        }
        (status, statuses)
    }

    async fn run(&mut self, number: usize, run: &Arc<TestRun>) -> Course {
        let mut course = Course::default();
        if let Err(Stop(problems)) = self.execute_run(number, run, &mut course).await {
            course.problems.extend(problems);
            course.status = Some(TestStatus::Error);
        }
        if self.engine.interrupts.wish() == Wish::Cancel {
            course.problems.push(problems::interrupted());
            course.status = Some(TestStatus::Error);
        }
        course
    }

    async fn execute_run(&mut self, number: usize, run: &Arc<TestRun>, course: &mut Course) -> Result<(), Stop> {
        let said = self.file.overrides.duplicates();
        stop_at(said, course)?;
        stop_at(run.problems(), course)?;
        let (tested, values, warnings) = self.prepare(number, run, course).await?;
        let key = run.module.as_ref().map_or_else(|| MAIN.to_owned(), |module| module.source.to_string());
        let store = self.store(&key);
        let wishes = self.wishes(run)?;
        let snapshot = Arc::new(read(&store).await?);
        let mut plan = self.engine.plan(&tested, snapshot, &wishes).await;
        let problems = std::mem::take(&mut plan.problems);
        if run.command == TestCommand::Plan {
            let outcome = self.look_at_plan(run, &values, &mut plan, problems, course).await;
            plan.close().await;
            return outcome;
        }
        let problems = of_planning(&run.expected, problems);
        if has_errors(&problems) {
            plan.close().await;
            return stop_at(problems, course);
        }
        let mut later = Vec::new();
        let mut now = Vec::new();
        for problem in problems {
            let is_check = is_of_check(&problem) || problem.is_open_check();
            match () {
                () if !is_check => now.push(problem),
                // The apply evaluates these checks again, and reports them.
                () if problem.code == READ_FOR_CHECK || problem.is_open_check() => {}
                () => later.push(problem),
            }
        }
        let (schemas, needed) = (plan.schemas(), plan.needed_names());
        let (file, inputs) = (plan.file.take(), std::mem::take(&mut plan.inputs));
        plan.close().await;
        course.problems.extend(now);
        let Some(file) = file else { return Err(Stop(Vec::new())) };
        self.making = creates(&file);
        later.extend(self.engine.apply(&tested, file, inputs, &store).await);
        if self.engine.interrupts.wish() != Wish::Cancel {
            self.making.clear();
        }
        if !run.options.target.is_empty() {
            later.push(applied_a_part());
        }
        let last = LastRun { number, name: run.name.clone(), tested: tested.clone(), warnings };
        if let Some(held) = self.states.get_mut(&key) {
            held.last = Some(last);
        }
        stop_at(held_against(&run.expected, later), course)?;
        stop_at(values.problems_for(&run.asserts), course)?;
        let snapshot = Arc::new(read(&store).await?);
        if self.verbose {
            let state = store.export().await.ok().flatten().unwrap_or_default();
            let state = StateFile::parse(&state, "test state").unwrap_or_default();
            course.shown = Some(Shown::State(Box::new(state), schemas));
        }
        self.assert_state(run, (&tested, &values, &needed), snapshot, course).await;
        Ok(())
    }

    /// The tested configuration of a `run` block, the values of its variables, and the warnings. The cleanup reports
    /// the warnings again.
    async fn prepare(
        &self,
        number: usize,
        run: &TestRun,
        course: &mut Course,
    ) -> Result<(Tested, RunValues, Vec<Diagnostic>), Stop> {
        let own = self.tests.modules.get(&(self.file.name.clone(), number));
        let root = own.unwrap_or(&self.root);
        let outputs = self.outputs().await?;
        let values = values(root, &self.file, run, self.globals, &outputs).map_err(Stop)?;
        let root = match own.is_none() && !(self.file.variables.is_empty() && run.variables.is_empty()) {
            true => self.with_settled_keys(root).await,
            false => root.clone(),
        };
        let mut made = transformed(&root, &self.file, run, &outputs);
        let plugins = self.engine.installed.plugins();
        let (required, _) = of_configuration(&made.root);
        let sources = required.keys().filter(|source| !source.is_builtin());
        let missing = sources.filter_map(|source| plugins(source).err());
        let missing: Vec<Diagnostic> = missing.collect();
        made.problems.extend(missing);
        // Variables that only the test declares are for its assertions, so providers must not refer to them.
        made.problems.extend(undeclared_in_providers(&made.root));
        let warnings = made.problems.clone();
        stop_at(made.problems, course)?;
        let tested = Tested {
            root: declare(&made.root, values.own_names()),
            given: values.all(),
            stand_ins: Arc::new(made.stand_ins),
        };
        Ok((tested, values, warnings))
    }

    /// The configuration with evaluated keys of its providers. As in OpenTofu, the keys are evaluated with the variable
    /// values that are given for all tests, without the variable values in the test file or its `run` blocks.
    async fn with_settled_keys(&self, root: &Arc<CompiledModule>) -> Arc<CompiledModule> {
        let keyed: Vec<(ProviderName, String)> = root
            .providers
            .iter()
            .filter_map(|(name, block)| Some((name.clone(), block.repetition_text()?.to_owned())))
            .collect();
        if keyed.is_empty() {
            return root.clone();
        }
        let given = self.globals.of_module(root);
        let tested = Tested { root: root.clone(), given, stand_ins: Arc::default() };
        let (session, providers) = self.engine.inspect(&tested, Arc::default()).await;
        let mut keys: BTreeMap<ProviderName, Value> = BTreeMap::new();
        if let Some(session) = &session {
            for (name, text) in keyed {
                if let Some(SessionAnswer::Value(value)) = session.ask(&text).await.said
                    && value.is_wholly_known()
                {
                    keys.insert(name, value);
                }
            }
        }
        drop(session);
        providers.close().await;
        with_settled_keys(root, &keys)
    }

    /// The outputs of runs, by run. A run has outputs only if no later run has changed the same state.
    async fn outputs(&self) -> Result<BTreeMap<SmolStr, Value>, Stop> {
        let mut found = BTreeMap::new();
        for held in self.states.values() {
            let Some(last) = &held.last else { continue };
            let values = stored_outputs(&read(&held.store).await?);
            found.insert(last.name.clone(), Value::object(values));
        }
        Ok(found)
    }

    fn store(&mut self, key: &str) -> Arc<ModelStore> {
        let seed = self.states.len() as u64 + 1;
        let held = self.states.entry(key.to_owned()).or_insert_with(|| TestState {
            store: Arc::new(ModelStore::new(RevisionRule::Sequence, seed)),
            last: None,
        });
        held.store.clone()
    }

    fn wishes(&self, run: &TestRun) -> Result<Wishes, Stop> {
        let mut problems = Vec::new();
        let mut replace = Vec::new();
        for (text, range) in &run.options.replace {
            match written_instance(text) {
                Some(address) if address.resource.mode == ResourceMode::Managed => replace.push(address),
                Some(_) => problems.push(problems::replace_of_unmanaged(text.as_str()).at(range.clone())),
                None => problems.push(problems::invalid_replace().at(range.clone())),
            }
        }
        for (text, range) in &run.options.target {
            if weft_evaluator::selection::SelectedAddress::parse(text).is_none() {
                problems.push(problems::invalid_target().at(range.clone()));
            }
        }
        if has_errors(&problems) {
            return Err(Stop(problems));
        }
        Ok(Wishes {
            mode: if run.options.refresh_only { UiMode::RefreshOnly } else { UiMode::Normal },
            refresh: run.options.refresh,
            replace,
            selected: run.options.target.iter().map(|(text, _)| ("target", text.to_string())).collect(),
            parallelism: PARALLELISM,
            prior_state: self.verbose,
            configuration: self.verbose && run.command == TestCommand::Plan,
            ..Wishes::default()
        })
    }

    /// Checks expected failures and assertions of a run that only plans.
    async fn look_at_plan(
        &self,
        run: &TestRun,
        values: &RunValues,
        plan: &mut TestPlan,
        problems: Vec<Diagnostic>,
        course: &mut Course,
    ) -> Result<(), Stop> {
        stop_at(held_against(&run.expected, problems), course)?;
        stop_at(values.problems_for(&run.asserts), course)?;
        if self.verbose {
            course.shown = plan.file.take().map(|file| Shown::Plan(Box::new(file)));
        }
        let mut status = TestStatus::Pass;
        let needed = plan.needed_names();
        let seen = AssertionValues { outputs: None, variables: &values.unconverted, needed: &needed };
        for assertion in &run.asserts {
            let Some(session) = &plan.session else { break };
            let asserted = session.assert(assertion, &seen).await;
            status = status.with(status_of(asserted.verdict));
            course.problems.extend(asserted.problems);
        }
        course.status = Some(status);
        Ok(())
    }

    async fn assert_state(
        &self,
        run: &TestRun,
        (tested, values, needed): (&Tested, &RunValues, &NeededNames),
        snapshot: Arc<Snapshot>,
        course: &mut Course,
    ) {
        let mut status = TestStatus::Pass;
        if !run.asserts.is_empty() {
            let outputs = marked_outputs(&snapshot);
            let seen = AssertionValues { outputs: Some(&outputs), variables: &values.unconverted, needed };
            let (session, providers) = self.engine.inspect(tested, snapshot).await;
            for assertion in &run.asserts {
                let Some(session) = &session else { break };
                let asserted = session.assert(assertion, &seen).await;
                status = status.with(status_of(asserted.verdict));
                course.problems.extend(asserted.problems);
            }
            drop(session);
            providers.close().await;
        }
        course.status = Some(status);
    }
}

fn status_of(verdict: AssertionVerdict) -> TestStatus {
    match verdict {
        AssertionVerdict::Holds => TestStatus::Pass,
        AssertionVerdict::Fails => TestStatus::Fail,
        AssertionVerdict::Unsound => TestStatus::Error,
    }
}

/// Records diagnostics. Returns an error if they contain errors.
fn stop_at(problems: Vec<Diagnostic>, course: &mut Course) -> Result<(), Stop> {
    let failed = has_errors(&problems);
    course.problems.extend(problems);
    if failed { Err(Stop(Vec::new())) } else { Ok(()) }
}

async fn read(store: &Arc<ModelStore>) -> Result<Snapshot, Stop> {
    store.snapshot().await.map_err(|error| Stop(vec![crate::store::problem(&error)]))
}

fn stored_outputs(snapshot: &Snapshot) -> Vec<(SmolStr, Value)> {
    let outputs = snapshot.named_outputs();
    outputs.filter_map(|(name, stored)| Some((SmolStr::new(name), decoded(&stored.record)?))).collect()
}

/// The stored outputs by name. Sensitive ones are marked.
fn marked_outputs(snapshot: &Snapshot) -> BTreeMap<SmolStr, Value> {
    let is_sensitive = |name: &str| snapshot.outputs.get(name).is_some_and(|stored| stored.record.sensitive);
    let marked = |(name, value): (SmolStr, Value)| {
        let value = if is_sensitive(&name) { value.mark(&Marks::SENSITIVE) } else { value };
        (name, value)
    };
    stored_outputs(snapshot).into_iter().map(marked).collect()
}

/// The objects that a plan creates.
fn creates(plan: &PlanFile) -> Vec<String> {
    let created = plan.changes.resources.iter().filter(|change| change.action == ChangeAction::Only(Action::Create));
    created.map(|change| change.address.to_string()).collect()
}
