//! Coordinators with real frames, in one process and over the network, on a model store.

mod plan;
mod taken_over;
mod worker;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plan::Reader;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use weft_coordinator::client::{WatchEnd, WatchEvent, connect_worker};
use weft_coordinator::driver::RunEvent;
use weft_coordinator::server::Server;
use weft_coordinator::service::{Resumption, Submission};
use weft_coordinator::{
    Address, Cancel, Client, Decision, Dialer, FinishReason, Guard, InProcess, Notices, OperationEventKind, ReadPlan,
    RunOptions, RunOutcome, Service, UserResolution, pair, run_in_process, term,
};
use weft_state::{Holder, ModelStore, Opaque, RevisionRule, RunId, RunStatus, RunStore, StoreError, StoreStep};
use worker::{Habits, work};

fn store() -> Arc<dyn RunStore> {
    Arc::new(ModelStore::new(RevisionRule::Sequence, 7))
}

fn holder() -> Holder {
    Holder { machine: "here".to_owned(), process: 1, user: "me".to_owned() }
}

fn habits(name: &str) -> Habits {
    Habits { name: name.to_owned(), ..Habits::default() }
}

/// Carries out or resumes a plan with these workers in this process.
async fn run_plan(
    store: &Arc<dyn RunStore>,
    run: &str,
    text: &str,
    workers: Vec<Habits>,
    options: RunOptions,
) -> (RunOutcome, Vec<RunEvent>) {
    let run = RunId::parse(run).unwrap();
    let plan = Reader.read(text.as_bytes()).unwrap();
    let bytes = Opaque(text.as_bytes().to_vec());
    // The call fails if the test resumes the run, because the run already exists.
    let _ = term::create(store.as_ref(), term::new_run(run.clone(), 5, &plan.outline, bytes)).await;
    let mut ends = Vec::new();
    for habits in workers {
        let (ours, theirs) = pair();
        ends.push(ours);
        tokio::spawn(work(theirs, habits));
    }
    let (notices, mut heard) = Notices::channel();
    let (_cancel, cancelled) = mpsc::channel::<Cancel>(2);
    let listening = tokio::spawn(async move {
        let mut all = Vec::new();
        while let Some(notice) = heard.recv().await {
            all.push(notice);
        }
        all
    });
    let request = InProcess {
        store: Arc::clone(store),
        run,
        plan,
        options,
        holder: holder(),
        workers: ends,
        notices,
        cancel: cancelled,
    };
    let outcome = run_in_process(request).await.unwrap();
    (outcome, listening.await.unwrap())
}

#[tokio::test]
async fn one_process_applies_a_plan() {
    let store = store();
    let (outcome, notices) = run_plan(&store, "r", "3 20", vec![habits("me")], RunOptions::in_process()).await;
    assert_eq!((outcome.reason, outcome.status), (FinishReason::Complete, Some(RunStatus::Done)));
    assert_eq!((outcome.counts.done, outcome.exit_code()), (40, 0));
    assert_eq!(store.snapshot().await.unwrap().instances.len(), 40);
    let is_done = |what: &OperationEventKind| matches!(what, OperationEventKind::Done { .. });
    let done = |notice: &&RunEvent| matches!(notice, RunEvent::Progress(progress) if is_done(&progress.what));
    assert_eq!(notices.iter().filter(done).count(), 40);
    assert!(matches!(notices.last(), Some(RunEvent::Ended(_))));
}

#[tokio::test]
async fn a_failure_skips_its_dependents_and_a_resume_continues() {
    let store = store();
    let failing = Habits { failing: vec!["a.b[1]".to_owned()], ..habits("me") };
    let (outcome, _) = run_plan(&store, "r", "2 3", vec![failing], RunOptions::in_process()).await;
    assert_eq!((outcome.counts.done, outcome.counts.failed, outcome.counts.skipped), (4, 1, 1));
    assert_eq!((outcome.status, outcome.exit_code()), (Some(RunStatus::Failed), 1));
    let (outcome, notices) = run_plan(&store, "r", "2 3", vec![habits("me")], RunOptions::in_process()).await;
    assert_eq!((outcome.counts.done, outcome.exit_code()), (6, 0));
    let started = |notice: &&RunEvent| matches!(notice, RunEvent::Progress(p) if p.what == OperationEventKind::Started);
    assert_eq!(notices.iter().filter(started).count(), 2, "what was done is not done again");
}

