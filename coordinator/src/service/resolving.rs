//! Operations in doubt: decisions of the user, and the search for evidence.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast;
use tokio::time::timeout;
use weft_graph_format::address::NamedObject;
use weft_state::{Choice, IdOwners, OpIndex, OpStatus, RunId};

use super::Service;
use crate::core::RunOptions;
use crate::doubts::KnownDoubt;
use crate::driver::{RunEvent, RunOutcome};
use crate::event::{Cancel, Decision, Event, UserResolution};
use crate::listing::doubtful;
use crate::plan::RunPlan;
use crate::problems;
use crate::term::RunError;

/// How long `resolve` waits for the outcome. Adopting an object requires a read by a provider.
const RESOLVE_WAIT: Duration = Duration::from_secs(60);
/// How long `look_up` waits. Each object in doubt is read or looked up, and many of these calls run concurrently.
const LOOK_UP_WAIT: Duration = Duration::from_secs(180);

/// The outcome of a user's resolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolveAnswer {
    /// The new status of the operation.
    pub status: OpStatus,
    /// The reason why the operation is still in doubt; empty otherwise.
    pub reason: String,
}

impl Service {
    /// Carries out the user's decision on an operation in doubt, in the running term or in a separate term.
    ///
    /// # Errors
    /// Returns an error if the run does not exist, if not exactly one operation on the object is in doubt, if the
    /// decision does not fit the operation, or if the store does not respond.
    pub async fn resolve(
        self: &Arc<Self>,
        run: &RunId,
        object: &NamedObject,
        decision: Decision,
    ) -> Result<ResolveAnswer, RunError> {
        let view = self.store.run(run).await?.ok_or_else(|| RunError::NoRun(run.clone()))?;
        let plan = self.plan(run).await?;
        let operations = doubtful(&view, &plan.outline, object);
        let operation = match operations.as_slice() {
            [operation] => *operation,
            [] => return Err(RunError::NotInDoubt { run: run.clone(), address: object.to_string() }),
            _ => return Err(RunError::Ambiguous(object.to_string())),
        };
        self.check_decision(&plan, operation, &decision).await?;
        let resolution = UserResolution { operation, decision };
        let mut started = None;
        if !self.active.lock().contains_key(run) {
            let options =
                RunOptions { resolutions: vec![resolution.clone()], only_resolve: true, ..RunOptions::default() };
            started = self.start(run, plan, options, None).await?;
        }
        let active = self.active.lock().get(run).cloned();
        if let Some(active) = &active {
            let watch = active.watchers.subscribe();
            let _ = active.events.send(vec![Event::Resolve(resolution)]).await;
            let outcome = async {
                settled(watch, operation).await;
                // Wait for the end of the term: a later resume must not find a term that only resolves.
                if let Some(started) = started {
                    ended(started.notices).await;
                }
            };
            let _ = timeout(RESOLVE_WAIT, outcome).await;
        }
        let view = self.store.run(run).await?.ok_or_else(|| RunError::NoRun(run.clone()))?;
        let status = view.ops.get(&OpIndex(operation)).map(|record| record.status).unwrap_or_default();
        let known = active.and_then(|active| active.doubts.get(operation));
        let reason = match (status, known) {
            (OpStatus::InDoubt, Some(known)) => known.reason,
            (OpStatus::InDoubt, None) => problems::no_evidence(),
            _ => String::new(),
        };
        Ok(ResolveAnswer { status, reason })
    }

    /// Looks for evidence about those operations of a run that are in doubt, unless a term is running: such a term has
    /// already looked for evidence. The search needs a connected worker. It is a separate term that does nothing else.
    /// Returns what is known about the remaining doubts, by the numbers of their operations.
    ///
    /// # Errors
    /// Returns an error if the run does not exist, or the store does not respond.
    pub async fn look_up(self: &Arc<Self>, run: &RunId) -> Result<BTreeMap<u32, KnownDoubt>, RunError> {
        let plan = self.plan(run).await?;
        let outline = Arc::clone(&plan.outline);
        let mut noted = self.active.lock().get(run).map(|active| Arc::clone(&active.doubts));
        let is_doubtful = self.header(run).await?.counts.in_doubt > 0;
        if noted.is_none() && is_doubtful && !self.hub.labels().is_empty() {
            let options = RunOptions { only_resolve: true, look_up: true, ..RunOptions::default() };
            if let Some(started) = self.start(run, plan, options, None).await? {
                noted = Some(started.doubts);
                if timeout(LOOK_UP_WAIT, ended(started.notices)).await.is_err() {
                    // No worker is suitable, or a provider does not respond.
                    self.cancel(run, Cancel::Drain).await;
                }
            }
        }
        // The store has exactly the remaining doubts, but with the reasons from before the search.
        let snapshot = self.store.snapshot().await?;
        let owners = IdOwners::of(&snapshot);
        let left = snapshot.doubts.values().filter(|doubt| doubt.run == *run);
        let known = left.map(|doubt| {
            let operation = doubt.op.0;
            let found = noted.as_ref().and_then(|noted| noted.get(operation));
            let known = match (found, outline.operation(operation)) {
                (Some(found), Some(listed)) => found.without_owned(listed.instance(), &owners),
                _ => KnownDoubt { reason: doubt.reason.clone(), candidate: None },
            };
            (operation, known)
        });
        Ok(known.collect())
    }

    /// Refuses a decision that does not fit the operation, and an id that belongs to another address.
    async fn check_decision(&self, plan: &RunPlan, operation: u32, decision: &Decision) -> Result<(), RunError> {
        let Some(position) = plan.outline.position(operation) else { return Ok(()) };
        let operation = plan.outline.at(position);
        if !Choice::fitting(Some(operation.kind)).contains(&decision.choice()) {
            return Err(RunError::DecisionDoesNotFit {
                address: operation.address.clone(),
                action: operation.kind,
                decision: decision.name(),
            });
        }
        // Only operations on resource instances are found by the name of an object.
        let (Decision::Adopt(id), Some(instance)) = (decision, operation.instance()) else { return Ok(()) };
        match IdOwners::of(&self.store.snapshot().await?).other(instance, id) {
            Some(owner) => Err(RunError::IdTaken { id: id.clone(), address: operation.address.clone(), owner }),
            None => Ok(()),
        }
    }
}

/// Waits for the outcome of a resolution.
async fn settled(mut watch: broadcast::Receiver<RunEvent>, operation: u32) -> Option<RunOutcome> {
    use crate::operation_event::OperationEventKind as K;
    loop {
        match watch.recv().await {
            Ok(RunEvent::Progress(progress)) if progress.operation == operation => {
                if matches!(progress.what, K::Done { .. } | K::Failed | K::InDoubt { .. } | K::Returned | K::Started) {
                    return None;
                }
            }
            Ok(RunEvent::Ended(outcome)) => return Some(*outcome),
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return None,
        }
    }
}

/// Waits for the end of a term.
async fn ended(mut watch: broadcast::Receiver<RunEvent>) {
    loop {
        match watch.recv().await {
            Ok(RunEvent::Ended(_)) | Err(broadcast::error::RecvError::Closed) => return,
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
        }
    }
}
