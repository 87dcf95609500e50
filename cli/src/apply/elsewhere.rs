//! Runs that a coordinator carries out in another process.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval_at, sleep};
use weft_coordinator::client::{EventStream, WatchEnd, WatchEvent, connect_worker};
use weft_coordinator::listing::{RunDetails, kept_objects};
use weft_coordinator::outline::outline;
use weft_coordinator::plan::read_plan;
use weft_coordinator::service::{Resumption, Submission};
use weft_coordinator::{Client, Dialer, process};
use weft_executor::{Channel, Ended, Packages, Worker, WorkerOptions};
use weft_expressions::call_context::DiskFiles;
use weft_graph_format::address::{ResourceInstance, ResourceMode};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::graph::Shard;
use weft_graph_format::operation_kind::OperationKind;
use weft_graph_format::plan_file::PlanFile;
use weft_sealing::TargetName;
use weft_state::{OpStatus, RunStatus};

use super::problems::{not_resumable, stray, unfinished, worker_needed_here};
use super::progress::{Foreknown, Progress, REMIND};
use super::{ApplyOutcome, Work, client_problem};
use crate::command::Invocation;
use crate::context::{Context, environment};
use crate::identity;
use crate::options::Arguments;
use crate::packages::{PlannedPackages, pool_options};
use crate::render::events::ChangeCounts;
use crate::signals;
use crate::view::View;

/// The pause between two attempts to reach a coordinator.
const RECONNECT: Duration = Duration::from_millis(500);

/// The coordinator that the options or the environment select.
pub fn coordinator(arguments: &Arguments) -> Option<String> {
    let given = arguments.value("coordinator").map(str::to_owned);
    given.or_else(|| environment("WEFT_COORDINATOR")).filter(|address| !address.is_empty())
}

/// Submits a plan. With `detach`, the function returns immediately. Otherwise it watches the run until its end, with a
/// local worker for the operations that must run at home.
///
/// # Errors
/// Returns an error if the run did not begin, or if this command cannot watch it.
pub async fn submit(
    work: Work,
    (dialer, addresses): (&Dialer, &str),
    detach: bool,
    parallelism: Option<u32>,
    context: &Context,
    view: &View,
    packages: Arc<dyn Packages>,
) -> Result<ApplyOutcome, Vec<Diagnostic>> {
    let mut client = Client::connect(dialer, addresses).await.map_err(client_problem)?;
    let address = client.address().to_owned();
    let address = address.as_str();
    let seals = |target| context.sealed_by.get().is_some_and(|sealing| sealing.seals(&target));
    let (sealed, sealed_plan) = (seals(TargetName::State), seals(TargetName::Plan));
    let (plan, inputs, signature) = (work.bytes, work.inputs, work.signature);
    let submission = Submission { plan, inputs, parallelism, detach, sealed, sealed_plan, signature };
    let run = client.submit(submission).await.map_err(client_problem)?;
    if detach {
        view.line(&format!("Run {run} continues at {address}. To see its progress: weft runs show {run}"));
        return Ok(ApplyOutcome { run, ..ApplyOutcome::default() });
    }
    view.line(&format!("Run {run} is carried out by the coordinator at {address}."));
    attend(&mut client, (dialer, address), &run, &work.plan, &BTreeSet::new(), (context, view), packages).await
}

