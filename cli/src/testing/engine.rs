//! Plans and applies tested configurations with the usual planner, coordinator and worker. The states are in memory.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use smol_str::SmolStr;
use tokio::sync::mpsc;
use weft_coordinator::{
    Cancel, InProcess, Notices, OperationEvent, OperationEventKind, RunEvent, RunOptions, RunOutcome, RunPlan, pair,
    process, run_in_process, term,
};
use weft_evaluator::config::CompiledModule;
use weft_evaluator::given_variables::GivenVariables;
use weft_evaluator::{Environment, NeededNames, Session};
use weft_executor::{Channel, HostMessage, Worker, WorkerOptions};
use weft_expressions::call_context::DiskFiles;
use weft_graph_format::address::ResourceInstance;
use weft_graph_format::checks::checked_object;
use weft_graph_format::diagnostic::{Diagnostic, READ_FOR_CHECK, has_errors};
use weft_graph_format::operation_kind::OperationKind;
use weft_graph_format::plan_file::{self, PlanFile};
use weft_graph_format::source::SourceRange;
use weft_planner::planning::PlanInputs;
use weft_planner::{Inspected, ProgressSender, ProviderSet, inspect, plan_open};
use weft_protocol::diagnostics::decode_diagnostics;
use weft_providers::{PoolOptions, ProviderPool, StandIns};
use weft_state::{Digest, ModelStore, Opaque, RunStore, Snapshot};

use super::interrupts::Interrupts;
use super::problems;
use super::stand_ins::TestStandIns;
use crate::apply::run_problem;
use crate::context::{Context, holder, now, unix_ms};
use crate::packages::{InstalledPackages, PlannedPackages, pool_options};
use crate::plan::inputs::{Inputs, encoded};
use crate::plan::{Basis, PARALLELISM, Wishes, assemble, configuration};
use crate::render::schemas::Schemas;
use crate::variables;
use crate::view::View;

/// The name of the worker inside this process.
const WORKER: &str = "test";
/// The capacity of the queue of messages of the worker.
const MESSAGES: usize = 1_024;
/// The capacity of the queue of interrupts by the user.
const WISHES: usize = 2;

/// What all plans and applies in tests have in common.
pub struct Engine<'a> {
    /// The context of the command.
    pub context: &'a Context,
    /// The output. It also knows the source files.
    pub view: &'a View,
    /// The workspace.
    pub workspace: SmolStr,
    /// The packages for planning.
    pub installed: &'a InstalledPackages,
    /// The packages for applying.
    pub packages: Arc<PlannedPackages>,
    /// The interrupts by the user.
    pub interrupts: Interrupts,
    /// The number of states that were written to files because the cleanup left objects behind.
    pub kept: AtomicUsize,
}

/// The subject of a test: a configuration, the values of its variables, and its stand-ins.
#[derive(Clone)]
pub struct Tested {
    /// The configuration.
    pub root: Arc<CompiledModule>,
    /// The values of the variables of the configuration.
    pub given: GivenVariables,
    /// The stand-ins for providers and resources.
    pub stand_ins: Arc<TestStandIns>,
}

/// The result of planning, which may be incomplete.
pub struct TestPlan {
    /// The plan.
    pub file: Option<PlanFile>,
    /// The values that an apply needs and the plan does not contain.
    pub inputs: Inputs,
    /// The diagnostics of planning.
    pub problems: Vec<Diagnostic>,
    /// A session for questions about planned values. `None` if nothing was evaluated.
    pub session: Option<Session>,
    providers: Arc<ProviderSet>,
}

impl TestPlan {
    /// The schemas that planning has loaded.
    pub fn schemas(&self) -> Schemas {
        self.providers.schemas()
    }

    /// The names that the selection of the run needs.
    pub fn needed_names(&self) -> NeededNames {
        self.session.as_ref().map(Session::needed_names).unwrap_or_default()
    }

    /// Ends the provider processes of planning.
    pub async fn close(self) {
        drop(self.session);
        self.providers.close().await;
    }
}

