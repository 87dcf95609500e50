//! A run in this process: a coordinator and a worker as in a cluster, but connected by channels.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval_at, timeout};
use weft_coordinator::listing::{RunDetails, kept_objects};
use weft_coordinator::{
    Cancel, CoordinatorEnd, FinishReason, InProcess, Notices, Outline, RunError, RunEvent, RunOptions, RunOutcome,
    RunPlan, pair, process, run_in_process, term,
};
use weft_executor::{Channel, HostMessage, Packages, Worker, WorkerOptions};
use weft_expressions::call_context::DiskFiles;
use weft_graph_format::changes::{Changes, Importing, ResourceChange};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::shown::ShownName;
use weft_state::{NewRun, OpRecord, OpStatus, Opaque, RunId, RunStore, StoreError};

use super::elsewhere::counts;
use super::errored;
use super::problems::{not_resumable, not_saved_yet, stray, taken_over, unfinished};
use super::progress::{Foreknown, Progress, REMIND};
use super::{ApplyOutcome, Work, run_problem};
use crate::context::{Context, holder, unix_ms};
use crate::packages::pool_options;
use crate::render::plan::import_line;
use crate::signals;
use crate::view::View;

/// The name of the worker inside this process.
const WORKER: &str = "home";
/// How long providers may take to end after the user has quit a run. Weft has already asked the providers to stop.
const LEAVING_WAIT: Duration = Duration::from_secs(1);
/// The capacity of the queue of interrupts by the user.
const WISHES: usize = 4;
/// The capacity of the queue of messages of the worker.
const MESSAGES: usize = 1_024;

/// What a run in this process needs besides the plan.
pub struct LocalRun<'a> {
    /// The working directory.
    pub context: &'a Context,
    /// The output.
    pub view: &'a View,
    /// The store of state and runs.
    pub store: Arc<dyn RunStore>,
    /// Provider packages.
    pub packages: Arc<dyn Packages>,
    /// The maximum number of concurrent operations.
    pub parallelism: usize,
}

/// Begins a new run of a plan and carries it out.
///
/// # Errors
/// Returns an error if the run did not begin. Later problems are reported as they happen.
pub async fn begin(work: Work, place: LocalRun<'_>) -> Result<ApplyOutcome, Vec<Diagnostic>> {
    let known = Foreknown::of(&work.plan);
    let imports = import_lines(&work.plan.changes);
    let run = weft_state::random_run_id().map_err(|error| vec![crate::store::problem(&StoreError::from(error))])?;
    let mut plan = RunPlan::new(work.plan, work.digest)?;
    plan.place_here();
    plan.inputs = work.inputs;
    let bytes = Opaque(work.bytes);
    let new = NewRun { starts_now: true, ..term::new_run(run.clone(), unix_ms(), &plan.outline, bytes) };
    term::create(place.store.as_ref(), new).await.map_err(run_problem)?;
    if place.view.shows_progress() {
        imports.iter().for_each(|line| place.view.line(line));
    }
    run_to_end(run, plan, &BTreeSet::new(), known, RunOptions::in_process(), place).await
}

/// The lines about imported objects. The first write of the run adds these objects to the state.
fn import_lines(changes: &Changes) -> Vec<String> {
    let of_change = |change: &ResourceChange| {
        let name = match change.importing.as_deref()? {
            Importing::Id(id) => Some(ShownName { attribute: "id".to_owned(), value: id.to_string() }),
            Importing::Identity(identity) => ShownName::of_identity(identity),
        };
        let line = |step| import_line(&change.address, step, name.as_ref());
        Some([line("Importing..."), line("Import complete")])
    };
    changes.resources.iter().filter_map(of_change).flatten().collect()
}

/// Resumes a run. `options` may contain decisions about operations in doubt.
///
/// # Errors
/// Returns an error if the run was not resumed.
pub async fn resume(
    run: RunId,
    work: Work,
    options: RunOptions,
    place: LocalRun<'_>,
) -> Result<ApplyOutcome, Vec<Diagnostic>> {
    let known = Foreknown::of(&work.plan);
    let mut plan = RunPlan::new(work.plan, work.digest)?;
    plan.place_here();
    plan.inputs = work.inputs;
    let stored = place.store.run(&run).await.map_err(|error| vec![crate::store::problem(&error)])?;
    if let Some(stored) = &stored {
        place.view.diagnostics(&kept_objects(&RunDetails::new(stored, &plan.outline)));
    }
    let done = |(index, record): (_, &OpRecord)| (record.status == OpStatus::Done).then_some(index);
    let earlier: BTreeSet<u32> =
        stored.iter().flat_map(|view| &view.ops).filter_map(|(index, record)| done((index.0, record))).collect();
    if !earlier.is_empty() {
        place.view.aside(&format!("{} of its {} operations are done.", earlier.len(), plan.outline.operations.len()));
    }
    run_to_end(run, plan, &earlier, known, options, place).await
}

