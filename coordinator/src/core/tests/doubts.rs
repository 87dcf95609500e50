//! Doubts, their settlement, and operations that are not repeated.

use weft_protocol::{Candidate, SettleVerdict};

use super::*;

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
            assert_eq!((end.reason, end.counts.done), (FinishReason::Complete, 1));
            assert_eq!(end.release, Some(TermEnding::Finished), "nothing is left to resume");
            continue;
        }
        let told = core.step(wait + 2, Event::Tick);
        assert!(matches!(&steps(&told)[..], [StoreStep::Doubt { .. }]), "{told:?}");
        let end = finish(&core.step(wait + 3, ok(1))).unwrap();
        assert_eq!((end.reason, end.in_doubt), (FinishReason::Left, vec![0]));
        assert_eq!(end.release, Some(TermEnding::Stopped), "no coordinator resumes it on its own");
    }
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
    // The worker reconnects with the result.
    let (mut core, begun) = begin(plan(), options.clone(), vec![(0, doubt("w/1"))]);
    assert!(finish(&begun).is_none() && finish(&core.step(1, Event::Tick)).is_none(), "its word is waited for");
    let Event::Joined(mut back) = hello("w") else { panic!("a greeting") };
    back.held = vec![HeldTask { run: RunId::parse("r").unwrap(), task, phase: HeldPhase::Called, maker: None }];
    core.step(2, Event::Joined(back));
    assert!(finish(&core.step(60_000, Event::Tick)).is_none(), "the call goes on there");
    let told = core.step(60_001, said("w", done(task)));
    assert!(matches!(&steps(&told)[..], [StoreStep::Resolve(found)] if found.evidence == Evidence::Worker), "{told:?}");
    assert_eq!(started(&core.step(60_002, ok(1)))[0].operation, 1);
    // The worker reconnects without knowing the task, or does not reconnect at all.
    for comes in [true, false] {
        let (mut core, _) = begin(plan(), options.clone(), vec![(0, doubt("w/1"))]);
        let told = if comes { core.step(1, hello("w")) } else { core.step(options.grace_ms, Event::Tick) };
        let unsettled = |instruction: &Instruction| {
            matches!(
                instruction,
                Instruction::Progress(OperationEvent { what: OperationEventKind::InDoubt { .. }, .. })
            )
        };
        assert!(told.iter().any(unsettled), "{told:?}");
        assert_eq!(finish(&core.step(options.grace_ms + 1, ok(1))).unwrap().in_doubt, [0]);
    }
}

/// The identity of a process with a spool.
fn with_spool(name: &str, process: u32) -> WorkerId {
    WorkerId(format!("{name}/boot:ns:{process}:01"))
}

/// A process that connects with the results of these tasks, which an earlier process made.
fn heir(process: u32, maker: u32, tasks: &[Task]) -> Event {
    let Event::Joined(hello) = hello("w") else { panic!("a greeting") };
    let incarnation = |process: u32| format!("boot:ns:{process}:01");
    let held = |task: &Task| HeldTask {
        run: RunId::parse("r").unwrap(),
        task: *task,
        phase: HeldPhase::Finished,
        maker: Some(incarnation(maker)),
    };
    Event::Joined(Hello { worker: with_spool("w", process), held: tasks.iter().map(held).collect(), ..hello })
}

#[test]
fn a_spool_settles_what_a_dead_worker_did() {
    let plan = || outline(OperationKind::Provision, &[&[], &[], &[0]], 1);
    let options = RunOptions { gather_ms: 0, ..RunOptions::default() };
    let task = |operation| Task { operation, attempt: Attempt(1) };
    let (first, second) = (with_spool("w", 1), with_spool("w", 2));
    let record = |status| OpRecord { status, attempt: Attempt(1), worker: first.clone(), ..OpRecord::default() };
    for status in [OpStatus::Intended, OpStatus::InDoubt] {
        // A coordinator takes over, and the worker is dead: the run waits for its heir.
        let (mut core, _) = begin(plan(), options.clone(), vec![(0, record(status)), (1, record(status))]);
        let told = core.step(1, Event::Dead(first.clone()));
        assert!(steps(&told).is_empty() && finish(&told).is_none(), "{told:?}");
        assert!(steps(&core.step(2, Event::Dead(first.clone()))).is_empty());
        // The heir has one result. The other call is in doubt at once.
        let told = core.step(3, heir(2, 1, &[task(0)]));
        let doubts =
            steps(&told).iter().filter(|step| matches!(step, StoreStep::Doubt { op, .. } if op.0 == 1)).count();
        assert_eq!(doubts, usize::from(status == OpStatus::Intended), "{told:?}");
        let Report::Result { result, .. } = done(task(0)) else { panic!("a result") };
        let told = core.step(4, Event::Said(second.clone(), Report::Result { task: task(0), result }));
        let maker = match &steps(&told)[..] {
            [StoreStep::Commit(commit)] => commit.worker.clone(),
            [StoreStep::Resolve(found)] => {
                let DoubtOutcome::Done(commit) = &found.outcome else { panic!("{found:?}") };
                commit.worker.clone()
            }
            _ => panic!("{told:?}"),
        };
        assert_eq!(maker, first, "it is the report of the process that made the call");
        let told = core.step(5, ok(if status == OpStatus::Intended { 2 } else { 1 }));
        let acknowledged = |instruction: &Instruction| matches!(instruction, Instruction::Send { worker, orders } if *worker == second && orders.contains(&Order::Acknowledged(task(0))));
        assert!(told.iter().any(acknowledged), "{told:?}");
        assert_eq!(core.status(0), Some(Status::Done));
        assert_eq!(core.status(1), Some(Status::InDoubt));
    }
}

