//! Checks that the store keeps its promises.

use std::collections::BTreeSet;

use weft_protocol::Task;
use weft_state::{DoubtOutcome, StoreAnswer, StoreStep, WorkerId};

/// Operations and attempts with a durable record.
#[derive(Debug, Default)]
pub(crate) struct DurableRecords {
    pub(crate) done: BTreeSet<u32>,
    pub(crate) strays: BTreeSet<u32>,
    /// Attempts with a durable intent, and their workers.
    pub(crate) intents: BTreeSet<(Task, WorkerId)>,
}

impl DurableRecords {
    /// Records a durable step.
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
            StoreStep::Resolve(resolution) if matches!(resolution.outcome, DoubtOutcome::Done(_)) => {
                self.done.insert(resolution.op.0);
            }
            StoreStep::Stray(stray) => {
                self.strays.insert(stray.op.0);
            }
            _ => {}
        }
    }
}