/// Carries out a run until its end. `earlier` are the operations that have already finished.
async fn run_to_end(
    run: RunId,
    plan: RunPlan,
    earlier: &BTreeSet<u32>,
    known: Foreknown,
    options: RunOptions,
    place: LocalRun<'_>,
) -> Result<ApplyOutcome, Vec<Diagnostic>> {
    let LocalRun { context, view, store, packages, parallelism } = place;
    let mut progress = Progress::new(view, instances(&plan.outline, earlier), known);
    if options.only_resolve {
        progress.leave_doubts_to_the_caller();
    }
    store.keep_newest();
    let (ours, mut home) = Home::begin(context, &run, packages);
    let (notices, told) = Notices::channel();
    let (wishes, cancel) = mpsc::channel(WISHES);
    let options = RunOptions { parallelism: u32::try_from(parallelism).ok(), ..options };
    let outline = Arc::clone(&plan.outline);
    let looked_at = Arc::clone(&store);
    let (id, looked_for) = (run.to_string(), run.clone());
    let request = InProcess { store, run, plan, options, holder: holder(), workers: vec![ours], notices, cancel };
    let running = run_in_process(request);
    let told_of = RunHere { id: &id, run: &looked_for, store: looked_at.as_ref() };
    let outcome = watch(running, &mut progress, view, &mut home, told, (wishes, told_of)).await;
    let left = outcome.as_ref().is_ok_and(|outcome| outcome.reason == FinishReason::Left);
    home.close(left, &mut progress).await;
    let outcome = outcome.map_err(run_problem)?;
    let (run, done) = (outcome.run.clone(), outcome.counts.done);
    let unsaved = errored::keep(context, looked_at.as_ref(), &outcome).await;
    let mut ending = conclude(&mut progress, view, outcome, unsaved);
    if done != progress.done()
        && let Ok(Some(found)) = looked_at.run(&run).await
    {
        ending.counts = counts(&RunDetails::new(&found, &outline));
    }
    Ok(ending)
}

/// The run that [`watch`] shows.
struct RunHere<'a> {
    id: &'a str,
    run: &'a RunId,
    store: &'a dyn RunStore,
}