#[test]
fn an_heir_that_does_not_come_or_leaves_again_is_awaited_for_a_while() {
    let plan = || outline(OperationKind::Provision, &[&[]], 1);
    let options = RunOptions { gather_ms: 0, ..RunOptions::default() };
    let grace = options.grace_ms;
    let task = Task { operation: 0, attempt: Attempt(1) };
    let (first, second) = (with_spool("w", 1), with_spool("w", 2));
    let record = || {
        let worker = first.clone();
        vec![(0, OpRecord { status: OpStatus::Intended, attempt: Attempt(1), worker, ..OpRecord::default() })]
    };
    let in_doubt =
        |instructions: &[Instruction]| steps(instructions).iter().any(|step| matches!(step, StoreStep::Doubt { .. }));
    let (mut core, _) = begin(plan(), options.clone(), record());
    core.step(1, Event::Dead(first.clone()));
    assert!(!in_doubt(&core.step(grace, Event::Tick)));
    assert!(in_doubt(&core.step(grace + 1, Event::Tick)));
    // The heir leaves before its report arrives, and may reconnect.
    for comes in [true, false] {
        let (mut core, _) = begin(plan(), options.clone(), record());
        core.step(1, Event::Dead(first.clone()));
        core.step(2, heir(2, 1, &[task]));
        assert!(!in_doubt(&core.step(2 * grace, Event::Left(second.clone()))));
        if comes {
            assert!(!in_doubt(&core.step(3 * grace - 1, heir(2, 1, &[task]))));
        } else {
            assert!(in_doubt(&core.step(3 * grace, Event::Tick)));
        }
    }
    // In a single process, the run does not wait for an heir of the worker.
    let (mut core, _) = begin(plan(), RunOptions::in_process(), record());
    assert!(in_doubt(&core.step(1, Event::Dead(first.clone()))));
}

#[test]
fn doubts_can_be_looked_up_without_going_on() {
    let doubt = || OpRecord { status: OpStatus::InDoubt, attempt: Attempt(1), ..OpRecord::default() };
    let options = RunOptions { only_resolve: true, ..RunOptions::in_process() };
    let plan = || outline(OperationKind::Update, &[&[], &[0]], 1);
    let settles =
        |instructions: &[Instruction]| orders(instructions).iter().any(|order| matches!(order, Order::Settle(_)));
    // Without a decision, a term that only resolves asks for nothing.
    let (_, begun) = begin(plan(), options.clone(), vec![(0, doubt())]);
    assert_eq!(finish(&begun).map(|end| end.reason), Some(FinishReason::Resolved));
    // The result of the look-up settles the doubt, and nothing else begins.
    let looks = RunOptions { look_up: true, ..options };
    let (mut core, begun) = begin(plan(), looks, vec![(0, doubt())]);
    assert!(finish(&begun).is_none());
    assert!(settles(&core.step(1, hello("w"))));
    let task = Task { operation: 0, attempt: Attempt(1) };
    let verdict = weft_protocol::SettleVerdict::NotApplied { holder_dead: true };
    let told = core.step(2, said("w", Report::Settled { task, verdict }));
    assert!(matches!(&steps(&told)[..], [StoreStep::Resolve(found)] if found.evidence == Evidence::Read), "{told:?}");
    let told = core.step(3, ok(1));
    assert!(started(&told).is_empty());
    let end = finish(&told).unwrap();
    assert_eq!((end.reason, end.in_doubt, end.counts.pending), (FinishReason::Resolved, Vec::new(), 2));
}

