//! Budgets of calls, and retries.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::limits::CallBudget;
use weft_protocol::diagnostics::encode_diagnostics;
use weft_state::{TokenGrant, TokenRequest};

use super::*;
use crate::retry::RetryRule;
use crate::table::BudgetIndex;

/// Operations in shards. The first shard has a budget.
fn limited(kind: OperationKind, operations: usize, shards: u32) -> Outline {
    let needs: Vec<&[u32]> = vec![&[]; operations];
    let mut outline = outline(kind, &needs, shards);
    outline.budgets = vec![CallBudget { name: "b".into(), interval_us: 100_000, burst: 2, tokens_per_call: 1 }];
    outline.shards[0].budgets = vec![BudgetIndex(0)];
    outline
}

fn requests(instructions: &[Instruction]) -> Vec<TokenRequest> {
    let asked = instructions.iter().filter_map(|instruction| match instruction {
        Instruction::TakeTokens(requests) => Some(requests.clone()),
        _ => None,
    });
    asked.flatten().collect()
}

fn tokens(count: u32, first_us: i64) -> Event {
    Event::Tokens(Some(vec![TokenGrant { count, first_us }]))
}

#[test]
fn operations_wait_for_tokens_and_other_shards_go_on() {
    let (mut core, _) = begin(limited(OperationKind::Read, 8, 2), RunOptions::in_process(), Vec::new());
    let instructions = core.step(0, hello("w"));
    let others: Vec<u32> = started(&instructions).iter().map(|task| task.operation).collect();
    assert_eq!(others, [1, 3, 5, 7], "the operations of the shard without a budget");
    let [request] = &requests(&instructions)[..] else { panic!("one request: {instructions:?}") };
    assert_eq!((request.budget.as_str(), request.count), ("b", 1), "one, until the provider is open");
    assert!(requests(&core.step(1, Event::Tick)).is_empty(), "one request at a time");
    let [first] = started(&core.step(2, tokens(1, -100_000)))[..] else { panic!("one") };
    let instructions = core.step(100, said("w", done(first)));
    let [request] = &requests(&instructions)[..] else { panic!("one request: {instructions:?}") };
    assert_eq!(request.count, 3, "as many as there are operations");
    assert_eq!(started(&core.step(102, tokens(3, 0))).len(), 1);
    core.step(103, ok(1));
    assert!(started(&core.step(122, Event::Due)).is_empty(), "more could be asked for, and nothing is needed");
    assert_eq!(core.wakes_at(), Some(202));
    assert!(started(&core.step(201, Event::Due)).is_empty());
    assert_eq!(started(&core.step(202, Event::Due)).len(), 1);
    assert_eq!(started(&core.step(302, Event::Due)).len(), 1);
    assert_eq!(core.wakes_at(), None, "nothing waits");
    core.check_invariants();
}

#[test]
fn a_run_that_waits_for_tokens_does_not_end() {
    let (mut core, _) = begin(limited(OperationKind::Read, 1, 1), RunOptions::in_process(), Vec::new());
    let mut instructions = core.step(0, hello("w"));
    instructions.extend(core.step(1, Event::Tokens(None)));
    instructions.extend(core.step(600, Event::Tick));
    assert!(finish(&instructions).is_none() && started(&instructions).is_empty());
    assert_eq!(core.wakes_at(), Some(1_001), "the store is asked again");
    assert_eq!(requests(&core.step(1_001, Event::Due)).len(), 1);
    let end = finish(&core.step(1_002, Event::Cancel(Cancel::Drain))).expect("the user can end it");
    assert_eq!((end.reason, end.unfinished), (FinishReason::Drained, vec![0]));
}

#[test]
fn the_wait_of_a_lost_worker_goes_on_at_another_one() {
    let (mut core, _) = begin(limited(OperationKind::Read, 2, 1), RunOptions::default(), Vec::new());
    core.step(0, hello("w"));
    assert_eq!(requests(&core.step(5_000, hello("v"))).len(), 1);
    core.step(5_001, Event::Dead(WorkerId("w/1".to_owned())));
    assert_eq!(started(&core.step(5_002, tokens(1, -100_000))).len(), 1);
    core.check_invariants();
}

/// One operation of a provider whose refused calls are retried.
fn refusing(kind: OperationKind) -> (Coordinator, Task) {
    let mut outline = outline(kind, &[&[], &[0]], 1);
    outline.shards[0].retry = Some(Arc::new(RetryRule::new("a/b", None)));
    let (mut core, _) = begin(outline, RunOptions::in_process(), Vec::new());
    let [task] = started(&core.step(0, hello("w")))[..] else { panic!("one task") };
    (core, task)
}

