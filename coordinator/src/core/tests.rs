//! Tests of single decisions. The simulation tests whole runs.

mod defects;
mod doubts;
mod foreign;
mod limits;
mod workers;

use weft_state::{
    Attempt, Digest, DoubtOutcome, Evidence, Failure, FailureKind, InstanceObject, OpRecord, OpStatus, Opaque, RawJson,
    RunHeader, RunId, RunPast, RunStatus, RunView, StoreAnswer, StoreStep, TermEnding, Writes,
};

use super::*;
use crate::event::Hello;
use crate::event::{Decision, Finish, UserResolution};
use crate::outline::{Need, OperationKind, OutlineExport, OutlineOperation, OutlineShard, ShardKey};
use weft_protocol::{
    HeldPhase, HeldTask, ObjectChange, ObjectWrite, Report, SettleOrder, Task, TaskDone, TaskResult, TaskWrites,
};

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
            past: RunPast::default(),
        },
        ops: ops.into_iter().map(|(op, record)| (OpIndex(op), record)).collect(),
        written: BTreeMap::new(),
        claims: BTreeMap::new(),
        strays: Vec::new(),
    }
}

/// Operations of one kind, numbered from 0, in a chain or without order.
fn outline(kind: OperationKind, needs: &[&[u32]], shards: u32) -> Outline {
    let operations = needs.iter().enumerate().map(|(index, needs)| {
        let shard = index as u32 % shards;
        let mut operation = OutlineOperation::new(index as u32, kind, format!("a.b{index}"), shard);
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
        connection: 1,
        labels: BTreeMap::new(),
        capacity: 10,
        packages: Vec::new(),
        held: Vec::new(),
    })
}

fn said(name: &str, message: Report) -> Event {
    Event::Said(WorkerId(format!("{name}/1")), message)
}

fn begin(outline: Outline, options: RunOptions, ops: Vec<(u32, OpRecord)>) -> (Coordinator, Vec<Instruction>) {
    let view = view(outline.operations.len(), ops);
    let beginning = Beginning { view, records: Vec::new(), revisions: BTreeMap::new(), checks: None, bare: Vec::new() };
    Coordinator::begin(0, Arc::new(outline), options, beginning).unwrap()
}

fn orders(instructions: &[Instruction]) -> Vec<Order> {
    let sent = instructions.iter().filter_map(|instruction| match instruction {
        Instruction::Send { orders, .. } => Some(orders.clone()),
        _ => None,
    });
    sent.flatten().collect()
}

fn started(instructions: &[Instruction]) -> Vec<Task> {
    let tasks = orders(instructions).into_iter().filter_map(|order| match order {
        Order::Start { task, .. } => Some(task),
        _ => None,
    });
    tasks.collect()
}

