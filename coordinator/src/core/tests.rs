//! Single decisions, one by one; the simulation has the rest.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_state::{
    Attempt, Digest, DoubtOutcome, Evidence, Failure, FailureKind, OpRecord, OpStatus, Opaque, RunHeader, RunId,
    RunStatus, RunView, StoreAnswer, StoreStep, TermEnding, Writes,
};

use super::*;
use crate::event::Hello;
use crate::event::{Decision, Finish, UserResolution};
use crate::outline::{Export, Need, OperationKind, OutlineShard, ShardKey};
use weft_protocol::{HeldPhase, HeldTask, Report, SettleOrder, Task, TaskDone, TaskResult};

fn view(operations: usize, ops: Vec<(u32, OpRecord)>) -> RunView {
    RunView {
        header: RunHeader {
            id: RunId::parse("run").unwrap(),
            plan: Digest::default(),
            started_unix_ms: 0,
            status: RunStatus::Running,
            counts: OpCounts { pending: operations as u32, ..OpCounts::default() },
            claimed: true,
            abandoned: false,
            lease: None,
        },
        ops: ops.into_iter().map(|(op, record)| (OpIndex(op), record)).collect(),
        written: BTreeMap::new(),
        claims: BTreeMap::new(),
        strays: Vec::new(),
    }
}

/// A chain or a heap of operations of one kind, numbered from 0.
fn outline(kind: OperationKind, needs: &[&[u32]], shards: u32) -> Outline {
    let operations = needs.iter().enumerate().map(|(index, needs)| {
        let shard = index as u32 % shards;
        let mut operation = OutlineOperation::new(index as u32, kind, format!("a.b{index}"), "act", shard);
        operation.needs = needs.iter().map(|need| Need::Operation(*need)).collect();
        operation
    });
    Outline {
        operations: operations.collect(),
        shards: (0..shards).map(|shard| OutlineShard::new(ShardKey::Provider(format!("p{shard}")))).collect(),
        ..Outline::default()
    }
}

fn hello(name: &str) -> Event {
    Event::Joined(Hello {
        worker: WorkerId(format!("{name}/1")),
        labels: BTreeMap::new(),
        capacity: 10,
        packages: Vec::new(),
        held: Vec::new(),
    })
}

fn said(name: &str, message: Report) -> Event {
    Event::Said(WorkerId(format!("{name}/1")), message)
}

fn begin(outline: Outline, options: RunOptions, ops: Vec<(u32, OpRecord)>) -> (Coordinator, Vec<Command>) {
    let view = view(outline.operations.len(), ops);
    let beginning = Beginning { view, records: Vec::new(), revisions: BTreeMap::new(), checks: None };
    Coordinator::begin(0, Arc::new(outline), options, beginning).unwrap()
}

fn orders(commands: &[Command]) -> Vec<Order> {
    let sent = commands.iter().filter_map(|command| match command {
        Command::Send { orders, .. } => Some(orders.clone()),
        _ => None,
    });
    sent.flatten().collect()
}

fn started(commands: &[Command]) -> Vec<Task> {
    let tasks = orders(commands).into_iter().filter_map(|order| match order {
        Order::Start { task, .. } => Some(task),
        _ => None,
    });
    tasks.collect()
}

fn steps(commands: &[Command]) -> Vec<StoreStep> {
    let given = commands.iter().filter_map(|command| match command {
        Command::Store(steps) => Some(steps.clone()),
        _ => None,
    });
    given.flatten().collect()
}

fn ok(count: usize) -> Event {
    Event::Stored(vec![StoreAnswer::Ok { revisions: Vec::new(), repeated: false }; count])
}

fn done(task: Task) -> Report {
    let result = TaskResult::Done(TaskDone { local: Arc::from([1]), ..TaskDone::default() });
    Report::Result { task, result: Arc::new(result) }
}

fn finish(commands: &[Command]) -> Option<Finish> {
    commands.iter().find_map(|command| match command {
        Command::Finish(finish) => Some(finish.clone()),
        _ => None,
    })
}

