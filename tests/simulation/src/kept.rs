//! What the store has promised to keep.

use std::collections::BTreeSet;

use weft_protocol::Task;
use weft_state::{Outcome, StoreAnswer, StoreStep, WorkerId};

/// Operations and attempts of which the store has something durable.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) done: BTreeSet<u32>,
    pub(crate) strays: BTreeSet<u32>,
    /// Attempts whose intent became durable, with their workers.
    pub(crate) intents: BTreeSet<(Task, WorkerId)>,
}

impl Kept {
    /// A step is durable.
    pub(crate) fn note(&mut self, step: &StoreStep, answer: &StoreAnswer) {
        if !answer.is_ok() {
            return;
        }
        match step {
            StoreStep::Intent(intent) => {
                let task = Task { operation: intent.op.0, attempt: intent.attempt };
                self.intents.insert((task, intent.worker.clone()));
            }
            StoreStep::Commit(commit) => {
                self.done.insert(commit.op.0);
            }
            StoreStep::Resolve(resolution) if matches!(resolution.outcome, Outcome::Done(_)) => {
                self.done.insert(resolution.op.0);
            }
            StoreStep::Stray(stray) => {
                self.strays.insert(stray.op.0);
            }
            _ => {}
        }
    }
}
