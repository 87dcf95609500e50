//! The driver of one term of one run. It connects the state machine with the store, the workers and the watchers.
//!
//! Only one batch of steps is being written to the store at a time. Steps that arrive in the meantime form the next
//! batch, so that many operations share one wait for durability. Nothing waits for a single operation.

mod end;
mod in_process;
mod outbound;
mod pace;
mod release;

pub use in_process::{InProcess, Notices, run_in_process};

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{broadcast, mpsc};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};
use tracing::{error, warn};
use weft_state::{
    Holder, Lease, LeaseView, OpCounts, RenewAnswer, RunId, RunStatus, RunStore, StoreError, StoreStep, TokenGrant,
};

use crate::core::{Coordinator, RunOptions};
use crate::doubts::KnownDoubts;
use crate::event::{Cancel, Defect, Event, Finish, FinishReason, Instruction};
use crate::figures::Counted;
use crate::hub::Hub;
use crate::lease::Freshness;
use crate::operation_event::{OperationEvent, OperationEventKind};
use crate::orders::Orders;
use crate::outline::OutlineError;
use crate::packages::Packages;
use crate::patience::Patience;
use crate::plan::RunPlan;
use crate::process::is_dead;
use crate::term::{self, RunError, Term};
use crate::timing::{
    FRAME_ORDERS, LEASE_PAUSE, LEAVE_DEADLINE, RENEW_INTERVAL, TICK, WATCH_EVENTS, WATCH_LINES, WORKER_HEARTBEAT,
};
use outbound::{Outbound, SentBatch};
use weft_protocol::clock::Moment;
use weft_protocol::{CoordinatorFrame, OutputLine, RunOrders};

/// The capacity of the queue of event batches. When the queue is full, workers wait.
pub(crate) const EVENT_BATCHES: usize = 1024;

/// A notice for watchers.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEvent {
    /// An event of an operation.
    Progress(OperationEvent),
    /// A line that a provisioner wrote.
    Line(OutputLine),
    /// The number of operations by status.
    Counts(OpCounts),
    /// The store does not respond. The driver retries.
    StoreTrouble(String),
    /// The store answers again.
    StoreBack,
    /// The store has failed permanently. Contains the number of calls whose results are still awaited.
    StoreFailed(usize),
    /// The term ended.
    Ended(Box<RunOutcome>),
}

/// The end of a term.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutcome {
    /// The run.
    pub run: RunId,
    /// The reason.
    pub reason: FinishReason,
    /// The run's status in the store now, if the store returned it.
    pub status: Option<RunStatus>,
    /// The number of operations by status.
    pub counts: OpCounts,
    /// Addresses in doubt, with the deposed key if there is one, in the plan's order.
    pub in_doubt: Vec<String>,
    /// Addresses of unfinished operations, in the plan's order.
    pub unfinished: Vec<String>,
    /// Addresses where an object of a superseded attempt was found and recorded as a stray.
    pub strays: Vec<String>,
    /// The error of the store, if it ended the run.
    pub store_error: Option<StoreError>,
    /// The steps that were not acknowledged when the store failed, in order. The store may have recorded some of them.
    pub unrecorded: Vec<StoreStep>,
    /// The defect that ended the term.
    pub defect: Option<Defect>,
}

impl RunOutcome {
    /// The exit code of `apply` and `resume`: 3 if operations are in doubt. Otherwise 0 if everything is done and no
    /// stray was recorded, and 1 in all other cases.
    pub fn exit_code(&self) -> u8 {
        match self.reason {
            _ if !self.in_doubt.is_empty() => 3,
            _ if self.store_error.is_some() => 1,
            FinishReason::Complete if self.counts.failed == 0 && self.counts.skipped == 0 && self.strays.is_empty() => {
                0
            }
            _ => 1,
        }
    }
}

type Flight<T> = Option<Pin<Box<dyn Future<Output = T> + Send>>>;

async fn land<T>(flight: &mut Flight<T>) -> T {
    match flight {
        Some(future) => future.as_mut().await,
        None => pending().await,
    }
}

/// The environment of a term.
struct Surroundings {
    store: Arc<dyn RunStore>,
    run: RunId,
    plan: RunPlan,
    hub: Hub,
    watchers: broadcast::Sender<RunEvent>,
    events: mpsc::Sender<Vec<Event>>,
    /// Whether results are collected after the store has failed. This is necessary for workers in this process, whose
    /// results would be lost with the process.
    collects: bool,
}