/// Shows the progress of a run until it ends, and forwards interrupts by the user.
async fn watch(
    running: impl Future<Output = Result<RunOutcome, RunError>>,
    progress: &mut Progress<'_>,
    view: &View,
    home: &mut Home,
    mut told: Notices,
    (wishes, watched): (mpsc::Sender<Cancel>, RunHere<'_>),
) -> Result<RunOutcome, RunError> {
    tokio::pin!(running);
    let mut signals = signals::forward();
    let mut reminder = interval_at(tokio::time::Instant::now() + REMIND, REMIND);
    reminder.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let outcome = loop {
        tokio::select! {
            biased;
            Some(notice) = told.recv() => show(progress, view, notice),
            Some(said) = home.messages.recv() => progress.said(&said),
            Some(wish) = signals.recv() => {
                progress.interrupted(wish, watched.id);
                // A run that has ended accepts no interrupts.
                let _ = wishes.try_send(wish);
            }
            outcome = &mut running => break outcome,
            _ = reminder.tick() => {
                progress.remind();
                if let Some(error) = watched.store.take_trouble() {
                    view.diagnostics(&[not_saved_yet(&error, &watched.store.journal_place(watched.run))]);
                }
            }
        }
    };
    while let Ok(said) = home.messages.try_recv() {
        progress.said(&said);
    }
    while let Some(notice) = told.try_recv() {
        show(progress, view, notice);
    }
    outcome
}

/// The worker in this process.
struct Home {
    working: JoinHandle<Worker>,
    /// The messages of the worker, apart from the results of operations.
    messages: mpsc::Receiver<HostMessage>,
}

impl Home {
    /// Starts the worker. Returns it with the coordinator's end of the channel.
    fn begin(context: &Context, run: &RunId, packages: Arc<dyn Packages>) -> (CoordinatorEnd, Home) {
        let (said, messages) = mpsc::channel::<HostMessage>(MESSAGES);
        let (ours, theirs) = pair();
        let mut worker = Worker::new(WorkerOptions {
            pool: pool_options(context),
            files: Arc::new(DiskFiles),
            base_directory: PathBuf::from("."),
            labels: BTreeMap::from([("home".to_owned(), run.to_string())]),
            said: Some(said),
            ..WorkerOptions::new(WORKER, process::incarnation(), packages)
        });
        let working = tokio::spawn(async move {
            let ended = worker.run(Channel { incoming: theirs.incoming, outgoing: theirs.outgoing }).await;
            tracing::debug!(?ended, "the worker in this process has ended");
            worker
        });
        (ours, Home { working, messages })
    }

    /// Ends the worker and its providers. `left` says whether the user has quit the run. If so, the function waits at
    /// most [`LEAVING_WAIT`] for the providers to end.
    async fn close(self, left: bool, progress: &mut Progress<'_>) {
        let Home { working, mut messages } = self;
        let closing = async move {
            let Ok(worker) = working.await else { return };
            match left {
                true => drop(timeout(LEAVING_WAIT, worker.close()).await),
                false => worker.close().await,
            }
        };
        tokio::pin!(closing);
        loop {
            tokio::select! {
                biased;
                Some(said) = messages.recv() => progress.said(&said),
                () = &mut closing => break,
            }
        }
        while let Ok(said) = messages.try_recv() {
            progress.said(&said);
        }
    }
}

fn show(progress: &mut Progress<'_>, view: &View, notice: RunEvent) {
    match notice {
        RunEvent::Progress(step) => progress.happened(step),
        RunEvent::StoreTrouble(error) => view.aside(&format!("The store does not respond. Retrying: {error}")),
        RunEvent::StoreFailed(1) => view.aside("The store has failed. Waiting for the result of a call."),
        RunEvent::StoreFailed(calls) => {
            view.aside(&format!("The store has failed. Waiting for the results of {calls} calls."));
        }
        RunEvent::StoreBack => view.aside("The store responds again."),
        RunEvent::Line(line) => progress.line(&line),
        RunEvent::Counts(_) | RunEvent::Ended(_) => {}
    }
}

fn conclude(
    progress: &mut Progress<'_>,
    view: &View,
    outcome: RunOutcome,
    unsaved: Option<Diagnostic>,
) -> ApplyOutcome {
    let run = outcome.run.to_string();
    progress.end(&run, &outcome.in_doubt);
    let mut problems = Vec::new();
    if let Some(error) = &outcome.store_error {
        problems.push(crate::store::problem(error));
    }
    problems.extend(unsaved);
    problems.extend(outcome.defect.as_ref().map(term::defect));
    for address in &outcome.strays {
        problems.push(stray(address, &run));
    }
    let stopped = outcome.reason != FinishReason::Complete && outcome.reason != FinishReason::Resolved;
    if matches!(outcome.store_error, Some(StoreError::Emptied { .. })) {
        problems.extend(not_resumable(&outcome.unfinished));
    } else if outcome.reason == FinishReason::Fenced {
        problems.push(taken_over(&run));
    } else if stopped {
        let why = match &outcome.store_error {
            Some(_) => "The store failed.",
            None => reason(outcome.reason),
        };
        problems.push(unfinished(&run, why, &outcome.unfinished));
    }
    view.diagnostics(&problems);
    let code = match outcome.reason {
        FinishReason::Resolved if outcome.in_doubt.is_empty() => 0,
        _ => outcome.exit_code(),
    };
    // Errors that do not belong to an operation make the command fail, too.
    let code = if code == 0 && progress.aside_errors() > 0 { 1 } else { code };
    let store_failed = outcome.store_error.is_some();
    ApplyOutcome { run, code, stopped, store_failed, counts: *progress.counts(), doubts: progress.doubts() }
}

fn reason(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Complete | FinishReason::Resolved => "The run has ended.",
        FinishReason::Drained => "The run was interrupted. The operations that were running have ended.",
        FinishReason::Left => {
            "The user quit before the running operations ended. The outcome of these operations is unknown."
        }
        FinishReason::Fenced => "Another process has taken over the run.",
        FinishReason::NoWorker => "No worker can carry out the remaining operations.",
        FinishReason::StoreRefused => "The store refused to record a step of the run.",
        FinishReason::Defect => "A defect of Weft stopped the run.",
    }
}

/// The provider instances of the operations that are not in `done`.
fn instances<'o>(outline: &'o Outline, done: &BTreeSet<u32>) -> impl Iterator<Item = &'o str> {
    outline
        .operations
        .iter()
        .filter(|operation| !done.contains(&operation.index))
        .map(|operation| outline.shard(operation.shard).map_or("", |shard| shard.key.provider_instance()))
}