#[test]
fn a_failed_create_that_left_an_object_is_not_repeated() {
    let plan = || outline(OperationKind::Create, &[&[], &[0]], 1);
    let writes = TaskWrites { objects: vec![put("a.b0", "{}")], outputs: Vec::new() };
    let (mut core, _) = begin(plan(), RunOptions::in_process(), Vec::new());
    let task = started(&core.step(0, hello("w")))[0];
    core.step(0, said("w", Report::Intent { task, planned: Digest::default() }));
    core.step(0, ok(1));
    let result =
        TaskResult::Failed { writes, diagnostics: Opaque::default(), absence_unproven: false, unopened: false };
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
fn the_death_of_a_worker_is_news_only_once() {
    let (options, worker) = (RunOptions { gather_ms: 0, ..RunOptions::default() }, WorkerId("gone/1".to_owned()));
    let record = OpRecord { status: OpStatus::InDoubt, attempt: Attempt(1), worker, ..OpRecord::default() };
    // The third operation is under way all the time.
    let (mut core, _) = begin(outline(OperationKind::Update, &[&[], &[0], &[]], 1), options, vec![(0, record)]);
    let gone = core.absent_holders().remove(0);
    core.step(1, hello("w"));
    let looks = |told: &[Instruction]| orders(told).iter().any(|order| matches!(order, Order::Settle(_)));
    assert!(looks(&core.step(2, Event::Dead(gone.clone()))));
    let (task, verdict) =
        (Task { operation: 0, attempt: Attempt(1) }, weft_protocol::SettleVerdict::Unknown("?".to_owned()));
    let told = core.step(3, said("w", Report::Settled { task, verdict }));
    assert!(matches!(&steps(&told)[..], [StoreStep::Skip { .. }]), "{told:?}");
    core.step(4, ok(1));
    let told = core.step(5, Event::Dead(gone));
    assert!(steps(&told).is_empty() && !looks(&told), "{told:?}");
}

/// A term with a create in doubt. A worker looks for evidence, and its order contains the digest of the intent.
fn create_looked_at(probe: bool, options: RunOptions) -> Coordinator {
    let mut plan = outline(OperationKind::Create, &[&[], &[0]], 1);
    plan.operations[0].probe_by_identity = probe;
    let worker = WorkerId("gone/1".to_owned());
    let (status, attempt, planned) = (OpStatus::Intended, Attempt(1), Digest([7; 32]));
    let record = OpRecord { status, attempt, worker, planned, ..OpRecord::default() };
    let (mut core, _) = begin(plan, options, vec![(0, record)]);
    let gone = core.absent_holders().remove(0);
    core.step(0, hello("w"));
    let instructions = core.step(1, Event::Dead(gone));
    assert!(matches!(&steps(&instructions)[..], [StoreStep::Doubt { .. }]));
    let told = orders(&core.step(1, ok(1)));
    let asked = |order: &Order| matches!(order, Order::Settle(SettleOrder { holder_dead: true, planned: Some(planned), .. }) if planned.0 == [7; 32]);
    assert!(told.iter().any(asked), "{told:?}");
    core
}

/// Whether a doubt is resolved.
fn resolves(told: &[Instruction]) -> bool {
    steps(told).iter().any(|step| matches!(step, StoreStep::Resolve(_)))
}

fn verdict(verdict: SettleVerdict) -> Event {
    said("w", Report::Settled { task: Task { operation: 0, attempt: Attempt(1) }, verdict })
}

#[test]
fn a_create_without_a_way_to_find_its_object_stays_in_doubt_for_the_first_reason() {
    let mut core = create_looked_at(false, RunOptions::in_process());
    let told = core.step(2, verdict(SettleVerdict::Unknown(String::new())));
    let reason = told.iter().find_map(|instruction| match instruction {
        Instruction::Progress(OperationEvent { what: OperationEventKind::InDoubt { reason, .. }, .. }) => Some(reason),
        _ => None,
    });
    assert!(reason.is_some_and(|reason| reason.contains("lost its connection")), "{told:?}");
    assert_eq!((core.status(0), core.status(1)), (Some(Status::InDoubt), Some(Status::Skipped)));
}

#[test]
fn an_object_that_may_be_older_is_reported_and_not_adopted() {
    let mut core = create_looked_at(false, RunOptions::in_process());
    let found = Candidate { reason: "may be older".to_owned(), id: "b".to_owned(), attributes: Vec::new() };
    let told = core.step(2, verdict(SettleVerdict::Found(Box::new(found.clone()))));
    let candidate = told.iter().find_map(|instruction| match instruction {
        Instruction::Progress(OperationEvent { what: OperationEventKind::InDoubt { candidate, .. }, .. }) => {
            candidate.clone()
        }
        _ => None,
    });
    assert_eq!(candidate.as_deref(), Some(&found), "{told:?}");
    assert!(!resolves(&told), "{told:?}");
    assert_eq!(core.status(0), Some(Status::InDoubt));
}

#[test]
fn an_object_of_another_address_of_the_run_is_not_adopted() {
    const OBJECT: &str = r#"{"id":"b"}"#;
    for owned in [false, true] {
        let mut core = create_looked_at(false, RunOptions::in_process());
        if owned {
            let writes = TaskWrites { objects: vec![put("a.other", OBJECT)], outputs: Vec::new() };
            core.records.write(writes).unwrap();
        }
        let own = put(&core.outline.at(Position(0)).address, OBJECT);
        let writes = TaskWrites { objects: vec![own], outputs: Vec::new() };
        let done = TaskDone { writes, ..TaskDone::default() };
        let told = core.step(2, verdict(SettleVerdict::Applied(Box::new(done))));
        assert_eq!(resolves(&told), !owned, "{told:?}");
    }
}

#[test]
fn a_create_is_repeated_only_if_its_type_promises_that_absence_is_proven() {
    let mut core = create_looked_at(true, RunOptions::in_process());
    let told = core.step(2, verdict(SettleVerdict::NotApplied { holder_dead: true }));
    assert!(matches!(&steps(&told)[..], [StoreStep::Resolve(found)] if found.evidence == Evidence::Probe), "{told:?}");
}

/// The workers that are ordered to look for evidence.
fn settlers(instructions: &[Instruction]) -> Vec<WorkerId> {
    let asked = instructions.iter().filter_map(|instruction| match instruction {
        Instruction::Send { worker, orders } => {
            orders.iter().any(|order| matches!(order, Order::Settle(_))).then(|| worker.clone())
        }
        _ => None,
    });
    asked.collect()
}

#[test]
fn a_doubt_goes_to_another_worker_if_the_first_cannot_open_the_provider() {
    let unopened = |name: &str, diagnostics: u8| {
        let (task, verdict) = (Task::new(0, 1), SettleVerdict::Unopened(Opaque(vec![diagnostics])));
        said(name, Report::Settled { task, verdict })
    };
    let mut core = create_looked_at(true, RunOptions { gather_ms: 0, ..RunOptions::default() });
    core.step(2, hello("v"));
    let told = core.step(3, unopened("w", 1));
    core.check_invariants();
    assert!(orders(&told).contains(&Order::Close(0)), "{told:?}");
    assert_eq!(settlers(&told), [WorkerId("v/1".to_owned())], "{told:?}");
    assert_eq!((core.status(0), core.status(1)), (Some(Status::InDoubt), Some(Status::Pending)));
    let found = Report::Settled { task: Task::new(0, 1), verdict: SettleVerdict::NotApplied { holder_dead: true } };
    assert!(resolves(&core.step(4, said("v", found))), "its evidence counts");
    // If no other worker is left, the doubt stays, and the user sees why.
    let mut core = create_looked_at(true, RunOptions { gather_ms: 0, ..RunOptions::default() });
    core.step(2, hello("v"));
    core.step(3, unopened("w", 1));
    let told = core.step(4, unopened("v", 2));
    core.check_invariants();
    assert!(settlers(&told).is_empty() && !resolves(&told), "{told:?}");
    let is_told = |instruction: &Instruction| {
        matches!(instruction, Instruction::Progress(OperationEvent { what: OperationEventKind::InDoubt { .. }, .. }))
    };
    assert!(told.iter().any(is_told), "{told:?}");
    assert_eq!((core.status(0), core.status(1)), (Some(Status::InDoubt), Some(Status::Skipped)));
}

#[test]
fn a_doubt_of_a_shard_that_no_worker_can_open_stays_with_the_reason() {
    let problem = weft_graph_format::diagnostic::Diagnostic::error("No package", "It is missing.");
    let diagnostics = weft_protocol::diagnostics::encode_diagnostics(&[problem]);
    let mut core = create_looked_at(true, RunOptions::in_process());
    let told = core.step(2, said("w", Report::Refused { shard: 0, diagnostics }));
    let reason = told.iter().find_map(|instruction| match instruction {
        Instruction::Progress(OperationEvent { what: OperationEventKind::InDoubt { reason, .. }, .. }) => Some(reason),
        _ => None,
    });
    assert!(reason.is_some_and(|reason| reason.ends_with("No package: It is missing.")), "{told:?}");
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