#[test]
fn a_call_is_granted_when_its_intent_is_durable_and_acknowledged_when_its_commit_is() {
    let (mut core, _) = begin(outline(OperationKind::Update, &[&[]], 1), RunOptions::in_process(), Vec::new());
    let commands = core.step(1, hello("w"));
    let [task] = started(&commands)[..] else { panic!("one task") };
    assert_eq!(task.attempt, Attempt(1));
    let commands = core.step(2, said("w", Report::Intent { task, planned: Digest::default() }));
    assert!(orders(&commands).is_empty());
    assert!(matches!(steps(&commands)[..], [StoreStep::Intent(_)]));
    let commands = core.step(3, ok(1));
    assert_eq!(orders(&commands), vec![Order::Granted(task)]);
    let commands = core.step(4, said("w", done(task)));
    assert!(orders(&commands).is_empty());
    assert!(matches!(&steps(&commands)[..], [StoreStep::Commit(commit)] if commit.intended));
    let commands = core.step(5, ok(1));
    assert!(orders(&commands).contains(&Order::Acknowledged(task)));
    let end = finish(&commands).unwrap();
    assert_eq!((end.reason, end.release, end.counts.done), (FinishReason::Complete, Some(TermEnding::Finished), 1));
}

#[test]
fn parallelism_limits_the_number_of_running_operations() {
    let needs: Vec<&[u32]> = vec![&[]; 20];
    let options = RunOptions { parallelism: Some(3), ..RunOptions::in_process() };
    let (mut core, _) = begin(outline(OperationKind::Read, &needs, 4), options, Vec::new());
    let mut commands = core.step(0, hello("w"));
    commands.extend(core.step(0, hello("v")));
    let tasks = started(&commands);
    assert_eq!(tasks.len(), 3);
    // A result frees its place before it is durable, and once.
    let mut commands = core.step(1, said("w", done(tasks[0])));
    commands.extend(core.step(1, said("v", done(tasks[0]))));
    assert_eq!(started(&commands).len(), 1);
    assert!(started(&core.step(2, ok(1))).is_empty());
}

#[test]
fn an_intent_is_stored_after_the_result_that_made_room() {
    let options = RunOptions { parallelism: Some(1), ..RunOptions::in_process() };
    let (mut core, _) = begin(outline(OperationKind::Update, &[&[], &[]], 1), options, Vec::new());
    let [first] = started(&core.step(0, hello("w")))[..] else { panic!("one task") };
    core.step(1, said("w", Report::Intent { task: first, planned: Digest::default() }));
    core.step(2, ok(1));
    let commands = core.step(3, said("w", done(first)));
    let [second] = started(&commands)[..] else { panic!("the next task") };
    assert!(matches!(steps(&commands)[..], [StoreStep::Commit(_)]));
    let commands = core.step(4, said("w", Report::Intent { task: second, planned: Digest::default() }));
    assert!(matches!(steps(&commands)[..], [StoreStep::Intent(_)]) && orders(&commands).is_empty());
    assert!(orders(&core.step(5, ok(1))).contains(&Order::Acknowledged(first)));
    assert_eq!(orders(&core.step(6, ok(1))), vec![Order::Granted(second)]);
}

#[test]
fn the_operation_with_the_longest_chain_starts_first() {
    let (mut core, _) =
        begin(outline(OperationKind::Read, &[&[], &[], &[1], &[2]], 1), RunOptions::in_process(), Vec::new());
    let tasks = started(&core.step(0, hello("w")));
    assert_eq!(tasks.iter().map(|task| task.operation).collect::<Vec<_>>(), vec![1, 0]);
}

#[test]
fn a_drained_run_ends_when_no_operation_is_running() {
    let (mut core, _) = begin(outline(OperationKind::Update, &[&[], &[]], 1), RunOptions::in_process(), Vec::new());
    let tasks = started(&core.step(0, hello("w")));
    core.step(0, said("w", Report::Intent { task: tasks[0], planned: Digest::default() }));
    core.step(0, ok(1));
    let commands = core.step(1, Event::Cancel(Cancel::Drain));
    assert!(orders(&commands).contains(&Order::Drain));
    assert!(finish(&core.step(1, said("w", Report::Returned(tasks[1])))).is_none());
    core.step(2, said("w", done(tasks[0])));
    let end = finish(&core.step(3, ok(1))).unwrap();
    assert_eq!((end.reason, end.release, end.unfinished), (FinishReason::Drained, Some(TermEnding::Stopped), vec![1]));
}