fn failed(task: Task, detail: &str, writes: TaskWrites, absence_unproven: bool) -> Event {
    let diagnostics = encode_diagnostics(&[Diagnostic::error("creating it", detail)]);
    let result = TaskResult::Failed { writes, diagnostics, absence_unproven, unopened: false };
    said("w", Report::Result { task, result: Arc::new(result) })
}

/// Makes the intent of a task durable, so that its call begins.
fn called(core: &mut Coordinator, task: Task, now: u64) {
    core.step(now, said("w", Report::Intent { task, planned: Digest::default() }));
    assert_eq!(orders(&core.step(now, ok(1))), [Order::Granted(task)]);
}

#[test]
fn a_refused_call_is_made_again_with_an_intent_of_its_own() {
    let (mut core, task) = refusing(OperationKind::Create);
    called(&mut core, task, 1);
    let instructions = core.step(10, failed(task, "429 Too Many Requests", TaskWrites::default(), true));
    assert!(matches!(&steps(&instructions)[..], [StoreStep::Fail(failure)] if failure.intended));
    let instructions = core.step(20, ok(1));
    assert_eq!(steps(&instructions), [StoreStep::Reopen { op: OpIndex(0) }], "the failure is durable before");
    assert!(orders(&instructions).contains(&Order::Acknowledged(task)));
    assert!(!orders(&instructions).iter().any(|order| matches!(order, Order::Close(_))), "the shard stays open");
    assert_eq!(core.status(1), Some(Status::Pending), "what depends on it waits");
    assert!(finish(&core.step(21, ok(1))).is_none());
    let due = core.wakes_at().expect("a further attempt");
    assert!((520..=1_020).contains(&due), "{due}");
    assert!(started(&core.step(due - 1, Event::Tick)).is_empty());
    let [again] = started(&core.step(due, Event::Due))[..] else { panic!("the next attempt") };
    assert_eq!((again.operation, again.attempt), (0, Attempt(2)));
    called(&mut core, again, due + 1);
    core.check_invariants();
}

#[test]
fn an_update_is_read_before_it_is_tried_again() {
    let (mut core, task) = refusing(OperationKind::Update);
    called(&mut core, task, 1);
    core.step(10, failed(task, "Rate exceeded", TaskWrites::default(), false));
    core.step(20, ok(1));
    core.step(20, ok(1));
    let due = core.wakes_at().expect("a further attempt");
    let again = orders(&core.step(due, Event::Due));
    assert!(matches!(again[..], [Order::Start { read_first: true, .. }]), "{again:?}");
}

#[test]
fn other_failures_count_at_once() {
    let kept = TaskWrites { objects: vec![put("a.b0", "{}")], outputs: Vec::new() };
    for (detail, writes) in [("AccessDenied", TaskWrites::default()), ("429 Too Many Requests", kept)] {
        let (mut core, task) = refusing(OperationKind::Create);
        called(&mut core, task, 1);
        core.step(10, failed(task, detail, writes, false));
        let instructions = core.step(20, ok(1));
        assert_eq!((core.status(0), core.status(1)), (Some(Status::Failed), Some(Status::Skipped)), "{detail}");
        assert!(matches!(steps(&instructions)[..], [StoreStep::Skip { .. }]), "{detail}");
        assert_eq!(core.wakes_at(), None);
    }
}

#[test]
fn attempts_are_bounded() {
    let (mut core, mut task) = refusing(OperationKind::Read);
    let mut now = 0;
    let mut attempts = 1;
    loop {
        core.step(now, failed(task, "Too many requests", TaskWrites::default(), false));
        core.step(now, ok(1));
        if core.status(0) == Some(Status::Failed) {
            break;
        }
        core.step(now, ok(1));
        now = core.wakes_at().expect("a further attempt");
        let [next] = started(&core.step(now, Event::Due))[..] else { panic!("the next attempt") };
        (task, attempts) = (next, attempts + 1);
    }
    assert_eq!(attempts, 1 + crate::retry::RETRY_ATTEMPTS);
    assert!(now < 1_000 * u64::from(crate::retry::RETRY_SECONDS));
}

#[test]
fn a_drained_run_tries_nothing_again() {
    let (mut core, task) = refusing(OperationKind::Read);
    core.step(1, Event::Cancel(Cancel::Drain));
    core.step(2, failed(task, "Too many requests", TaskWrites::default(), false));
    core.step(3, ok(1));
    assert_eq!(core.status(0), Some(Status::Failed));
}