/// A term in progress.
pub(crate) struct Driver {
    store: Arc<dyn RunStore>,
    run: RunId,
    lease: Lease,
    core: Coordinator,
    packages: Packages,
    hub: Hub,
    watchers: broadcast::Sender<RunEvent>,
    events: mpsc::Sender<Vec<Event>>,
    begun: Instant,
    outbound: Outbound,
    orders: Orders,
    finish: Option<Finish>,
    lease_age: LeaseAge,
    strays: Vec<String>,
    told: Told,
}

/// The information that watchers and meters have received.
#[derive(Debug, Default)]
struct Told {
    /// The last counts that watchers received.
    counts: OpCounts,
    /// The counts since the meters were last updated.
    counted: Counted,
    /// What is known about operations in doubt.
    doubts: Arc<KnownDoubts>,
}

/// The age of the lease, on a clock that continues while the machine is suspended. So if a term was suspended for
/// longer than its lease, the term grants no call.
struct LeaseAge {
    clock: Moment,
    freshness: Freshness,
}

impl LeaseAge {
    /// The age of a lease that was just acquired.
    fn new() -> LeaseAge {
        LeaseAge { clock: Moment::now(), freshness: Freshness::new(LEASE_PAUSE, Duration::ZERO) }
    }
}

impl Driver {
    /// Begins a term.
    fn new(surroundings: Surroundings, mut options: RunOptions, term: Term) -> Result<Driver, OutlineError> {
        // Terms have random numbers, so the term serves as the seed.
        options.spread = term.lease.token.term as u64;
        let Surroundings { store, run, plan, hub, watchers, events, collects } = surroundings;
        let (core, instructions) = Coordinator::begin(0, Arc::clone(&plan.outline), options, term.beginning)?;
        let mut driver = Driver {
            store,
            run,
            lease: term.lease,
            core,
            packages: Packages::new(plan),
            hub,
            watchers,
            events,
            begun: Instant::now(),
            outbound: Outbound::new(collects),
            orders: Orders::default(),
            finish: None,
            lease_age: LeaseAge::new(),
            strays: Vec::new(),
            told: Told::default(),
        };
        driver.take(instructions);
        Ok(driver)
    }

    /// Runs until the term ends.
    pub(crate) async fn run(mut self, mut inbox: mpsc::Receiver<Vec<Event>>) -> RunOutcome {
        let events = self.events.clone();
        let listening = self.hub.listen_for(&self.run, events).await;
        self.look_for_the_dead();
        let mut batch: Flight<SentBatch> = None;
        let mut sent_at = self.begun;
        let mut tokens: Flight<Result<Vec<TokenGrant>, StoreError>> = None;
        let mut renewal: Flight<(Duration, Result<RenewAnswer, StoreError>)> = None;
        let mut ticks = interval(TICK);
        let mut renewals = interval(RENEW_INTERVAL);
        let mut looks = interval(WORKER_HEARTBEAT);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        renewals.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut received: Vec<Vec<Event>> = Vec::new();
        let mut leave_at: Option<Instant> = None;
        loop {
            self.send_orders();
            if batch.is_none()
                && let Some(steps) = self.outbound.next_batch()
            {
                let store = Arc::clone(&self.store);
                sent_at = Instant::now();
                batch = Some(Box::pin(patient_batch(store, self.lease.clone(), steps, self.watchers.clone())));
            }
            if tokens.is_none() {
                tokens = self.tokens_flight();
            }
            let due = self.core.wakes_at().map(|at| self.begun + Duration::from_millis(at));
            if batch.is_none() && (self.finish.is_some() || self.outbound.has_failed()) {
                break;
            }
            if leave_at.is_none() && self.finish.is_some() {
                leave_at = Some(Instant::now() + LEAVE_DEADLINE);
            }
            tokio::select! {
                sent = land(&mut batch) => {
                    batch = None;
                    self.told.counted.store.add(sent_at.elapsed());
                    self.answered(sent);
                }
                count = inbox.recv_many(&mut received, EVENT_BATCHES) => {
                    if count == 0 {
                        break;
                    }
                    for event in received.drain(..).flatten() {
                        match event {
                            Event::Line(line) => self.tell_line(line),
                            event => self.step(event),
                        }
                    }
                }
                answer = land(&mut renewal) => {
                    renewal = None;
                    self.renewal_answered(answer);
                }
                _ = renewals.tick(), if renewal.is_none() => {
                    let (store, lease, sent) = (Arc::clone(&self.store), self.lease.clone(), self.lease_age.clock.elapsed());
                    renewal = Some(Box::pin(async move { (sent, store.renew(&lease).await) }));
                }
                answer = land(&mut tokens) => {
                    tokens = None;
                    self.tokens_came(answer);
                }
                _ = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => self.step(Event::Due),
                _ = looks.tick() => self.look_for_the_dead(),
                _ = ticks.tick() => {
                    self.watch_lease();
                    self.step(Event::Tick);
                    self.hub.note_loads(&self.run, self.core.loads());
                    self.hub.meters().note_run(&self.run, self.core.figures());
                    self.meter();
                    self.tell_counts();
                }
                _ = sleep_until(leave_at.unwrap_or_else(Instant::now)), if leave_at.is_some() => break,
            }
        }
        drop(listening);
        self.end().await
    }

