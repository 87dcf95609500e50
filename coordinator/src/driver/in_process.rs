//! A run with workers in this process.

use std::sync::Arc;

use tokio::sync::{broadcast, mpsc};
use tokio::time::timeout;
use weft_state::{Holder, RunId, RunStore};

use super::{Driver, EVENT_BATCHES, RunEvent, RunOutcome, Surroundings};
use crate::core::RunOptions;
use crate::event::{Cancel, Event};
use crate::hub::Hub;
use crate::plan::RunPlan;
use crate::term::{self, RunError};
use crate::timing::{LEAVE_DEADLINE, WATCH_EVENTS};
use crate::transport::CoordinatorEnd;

/// The input of a run in this process.
#[derive(Debug)]
pub struct InProcess {
    /// The store, which already has the run (see [`crate::term::create`]).
    pub store: Arc<dyn RunStore>,
    /// The run.
    pub run: RunId,
    /// Its plan.
    pub plan: RunPlan,
    /// Options, usually [`RunOptions::in_process`].
    pub options: RunOptions,
    /// This process, for others who want the lease.
    pub holder: Holder,
    /// The coordinator's ends of the workers' connections.
    pub workers: Vec<CoordinatorEnd>,
    /// Receives notices. When it is full, progress is dropped and the run continues.
    pub notices: mpsc::Sender<RunEvent>,
    /// The user's signals.
    pub cancel: mpsc::Receiver<Cancel>,
}

/// Carries out or resumes a run with workers in this process, until the term ends.
///
/// # Errors
/// When the run cannot begin: the lease is held, claims are refused, or the store does not answer.
pub async fn run_in_process(request: InProcess) -> Result<RunOutcome, RunError> {
    let InProcess { store, run, plan, options, holder, workers, notices, cancel } = request;
    let hub = Hub::new();
    // The workers wait for a welcome, and taking over the lease of a dead process takes a while.
    for end in workers {
        let hub = hub.clone();
        tokio::spawn(async move { hub.attach(end).await });
    }
    let begun = term::begin(&store, &run, &plan.outline, &holder, None).await.inspect_err(|_| hub.hang_up())?;
    let (watchers, mut watch) = broadcast::channel(WATCH_EVENTS);
    let (events, inbox) = mpsc::channel(EVENT_BATCHES);
    let forward = tokio::spawn(async move {
        loop {
            match watch.recv().await {
                Ok(notice) => {
                    if notices.send(notice).await.is_err() {
                        return;
                    }
                }
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return,
            }
        }
    });
    let signals = tokio::spawn(forward_signals(cancel, events.clone()));
    let surroundings = Surroundings { store, run, plan, hub: hub.clone(), watchers, events, collects: true };
    let driver = Driver::new(surroundings, options, begun)?;
    let outcome = driver.run(inbox).await;
    signals.abort();
    hub.hang_up();
    // Watchers had time to read. The outcome does not wait for them.
    let _ = timeout(LEAVE_DEADLINE, forward).await;
    Ok(outcome)
}

async fn forward_signals(mut cancel: mpsc::Receiver<Cancel>, events: mpsc::Sender<Vec<Event>>) {
    while let Some(signal) = cancel.recv().await {
        if events.send(vec![Event::Cancel(signal)]).await.is_err() {
            return;
        }
    }
}