#[test]
fn the_second_signal_stops_providers_and_leaves_doubts_after_five_seconds() {
    let wait = crate::timing::STOP_WAIT.as_millis() as u64;
    for answers in [false, true] {
        let (mut core, _) = begin(outline(OperationKind::Update, &[&[]], 1), RunOptions::in_process(), Vec::new());
        let tasks = started(&core.step(0, hello("w")));
        core.step(0, said("w", Report::Intent { task: tasks[0], planned: Digest::default() }));
        core.step(0, ok(1));
        let told = orders(&core.step(1, Event::Cancel(Cancel::Drain)));
        assert!(told.contains(&Order::Drain) && !told.contains(&Order::Stop), "the first signal stops no provider");
        assert!(orders(&core.step(2, Event::Cancel(Cancel::Stop))).contains(&Order::Stop));
        assert!(finish(&core.step(wait, Event::Tick)).is_none());
        if answers {
            core.step(wait, said("w", done(tasks[0])));
            let end = finish(&core.step(wait, ok(1))).unwrap();
            assert_eq!((end.reason, end.counts.done), (FinishReason::Drained, 1));
            continue;
        }
        let told = core.step(wait + 2, Event::Tick);
        assert!(matches!(&steps(&told)[..], [StoreStep::Doubt { .. }]), "{told:?}");
        let end = finish(&core.step(wait + 3, ok(1))).unwrap();
        assert_eq!((end.reason, end.in_doubt), (FinishReason::Left, vec![0]));
        assert_eq!(end.release, Some(TermEnding::Stopped), "nobody goes on with it by itself");
    }
}

#[test]
fn a_run_that_is_left_does_not_wait_for_a_silent_store() {
    let (mut core, _) = begin(outline(OperationKind::Update, &[&[]], 1), RunOptions::in_process(), Vec::new());
    let tasks = started(&core.step(0, hello("w")));
    core.step(0, said("w", Report::Intent { task: tasks[0], planned: Digest::default() }));
    core.step(0, ok(1));
    assert!(finish(&core.step(1, Event::Cancel(Cancel::Leave))).is_none());
    let end = finish(&core.step(60_000, Event::Tick)).unwrap();
    assert_eq!((end.reason, end.unfinished), (FinishReason::Left, vec![0]));
}

#[test]
fn a_returning_worker_settles_a_doubt_of_an_earlier_term() {
    let doubt = |worker: &str| OpRecord {
        status: OpStatus::InDoubt,
        attempt: Attempt(1),
        worker: WorkerId(worker.to_owned()),
        ..OpRecord::default()
    };
    let options = RunOptions { gather_ms: 0, ..RunOptions::default() };
    let plan = || outline(OperationKind::Provision, &[&[], &[0]], 1);
    let task = Task { operation: 0, attempt: Attempt(1) };
    // It comes back with the result.
    let (mut core, begun) = begin(plan(), options.clone(), vec![(0, doubt("w/1"))]);
    assert!(finish(&begun).is_none() && finish(&core.step(1, Event::Tick)).is_none(), "its word is waited for");
    let Event::Joined(mut back) = hello("w") else { panic!("a greeting") };
    back.held = vec![HeldTask { run: RunId::parse("r").unwrap(), task, phase: HeldPhase::Called }];
    core.step(2, Event::Joined(back));
    assert!(finish(&core.step(60_000, Event::Tick)).is_none(), "the call goes on there");
    let told = core.step(60_001, said("w", done(task)));
    assert!(matches!(&steps(&told)[..], [StoreStep::Resolve(found)] if found.evidence == Evidence::Worker), "{told:?}");
    assert_eq!(started(&core.step(60_002, ok(1)))[0].operation, 1);
    // It comes back and knows nothing, or does not come at all.
    for comes in [true, false] {
        let (mut core, _) = begin(plan(), options.clone(), vec![(0, doubt("w/1"))]);
        let told = if comes { core.step(1, hello("w")) } else { core.step(options.grace_ms, Event::Tick) };
        let unsettled = |command: &Command| {
            matches!(command, Command::Progress(Progress { what: ProgressKind::InDoubt { .. }, .. }))
        };
        assert!(told.iter().any(unsettled), "{told:?}");
        assert_eq!(finish(&core.step(options.grace_ms + 1, ok(1))).unwrap().in_doubt, [0]);
    }
}