#[tokio::test]
async fn results_of_calls_are_collected_after_the_store_has_failed() {
    let model = Arc::new(ModelStore::new(RevisionRule::Sequence, 7));
    model.break_down();
    let store: Arc<dyn RunStore> = Arc::clone(&model) as Arc<dyn RunStore>;
    let slow = Habits { slow: vec!["a.b[1]".to_owned()], ..habits("me") };
    let (outcome, notices) = run_plan(&store, "r", "1 2", vec![slow], RunOptions::in_process()).await;
    assert!(matches!(outcome.store_error, Some(StoreError::Closed(_))), "{:?}", outcome.store_error);
    assert!(notices.contains(&RunEvent::StoreFailed(1)), "{notices:?}");
    let results = outcome.unrecorded.iter().filter(|step| matches!(step, StoreStep::Commit(_)));
    assert_eq!(results.count(), 2, "{:?}", outcome.unrecorded);
    assert_eq!((outcome.exit_code(), outcome.unfinished.len()), (1, 4));
    let newest = store.newest(&outcome.unrecorded).await.unwrap().unwrap();
    assert_eq!(newest.instances.keys().collect::<Vec<_>>(), ["a.b[0]", "a.b[1]"]);
    assert_eq!(store.newest(&[]).await.unwrap(), None, "the store has what it took");
}

#[tokio::test]
async fn a_doubt_is_reported_and_resolved() {
    let store = store();
    let doubtful = Habits { doubtful: vec!["a.b[0]".to_owned()], ..habits("me") };
    let (outcome, _) = run_plan(&store, "r", "1 2", vec![doubtful.clone()], RunOptions::in_process()).await;
    assert_eq!(outcome.in_doubt, vec!["a.b[0]"]);
    assert_eq!((outcome.exit_code(), outcome.status), (3, Some(RunStatus::InDoubt)));
    let plan = Reader.read(b"1 2").unwrap();
    let view = store.run(&RunId::parse("r").unwrap()).await.unwrap().unwrap();
    let operations = weft_coordinator::listing::doubtful(&view, &plan.outline, &"a.b[0]".parse().unwrap());
    let resolution =
        weft_coordinator::UserResolution { operation: operations[0], decision: Decision::Adopt("x".into()) };
    let options = RunOptions { resolutions: vec![resolution], only_resolve: true, ..RunOptions::in_process() };
    let (outcome, _) = run_plan(&store, "r", "1 2", vec![doubtful], options).await;
    assert_eq!((outcome.reason, outcome.counts.done, outcome.counts.skipped), (FinishReason::Resolved, 3, 1));
    let (outcome, _) = run_plan(&store, "r", "1 2", vec![habits("me")], RunOptions::in_process()).await;
    assert_eq!((outcome.counts.done, outcome.exit_code()), (4, 0));
}

#[tokio::test]
async fn another_worker_takes_over_from_one_that_ends() {
    let store = store();
    let options = RunOptions { grace_ms: 100, fixed_workers: false, ..RunOptions::in_process() };
    let short = Habits { calls_left: Some(5), ..habits("a") };
    let (outcome, _) = run_plan(&store, "r", "2 40", vec![short, habits("b")], options).await;
    assert_eq!((outcome.counts.done, outcome.exit_code()), (80, 0));
}

struct Cluster {
    address: Address,
    serving: JoinHandle<()>,
    /// The directory of the coordinator's socket.
    _directory: TempDir,
}

impl Cluster {
    async fn client(&self) -> Client {
        Client::connect(&Dialer::default(), &self.address.to_string()).await.unwrap()
    }
}

async fn cluster(store: &Arc<dyn RunStore>) -> Cluster {
    let service = Service::new(Arc::clone(store), Arc::new(Reader), holder());
    let directory = TempDir::new().unwrap();
    let address = Address::Unix(directory.path().join("coordinator.sock"));
    let server = Server::bind(service, &address, Guard::default()).await.unwrap();
    let serving = tokio::spawn(async move { server.serve(std::future::pending()).await.unwrap() });
    Cluster { address, serving, _directory: directory }
}