    /// Handles the answer of the store to a batch. After a permanent failure, the term ends. A term that collects
    /// results starts no more operations, and ends after the running calls.
    fn answered(&mut self, sent: SentBatch) {
        let SentBatch { steps, answers } = sent;
        match answers {
            Ok(answers) => {
                self.outbound.taken(&steps, &answers);
                self.step(Event::Stored(answers));
            }
            // Another process has taken over the run. A store that compares tokens does not return this error. Its
            // answer to a step says that the lease is fenced, which ends the term in the same way.
            Err(StoreError::Superseded(_)) => {
                self.outbound.clear();
                self.step(Event::Fenced);
            }
            Err(error) => self.store_failed(steps, error),
        }
    }

    /// Handles a permanent failure of the store. `steps` are the steps that it did not accept.
    fn store_failed(&mut self, steps: Arc<Vec<StoreStep>>, error: StoreError) {
        error!(run = %self.run, "the store failed: {error}");
        let (first, calls) = (self.outbound.works(), self.outbound.failed(steps, error));
        if first && calls > 0 {
            let _ = self.watchers.send(RunEvent::StoreFailed(calls));
            self.step(Event::Cancel(Cancel::Drain));
        }
    }

    /// Sends a line to the watchers. If a watcher is so slow that lines would displace the events of operations, the
    /// line is dropped.
    fn tell_line(&self, line: OutputLine) {
        if self.watchers.len() < WATCH_LINES {
            // Without watchers, the send fails, which is fine.
            let _ = self.watchers.send(RunEvent::Line(line));
        }
    }

    fn step(&mut self, event: Event) {
        self.orders.hear(&event);
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let instructions = self.core.step(now, event);
        self.take(instructions);
    }

    /// Checks whether disconnected workers with open intents or doubts are dead processes of this machine.
    fn look_for_the_dead(&mut self) {
        for holder in self.core.absent_holders() {
            if is_dead(&holder) {
                self.step(Event::Dead(holder));
            }
        }
    }

    fn take(&mut self, instructions: Vec<Instruction>) {
        for instruction in instructions {
            match instruction {
                Instruction::Store(steps) => self.outbound.push(steps),
                Instruction::TakeTokens(requests) => self.outbound.want_tokens(requests),
                Instruction::Send { worker, orders } => self.orders.add(&worker, orders),
                Instruction::Progress(progress) => {
                    if progress.what == OperationEventKind::Stray {
                        self.strays.push(progress.address.clone());
                    }
                    self.told.doubts.note(&progress);
                    // Without watchers, the send fails, which is fine.
                    let _ = self.watchers.send(RunEvent::Progress(progress));
                }
                Instruction::Finish(finish) => {
                    if finish.reason == FinishReason::Fenced {
                        // The queued steps belong to a term that has ended.
                        self.outbound.clear();
                    }
                    self.finish = Some(finish);
                }
            }
        }
    }