#[test]
fn a_failed_create_that_left_an_object_is_not_repeated() {
    let plan = || outline(OperationKind::Create, &[&[], &[0]], 1);
    let object = weft_protocol::ObjectWrite {
        address: plan().operations[0].address.clone(),
        provider: String::new(),
        deposed: None,
        change: weft_protocol::ObjectChange::Put(Box::new(weft_state::InstanceObject::new(
            0,
            weft_state::RawJson::new("{}"),
        ))),
    };
    let writes = weft_protocol::TaskWrites { objects: vec![object], outputs: Vec::new() };
    let (mut core, _) = begin(plan(), RunOptions::in_process(), Vec::new());
    let task = started(&core.step(0, hello("w")))[0];
    core.step(0, said("w", Report::Intent { task, planned: Digest::default() }));
    core.step(0, ok(1));
    let result = TaskResult::Failed { writes, diagnostics: Opaque::default(), absence_unproven: false };
    let told = steps(&core.step(0, said("w", Report::Result { task, result: Arc::new(result) })));
    let [StoreStep::Fail(failure)] = &told[..] else { panic!("{told:?}") };
    assert_eq!(failure.kind, FailureKind::ObjectKept);
    let record = OpRecord {
        status: OpStatus::Failed,
        attempt: Attempt(1),
        failure: Some(failure.clone()),
        ..OpRecord::default()
    };
    let (mut core, _) = begin(plan(), RunOptions::in_process(), vec![(0, record)]);
    assert!(started(&core.step(0, hello("w"))).is_empty());
    let end = finish(&core.step(1, ok(1))).unwrap();
    assert_eq!((end.counts.failed, end.counts.skipped), (1, 1));
}

#[test]
fn a_finished_create_without_an_object_is_in_doubt() {
    let (mut core, _) = begin(outline(OperationKind::Create, &[&[]], 1), RunOptions::in_process(), Vec::new());
    let task = started(&core.step(0, hello("w")))[0];
    core.step(0, said("w", Report::Intent { task, planned: Digest::default() }));
    core.step(0, ok(1));
    let told = steps(&core.step(0, said("w", done(task))));
    assert!(matches!(&told[..], [StoreStep::Doubt { .. }]), "{told:?}");
}

#[test]
fn no_call_is_granted_while_the_lease_is_not_renewed() {
    let (mut core, _) = begin(outline(OperationKind::Update, &[&[]], 1), RunOptions::in_process(), Vec::new());
    let [task] = started(&core.step(0, hello("w")))[..] else { panic!("one task") };
    core.step(0, said("w", Report::Intent { task, planned: Digest::default() }));
    core.step(0, Event::Paused(true));
    let commands = core.step(0, ok(1));
    assert_eq!(orders(&commands), vec![Order::IntentRefused(task)]);
    assert!(matches!(&steps(&commands)[..], [StoreStep::Doubt { .. }, StoreStep::Resolve(_)]));
    core.step(0, ok(2));
    assert_eq!(started(&core.step(1, Event::Paused(false)))[0].attempt, Attempt(2));
}

#[test]
fn a_live_result_is_computed_again_without_a_second_commit() {
    let mut plan = outline(OperationKind::Evaluate, &[&[], &[0]], 1);
    plan.operations[0].journalled = false;
    let record = OpRecord { status: OpStatus::Done, attempt: Attempt(1), ..OpRecord::default() };
    let (mut core, _) = begin(plan, RunOptions::in_process(), vec![(0, record)]);
    let [task] = started(&core.step(0, hello("w")))[..] else { panic!("one task") };
    assert_eq!((task.operation, task.attempt), (0, Attempt(2)));
    let commands = core.step(0, said("w", done(task)));
    assert!(steps(&commands).is_empty());
    assert_eq!(started(&commands)[0].operation, 1);
}

