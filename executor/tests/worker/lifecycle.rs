//! Broken connections, stopped runs, superseded tasks.

use std::sync::Arc;
use std::time::Duration;

use weft_executor::{Ended, FileSpool, PlainSpool, Worker, WorkerOptions, WorkerSpool};
use weft_graph_format::digest::Digest;
use weft_graph_format::value::Value;
use weft_proto::cluster as proto;

use crate::coordinator::{Coordinator, Item, Order, Outcome, granted, plan_of};
use crate::draft::Draft;
use crate::{options, schemas};

fn creates(count: usize) -> Draft {
    let draft = Draft::builtin();
    for i in 0..count {
        draft.create(&format!("terraform_data.a[{i}]"), Value::int(i as i64));
    }
    draft
}

async fn asked(run: &mut Coordinator) -> u32 {
    match run.next().await {
        Item::Intent(intent) => intent.operation,
        other => panic!("no question: {other:?}"),
    }
}

async fn result(run: &mut Coordinator) -> (u32, Outcome) {
    match run.next().await {
        Item::Result(result) => (result.operation, result.outcome.unwrap()),
        other => panic!("no result: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn results_survive_the_connection() {
    let plan = plan_of(creates(3).finish(), schemas());
    let mut run = Coordinator::start(plan.clone(), options()).await;
    let [a, b, c] = [0, 1, 2].map(|i| run.operation(&format!("terraform_data.a[{i}]")));
    for operation in [a, b] {
        run.begin(operation).await;
        asked(&mut run).await;
    }
    run.order(Order::Granted(run.name(a))).await;
    assert!(matches!(result(&mut run).await, (o, Outcome::Done(_)) if o == a));
    let (worker, ended) = run.hang_up().await;
    assert_eq!(ended, Ended::Disconnected);

    let mut run = Coordinator::connect(plan, worker).await;
    let held: Vec<(u32, i32)> = run.hello.held.iter().map(|h| (h.operation, h.phase)).collect();
    use proto::held_task::Phase;
    assert_eq!(held, [(a, Phase::Finished as i32), (b, Phase::Asked as i32)]);
    assert!(matches!(result(&mut run).await, (o, Outcome::Done(_)) if o == a));
    assert_eq!(asked(&mut run).await, b);
    run.order(Order::Acknowledged(run.name(a))).await;
    run.order(Order::Granted(run.name(b))).await;
    assert!(matches!(result(&mut run).await, (o, Outcome::Done(_)) if o == b));
    // The shard is still open.
    run.begin(c).await;
    assert_eq!(asked(&mut run).await, c);
}

/// A worker with the spool in this folder. Its process has this incarnation.
fn with_spool(folder: &std::path::Path, incarnation: &str) -> Worker {
    let (spool, found) = FileSpool::open(folder, "w", Arc::new(PlainSpool)).unwrap();
    let spool = WorkerSpool { place: Arc::new(spool), results: found.results };
    Worker::new(WorkerOptions { incarnation: incarnation.to_owned(), spool: Some(spool), ..options() })
}

#[tokio::test(flavor = "multi_thread")]
async fn results_outlive_the_process_in_its_spool() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan_of(creates(2).finish(), schemas());
    let mut run = Coordinator::connect(plan.clone(), with_spool(folder.path(), "one")).await;
    run.open_all().await;
    let [a, b] = [0, 1].map(|i| run.operation(&format!("terraform_data.a[{i}]")));
    for operation in [a, b] {
        run.begin(operation).await;
        asked(&mut run).await;
        run.order(Order::Granted(run.name(operation))).await;
        assert!(matches!(result(&mut run).await, (_, Outcome::Done(_))));
    }
    run.order(Order::Acknowledged(run.name(b))).await;
    // The coordinator disappears before it has acknowledged the other result. Then the worker ends.
    let (mut worker, _) = run.hang_up().await;
    worker.wait_for(tokio::time::sleep(Duration::from_millis(50))).await;
    assert_eq!(worker.settle_spool().await, 0, "nothing is lost with the process");
    drop(worker);

    let heir = with_spool(folder.path(), "two");
    let mut run = Coordinator::connect_with(plan.clone(), heir, |welcome| welcome.protocol = 1).await;
    let held: Vec<(u32, &str)> = run.hello.held.iter().map(|held| (held.operation, held.maker.as_str())).collect();
    assert_eq!(held, [(a, "one")]);
    // A coordinator with an older protocol does not receive the spooled result. The next coordinator does.
    run.open_all().await;
    run.begin(b).await;
    assert_eq!(asked(&mut run).await, b);
    run.order(Order::Refused(run.name(b))).await;
    let (worker, _) = run.hang_up().await;
    let mut run = Coordinator::connect(plan, worker).await;
    assert!(matches!(result(&mut run).await, (operation, Outcome::Done(_)) if operation == a));
    run.order(Order::Acknowledged(run.name(a))).await;
    run.handle.drain();
    let (mut worker, _) = run.hang_up().await;
    worker.settle_spool().await;
    assert_eq!(std::fs::metadata(folder.path().join("results-w")).unwrap().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn results_of_an_encrypted_state_are_not_kept_unencrypted() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan_of(creates(1).finish(), schemas());
    let worker = with_spool(folder.path(), "one");
    let mut run = Coordinator::connect_with(plan, worker, |welcome| welcome.sealed = true).await;
    run.open_all().await;
    let a = run.operation("terraform_data.a[0]");
    run.begin(a).await;
    granted(&mut run).await;
    assert!(matches!(result(&mut run).await, (operation, Outcome::Done(_)) if operation == a));
    let (mut worker, _) = run.hang_up().await;
    assert_eq!(worker.settle_spool().await, 1);
    assert_eq!(std::fs::metadata(folder.path().join("results-w")).unwrap().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_run_returns_its_tasks() {
    let mut run = Coordinator::start(plan_of(creates(3).finish(), schemas()), options()).await;
    let [a, b, c] = [0, 1, 2].map(|i| run.operation(&format!("terraform_data.a[{i}]")));
    for operation in [a, b] {
        run.begin(operation).await;
        asked(&mut run).await;
    }
    run.order(Order::Drain(true)).await;
    run.order(Order::Granted(run.name(a))).await;
    assert!(matches!(result(&mut run).await, (o, Outcome::NotCalled(_)) if o == a));
    run.order(Order::Refused(run.name(b))).await;
    run.begin(c).await;
    assert!(matches!(run.next().await, Item::Returned(task) if task.operation == c));
    run.order(Order::Leave(true)).await;
    // The worker answers a grant for a task that it does not hold.
    run.order(Order::Granted(proto::TaskName { operation: c, attempt: 9 })).await;
    match run.next().await {
        Item::Result(result) => {
            assert_eq!((result.operation, result.attempt), (c, 9));
            assert!(matches!(result.outcome, Some(Outcome::NotCalled(_))));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_worker_waits_for_its_open_intents() {
    let mut run = Coordinator::start(plan_of(creates(2).finish(), schemas()), options()).await;
    let a = run.operation("terraform_data.a[0]");
    run.begin(a).await;
    asked(&mut run).await;
    run.handle.drain();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(run.is_working(), "the question is still open");
    run.order(Order::Refused(run.name(a))).await;
    assert_eq!(run.ended().await, Ended::Drained);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_worker_leaves_even_if_its_result_is_not_acknowledged() {
    let mut run = Coordinator::start(plan_of(creates(1).finish(), schemas()), options()).await;
    let a = run.operation("terraform_data.a[0]");
    run.begin(a).await;
    granted(&mut run).await;
    run.handle.drain();
    assert_eq!(run.ended().await, Ended::Drained);
}

#[tokio::test(flavor = "multi_thread")]
async fn late_grants_are_not_acted_on() {
    let plan = plan_of(creates(1).finish(), schemas());
    let mut run = Coordinator::start(plan.clone(), options()).await;
    let a = run.operation("terraform_data.a[0]");
    run.begin(a).await;
    asked(&mut run).await;
    let (worker, _) = run.hang_up().await;
    // The next coordinator demands young intents.
    let mut run = Coordinator::connect_with(plan, worker, |welcome| welcome.intent_age_ms = 1).await;
    asked(&mut run).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    run.order(Order::Granted(run.name(a))).await;
    assert!(matches!(result(&mut run).await, (_, Outcome::NotCalled(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_plans_and_missing_packages_are_refused() {
    let plan = plan_of(creates(1).finish(), schemas());
    let package = plan.package(0).unwrap().encode().unwrap();
    let mut run = Coordinator::connect(plan, Worker::new(options())).await;
    for (shard, fragment) in [(10, Vec::new()), (11, package[..package.len() / 2].to_vec()), (12, vec![0xff; 64])] {
        run.order(Order::Open(proto::OpenShard {
            shard,
            fragment,
            plan: Digest::default().hex(),
            ..Default::default()
        }))
        .await;
        run.order(Order::Start(proto::StartTask { shard, operation: 1, attempt: shard, read_first: false })).await;
        match run.next().await {
            Item::Refused(refused) => assert_eq!(refused.shard, shard),
            other => panic!("{other:?}"),
        }
    }
    run.order(Order::Start(proto::StartTask { shard: 99, operation: 1, attempt: 1, read_first: false })).await;
    assert!(matches!(result(&mut run).await, (1, Outcome::Failed(_))));
    // Each byte is changed once: the fragment is refused or opened, and nothing panics.
    for at in (0..package.len()).step_by(37) {
        let mut fragment = package.clone();
        fragment[at] ^= 0x55;
        let shard = 1000 + at as u32;
        run.order(Order::Open(proto::OpenShard {
            shard,
            fragment,
            plan: Digest::default().hex(),
            ..Default::default()
        }))
        .await;
    }
    run.order(Order::Start(proto::StartTask { shard: 98, operation: 1, attempt: 2, read_first: false })).await;
    loop {
        match run.next().await {
            Item::Refused(_) => {}
            Item::Result(result) if result.attempt == 2 => break,
            other => panic!("{other:?}"),
        }
    }

    let source: weft_graph_format::address::ProviderSource = "weft.test/lab/lab".parse().unwrap();
    let draft = Draft::new(source, weft_graph_format::formula::Formula::constant(Value::empty_object()));
    let plan = plan_of(draft.finish(), schemas());
    let run = Coordinator::connect(plan, Worker::new(options())).await;
    run.open(0, Vec::new()).await;
    let mut run = run;
    match run.next().await {
        Item::Refused(refused) => {
            let problems: Vec<weft_graph_format::diagnostic::Diagnostic> =
                postcard::from_bytes(&refused.diagnostics).unwrap();
            assert!(problems[0].detail.contains("weft.test/lab/lab"), "{problems:?}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn results_of_other_workers_are_read() {
    let draft = Draft::builtin();
    let first = draft.create("terraform_data.a", Value::string("x"));
    let input = crate::draft::result(first.id(), &["output"], weft_graph_format::types::Type::String);
    draft.create("terraform_data.b", input);
    let plan = plan_of(draft.finish(), schemas());
    let mut run = Coordinator::start(plan.clone(), options()).await;
    run.run_all().await;
    let (a, b) = (run.operation("terraform_data.a"), run.operation("terraform_data.b"));
    let value = run.done(a).local.clone();
    assert!(!value.is_empty() && run.done(b).local.is_empty());
    let mut run = Coordinator::connect(plan, Worker::new(options())).await;
    run.open(run.shard_of(a), vec![proto::LocalResult { operation: a, value }]).await;
    run.begin(b).await;
    while !run.outcomes.contains_key(&b) {
        run.step().await;
    }
    assert!(run.object(b).contains("x"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_worker_reports_that() {
    let plan = plan_of(creates(1).finish(), schemas());
    let refused = |welcome: &mut proto::Welcome| welcome.refused = "another has this name".into();
    let run = Coordinator::connect_with(plan, Worker::new(options()), refused).await;
    assert_eq!(run.ended().await, Ended::Refused("another has this name".into()));
}

/// Not a measurement: it fails if the cost of a task grows with its fragment.
#[tokio::test(flavor = "multi_thread")]
async fn the_work_of_a_task_does_not_grow_with_its_fragment() {
    const COUNT: usize = 5_000;
    let mut run = Coordinator::start(plan_of(creates(COUNT).finish(), schemas()), options()).await;
    let began = std::time::Instant::now();
    run.run_all_at_once().await;
    let took = began.elapsed();
    assert_eq!(run.outcomes.len(), COUNT);
    eprintln!("{COUNT} creates in {took:?}");
    assert!(took < Duration::from_secs(20), "{took:?}");
}