    /// Sends queued orders to each worker in as few frames as possible.
    fn send_orders(&mut self) {
        for (worker, connection, orders) in self.orders.take() {
            let mut orders = orders.into_iter().map(|order| self.packages.complete(order)).peekable();
            while orders.peek().is_some() {
                let orders = RunOrders {
                    run: self.run.clone(),
                    epoch: self.lease.token.epoch,
                    orders: orders.by_ref().take(FRAME_ORDERS).collect(),
                };
                let frame = CoordinatorFrame { orders: vec![orders], ..CoordinatorFrame::default() };
                self.hub.send(&worker, connection, frame);
            }
        }
    }

    fn renewal_answered(&mut self, (sent, answer): (Duration, Result<RenewAnswer, StoreError>)) {
        match answer {
            Ok(RenewAnswer::Renewed { .. }) => {
                self.told.counted.renewals += 1;
                self.lease_age.freshness.renewed(sent);
                self.watch_lease();
            }
            Ok(RenewAnswer::Fenced(_)) => self.step(Event::Fenced),
            Err(error) => {
                self.told.counted.failed_renewals += 1;
                warn!(run = %self.run, "the lease could not be renewed: {error}");
                // The store was emptied, and no step of this run will succeed again. The next step may come much later.
                if matches!(error, StoreError::Emptied { .. }) && self.outbound.works() {
                    self.store_failed(Arc::default(), error);
                }
            }
        }
    }

    fn watch_lease(&mut self) {
        if let Some(paused) = self.lease_age.freshness.turned(self.lease_age.clock.elapsed()) {
            self.step(Event::Paused(paused));
        }
    }

    fn tell_counts(&mut self) {
        let counts = self.core.counts();
        if counts != self.told.counts {
            self.told.counts = counts;
            let _ = self.watchers.send(RunEvent::Counts(counts));
        }
    }
}

/// Sends a batch, and sends it again after a temporary error, as long as [`Patience`] allows. After such an error, it
/// is unknown whether the steps took effect, so the store may receive the same steps twice. Returns the last error.
async fn patient_batch(
    store: Arc<dyn RunStore>,
    lease: Lease,
    steps: Arc<Vec<StoreStep>>,
    watchers: broadcast::Sender<RunEvent>,
) -> SentBatch {
    let mut patience = Patience::default();
    loop {
        match store.step_batch(&lease, steps.to_vec()).await {
            Ok(answers) => {
                if patience.tried {
                    let _ = watchers.send(RunEvent::StoreBack);
                }
                return SentBatch { steps, answers: Ok(answers) };
            }
            Err(error) => {
                let first = !patience.tried;
                let Some(wait) = patience.wait_after(&error) else { return SentBatch { steps, answers: Err(error) } };
                if first {
                    let _ = watchers.send(RunEvent::StoreTrouble(error.to_string()));
                }
                sleep(wait).await;
            }
        }
    }
}

/// Begins a term of a run on an existing hub.
pub(crate) async fn begin_term(
    store: &Arc<dyn RunStore>,
    run: &RunId,
    plan: RunPlan,
    options: RunOptions,
    by: TakenBy<'_>,
    hub: Hub,
) -> Result<BegunTerm, RunError> {
    let begun = term::begin(store, run, &plan.outline, by.holder, by.unmoved).await?;
    let (watchers, _) = broadcast::channel(WATCH_EVENTS);
    let (events, inbox) = mpsc::channel(EVENT_BATCHES);
    let (store, run) = (Arc::clone(store), run.clone());
    let (told, sent) = (watchers.clone(), events.clone());
    let surroundings = Surroundings { store, run, plan, hub, watchers: told, events: sent, collects: false };
    let driver = Driver::new(surroundings, options, begun)?;
    let doubts = Arc::clone(&driver.told.doubts);
    Ok(BegunTerm { driver, inbox, events, watchers, doubts })
}

/// The process that acquires a lease, and the earlier lease that it may replace.
pub(crate) struct TakenBy<'service> {
    pub(crate) holder: &'service Holder,
    /// The earlier lease, if it was not renewed for a TTL.
    pub(crate) unmoved: Option<LeaseView>,
}

/// A term that is ready to begin.
pub(crate) struct BegunTerm {
    pub(crate) driver: Driver,
    pub(crate) inbox: mpsc::Receiver<Vec<Event>>,
    pub(crate) events: mpsc::Sender<Vec<Event>>,
    pub(crate) watchers: broadcast::Sender<RunEvent>,
    pub(crate) doubts: Arc<KnownDoubts>,
}
