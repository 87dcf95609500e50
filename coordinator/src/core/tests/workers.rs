//! Workers: the choice of the worker for a shard, and the consequences if the worker refuses the shard or leaves.

use super::*;
use crate::timing::NO_WORKER_NOTICE;

#[test]
fn a_shard_that_no_worker_can_open_fails_with_their_diagnostics() {
    let (mut core, _) = begin(outline(OperationKind::Update, &[&[], &[0]], 1), RunOptions::in_process(), Vec::new());
    core.step(0, hello("w"));
    let refused = Report::Refused { shard: 0, diagnostics: Opaque(vec![9]) };
    let instructions = core.step(0, said("w", refused));
    assert!(matches!(&steps(&instructions)[..], [StoreStep::Fail(failure)] if failure.diagnostics == Opaque(vec![9])));
    let instructions = core.step(0, ok(1));
    assert!(matches!(&steps(&instructions)[..], [StoreStep::Skip { .. }]));
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
    let instructions = core.step(0, hello("w"));
    assert!(finish(&instructions).is_none());
    let waiting = |instruction: &&Instruction| matches!(instruction, Instruction::Progress(p) if p.what == OperationEventKind::Waiting);
    assert_eq!(instructions.iter().filter(waiting).count(), 1);
}

#[test]
fn a_run_without_any_worker_says_so_once_after_a_while() {
    let plan = outline(OperationKind::Update, &[&[], &[]], 2);
    let (mut core, _) = begin(plan, RunOptions { gather_ms: 0, ..RunOptions::default() }, Vec::new());
    let mut told = |now: u64, event: Event| {
        let instructions = core.step(now, event);
        let is_news = |instruction: &&Instruction| matches!(instruction, Instruction::Progress(p) if p.what == OperationEventKind::NoWorker);
        instructions.iter().filter(is_news).count()
    };
    let wait = NO_WORKER_NOTICE.as_millis() as u64;
    assert_eq!(told(10, Event::Tick), 0);
    assert_eq!(told(9 + wait, Event::Tick), 0);
    assert_eq!(told(10 + wait, Event::Tick), 1);
    assert_eq!(told(20 + wait, Event::Tick), 0);
    assert_eq!(told(30 + wait, hello("w")), 0);
    assert_eq!(told(30 + 3 * wait, Event::Tick), 0);
}

#[test]
fn a_shard_goes_to_the_worker_with_the_smallest_load() {
    // Counting the shards of a worker for each shard that it gets would take hours here.
    const COUNT: usize = 200_000;
    let plan = outline(OperationKind::Read, &vec![&[] as &[u32]; COUNT], COUNT as u32);
    let options = RunOptions { gather_ms: 1, ..RunOptions::default() };
    let (mut core, _) = begin(plan, options, Vec::new());
    for name in ["v", "w"] {
        core.step(0, hello(name));
    }
    let instructions = core.step(1, Event::Tick);
    core.check_invariants();
    let loads: Vec<u64> = core.roster.shares().map(|(_, _, load)| load).collect();
    assert_eq!(loads, [COUNT as u64 / 2; 2]);
    assert_eq!(started(&instructions).len(), 20);
    core.step(2, Event::Leaving(WorkerId("v/1".to_owned())));
    core.check_invariants();
}