#[test]
fn a_result_is_sent_once_to_each_shard_that_reads_it() {
    let mut plan = outline(OperationKind::Read, &[&[], &[0], &[0]], 2);
    plan.operations[0].exports = vec![Export { paths: Vec::new(), readers: vec![ShardIndex(1)] }];
    let (mut core, _) = begin(plan, RunOptions::in_process(), Vec::new());
    let commands = core.step(0, hello("w"));
    let task = started(&commands)[0];
    let result = TaskDone { local: Arc::from([1]), exports: vec![Arc::from([2])], ..TaskDone::default() };
    core.step(0, said("w", Report::Result { task, result: Arc::new(TaskResult::Done(result)) }));
    let sent = orders(&core.step(0, ok(1)));
    let foreign = sent.iter().filter(|order| matches!(order, Order::Foreign { shard: 1, operation: 0, .. })).count();
    assert_eq!(foreign, 1);
    assert!(!sent.iter().any(|order| matches!(order, Order::Restored { .. })), "its own worker has it");
}

#[test]
fn a_shard_that_no_worker_can_open_fails_with_their_diagnostics() {
    let (mut core, _) = begin(outline(OperationKind::Update, &[&[], &[0]], 1), RunOptions::in_process(), Vec::new());
    core.step(0, hello("w"));
    let refused = Report::Refused { shard: 0, diagnostics: Opaque(vec![9]) };
    let commands = core.step(0, said("w", refused));
    assert!(matches!(&steps(&commands)[..], [StoreStep::Fail(failure)] if failure.diagnostics == Opaque(vec![9])));
    let commands = core.step(0, ok(1));
    assert!(matches!(&steps(&commands)[..], [StoreStep::Skip { .. }]));
    let end = finish(&core.step(0, ok(1))).unwrap();
    assert_eq!((end.reason, end.counts.failed, end.counts.skipped), (FinishReason::Complete, 1, 1));
}

#[test]
fn a_run_without_a_suitable_worker_ends_or_waits() {
    let mut plan = outline(OperationKind::Update, &[&[]], 1);
    plan.shards[0].labels.insert("region".to_owned(), "eu".to_owned());
    let (mut core, _) = begin(plan.clone(), RunOptions::in_process(), Vec::new());
    assert_eq!(finish(&core.step(0, hello("w"))).unwrap().reason, FinishReason::NoWorker);
    let (mut core, _) = begin(plan, RunOptions { gather_ms: 0, ..RunOptions::default() }, Vec::new());
    let commands = core.step(0, hello("w"));
    assert!(finish(&commands).is_none());
    let waiting = |command: &&Command| matches!(command, Command::Progress(p) if p.what == ProgressKind::Waiting);
    assert_eq!(commands.iter().filter(waiting).count(), 1);
}

#[test]
fn a_doubtful_create_settles_only_if_its_object_can_be_looked_up() {
    for probe in [false, true] {
        let mut plan = outline(OperationKind::Create, &[&[], &[0]], 1);
        plan.operations[0].probe_by_identity = probe;
        let worker = WorkerId("gone/1".to_owned());
        let record = OpRecord { status: OpStatus::Intended, attempt: Attempt(1), worker, ..OpRecord::default() };
        let (mut core, _) = begin(plan, RunOptions::in_process(), vec![(0, record)]);
        let gone = core.absent_holders().remove(0);
        core.step(0, hello("w"));
        let commands = core.step(1, Event::Dead(gone));
        assert!(matches!(&steps(&commands)[..], [StoreStep::Doubt { .. }]));
        let commands = core.step(1, ok(1));
        let settle =
            orders(&commands).iter().any(|order| matches!(order, Order::Settle(SettleOrder { holder_dead: true, .. })));
        assert_eq!(settle, probe);
        if !probe {
            core.step(1, ok(1));
            let task = Task { operation: 0, attempt: Attempt(1) };
            assert_eq!(core.status(task.operation), Some(Status::InDoubt));
            assert_eq!(core.status(1), Some(Status::Skipped));
        }
    }
}

