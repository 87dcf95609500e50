//! Illegal transitions. Each illegal transition ends the term at once and reports a defect, and the output of its step
//! is dropped.

use super::*;
use crate::core::operation::tests::STATES;
use crate::event::Defect;
use crate::status::HAPPENINGS;

/// A term with a connected worker. The only operation of the plan is in this state.
fn standing(state: State) -> Coordinator {
    let (mut core, _) = begin(outline(OperationKind::Update, &[&[], &[]], 1), RunOptions::in_process(), Vec::new());
    core.step(0, hello("w"));
    core.operations.restore(Position(0), state, 1, None);
    core.outbox.store(StepInStore::Told, StoreStep::Reopen { op: OpIndex(1) });
    core.order(WorkerIndex(0), Order::Drain);
    core
}

/// The defect of a term that ended with these instructions, and with no other output.
fn defect_in(instructions: &[Instruction]) -> Defect {
    assert_eq!(steps(instructions), [], "nothing reaches the store");
    assert_eq!(orders(instructions), [Order::Leave], "the workers leave, and receive nothing else");
    let end = finish(instructions).expect("the term ends");
    assert_eq!((end.reason, end.release), (FinishReason::Defect, Some(TermEnding::Stopped)));
    end.defect.expect("what happened")
}

#[test]
fn every_illegal_event_ends_the_term_with_what_happened() {
    for state in STATES {
        for happening in HAPPENINGS {
            if transition(state.status(), happening).is_some() {
                continue;
            }
            let mut core = standing(state);
            let handled = core.happen(Position(0), happening);
            assert!(handled.is_err(), "{happening:?} of {state:?}");
            let defect = defect_in(&core.instructions(handled));
            assert_eq!((defect.operation, defect.address.as_str()), (0, "a.b0"));
            assert_eq!(defect.from, state.to_string());
            assert_eq!(defect.to, State::entering(happening.leads_to()).to_string());
            assert_eq!(defect.message, happening.to_string());
            assert_eq!(core.operations.state(Position(0)), state, "nothing has changed");
            assert_eq!(core.step(1, Event::Tick), [], "nothing follows");
        }
    }
}

#[test]
fn every_illegal_change_of_stage_ends_the_term_with_what_happened() {
    for from in STATES {
        for to in STATES.into_iter().filter(|to| !from.may_become(*to)) {
            let mut core = standing(from);
            let handled = core.enter(Position(0), to, Cause::NewReport);
            let defect = defect_in(&core.instructions(handled));
            assert_eq!(
                (defect.from, defect.to, defect.message),
                (from.to_string(), to.to_string(), Cause::NewReport.to_string())
            );
        }
    }
}

#[test]
fn a_status_is_not_left_from_the_wrong_stage() {
    // The status may become done, but not while only the intent was sent to the store.
    let mut core = standing(State::Leased(operation::Leased::IntentInStore));
    let handled = core.happen(Position(0), Happening::Commit);
    let defect = defect_in(&core.instructions(handled));
    assert_eq!(
        defect.to_string(),
        "a.b0 (operation 0) cannot become done: it is leased, with its intent on the way to the store, and the store has \
         its result"
    );
}

#[test]
fn a_defect_stops_the_rest_of_its_event() {
    let (mut core, _) =
        begin(outline(OperationKind::Read, &[&[], &[], &[0, 1]], 1), RunOptions::in_process(), Vec::new());
    let tasks = started(&core.step(0, hello("w")));
    for task in &tasks {
        core.step(1, said("w", done(*task)));
    }
    // The memory of the first operation is wrong. The answer about the second operation arrives with the same event.
    core.operations.restore(Position(0), State::Skipped, 1, None);
    let instructions = core.step(2, ok(2));
    assert_eq!(defect_in(&instructions).operation, 0);
    assert_eq!(core.status(1), Some(Status::Leased), "the second answer is not looked at");
    assert!(
        !instructions.iter().any(|instruction| matches!(instruction, Instruction::Progress(_))),
        "nothing else is reported"
    );
}

#[test]
fn a_defect_at_the_beginning_ends_the_term() {
    // A stored intent whose worker is unknown becomes a doubt. A second doubt about the same operation is a
    // contradiction.
    let (mut core, _) = begin(outline(OperationKind::Update, &[&[]], 1), RunOptions::in_process(), Vec::new());
    core.operations.restore(Position(0), State::InDoubt(operation::Doubt::Open), 1, None);
    let handled = core.doubt(Position(0), "its worker is gone".to_owned());
    let instructions = core.instructions(handled);
    assert_eq!(finish(&instructions).and_then(|end| end.defect).map(|defect| defect.from), Some("in doubt".to_owned()));
}
