//! A cloud that records every call and every effect.

use std::collections::BTreeMap;

use weft_protocol::Task;
use weft_state::WorkerId;

use crate::random::Random;

/// How a call ends for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallEnding {
    /// The result arrived.
    Success,
    /// The provider returned an error, and nothing happened.
    Error,
    /// The provider crashed.
    Crash,
    /// A deadline passed. The call may still take effect.
    Deadline,
}

#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) task: Task,
    pub(crate) caller: WorkerId,
    /// The time of the effect of the call, if the calling process is still alive at that time.
    pub(crate) effect_at: Option<u64>,
    pub(crate) ends_at: u64,
    pub(crate) ending: CallEnding,
    pub(crate) effect: bool,
    /// Whether the caller knows the result.
    pub(crate) proven: bool,
    /// Whether the call can have no further effect.
    pub(crate) over: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Cloud {
    pub(crate) calls: Vec<Call>,
    pub(crate) effects: BTreeMap<u32, u32>,
}

impl Cloud {
    /// Begins a call. Every earlier call of the operation must be proven, or the process that made it must be dead.
    pub(crate) fn call(&mut self, task: Task, caller: WorkerId, now: u64, calm: bool, random: &mut Random) -> usize {
        for call in self.calls.iter().filter(|call| call.task.operation == task.operation) {
            assert!(call.proven || call.over, "a second call of {task:?} while {call:?} is unproven");
            assert!(!call.effect, "a second call of {task:?} after {call:?} took effect");
        }
        let ending = match random.below(if calm { 1 } else { 20 }) {
            0..=14 => CallEnding::Success,
            15..=16 => CallEnding::Error,
            17..=18 => CallEnding::Crash,
            _ => CallEnding::Deadline,
        };
        let length = 1 + random.below(120);
        let effect_at = match ending {
            CallEnding::Success => Some(now + random.below(length)),
            CallEnding::Error => None,
            CallEnding::Crash => random.chance(50).then(|| now + random.below(length)),
            CallEnding::Deadline => random.chance(70).then(|| now + random.below(length * 3)),
        };
        let ends_at = now + length;
        let call = Call { task, caller, effect_at, ends_at, ending, effect: false, proven: false, over: false };
        self.calls.push(call);
        self.calls.len() - 1
    }

    /// Applies effects that are due.
    pub(crate) fn pass(&mut self, now: u64) {
        for call in &mut self.calls {
            if !call.over && !call.effect && call.effect_at.is_some_and(|at| at <= now) {
                call.effect = true;
                let count = self.effects.entry(call.task.operation).or_default();
                *count += 1;
                assert_eq!(*count, 1, "{:?} took effect twice", call.task);
            }
        }
    }

    /// Handles a stop of the provider: a call without an effect so far ends, and the outcome of the call is unknown.
    pub(crate) fn interrupt(&mut self, call: usize, now: u64) {
        self.pass(now);
        let call = &mut self.calls[call];
        call.ends_at = call.ends_at.min(now);
        if !call.effect && call.ending == CallEnding::Success {
            call.ending = CallEnding::Deadline;
        }
    }

    /// Handles the death of a process: all its calls end.
    pub(crate) fn caller_died(&mut self, caller: &WorkerId, now: u64) {
        self.pass(now);
        for call in self.calls.iter_mut().filter(|call| call.caller == *caller) {
            call.over = true;
        }
    }

    pub(crate) fn has(&self, operation: u32) -> bool {
        self.effects.contains_key(&operation)
    }
}