#[test]
fn the_work_for_a_large_plan_is_linear() {
    const COUNT: usize = 100_000;
    let mut plan = outline(OperationKind::Read, &vec![&[] as &[u32]; COUNT], 4);
    plan.waiters.push(crate::outline::Waiter { needs: (0..50_000).map(Need::Operation).collect() });
    for operation in &mut plan.operations[50_000..] {
        operation.needs.push(Need::Waiter(0));
    }
    let begun = std::time::Instant::now();
    let (mut core, _) = begin(plan, RunOptions::in_process(), Vec::new());
    let mut commands = core.step(0, hello("w"));
    let mut finished = 0;
    while finish(&commands).is_none() {
        let tasks = started(&commands);
        finished += tasks.len();
        let mut next = Vec::new();
        for task in &tasks {
            next.extend(core.step(1, said("w", done(*task))));
        }
        next.extend(core.step(1, ok(tasks.len())));
        assert!(!tasks.is_empty(), "stuck after {finished}");
        commands = next;
    }
    assert_eq!(finished, COUNT);
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}

#[test]
fn a_shard_goes_to_the_worker_with_the_smallest_load() {
    // A count of a worker's shards for each shard that it gets would take hours here.
    const COUNT: usize = 200_000;
    let plan = outline(OperationKind::Read, &vec![&[] as &[u32]; COUNT], COUNT as u32);
    let options = RunOptions { gather_ms: 1, ..RunOptions::default() };
    let (mut core, _) = begin(plan, options, Vec::new());
    for name in ["v", "w"] {
        core.step(0, hello(name));
    }
    let commands = core.step(1, Event::Tick);
    core.check_loads();
    let loads: Vec<u64> = core.roster.workers.iter().map(|worker| worker.load()).collect();
    assert_eq!(loads, [COUNT as u64 / 2; 2]);
    assert_eq!(started(&commands).len(), 20);
    core.step(2, Event::Leaving(WorkerId("v/1".to_owned())));
    core.check_loads();
}

#[test]
fn a_late_result_of_a_superseded_attempt_is_a_stray() {
    // A worker's late result from an earlier term, of an operation that was done by another since, is acknowledged and,
    // where its object differs, kept.
    let worker = WorkerId("other/1".to_owned());
    let record = OpRecord { status: OpStatus::Done, attempt: Attempt(2), worker, ..OpRecord::default() };
    let plan = outline(OperationKind::Update, &[&[], &[0]], 1);
    let (mut core, _) = begin(plan, RunOptions::in_process(), vec![(0, record)]);
    core.step(0, hello("w"));
    let task = Task { operation: 0, attempt: Attempt(1) };
    let object = weft_state::InstanceObject::new(0, weft_state::RawJson::new("{}"));
    let write = weft_protocol::ObjectWrite {
        address: "a.b0".to_owned(),
        provider: String::new(),
        deposed: None,
        change: weft_protocol::ObjectChange::Put(Box::new(object)),
    };
    let writes = weft_protocol::TaskWrites { objects: vec![write], outputs: Vec::new() };
    let late = TaskResult::Done(TaskDone { writes, ..TaskDone::default() });
    let commands = core.step(1, said("w", Report::Result { task, result: Arc::new(late) }));
    assert!(matches!(&steps(&commands)[..], [StoreStep::Stray(_)]));
    assert!(orders(&commands).contains(&Order::Acknowledged(task)));
}

#[test]
fn a_leaving_worker_finishes_its_calls_and_others_do_the_rest() {
    let options = RunOptions { gather_ms: 0, ..RunOptions::default() };
    let (mut core, _) = begin(outline(OperationKind::Update, &[&[], &[], &[0, 1]], 1), options, Vec::new());
    let tasks = started(&core.step(1, hello("a")));
    assert_eq!(tasks.len(), 2);
    core.step(2, said("a", Report::Intent { task: tasks[0], planned: Digest::default() }));
    core.step(3, ok(1));
    assert!(started(&core.step(4, hello("b"))).is_empty(), "the shard is held");
    core.step(5, Event::Leaving(WorkerId("a/1".to_owned())));
    let moved = core.step(6, said("a", Report::Returned(tasks[1])));
    assert!(orders(&moved).iter().any(|order| matches!(order, Order::Open(_))), "the shard has moved");
    let again = started(&moved);
    assert_eq!(again, [Task { operation: 1, attempt: Attempt(2) }]);
    core.step(7, said("a", done(tasks[0])));
    let told = core.step(8, ok(1));
    assert!(orders(&told).iter().any(|order| *order == Order::Acknowledged(tasks[0])));
    assert!(orders(&told).iter().any(|order| matches!(order, Order::Restored { operation: 0, .. })), "b reads it");
    core.step(9, Event::Left(WorkerId("a/1".to_owned())));
    core.step(10, Event::Dead(WorkerId("a/1".to_owned())));
    assert_eq!(core.counts().in_doubt, 0);
    core.step(11, said("b", Report::Intent { task: again[0], planned: Digest::default() }));
    core.step(12, ok(1));
    core.step(13, said("b", done(again[0])));
    assert_eq!(started(&core.step(14, ok(1))).len(), 1, "the last one goes to b");
}