/// Resumes a run of the coordinator: by default the newest unfinished one. With `detach`, the function returns
/// immediately. Otherwise it watches the run like [`submit`]. Returns `None` if the coordinator has no run to resume.
///
/// # Errors
/// Returns an error if the coordinator does not respond or refuses the request, or if this command cannot prepare or
/// watch the run.
pub async fn resume(
    addresses: &str,
    named: Option<&str>,
    detach: bool,
    parallelism: Option<u32>,
    invocation: &Invocation<'_>,
) -> Result<Option<ApplyOutcome>, Vec<Diagnostic>> {
    let Invocation { arguments, context, view, .. } = invocation;
    let dialer = identity::dialer(arguments)?;
    let mut client = Client::connect(&dialer, addresses).await.map_err(client_problem)?;
    let address = client.address().to_owned();
    let address = address.as_str();
    let Some((run, bytes)) = client.plan(named).await.map_err(client_problem)? else { return Ok(None) };
    let plan = read_plan(&bytes)?;
    view.know_snippets(&plan.sources);
    if detach && needs_home(&plan) {
        return Err(vec![worker_needed_here()]);
    }
    let inputs = super::inputs(&plan.manifest, arguments)?;
    let how = Resumption { inputs, parallelism };
    let Some(run) = client.resume(Some(&run), how).await.map_err(client_problem)? else { return Ok(None) };
    view.line(&format!("Run {run} continues at {address}."));
    if detach {
        return Ok(Some(ApplyOutcome { run, ..ApplyOutcome::default() }));
    }
    let details = client.show(Some(&run)).await.map_err(client_problem)?;
    view.diagnostics(&kept_objects(&details));
    let finished = details.operations.iter().filter(|operation| operation.status == OpStatus::Done.word());
    let earlier = finished.map(|operation| operation.operation).collect();
    let directories: Vec<PathBuf> = arguments.values("plugin-dir").map(PathBuf::from).collect();
    let (packages, said) = PlannedPackages::new(context, &directories);
    view.diagnostics(&said);
    attend(&mut client, (&dialer, address), &run, &plan, &earlier, (context, view), Arc::new(packages)).await.map(Some)
}

/// Whether a plan has operations that must run at home.
fn needs_home(plan: &PlanFile) -> bool {
    plan.graph.fragments.iter().any(|fragment| fragment.shard == Shard::Home)
}

/// Watches a run until its end, with a local worker for the operations that must run at home. The worker has the label
/// `home=RUN`. The coordinator requires this label for these operations, unless a placement rule assigns them to
/// another worker. `earlier` are the operations that have already finished.
async fn attend(
    client: &mut Client,
    (dialer, address): (&Dialer, &str),
    run: &str,
    plan: &PlanFile,
    earlier: &BTreeSet<u32>,
    (context, view): (&Context, &View),
    packages: Arc<dyn Packages>,
) -> Result<ApplyOutcome, Vec<Diagnostic>> {
    let home = needs_home(plan).then(|| {
        tokio::spawn(work_here(dialer.clone(), address.to_owned(), run.to_owned(), context.clone(), packages))
    });
    let outline = outline(plan);
    let left = outline.operations.iter().filter(|operation| !earlier.contains(&operation.index));
    let shards = left.filter_map(|operation| outline.shard(operation.shard));
    let instances = shards.map(|shard| shard.key.provider_instance());
    let progress = Progress::new(view, instances, Foreknown::of(plan));
    let ending = follow(client, run, view, progress).await;
    if let Some(home) = home {
        home.abort();
    }
    ending
}

/// Watches a run until the end of its term.
///
/// # Errors
/// Returns an error if the coordinator no longer responds.
pub async fn follow(
    client: &mut Client,
    run: &str,
    view: &View,
    mut progress: Progress<'_>,
) -> Result<ApplyOutcome, Vec<Diagnostic>> {
    let mut cancel = signals::forward();
    let mut watch = client.watch(Some(run)).await.map_err(client_problem)?;
    let mut reminder = interval_at(tokio::time::Instant::now() + REMIND, REMIND);
    reminder.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut broken = 0;
    let end = loop {
        tokio::select! {
            events = watch.batch() => match events {
                Ok(events) => match view.together(|| show(&mut progress, view, events)) {
                    BatchOutcome::End(end) if !is_taken_over_later(&end) || broken >= TRIES => break *end,
                    BatchOutcome::End(_) | BatchOutcome::Nothing => {
                        broken += 1;
                        watch = again(client, run, view).await?;
                    }
                    BatchOutcome::Events => {}
                },
                Err(error) => {
                    broken += 1;
                    view.aside(&format!("{error}. Retrying."));
                    watch = again(client, run, view).await?;
                }
            },
            Some(wish) = cancel.recv() => {
                progress.interrupted(wish, run);
                client.cancel(run, wish).await.map_err(client_problem)?;
            }
            _ = reminder.tick() => progress.remind(),
        }
    };
    let mut ending = conclude(&mut progress, view, run, &end);
    let done = end.run.as_ref().map(|run| run.counts.done);
    if done.is_some_and(|done| done != progress.done())
        && let Ok(details) = client.show(Some(run)).await
    {
        ending.counts = counts(&details);
    }
    Ok(ending)
}

/// The outcome of a batch of events.
enum BatchOutcome {
    /// The batch has no events, so the watch has ended.
    Nothing,
    /// The batch has events, and the run continues.
    Events,
    /// The run's term ended.
    End(Box<WatchEnd>),
}

