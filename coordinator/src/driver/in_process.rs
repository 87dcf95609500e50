//! A run with workers in this process.

use std::sync::Arc;

use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{broadcast, mpsc};
use weft_state::{Holder, RunId, RunStore};

use super::{Driver, EVENT_BATCHES, RunEvent, RunOutcome, Surroundings};
use crate::core::RunOptions;
use crate::event::{Cancel, Event};
use crate::hub::Hub;
use crate::plan::RunPlan;
use crate::term::{self, RunError};
use crate::timing::WATCH_EVENTS;
use crate::transport::CoordinatorEnd;

/// The input of a run in this process.
#[derive(Debug)]
pub struct InProcess {
    /// The store, which already has the run (see [`crate::term::create`]).
    pub store: Arc<dyn RunStore>,
    /// The run.
    pub run: RunId,
    /// The plan of the run.
    pub plan: RunPlan,
    /// Options, usually [`RunOptions::in_process`].
    pub options: RunOptions,
    /// This process, as other processes see it when they want to acquire the lease.
    pub holder: Holder,
    /// The coordinator's ends of the workers' connections.
    pub workers: Vec<CoordinatorEnd>,
    /// Receives notices. When the queue is full, the oldest notices are dropped and the run continues.
    pub notices: broadcast::Sender<RunEvent>,
    /// The user's signals.
    pub cancel: mpsc::Receiver<Cancel>,
}

/// The notices of a run, in order.
#[derive(Debug)]
pub struct Notices(broadcast::Receiver<RunEvent>);

impl Notices {
    /// The two ends of a queue of notices.
    pub fn channel() -> (broadcast::Sender<RunEvent>, Notices) {
        let (sender, receiver) = broadcast::channel(WATCH_EVENTS);
        (sender, Notices(receiver))
    }

    /// The next notice, or `None` after the last notice. A reader that is too slow misses the oldest notices.
    pub async fn recv(&mut self) -> Option<RunEvent> {
        loop {
            match self.0.recv().await {
                Ok(notice) => return Some(notice),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// The next notice, if one is already queued.
    pub fn try_recv(&mut self) -> Option<RunEvent> {
        loop {
            match self.0.try_recv() {
                Ok(notice) => return Some(notice),
                Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => return None,
            }
        }
    }
}

/// Carries out or resumes a run with workers in this process, until the term ends.
///
/// # Errors
/// Returns an error if the run cannot begin: another process has the lease, the claims are refused, or the store does
/// not respond.
pub async fn run_in_process(request: InProcess) -> Result<RunOutcome, RunError> {
    let InProcess { store, run, plan, options, holder, workers, notices, cancel } = request;
    let hub = Hub::new();
    // Taking over the lease of a dead process takes time. In the meantime, the workers wait for a welcome.
    for end in workers {
        let hub = hub.clone();
        tokio::spawn(async move { hub.attach(end).await });
    }
    let begun = term::begin(&store, &run, &plan.outline, &holder, None).await.inspect_err(|_| hub.hang_up())?;
    let (events, inbox) = mpsc::channel(EVENT_BATCHES);
    let signals = tokio::spawn(forward_signals(cancel, events.clone()));
    let surroundings = Surroundings { store, run, plan, hub: hub.clone(), watchers: notices, events, collects: true };
    let driver = Driver::new(surroundings, options, begun)?;
    let outcome = driver.run(inbox).await;
    signals.abort();
    hub.hang_up();
    Ok(outcome)
}

async fn forward_signals(mut cancel: mpsc::Receiver<Cancel>, events: mpsc::Sender<Vec<Event>>) {
    while let Some(signal) = cancel.recv().await {
        if events.send(vec![Event::Cancel(signal)]).await.is_err() {
            return;
        }
    }
}