#[test]
fn a_failed_operation_is_retried_unless_the_user_gave_it_up() {
    let failed = |kind| OpRecord {
        status: OpStatus::Failed,
        attempt: Attempt(1),
        failure: Some(Failure {
            op: OpIndex(0),
            attempt: Attempt(1),
            worker: WorkerId("w/1".to_owned()),
            intended: true,
            writes: Writes::default(),
            diagnostics: Opaque::default(),
            kind,
        }),
        ..OpRecord::default()
    };
    for (kind, attempts) in [(FailureKind::Error, 1), (FailureKind::AbsenceUnproven, 1), (FailureKind::GivenUp, 0)] {
        let plan = outline(OperationKind::Update, &[&[], &[0]], 1);
        let (mut core, _) = begin(plan, RunOptions::in_process(), vec![(0, failed(kind))]);
        assert_eq!(started(&core.step(0, hello("w"))).len(), attempts, "{kind:?}");
    }
}

#[test]
fn an_operation_given_up_by_the_user_is_recorded_as_given_up() {
    let (mut core, _) = begin(outline(OperationKind::Update, &[&[]], 1), RunOptions::in_process(), Vec::new());
    let task = started(&core.step(0, hello("w")))[0];
    core.step(0, said("w", Report::Intent { task, planned: Digest::default() }));
    core.step(0, ok(1));
    let unsure =
        TaskResult::InDoubt { reason: "lost".to_owned(), provider_dead: false, diagnostics: Opaque::default() };
    core.step(0, said("w", Report::Result { task, result: Arc::new(unsure) }));
    core.step(0, ok(1));
    let resolution = UserResolution { operation: 0, decision: Decision::Forget };
    let told = steps(&core.step(1, Event::Resolve(resolution)));
    let [StoreStep::Resolve(resolution)] = &told[..] else { panic!("{told:?}") };
    let DoubtOutcome::Failed(failure) = &resolution.outcome else { panic!("{resolution:?}") };
    assert_eq!(failure.kind, FailureKind::GivenUp);
}

#[test]
fn progress_distinguishes_results_with_and_without_an_intent() {
    let (mut core, _) = begin(outline(OperationKind::Update, &[&[], &[]], 1), RunOptions::in_process(), Vec::new());
    let tasks = started(&core.step(0, hello("w")));
    core.step(0, said("w", Report::Intent { task: tasks[0], planned: Digest::default() }));
    core.step(0, ok(1));
    let mut told = Vec::new();
    for task in tasks {
        core.step(0, said("w", done(task)));
        told.extend(core.step(0, ok(1)).into_iter().filter_map(|command| match command {
            Command::Progress(progress) => Some((progress.operation, progress.what)),
            _ => None,
        }));
    }
    assert_eq!(
        told,
        [
            (0, ProgressKind::Done { intended: true, shown: None }),
            (1, ProgressKind::Done { intended: false, shown: None })
        ]
    );
}

#[test]
fn an_illegal_transition_ends_the_term_and_stores_nothing() {
    let (mut core, _) = begin(outline(OperationKind::Update, &[&[]], 1), RunOptions::in_process(), Vec::new());
    core.store(StepInStore::Told, StoreStep::Reopen { op: OpIndex(0) });
    assert!(!core.happen(Position(0), Happening::Commit));
    let commands = core.settle_down();
    assert_eq!(steps(&commands), Vec::new());
    let end = finish(&commands).unwrap();
    assert_eq!((end.reason, end.release), (FinishReason::Defect, Some(TermEnding::Stopped)));
    assert!(end.defect.is_some_and(|text| text.contains("a.b0 (operation 0)")));
    assert_eq!(core.status(0), Some(Status::Pending));
}