#[test]
fn a_late_result_of_a_superseded_attempt_is_a_stray() {
    // A late result from an earlier term is acknowledged, although another worker has completed the operation since. If
    // the object of the late result differs from the recorded object, the late object is recorded as a stray.
    let worker = WorkerId("other/1".to_owned());
    let record = OpRecord { status: OpStatus::Done, attempt: Attempt(2), worker, ..OpRecord::default() };
    let plan = outline(OperationKind::Update, &[&[], &[0]], 1);
    let (mut core, _) = begin(plan, RunOptions::in_process(), vec![(0, record)]);
    core.step(0, hello("w"));
    let task = Task { operation: 0, attempt: Attempt(1) };
    let instructions = core.step(1, said("w", invented(task)));
    assert!(matches!(&steps(&instructions)[..], [StoreStep::Stray(_)]));
    assert!(orders(&instructions).contains(&Order::Acknowledged(task)));
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

/// The number of shards and workers that are visited when the worker of three shards is lost, while another worker has
/// `others` shards.
fn cost_of_a_lost_worker(others: u32) -> usize {
    const HELD: u32 = 3;
    let label = |disk: &str| BTreeMap::from([("disk".to_owned(), disk.to_owned())]);
    let count = (HELD + others) as usize;
    let mut plan = outline(OperationKind::Read, &vec![&[] as &[u32]; count], HELD + others);
    for (shard, number) in plan.shards.iter_mut().zip(0..) {
        shard.labels = label(if number < HELD { "fast" } else { "slow" });
    }
    let (mut core, _) = begin(plan, RunOptions { gather_ms: 1, ..RunOptions::default() }, Vec::new());
    for disk in ["fast", "slow"] {
        let Event::Joined(hello) = hello(disk) else { panic!("a greeting") };
        core.step(0, Event::Joined(Hello { labels: label(disk), capacity: 1, ..hello }));
    }
    core.step(1, Event::Tick);
    let fast = core.roster.find(&WorkerId("fast/1".to_owned())).expect("it joined");
    assert_eq!(core.roster.shards(fast).len(), HELD as usize);
    let looked_at = |core: &Coordinator| core.backlog.steps() + core.roster.steps();
    let before = looked_at(&core);
    core.step(2, Event::Leaving(WorkerId("fast/1".to_owned())));
    assert!(core.backlog.waits(), "its shards are offered");
    looked_at(&core) - before
}

#[test]
fn the_loss_of_a_worker_costs_what_it_held() {
    assert_eq!(cost_of_a_lost_worker(10_000), cost_of_a_lost_worker(100));
}

/// A failure without a call: the worker could not open the provider.
fn unopened(name: &str, task: Task, diagnostics: u8) -> Event {
    let diagnostics = Opaque(vec![diagnostics]);
    let writes = weft_protocol::TaskWrites::default();
    let result = TaskResult::Failed { writes, diagnostics, absence_unproven: false, unopened: true };
    said(name, Report::Result { task, result: Arc::new(result) })
}

#[test]
fn a_shard_whose_provider_one_worker_cannot_open_goes_to_another_worker() {
    let options = RunOptions { gather_ms: 1, ..RunOptions::default() };
    let (mut core, _) = begin(outline(OperationKind::Update, &[&[], &[]], 1), options, Vec::new());
    core.step(0, hello("a"));
    core.step(0, hello("b"));
    let [first, second] = started(&core.step(1, Event::Tick))[..] else { panic!("two tasks") };
    let told = core.step(2, unopened("a", first, 1));
    core.check_invariants();
    assert!(steps(&told).is_empty(), "nothing failed: {told:?}");
    assert!(orders(&told).contains(&Order::Acknowledged(first)) && orders(&told).contains(&Order::Close(0)));
    assert_eq!(started(&told), [Task { operation: first.operation, attempt: Attempt(2) }]);
    let told = core.step(3, unopened("a", second, 1));
    assert_eq!(started(&told), [Task { operation: second.operation, attempt: Attempt(2) }], "it has moved, too");
    let again = Task { operation: first.operation, attempt: Attempt(2) };
    let told = core.step(4, unopened("b", again, 2));
    let [StoreStep::Fail(failure)] = &steps(&told)[..] else { panic!("no worker is left: {told:?}") };
    assert_eq!((&failure.diagnostics, &failure.worker), (&Opaque(vec![2]), &WorkerId("b/1".to_owned())));
    core.step(5, ok(1));
    let again = Task { operation: second.operation, attempt: Attempt(2) };
    core.step(6, said("b", done(again)));
    let end = finish(&core.step(7, ok(1))).unwrap();
    assert_eq!((end.counts.failed, end.counts.done), (1, 1));
}

#[test]
fn the_reason_why_a_shard_goes_to_another_worker_is_reported() {
    let options = RunOptions { gather_ms: 1, ..RunOptions::default() };
    let (mut core, _) = begin(outline(OperationKind::Update, &[&[], &[]], 1), options, Vec::new());
    core.step(0, hello("a"));
    core.step(0, hello("b"));
    let [first, _] = started(&core.step(1, Event::Tick))[..] else { panic!("two tasks") };
    let told = core.step(2, unopened("a", first, 1));
    assert_eq!(diagnostics_of(&told, &OperationEventKind::Returned), [Opaque(vec![1])]);
    let told = core.step(3, said("b", Report::Refused { shard: 0, diagnostics: Opaque(vec![2]) }));
    assert_eq!(diagnostics_of(&told, &OperationEventKind::Returned), [Opaque(vec![2])]);
}

#[test]
fn a_shard_waits_for_another_worker_than_the_one_that_could_not_open_it() {
    let options = RunOptions { gather_ms: 1, ..RunOptions::default() };
    let (mut core, _) = begin(outline(OperationKind::Update, &[&[]], 1), options, Vec::new());
    core.step(0, hello("a"));
    core.step(0, hello("b"));
    let [task] = started(&core.step(1, Event::Tick))[..] else { panic!("one task") };
    let [again] = started(&core.step(2, unopened("a", task, 1)))[..] else { panic!("it has moved") };
    // The second worker leaves without a word about the provider. The first worker does not get the shard back.
    core.step(3, Event::Leaving(WorkerId("b/1".to_owned())));
    let told = core.step(4, said("b", Report::Returned(again)));
    core.check_invariants();
    assert!(started(&told).is_empty() && steps(&told).is_empty() && finish(&told).is_none(), "{told:?}");
    assert_eq!(diagnostics_of(&told, &OperationEventKind::Waiting), [Opaque(vec![1])], "why it waits");
    let [third] = started(&core.step(5, hello("c")))[..] else { panic!("a third worker gets it") };
    // No worker is left that has not been tried.
    let told = core.step(6, unopened("c", third, 3));
    assert!(matches!(&steps(&told)[..], [StoreStep::Fail(failure)] if failure.diagnostics == Opaque(vec![3])));
}

#[test]
fn every_task_of_a_worker_that_cannot_open_the_provider_follows_the_shard() {
    let options = RunOptions { gather_ms: 1, ..RunOptions::default() };
    let (mut core, _) = begin(outline(OperationKind::Update, &[&[], &[]], 1), options, Vec::new());
    core.step(0, hello("a"));
    core.step(0, hello("b"));
    let [first, second] = started(&core.step(1, Event::Tick))[..] else { panic!("two tasks") };
    core.step(2, unopened("a", first, 1));
    // The shard has moved, and its new worker is lost. A late report of the first worker fails nothing.
    core.step(3, Event::Dead(WorkerId("b/1".to_owned())));
    let told = core.step(4, unopened("a", second, 1));
    core.check_invariants();
    assert!(steps(&told).is_empty() && orders(&told).contains(&Order::Acknowledged(second)), "{told:?}");
    assert_eq!(started(&core.step(5, hello("c"))).len(), 2);
}

/// The diagnostics of the events of a kind.
fn diagnostics_of(instructions: &[Instruction], kind: &OperationEventKind) -> Vec<Opaque> {
    let events = instructions.iter().filter_map(|instruction| match instruction {
        Instruction::Progress(event) if event.what == *kind => Some(event.diagnostics.clone()),
        _ => None,
    });
    events.collect()
}

#[test]
fn the_only_worker_keeps_a_shard_whose_provider_it_cannot_open() {
    let mut plan = outline(OperationKind::Update, &[&[]], 1);
    plan.shards[0].labels.insert("region".to_owned(), "eu".to_owned());
    let (mut core, _) = begin(plan, RunOptions { gather_ms: 1, ..RunOptions::default() }, Vec::new());
    let Event::Joined(a) = hello("a") else { panic!("a greeting") };
    core.step(0, Event::Joined(Hello { labels: BTreeMap::from([("region".to_owned(), "eu".to_owned())]), ..a }));
    core.step(0, hello("b"));
    let [task] = started(&core.step(1, Event::Tick))[..] else { panic!("one task") };
    let told = core.step(2, unopened("a", task, 1));
    assert!(matches!(&steps(&told)[..], [StoreStep::Fail(failure)] if failure.diagnostics == Opaque(vec![1])));
}