fn show(progress: &mut Progress<'_>, view: &View, events: Vec<WatchEvent>) -> BatchOutcome {
    let mut outcome = BatchOutcome::Nothing;
    for event in events {
        outcome = BatchOutcome::Events;
        match event {
            WatchEvent::Operation(event) => progress.happened(event),
            WatchEvent::Line(line) => progress.line(&line),
            WatchEvent::Notice(text) => view.aside(&text),
            WatchEvent::Summary(_) => {}
            WatchEvent::End(end) => return BatchOutcome::End(Box::new(end)),
        }
    }
    outcome
}

/// Whether the coordinator will take over the run later. A coordinator that has just started ends the watch of a run
/// that belonged to its predecessor. The new coordinator takes over the run when the lease of the predecessor has
/// expired.
fn is_taken_over_later(end: &WatchEnd) -> bool {
    end.stopped && end.run.as_ref().is_some_and(|run| run.status == RunStatus::Running.word())
}

/// The changes that a run has made to managed objects in all its terms, including terms that this process did not
/// watch.
pub(super) fn counts(details: &RunDetails) -> ChangeCounts {
    let managed = |address: &str| {
        address.parse().is_ok_and(|found: ResourceInstance| found.resource.mode == ResourceMode::Managed)
    };
    let mut counts = ChangeCounts::default();
    let done = details.operations.iter().filter(|operation| operation.status == OpStatus::Done.word());
    for operation in done.filter(|operation| managed(&operation.address)) {
        match operation.action.kind() {
            Some(OperationKind::Create) => counts.add += 1,
            Some(OperationKind::Update) if operation.intended => counts.change += 1,
            Some(OperationKind::Delete) => counts.remove += 1,
            Some(OperationKind::Forget) => counts.forget += 1,
            _ => {}
        }
    }
    counts
}

/// The maximum number of attempts to reach a coordinator. During the attempts, the coordinator may restart, or another
/// coordinator may replace it.
const TRIES: u32 = 120;

async fn again(client: &mut Client, run: &str, view: &View) -> Result<EventStream, Vec<Diagnostic>> {
    let mut last = None;
    for _ in 0..TRIES {
        sleep(RECONNECT).await;
        match client.watch(Some(run)).await {
            Ok(watch) => return Ok(watch),
            Err(error) => last = Some(error),
        }
    }
    view.aside(&format!("The run continues in the background. To see its progress: weft runs show {run}"));
    Err(last.map(client_problem).unwrap_or_default())
}

fn conclude(progress: &mut Progress<'_>, view: &View, run: &str, end: &WatchEnd) -> ApplyOutcome {
    progress.end(run, &end.in_doubt);
    let mut problems = end.diagnostics.clone();
    problems.extend(end.strays.iter().map(|address| stray(address, run)));
    if end.lost {
        problems.extend(not_resumable(&end.unfinished));
    } else if end.stopped {
        problems.push(unfinished(run, "The run ended before everything was done.", &end.unfinished));
    }
    view.diagnostics(&problems);
    let (code, stopped) = (end.exit_code(), end.stopped);
    let (run, store_failed) = (run.to_owned(), end.lost);
    ApplyOutcome { run, code, stopped, store_failed, counts: *progress.counts(), doubts: progress.doubts() }
}

/// Runs a local worker for the operations that must run at home. It gets no operations if a placement rule assigns them
/// to another worker. The caller aborts the worker when the run ends.
async fn work_here(dialer: Dialer, address: String, run: String, context: Context, packages: Arc<dyn Packages>) {
    let mut worker = Worker::new(WorkerOptions {
        pool: pool_options(&context),
        files: Arc::new(DiskFiles),
        base_directory: PathBuf::from("."),
        labels: [("home".to_owned(), run.clone())].into(),
        ..WorkerOptions::new(format!("home-{run}"), process::incarnation(), packages)
    });
    loop {
        let ended = match connect_worker(&dialer, &address).await {
            Ok(end) => worker.run(Channel { incoming: end.incoming, outgoing: end.outgoing }).await,
            Err(error) => {
                tracing::warn!("{error}");
                Ended::Disconnected
            }
        };
        if let Ended::Refused(reason) = ended {
            tracing::warn!("the coordinator refuses the worker: {reason}");
            return;
        }
        sleep(RECONNECT).await;
    }
}
