use std::collections::BTreeSet;

use proptest::prelude::*;
use weft_protocol::PROTOCOL;

use super::*;

const AGE: u64 = 100;

fn run() -> RunId {
    RunId::parse("r").unwrap()
}

fn task(operation: u32) -> Task {
    Task::new(operation, 1)
}

fn done() -> TaskResult {
    TaskResult::Done(weft_protocol::TaskDone::default())
}

#[test]
fn a_task_passes_through_its_phases() {
    let mut held = HeldTasks::default();
    assert_eq!(held.start(&run(), 0, task(1)), Start::Begin);
    assert_eq!(held.start(&run(), 0, task(1)), Start::Known);
    assert!(held.asked(&run(), task(1), Digest([7; 32]), 10));
    assert_eq!(held.all(), [HeldTask { run: run(), task: task(1), phase: HeldPhase::Asked, maker: None }]);
    assert_eq!(held.unanswered(PROTOCOL), [(run(), Report::Intent { task: task(1), planned: Digest([7; 32]) })]);
    assert_eq!(held.granted(&run(), task(1), 20, AGE), Grant::Call);
    assert_eq!(held.granted(&run(), task(1), 21, AGE), Grant::Ignore);
    assert_eq!(held.dropped(&run(), task(1)), Dropped::Ignore);
    assert!(!held.refused(&run(), task(1)));
    assert!(held.leave(&run()).is_empty());
    assert!(held.finished(&run(), task(1), done()).is_some());
    assert_eq!(held.unanswered(PROTOCOL).len(), 1);
    held.acknowledged(&run(), task(1));
    assert!(held.all().is_empty() && held.nothing_open());
}

fn called(held: &mut HeldTasks, operation: u32) {
    held.start(&run(), 0, task(operation));
    held.asked(&run(), task(operation), Digest::default(), 0);
    assert_eq!(held.granted(&run(), task(operation), 0, AGE), Grant::Call);
    held.finished(&run(), task(operation), done());
}

#[test]
fn a_result_goes_to_the_spool_when_it_is_not_acknowledged_soon() {
    let mut held = HeldTasks::default();
    called(&mut held, 1);
    assert_eq!(held.spool_work(false, "one"), SpoolWork::default(), "its acknowledgement is awaited");
    let work = held.spool_work(false, "one");
    let [kept] = &work.keep[..] else { panic!("{work:?}") };
    assert_eq!((&kept.run, kept.task, kept.maker.as_str()), (&run(), task(1), "one"));
    assert_eq!((held.spool_work(true, "one"), held.not_durable()), (SpoolWork::default(), 1), "it is on its way");
    held.spooled(&work.keep, false);
    let again = held.spool_work(true, "one");
    assert_eq!(again.keep.len(), 1, "it was not written");
    held.spooled(&again.keep, true);
    assert_eq!(held.not_durable(), 0);
    held.acknowledged(&run(), task(1));
    assert_eq!(held.spool_work(true, "one").forget, [(run(), task(1))]);
    // Without an intent, nothing is uncertain if the result is lost.
    held.start(&run(), 0, task(2));
    held.finished(&run(), task(2), done());
    assert_eq!(held.spool_work(true, "one"), SpoolWork::default());
}

#[test]
fn a_restored_result_is_handed_over_to_coordinators_that_know_of_spools() {
    let mut held = HeldTasks::default();
    called(&mut held, 1);
    let results = held.spool_work(true, "one").keep;
    let mut heir = HeldTasks::default();
    heir.restore(results);
    let maker = Some("one".to_owned());
    assert_eq!(heir.all(), [HeldTask { run: run(), task: task(1), phase: HeldPhase::Finished, maker }]);
    assert!(heir.unanswered(PROTOCOL_OF_SPOOLS - 1).is_empty());
    assert_eq!(heir.unanswered(PROTOCOL_OF_SPOOLS).len(), 1);
    assert_eq!((heir.spool_work(true, "two"), heir.not_durable()), (SpoolWork::default(), 0));
    assert!(heir.leave(&run()).is_empty(), "it stays until it is acknowledged");
    heir.acknowledged(&run(), task(1));
    assert_eq!(heir.spool_work(true, "two").forget, [(run(), task(1))]);
    assert!(heir.nothing_open());
}

#[test]
fn late_and_unknown_grants_are_not_acted_on() {
    let mut held = HeldTasks::default();
    held.start(&run(), 0, task(1));
    held.asked(&run(), task(1), Digest::default(), 10);
    assert!(matches!(held.granted(&run(), task(1), 10 + AGE, AGE), Grant::Answer(_)));
    assert!(matches!(held.granted(&run(), task(2), 0, AGE), Grant::Answer(_)));
    assert_eq!(held.unanswered(PROTOCOL).len(), 2, "both answers are kept");
    assert!(held.finished(&run(), task(1), done()).is_none(), "the answer stands");
}