impl Engine<'_> {
    fn pool(&self, tested: &Tested) -> PoolOptions {
        let stand_ins: Arc<dyn StandIns> = tested.stand_ins.clone();
        PoolOptions { stand_ins: Some(stand_ins), ..pool_options(self.context) }
    }

    fn providers(&self, tested: &Tested) -> Arc<ProviderSet> {
        let pool = ProviderPool::new(self.pool(tested));
        Arc::new(ProviderSet::new(self.installed.plugins(), pool, PARALLELISM))
    }

    fn environment(&self, tested: &Tested, timestamp: String) -> Environment {
        let environment = self.context.environment(self.workspace.clone(), timestamp);
        Environment { root_path: SmolStr::new(&tested.root.dir), ..environment }
    }

    /// Makes a plan from this state.
    pub async fn plan(&self, tested: &Tested, snapshot: Arc<Snapshot>, wishes: &Wishes) -> TestPlan {
        let timestamp = now();
        let providers = self.providers(tested);
        let inputs = PlanInputs {
            root: tested.root.clone(),
            environment: self.environment(tested, timestamp.clone()),
            given: tested.given.clone(),
            snapshot: snapshot.clone(),
            providers: providers.clone(),
            options: wishes.options(&timestamp),
            progress: ProgressSender::none(),
        };
        let planning = plan_open(inputs, true);
        tokio::pin!(planning);
        let (outcome, session) = tokio::select! {
            outcome = &mut planning => outcome,
            () = self.interrupts.cancelled() => {
                providers.stop().await;
                planning.await
            }
        };
        let mut problems = outcome.diagnostics;
        // The warning is for users who set variables of the root module. Here the tests set the variables.
        problems.retain(|problem| problem.code != weft_planner::planning::DEPRECATED_VARIABLE);
        let errored = has_errors(&problems);
        let mut live = Inputs::new();
        if let Some(planned) = &outcome.planned {
            for (name, _) in variables::ephemeral(&tested.root) {
                let Some(value) = planned.variables.get(name) else { continue };
                match encoded(name, value) {
                    Ok(bytes) => drop(live.insert(name.to_string(), bytes)),
                    Err(said) => problems.extend(said),
                }
            }
        }
        let basis = Basis {
            context: self.context,
            workspace: self.workspace.clone(),
            root: tested.root.clone(),
            warnings: &[],
            given: tested.given.clone(),
            snapshot,
            backend: String::new(),
            packages: self.installed,
            sources: self.view.known_files(),
            view: self.view,
            reads: None,
        };
        let mut file = outcome.planned.map(|planned| assemble(basis, wishes, planned, errored, timestamp));
        if let Some(file) = file.as_mut().filter(|_| wishes.configuration) {
            let text = configuration::text(&tested.root, &self.view.known_files(), &providers).await;
            file.manifest.configuration = Some(text);
        }
        TestPlan { file, inputs: live, problems, session, providers }
    }

    /// Applies a plan. Returns its problems, in the order of the plan.
    pub async fn apply(
        &self,
        tested: &Tested,
        plan: PlanFile,
        inputs: Inputs,
        store: &Arc<ModelStore>,
    ) -> Vec<Diagnostic> {
        match self.run_plan(tested, plan, inputs, store.clone()).await {
            Ok(problems) | Err(problems) => problems,
        }
    }

    async fn run_plan(
        &self,
        tested: &Tested,
        plan: PlanFile,
        inputs: Inputs,
        store: Arc<dyn RunStore>,
    ) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        let mut bytes = Vec::new();
        let digest = plan_file::write(&plan, &mut bytes).map_err(|error| vec![problems::plan_not_written(&error)])?;
        let mut heard = Heard::new(tested, plan.manifest.places.clone());
        let mut run_of = RunPlan::new(plan, Digest(digest.0))?;
        run_of.inputs = inputs;
        let run = weft_state::random_run_id().map_err(|error| vec![problems::run_not_begun(&error)])?;
        let content = Opaque(bytes);
        term::create(store.as_ref(), term::new_run(run.clone(), unix_ms(), &run_of.outline, content))
            .await
            .map_err(run_problem)?;
        let (said, mut messages) = mpsc::channel::<HostMessage>(MESSAGES);
        let (ours, theirs) = pair();
        let mut worker = Worker::new(WorkerOptions {
            pool: self.pool(tested),
            files: Arc::new(DiskFiles),
            base_directory: PathBuf::from("."),
            labels: BTreeMap::from([("home".to_owned(), run.to_string())]),
            said: Some(said),
            ..WorkerOptions::new(WORKER, process::incarnation(), self.packages.clone())
        });
        let working = tokio::spawn(async move {
            let ended = worker.run(Channel { incoming: theirs.incoming, outgoing: theirs.outgoing }).await;
            tracing::debug!(?ended, "the worker of a test has ended");
            worker
        });
        let (notices, mut told) = Notices::channel();
        let (wishes, cancel) = mpsc::channel(WISHES);
        let options = RunOptions { parallelism: u32::try_from(PARALLELISM).ok(), ..RunOptions::in_process() };
        let workers = vec![ours];
        let request = InProcess { store, run, plan: run_of, options, holder: holder(), workers, notices, cancel };
        let running = run_in_process(request);
        tokio::pin!(running);
        let mut stopping = false;
        let outcome = loop {
            tokio::select! {
                biased;
                Some(notice) = told.recv() => heard.notice(notice),
                Some(said) = messages.recv() => heard.said(said),
                () = self.interrupts.cancelled(), if !stopping => {
                    stopping = true;
                    // A run that has ended accepts no interrupts.
                    let _ = wishes.try_send(Cancel::Drain);
                    let _ = wishes.try_send(Cancel::Stop);
                }
                outcome = &mut running => break outcome,
            }
        };
        while let Some(notice) = told.try_recv() {
            heard.notice(notice);
        }
        let closing = async {
            if let Ok(worker) = working.await {
                worker.close().await;
            }
        };
        tokio::pin!(closing);
        loop {
            tokio::select! {
                biased;
                Some(said) = messages.recv() => heard.said(said),
                () = &mut closing => break,
            }
        }
        while let Ok(said) = messages.try_recv() {
            heard.said(said);
        }
        Ok(heard.problems(&outcome.map_err(run_problem)?))
    }

    /// Opens a session for questions about a state.
    pub async fn inspect(&self, tested: &Tested, snapshot: Arc<Snapshot>) -> (Option<Session>, Arc<ProviderSet>) {
        let providers = self.providers(tested);
        let inspected = Inspected {
            root: tested.root.clone(),
            environment: self.environment(tested, now()),
            given: tested.given.clone(),
            snapshot,
            providers: providers.clone(),
            settled: true,
        };
        (inspect(inspected).await.0, providers)
    }
}

