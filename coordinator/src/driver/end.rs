//! The end of a term.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tracing::{error, info};
use weft_state::{OpIndex, RunId, RunStore, StoreError, StoreStep};

use super::release::{Released, deadline, release};
use super::{Driver, RunEvent, RunOutcome};
use crate::event::{Finish, FinishReason};
use crate::problems::unanswered;
use crate::status::Status;
use crate::timing::{END_DEADLINE, LEAVE_DEADLINE};

impl Driver {
    /// The end of a term that the state machine did not end.
    fn unfinished(&self) -> Finish {
        let rests = |index: u32| self.core.status(index).is_some_and(Status::is_settled);
        let operations = &self.core.outline().operations;
        Finish {
            release: None,
            reason: FinishReason::StoreRefused,
            counts: self.core.counts(),
            in_doubt: Vec::new(),
            unfinished: operations.iter().map(|it| it.index).filter(|index| !rests(*index)).collect(),
            defect: None,
        }
    }

    /// Releases the lease, and reports the outcome.
    pub(super) async fn end(mut self) -> RunOutcome {
        self.meter();
        self.outbound.give_up(|| unanswered(self.store.as_ref()));
        let (store_error, mut unrecorded) = self.outbound.take_rest();
        let outline = Arc::clone(self.core.outline());
        let finish = self.finish.take().unwrap_or_else(|| self.unfinished());
        self.send_orders();
        let limit = deadline(finish.reason);
        let released = match finish.release {
            Some(ending) if store_error.is_none() => release(self.store.as_ref(), &self.lease, ending, limit).await,
            _ => Ok(Released::Unknown),
        };
        let (reason, status, store_error) = match released {
            // The term had already ended when another process took over the run.
            Ok(Released::Fenced) | Err(StoreError::Superseded(_)) => (FinishReason::Fenced, None, None),
            Ok(Released::With(status)) => (finish.reason, Some(status), store_error),
            Ok(Released::Unknown) => (finish.reason, None, store_error),
            Err(error) => (finish.reason, None, Some(error)),
        };
        // Adding results to a state with a copy takes many requests. Only a user who has left does not wait for them.
        let patience = if finish.reason == FinishReason::Left { LEAVE_DEADLINE } else { END_DEADLINE };
        let (store_error, kept) =
            salvaged(self.store.as_ref(), &self.run, store_error, &mut unrecorded, patience).await;
        if let Some(defect) = &finish.defect {
            error!(run = %self.run, "a defect of Weft ended the term: {defect}");
        }
        info!(run = %self.run, ?reason, "term ended");
        let name = |index: &u32| -> Option<String> {
            let operation = outline.operation(*index)?;
            Some(match &operation.deposed {
                None => operation.address.clone(),
                Some(key) => format!("{} (deposed object {key})", operation.address),
            })
        };
        self.strays.sort();
        self.strays.dedup();
        let outcome = RunOutcome {
            run: self.run,
            reason,
            status,
            counts: finish.counts,
            in_doubt: finish.in_doubt.iter().filter_map(name).collect(),
            unfinished: finish
                .unfinished
                .iter()
                .filter(|index| !kept.contains(&OpIndex(**index)))
                .filter_map(name)
                .collect(),
            strays: self.strays,
            store_error,
            unrecorded,
            defect: finish.defect,
        };
        let _ = self.watchers.send(RunEvent::Counts(outcome.counts));
        let _ = self.watchers.send(RunEvent::Ended(Box::new(outcome.clone())));
        outcome
    }
}

/// Ends the term in the store. If the store has lost the run, saves the results that only this process has. The
/// returned error then says where they are. In all other cases, it is `error`. If all results in `unrecorded` are now
/// in the state, returns their operations, too, and empties `unrecorded`.
async fn salvaged(
    store: &dyn RunStore,
    run: &RunId,
    error: Option<StoreError>,
    unrecorded: &mut Vec<StoreStep>,
    deadline: Duration,
) -> (Option<StoreError>, BTreeSet<OpIndex>) {
    // After the deadline, the results are in the write-ahead file, and the next process adds them to the state.
    let Ok(Some(salvaged)) = timeout(deadline, store.salvage(run, unrecorded)).await else {
        return (error, BTreeSet::new());
    };
    let mut kept = BTreeSet::new();
    if salvaged.complete {
        let committed = |step: StoreStep| match step {
            StoreStep::Commit(commit) => Some(commit.op),
            _ => None,
        };
        kept.extend(unrecorded.drain(..).filter_map(committed));
    }
    (Some(salvaged.error), kept)
}