#[test]
fn draining_returns_tasks_without_an_intent() {
    let mut held = HeldTasks::default();
    for operation in 1..=3 {
        held.start(&run(), 0, task(operation));
    }
    held.asked(&run(), task(2), Digest::default(), 0);
    held.asked(&run(), task(3), Digest::default(), 0);
    assert_eq!(held.granted(&run(), task(3), 0, AGE), Grant::Call);
    assert_eq!(held.drain(&run()), [task(1)]);
    assert!(matches!(held.granted(&run(), task(2), 0, AGE), Grant::Answer(_)));
    assert_eq!(held.start(&run(), 0, task(4)), Start::Return);
    assert!(!held.nothing_open());
}

#[test]
fn a_dropped_task_is_answered_after_its_intent() {
    let mut held = HeldTasks::default();
    held.start(&run(), 0, task(1));
    assert_eq!(held.dropped(&run(), task(1)), Dropped::Forgotten);
    assert_eq!(held.dropped(&run(), task(1)), Dropped::Ignore);
    held.start(&run(), 0, task(2));
    held.asked(&run(), task(2), Digest::default(), 0);
    let Dropped::Answer(answer) = held.dropped(&run(), task(2)) else { panic!("no answer") };
    assert!(matches!(*answer, TaskResult::NotCalled { .. }));
    assert_eq!(held.granted(&run(), task(2), 1, AGE), Grant::Ignore, "it was answered");
    assert_eq!(held.unanswered(PROTOCOL).len(), 1, "the answer is kept");
    assert_eq!(held.dropped(&run(), task(2)), Dropped::Answer(answer), "and said again");
    held.acknowledged(&run(), task(2));
    assert!(held.all().is_empty());
}

#[derive(Clone, Debug)]
enum Step {
    Start(u32),
    Ask(u32),
    Grant(u32),
    Refuse(u32),
    Finish(u32),
    Acknowledge(u32),
    Drop(u32),
    Drain,
    Leave,
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let one = 0u32..4;
    prop::collection::vec(
        prop_oneof![
            one.clone().prop_map(Step::Start),
            one.clone().prop_map(Step::Ask),
            one.clone().prop_map(Step::Grant),
            one.clone().prop_map(Step::Refuse),
            one.clone().prop_map(Step::Finish),
            one.clone().prop_map(Step::Acknowledge),
            one.prop_map(Step::Drop),
            Just(Step::Drain),
            Just(Step::Leave),
            (0u64..80).prop_map(Step::Wait),
        ],
        0..60,
    )
}

proptest! {
    /// Under any order of events, a held task makes at most one call that changes the world, and only while its intent
    /// is young. Its result stays until it is acknowledged.
    #[test]
    fn a_task_is_called_at_most_once_and_its_result_is_kept(steps in steps()) {
        let (mut held, mut now) = (HeldTasks::default(), 0);
        let mut open: BTreeMap<u32, bool> = BTreeMap::new();
        let mut asked: BTreeMap<u32, u64> = BTreeMap::new();
        let mut granted: BTreeSet<u32> = BTreeSet::new();
        for step in steps {
            match step {
                Step::Start(t) => {
                    if held.start(&run(), 0, task(t)) == Start::Begin {
                        prop_assert!(!open.contains_key(&t));
                        asked.remove(&t);
                    }
                }
                Step::Ask(t) => {
                    if held.asked(&run(), task(t), Digest::default(), now) {
                        asked.insert(t, now);
                    }
                }
                Step::Grant(t) => {
                    granted.insert(t);
                    if held.granted(&run(), task(t), now, AGE) == Grant::Call {
                        prop_assert!(open.insert(t, false).is_none());
                        prop_assert!(asked.get(&t).is_some_and(|at| now - at < AGE));
                    }
                }
                Step::Refuse(t) => drop(held.refused(&run(), task(t))),
                Step::Finish(t) => {
                    if held.finished(&run(), task(t), done()).is_some() && let Some(end) = open.get_mut(&t) {
                        *end = true;
                    }
                }
                Step::Acknowledge(t) => {
                    held.acknowledged(&run(), task(t));
                    if open.get(&t) == Some(&true) {
                        open.remove(&t);
                    }
                }
                Step::Drop(t) => match held.dropped(&run(), task(t)) {
                    Dropped::Answer(_) => prop_assert!(asked.contains_key(&t) || granted.contains(&t)),
                    Dropped::Forgotten => prop_assert!(!asked.contains_key(&t)),
                    Dropped::Ignore => {}
                },
                Step::Drain => drop(held.drain(&run())),
                Step::Leave => drop(held.leave(&run())),
                Step::Wait(ms) => now += ms,
            }
            let phases: BTreeMap<u32, HeldPhase> = held.all().into_iter().map(|held| (held.task.operation, held.phase)).collect();
            for (t, ended) in &open {
                let wanted = if *ended { HeldPhase::Finished } else { HeldPhase::Called };
                prop_assert_eq!(phases.get(t), Some(&wanted));
            }
        }
    }
}