/// The results and events that were received from a run.
struct Heard {
    problems: BTreeMap<u32, Vec<Diagnostic>>,
    aside: Vec<Diagnostic>,
    places: BTreeMap<String, SourceRange>,
    /// The check blocks of data sources, by the address of the data source.
    checks: BTreeMap<String, String>,
}

impl Heard {
    fn new(tested: &Tested, places: BTreeMap<String, SourceRange>) -> Heard {
        let mut checks = BTreeMap::new();
        for module in tested.root.all() {
            let module_prefix = if module.path.is_root() { String::new() } else { format!("{}.", module.path) };
            for (resource, block) in &module.resources {
                if let Some(check) = &block.check {
                    checks.insert(format!("{module_prefix}{resource}"), format!("{module_prefix}check.{check}"));
                }
            }
        }
        Heard { problems: BTreeMap::new(), aside: Vec::new(), places, checks }
    }

    fn notice(&mut self, notice: RunEvent) {
        let RunEvent::Progress(step) = notice else { return };
        if matches!(step.what, OperationEventKind::Done { .. } | OperationEventKind::Failed) {
            let told = decode_diagnostics(&step.diagnostics);
            let told = told.into_iter().map(|problem| self.placed(problem, Some(&step))).collect();
            self.problems.insert(step.operation, told);
        }
    }

    fn said(&mut self, said: HostMessage) {
        if let HostMessage::Problem(problem) = said {
            let problem = self.placed(*problem, None);
            self.aside.push(problem);
        }
    }

    /// Adds to a problem its position, and the object whose condition failed.
    fn placed(&self, mut problem: Diagnostic, step: Option<&OperationEvent>) -> Diagnostic {
        let config =
            |address: &str| address.parse::<ResourceInstance>().ok().map(|address| address.config().to_string());
        if problem.subject.is_none() {
            let of = problem.address.as_deref().and_then(config);
            problem.subject = of.and_then(|config| self.places.get(&config).cloned());
        }
        let Some(step) = step else { return problem };
        // A condition or a message that cannot be evaluated is never an expected failure.
        if step.action.kind() == Some(OperationKind::Check) && problem.is_failed_condition() {
            problem.checked = checked_object(&step.address).into();
        } else if problem.code == READ_FOR_CHECK {
            let check = config(&step.address).and_then(|config| self.checks.get(&config).cloned());
            problem.checked = check.unwrap_or_default().into();
        }
        problem
    }

    fn problems(self, outcome: &RunOutcome) -> Vec<Diagnostic> {
        let mut found: Vec<Diagnostic> = self.problems.into_values().flatten().collect();
        found.extend(self.aside);
        found.extend(outcome.store_error.iter().map(crate::store::problem));
        for address in &outcome.in_doubt {
            found.push(problems::in_doubt(address.as_str()));
        }
        found
    }
}
