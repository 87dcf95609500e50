//! Reports of workers about attempts that they did not make.

use super::*;

/// Whether a report changes nothing: no step for the store, no order, and no progress.
fn is_ignored(core: &mut Coordinator, name: &str, report: Report) -> bool {
    core.step(5, said(name, report)).is_empty()
}

#[test]
fn a_worker_cannot_complete_the_task_of_another_worker() {
    let (mut core, _) = begin(outline(OperationKind::Update, &[&[], &[0]], 1), RunOptions::in_process(), Vec::new());
    let [task] = started(&core.step(0, hello("w")))[..] else { panic!("one task") };
    core.step(0, hello("evil"));
    let never = [0, 2, u32::MAX].map(|attempt| Task { operation: 0, attempt: Attempt(attempt) });
    let pending = Task { operation: 1, attempt: Attempt(1) };
    let all = |core: &mut Coordinator| {
        let tasks = never.into_iter().chain([task, pending]);
        tasks.for_each(|task| assert!(is_ignored(core, "evil", invented(task)), "{task:?}"));
    };
    all(&mut core);
    core.step(1, said("w", Report::Intent { task, planned: Digest::default() }));
    all(&mut core);
    assert_eq!(orders(&core.step(2, ok(1))), [Order::Granted(task)]);
    all(&mut core);
    for other in [Report::Returned(task), Report::Refused { shard: 0, diagnostics: Opaque::default() }] {
        assert!(is_ignored(&mut core, "evil", other));
    }
    let answer = core.step(3, said("evil", Report::Intent { task: pending, planned: Digest::default() }));
    assert_eq!(orders(&answer), [Order::IntentRefused(pending)]);
    core.step(3, said("w", done(task)));
    let [next] = started(&core.step(4, ok(1)))[..] else { panic!("the next task") };
    assert_eq!(next, pending);
    all(&mut core);
    core.step(6, said("w", done(next)));
    let end = finish(&core.step(7, ok(1))).unwrap();
    assert_eq!((end.reason, end.counts.done), (FinishReason::Complete, 2));
}

#[test]
fn a_worker_cannot_replay_a_task_of_an_earlier_term() {
    for status in [OpStatus::Done, OpStatus::Failed, OpStatus::InDoubt, OpStatus::Intended] {
        let worker = WorkerId("w/1".to_owned());
        let record = OpRecord { status, attempt: Attempt(1), worker, ..OpRecord::default() };
        // Another worker than this one must carry out what is left.
        let mut plan = outline(OperationKind::Update, &[&[], &[]], 1);
        plan.shards[0].labels.insert("region".to_owned(), "eu".to_owned());
        let (mut core, _) = begin(plan, RunOptions { gather_ms: 0, ..RunOptions::default() }, vec![(0, record)]);
        let told = core.step(0, hello("evil"));
        assert!(started(&told).is_empty() && finish(&told).is_none());
        for attempt in [1, 2, 7] {
            let task = Task { operation: 0, attempt: Attempt(attempt) };
            assert!(is_ignored(&mut core, "evil", invented(task)), "{status:?} {attempt}");
        }
    }
}

#[test]
fn the_results_of_another_worker_cannot_be_handed_over() {
    let record = |worker: &str| OpRecord {
        status: OpStatus::Intended,
        attempt: Attempt(1),
        worker: WorkerId(worker.to_owned()),
        ..OpRecord::default()
    };
    let task = Task { operation: 0, attempt: Attempt(1) };
    let held =
        HeldTask { run: RunId::parse("run").unwrap(), task, phase: HeldPhase::Finished, maker: Some("0".to_owned()) };
    for (name, counts) in [("w", true), ("evil", false)] {
        let (mut core, _) =
            begin(outline(OperationKind::Update, &[&[]], 1), RunOptions::default(), vec![(0, record("w/0"))]);
        let Event::Joined(hello) = hello(name) else { panic!("a greeting") };
        core.step(0, Event::Joined(Hello { held: vec![held.clone()], ..hello }));
        let report = if counts { done(task) } else { invented(task) };
        let told = steps(&core.step(1, said(name, report)));
        match counts {
            true => assert!(matches!(&told[..], [StoreStep::Commit(_)]), "{told:?}"),
            false => assert!(told.is_empty(), "{told:?}"),
        }
    }
}

#[test]
fn a_greeting_with_impossible_attempts_is_harmless() {
    let (mut core, _) = begin(outline(OperationKind::Update, &[&[]], 1), RunOptions::in_process(), Vec::new());
    let held = |maker: Option<&str>| HeldTask {
        run: RunId::parse("run").unwrap(),
        task: Task { operation: 0, attempt: Attempt(u32::MAX) },
        phase: HeldPhase::Asked,
        maker: maker.map(str::to_owned),
    };
    let Event::Joined(hello) = hello("evil") else { panic!("a greeting") };
    let known = core.roster.everyone().count();
    let told = core.step(0, Event::Joined(Hello { held: vec![held(None), held(Some("x"))], ..hello }));
    assert_eq!(started(&told), [Task { operation: 0, attempt: Attempt(1) }]);
    assert_eq!(core.roster.everyone().count(), known + 1, "only the worker itself");
}