/// A worker that reconnects whenever its connection ends.
fn faithful(address: &Address, habits: Habits) -> JoinHandle<()> {
    let address = address.to_string();
    tokio::spawn(async move {
        loop {
            if let Ok(end) = connect_worker(&Dialer::default(), &address).await {
                work(end, habits.clone()).await;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
}

async fn until_end(client: &mut Client, run: &str) -> WatchEnd {
    let mut watch = client.watch(Some(run)).await.unwrap();
    while let Some(event) = watch.next().await.unwrap() {
        if let WatchEvent::End(end) = event {
            return end;
        }
    }
    panic!("no end");
}

#[tokio::test]
async fn a_cluster_applies_plans_concurrently() {
    let store = store();
    let cluster = cluster(&store).await;
    for name in ["a", "b"] {
        faithful(&cluster.address, habits(name));
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut client = cluster.client().await;
    let plan = Submission { plan: b"4 300".to_vec(), ..Submission::default() };
    let run = client.submit(plan.clone()).await.unwrap();
    let second = client.submit(plan).await;
    let second = second.unwrap_err().to_string();
    assert!(second.contains("cannot claim the parts of the state that its plan changes: a.b[0]"), "{second}");
    let end = until_end(&mut client, &run).await;
    assert_eq!((end.exit_code(), end.run.unwrap().counts.done), (0, 600));
    let details = client.show(Some(&run)).await.unwrap();
    assert_eq!((details.run.status.as_str(), details.operations.len()), ("done", 600));
    let workers: std::collections::BTreeSet<&str> =
        details.operations.iter().map(|operation| operation.worker.as_str()).collect();
    assert_eq!(workers.len(), 2, "{workers:?}");
    assert_eq!(details.operations[0].provider_instance, "provider[\"h/n/t\"].by_region[\"r0\"]");
    assert_eq!(client.resume(Some(&run), Resumption::default()).await.unwrap(), None);
    assert!(client.list().await.unwrap().iter().any(|listed| listed.id == run));
    cluster.serving.abort();
}

#[tokio::test]
async fn labels_decide_which_worker_gets_a_shard() {
    let store = store();
    let cluster = cluster(&store).await;
    let label = |value: &str| BTreeMap::from([("region".to_owned(), value.to_owned())]);
    faithful(&cluster.address, Habits { labels: label("one"), ..habits("a") });
    faithful(&cluster.address, Habits { labels: label("two"), ..habits("b") });
    let mut client = cluster.client().await;
    let plan = Submission { plan: b"placed+2 5".to_vec(), ..Submission::default() };
    let run = client.submit(plan).await.unwrap();
    assert_eq!(until_end(&mut client, &run).await.exit_code(), 0);
    for operation in client.show(None).await.unwrap().operations {
        let expected = if operation.provider_instance.contains("r0") { "b" } else { "a" };
        assert_eq!(operation.worker, expected, "{}", operation.address);
    }
    let detached = Submission { plan: b"home+2 5".to_vec(), detach: true, ..Submission::default() };
    let refused = client.submit(detached).await.unwrap_err();
    assert!(refused.to_string().contains("a.b[0]"), "{refused}");
    cluster.serving.abort();
}

#[tokio::test]
async fn a_plan_that_fits_no_worker_is_refused_before_anything_is_stored() {
    let store = store();
    let cluster = cluster(&store).await;
    let label = |value: &str| BTreeMap::from([("region".to_owned(), value.to_owned())]);
    faithful(&cluster.address, Habits { labels: label("one"), ..habits("a") });
    faithful(&cluster.address, habits("c"));
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut client = cluster.client().await;
    let plan = Submission { plan: b"placed+2 5".to_vec(), ..Submission::default() };
    let refused = client.submit(plan).await.unwrap_err().to_string();
    assert!(refused.contains("by_region[\"r0\"] needs region=two"), "{refused}");
    assert!(refused.contains("Connected: a (region=one); c (no labels)"), "{refused}");
    assert!(client.list().await.unwrap().is_empty());
    cluster.serving.abort();
}

#[tokio::test]
async fn a_sealed_plan_is_refused_by_an_unencrypted_store() {
    let store = store();
    let cluster = cluster(&store).await;
    let mut client = cluster.client().await;
    let plan = Submission { plan: b"1 2".to_vec(), sealed: true, ..Submission::default() };
    let refused = client.submit(plan).await.unwrap_err();
    assert!(refused.to_string().contains("TF_ENCRYPTION"), "{refused}");
    assert!(client.list().await.unwrap().is_empty());
    cluster.serving.abort();
}

#[tokio::test]
async fn a_doubt_is_resolved_over_the_network() {
    let store = store();
    let cluster = cluster(&store).await;
    faithful(&cluster.address, Habits { doubtful: vec!["a.b[0]".to_owned()], ..habits("a") });
    let mut client = cluster.client().await;
    let plan = Submission { plan: b"1 2".to_vec(), ..Submission::default() };
    let run = client.submit(plan).await.unwrap();
    let end = until_end(&mut client, &run).await;
    assert_eq!((end.exit_code(), end.in_doubt.as_slice()), (3, ["a.b[0]".to_owned()].as_slice()));
    assert!(client.resolve(&run, "a.c[1]", Decision::Retry).await.is_err());
    let known = client.look_up(&run).await.unwrap();
    let known = known.values().next().expect("a doubt");
    let found = known.candidate.as_ref().map(|found| found.id.as_str());
    assert_eq!((known.reason.as_str(), found), ("cannot tell", Some("found")));
    let taken = client.resolve(&run, "a.b[0]", Decision::Adopt("x".to_owned())).await.unwrap_err().to_string();
    assert!(taken.contains("the state has this object at a.b[1]"), "{taken}");
    let (status, _) = client.resolve(&run, "a.b[0]", Decision::Adopt("y".to_owned())).await.unwrap();
    assert_eq!(status, "done");
    assert_eq!(client.resume(None, Resumption::default()).await.unwrap(), Some(run.clone()));
    assert_eq!(until_end(&mut client, &run).await.exit_code(), 0);
    cluster.serving.abort();
}

#[tokio::test]
async fn a_run_is_taken_over_when_its_coordinator_is_gone() {
    let store = store();
    let first = cluster(&store).await;
    let mut client = first.client().await;
    let plan = Submission { plan: b"2 10".to_vec(), ..Submission::default() };
    let run = client.submit(plan).await.unwrap();
    // No worker has connected to the coordinator, and now its server stops. The Tokio task that drives the run does not
    // stop with the server. It continues to renew the lease, so a second coordinator must not take over the run.
    let header = store.runs().await.unwrap().remove(0);
    assert_eq!(header.status, RunStatus::Running);
    first.serving.abort();
    let second = cluster(&store).await;
    faithful(&second.address, habits("a"));
    let mut client = second.client().await;
    let held = client.resume(Some(&run), Resumption::default()).await.unwrap_err();
    assert!(held.to_string().contains("is being carried out by me@here"), "{held}");
    second.serving.abort();
}

/// Time stands still except in waits.
#[tokio::test(start_paused = true)]
async fn a_lease_without_heartbeats_is_taken_over() {
    let store = store();
    let run = RunId::parse("left").unwrap();
    let plan = Reader.read(b"2 10").unwrap();
    term::create(store.as_ref(), term::new_run(run.clone(), 5, &plan.outline, Opaque(b"2 10".to_vec()))).await.unwrap();
    let request = weft_state::Acquire { run: run.clone(), holder: holder(), term: 1, unmoved: None };
    store.acquire(request).await.unwrap();
    let service = Service::new(Arc::clone(&store), Arc::new(Reader), holder());
    let taking = tokio::spawn(Arc::clone(&service).take_over_runs());
    let (ours, theirs) = pair();
    let hub = service.hub().clone();
    tokio::spawn(async move { hub.attach(ours).await });
    tokio::spawn(work(theirs, habits("a")));
    let begun = tokio::time::Instant::now();
    while store.runs().await.unwrap()[0].status != RunStatus::Done {
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(begun.elapsed() < Duration::from_secs(60), "{service:?}");
    }
    assert!(begun.elapsed() >= weft_coordinator::timing::LEASE_TTL, "{:?}", begun.elapsed());
    taking.abort();
}

/// Measures the rate of intents and commits of coordinator, frames and workers, with a store without durability.
#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_completes_thousands_of_operations_a_second() {
    let store = store();
    let cluster = cluster(&store).await;
    for name in ["a", "b", "c", "d"] {
        faithful(&cluster.address, habits(name));
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut client = cluster.client().await;
    let plan = Submission { plan: b"4 5000".to_vec(), ..Submission::default() };
    let run = client.submit(plan).await.unwrap();
    let end = until_end(&mut client, &run).await;
    assert_eq!((end.exit_code(), end.run.unwrap().counts.done), (0, 10_000));
    let details = client.show(Some(&run)).await.unwrap();
    let workers: std::collections::BTreeSet<String> =
        details.operations.into_iter().map(|operation| operation.worker).collect();
    assert_eq!(workers.len(), 4, "one shard on each worker");
    cluster.serving.abort();
}

/// A term may end before its worker has greeted. That worker must not wait forever.
#[tokio::test]
async fn a_worker_that_greets_after_the_end_is_dismissed() {
    let store = store();
    let doubtful = Habits { doubtful: vec!["a.b[0]".to_owned()], ..habits("me") };
    let (outcome, _) = run_plan(&store, "r", "1 1", vec![doubtful], RunOptions::in_process()).await;
    assert_eq!((outcome.counts.in_doubt, outcome.exit_code()), (1, 3));
    let (plan, (ours, theirs)) = (Reader.read(b"1 1").unwrap(), pair());
    let run = RunId::parse("r").unwrap();
    let (notices, _heard) = Notices::channel();
    let (_cancel, cancelled) = mpsc::channel(1);
    let options = RunOptions {
        resolutions: vec![UserResolution { operation: 0, decision: Decision::Absent }],
        only_resolve: true,
        ..RunOptions::in_process()
    };
    let store_too = Arc::clone(&store);
    let request = InProcess {
        store: store_too,
        run,
        plan,
        options,
        holder: holder(),
        workers: vec![ours],
        notices,
        cancel: cancelled,
    };
    let outcome = run_in_process(request).await.unwrap();
    assert_eq!(outcome.counts.in_doubt, 0);
    let sent_away = tokio::time::timeout(Duration::from_secs(5), work(theirs, habits("me"))).await;
    assert!(sent_away.is_ok(), "the worker's connection ends");
}