fn steps(instructions: &[Instruction]) -> Vec<StoreStep> {
    let given = instructions.iter().filter_map(|instruction| match instruction {
        Instruction::Store(steps) => Some(steps.clone()),
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

/// The write of an object at this address.
fn put(address: &str, attributes: &str) -> ObjectWrite {
    let object = InstanceObject::new(0, RawJson::new(attributes));
    ObjectWrite {
        address: address.parse().unwrap(),
        provider: String::new(),
        deposed: None,
        change: ObjectChange::Put(Box::new(object)),
    }
}

/// The result of an update of `a.b0`, with an object that no record has.
fn invented(task: Task) -> Report {
    let writes = TaskWrites { objects: vec![put("a.b0", r#"{"id":"invented"}"#)], outputs: Vec::new() };
    let result = TaskResult::Done(TaskDone { writes, ..TaskDone::default() });
    Report::Result { task, result: Arc::new(result) }
}

fn finish(instructions: &[Instruction]) -> Option<Finish> {
    instructions.iter().find_map(|instruction| match instruction {
        Instruction::Finish(finish) => Some(finish.clone()),
        _ => None,
    })
}

#[test]
fn a_call_is_granted_when_its_intent_is_durable_and_acknowledged_when_its_commit_is() {
    let (mut core, _) = begin(outline(OperationKind::Update, &[&[]], 1), RunOptions::in_process(), Vec::new());
    let instructions = core.step(1, hello("w"));
    let [task] = started(&instructions)[..] else { panic!("one task") };
    assert_eq!(task.attempt, Attempt(1));
    let instructions = core.step(2, said("w", Report::Intent { task, planned: Digest::default() }));
    assert!(orders(&instructions).is_empty());
    assert!(matches!(steps(&instructions)[..], [StoreStep::Intent(_)]));
    let instructions = core.step(3, ok(1));
    assert_eq!(orders(&instructions), vec![Order::Granted(task)]);
    let instructions = core.step(4, said("w", done(task)));
    assert!(orders(&instructions).is_empty());
    assert!(matches!(&steps(&instructions)[..], [StoreStep::Commit(commit)] if commit.intended));
    let instructions = core.step(5, ok(1));
    assert!(orders(&instructions).contains(&Order::Acknowledged(task)));
    let end = finish(&instructions).unwrap();
    assert_eq!((end.reason, end.release, end.counts.done), (FinishReason::Complete, Some(TermEnding::Finished), 1));
}

#[test]
fn parallelism_limits_the_number_of_running_operations() {
    let needs: Vec<&[u32]> = vec![&[]; 20];
    let options = RunOptions { parallelism: Some(3), ..RunOptions::in_process() };
    let (mut core, _) = begin(outline(OperationKind::Read, &needs, 4), options, Vec::new());
    let mut instructions = core.step(0, hello("w"));
    instructions.extend(core.step(0, hello("v")));
    let tasks = started(&instructions);
    assert_eq!(tasks.len(), 3);
    // The arrival of a result frees the slot of its operation, even before the result is durable. The second arrival of
    // the same result frees no slot.
    let mut instructions = core.step(1, said("w", done(tasks[0])));
    instructions.extend(core.step(1, said("v", done(tasks[0]))));
    assert_eq!(started(&instructions).len(), 1);
    assert!(started(&core.step(2, ok(1))).is_empty());
}

#[test]
fn an_intent_is_stored_after_the_result_that_made_room() {
    let options = RunOptions { parallelism: Some(1), ..RunOptions::in_process() };
    let (mut core, _) = begin(outline(OperationKind::Update, &[&[], &[]], 1), options, Vec::new());
    let [first] = started(&core.step(0, hello("w")))[..] else { panic!("one task") };
    core.step(1, said("w", Report::Intent { task: first, planned: Digest::default() }));
    core.step(2, ok(1));
    let instructions = core.step(3, said("w", done(first)));
    let [second] = started(&instructions)[..] else { panic!("the next task") };
    assert!(matches!(steps(&instructions)[..], [StoreStep::Commit(_)]));
    let instructions = core.step(4, said("w", Report::Intent { task: second, planned: Digest::default() }));
    assert!(matches!(steps(&instructions)[..], [StoreStep::Intent(_)]) && orders(&instructions).is_empty());
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
    let instructions = core.step(1, Event::Cancel(Cancel::Drain));
    assert!(orders(&instructions).contains(&Order::Drain));
    assert!(finish(&core.step(1, said("w", Report::Returned(tasks[1])))).is_none());
    core.step(2, said("w", done(tasks[0])));
    let end = finish(&core.step(3, ok(1))).unwrap();
    assert_eq!((end.reason, end.release, end.unfinished), (FinishReason::Drained, Some(TermEnding::Stopped), vec![1]));
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
fn no_call_is_granted_while_the_lease_is_not_renewed() {
    let (mut core, _) = begin(outline(OperationKind::Update, &[&[]], 1), RunOptions::in_process(), Vec::new());
    let [task] = started(&core.step(0, hello("w")))[..] else { panic!("one task") };
    core.step(0, said("w", Report::Intent { task, planned: Digest::default() }));
    core.step(0, Event::Paused(true));
    let instructions = core.step(0, ok(1));
    assert_eq!(orders(&instructions), vec![Order::IntentRefused(task)]);
    assert!(matches!(&steps(&instructions)[..], [StoreStep::Doubt { .. }, StoreStep::Resolve(_)]));
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
    let instructions = core.step(0, said("w", done(task)));
    assert!(steps(&instructions).is_empty());
    assert_eq!(started(&instructions)[0].operation, 1);
}

#[test]
fn an_operation_that_could_start_is_skipped_when_a_live_result_fails() {
    let mut plan = outline(OperationKind::Evaluate, &[&[], &[0], &[1], &[0]], 1);
    plan.operations[0].journalled = false;
    let record = || OpRecord { status: OpStatus::Done, attempt: Attempt(1), ..OpRecord::default() };
    let options = RunOptions { parallelism: Some(1), ..RunOptions::in_process() };
    let (mut core, _) = begin(plan, options, vec![(0, record()), (1, record())]);
    let [task] = started(&core.step(0, hello("w")))[..] else { panic!("one task") };
    assert_eq!(task.operation, 0);
    // The third operation has all its results, and waits for its turn.
    let result = Arc::new(TaskResult::failed(Opaque::default()));
    let told = core.step(1, said("w", Report::Result { task, result }));
    core.check_invariants();
    assert!(started(&told).is_empty(), "{told:?}");
    let told = if finish(&told).is_some() { told } else { core.step(2, ok(steps(&told).len())) };
    let end = finish(&told).unwrap();
    assert_eq!((end.reason, end.counts.skipped, end.counts.done), (FinishReason::Complete, 2, 1));
}

#[test]
fn a_result_is_sent_once_to_each_shard_that_reads_it() {
    let mut plan = outline(OperationKind::Read, &[&[], &[0], &[0]], 2);
    plan.operations[0].exports = vec![OutlineExport { paths: Vec::new(), readers: vec![ShardIndex(1)] }];
    let (mut core, _) = begin(plan, RunOptions::in_process(), Vec::new());
    let instructions = core.step(0, hello("w"));
    let task = started(&instructions)[0];
    let result = TaskDone { local: Arc::from([1]), exports: vec![Arc::from([2])], ..TaskDone::default() };
    core.step(0, said("w", Report::Result { task, result: Arc::new(TaskResult::Done(result)) }));
    let sent = orders(&core.step(0, ok(1)));
    let foreign = sent.iter().filter(|order| matches!(order, Order::Foreign { shard: 1, operation: 0, .. })).count();
    assert_eq!(foreign, 1);
    assert!(!sent.iter().any(|order| matches!(order, Order::Restored { .. })), "its own worker has it");
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
    let mut instructions = core.step(0, hello("w"));
    let mut finished = 0;
    while finish(&instructions).is_none() {
        let tasks = started(&instructions);
        finished += tasks.len();
        let mut next = Vec::new();
        for task in &tasks {
            next.extend(core.step(1, said("w", done(*task))));
        }
        next.extend(core.step(1, ok(tasks.len())));
        assert!(!tasks.is_empty(), "stuck after {finished}");
        instructions = next;
    }
    assert_eq!(finished, COUNT);
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
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
        told.extend(core.step(0, ok(1)).into_iter().filter_map(|instruction| match instruction {
            Instruction::Progress(progress) => Some((progress.operation, progress.what)),
            _ => None,
        }));
    }
    assert_eq!(
        told,
        [
            (0, OperationEventKind::Done { intended: true, shown: None }),
            (1, OperationEventKind::Done { intended: false, shown: None })
        ]
    );
}
