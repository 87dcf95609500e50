//! Carries out orders: the runs, shards and running tasks of a worker. [`crate::held`] decides what happens to tasks.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::join_all;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::AbortHandle;
use weft_graph_format::digest::Digest;
use weft_graph_format::run::RunId;
use weft_protocol::diagnostics::encode_diagnostics;
use weft_protocol::{HeldTask, OpenShard, Order, Report, RunOrders, SettleOrder, Task, TaskResult, Verdict};

use crate::clock::Moment;
use crate::ephemeral::ObjectSlot;
use crate::held::{Dropped, Grant, HeldTasks, Open, Start};
use crate::outcome::Outcome;
use crate::problems::defect;
use crate::settle::settle;
use crate::shard::Shard;
use crate::subject::Problems;
use crate::task::{Host, Permission, RunContext, TaskContext, carry_out};

/// The maximum number of concurrent searches for evidence. Each may read from a provider, and none is urgent.
const MOST_SETTLING: usize = 64;

/// An event of a task or shard.
pub(crate) enum Event {
    /// A shard was opened, or cannot be opened.
    Opened { run: RunId, shard: u32, outcome: Result<Box<Shard>, Problems> },
    /// A task is ready for its call.
    Asked { run: RunId, task: Task, planned: Digest },
    /// A task ended.
    Finished { run: RunId, task: Task, outcome: Outcome },
    /// A panic ended a task.
    Broken { run: RunId, task: Task },
    /// A search for evidence ended.
    Settled { run: RunId, task: Task, verdict: Verdict },
}

struct RunState {
    context: Arc<RunContext>,
    /// The epoch of the newest term that gave orders.
    epoch: u64,
    shards: BTreeMap<u32, ShardState>,
}

enum ShardState {
    /// It is being opened. Orders that arrived meanwhile, in order.
    Opening(Vec<Waiting>),
    /// It cannot be opened here. Tasks that were on their way are forgotten.
    Refused,
    Open {
        shard: Arc<Shard>,
        closing: bool,
    },
}

/// An order that waits until its shard is open.
enum Waiting {
    Arrived(Vec<(u32, Arc<[u8]>)>),
    Begin(Task, bool),
    Settle(SettleOrder),
    Close,
}

struct Running {
    abort: AbortHandle,
    grant: Option<oneshot::Sender<()>>,
    number: u32,
    shard: Arc<Shard>,
}

/// All work of a worker.
pub(crate) struct Desk {
    host: Arc<Host>,
    events: mpsc::Sender<Event>,
    held: HeldTasks,
    runs: BTreeMap<RunId, RunState>,
    running: BTreeMap<(RunId, Task), Running>,
    /// Reports to send, in order.
    reports: std::collections::VecDeque<(RunId, Report)>,
    room: Arc<Semaphore>,
    settling: Arc<Semaphore>,
    began: Moment,
}

impl Desk {
    pub(crate) fn new(host: Arc<Host>, events: mpsc::Sender<Event>) -> Desk {
        let capacity = host.options.capacity.max(1) as usize;
        Desk {
            host,
            events,
            held: HeldTasks::default(),
            runs: BTreeMap::new(),
            running: BTreeMap::new(),
            reports: std::collections::VecDeque::new(),
            room: Arc::new(Semaphore::new(capacity)),
            settling: Arc::new(Semaphore::new(MOST_SETTLING)),
            began: Moment::now(),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// All held tasks, for a greeting.
    pub(crate) fn held(&self) -> Vec<HeldTask> {
        self.held.all()
    }

    /// A new connection: reports that may be lost are queued again. Evidence stays in the queue, since no coordinator
    /// acknowledges it.
    pub(crate) fn connected(&mut self) {
        self.reports.retain(|(_, report)| matches!(report, Report::Settled { .. }));
        self.reports.extend(self.held.unanswered());
    }

    /// The number of queued reports.
    pub(crate) fn reports(&self) -> usize {
        self.reports.len()
    }

    /// Takes the oldest reports.
    pub(crate) fn take_reports(&mut self, most: usize) -> impl Iterator<Item = (RunId, Report)> {
        let count = self.reports.len().min(most);
        self.reports.drain(..count)
    }

    /// Whether no report and no task is left that a coordinator must know of.
    pub(crate) fn is_idle(&self) -> bool {
        self.reports.is_empty() && self.held.nothing_open()
    }

    /// Whether nothing is running: only results without an acknowledgement are left.
    pub(crate) fn only_results(&self) -> bool {
        self.held.only_results()
    }

    /// The number of running calls, and of results without an acknowledgement.
    pub(crate) fn open(&self) -> Open {
        self.held.open()
    }

    fn say(&mut self, run: &RunId, report: Report) {
        self.reports.push_back((run.clone(), report));
    }

    /// Handles the orders of a coordinator.
    pub(crate) fn ordered(&mut self, of_run: RunOrders) {
        let RunOrders { run, epoch, orders } = of_run;
        if let Some(state) = self.runs.get_mut(&run)
            && epoch > state.epoch
        {
            state.epoch = epoch;
            state.context.set_stopping(false);
            self.held.new_term(&run);
        }
        for order in orders {
            self.order(&run, epoch, order);
        }
    }

    fn order(&mut self, run: &RunId, epoch: u64, order: Order) {
        match order {
            Order::Open(open) => self.open_shard(run, epoch, *open),
            Order::Close(shard) => self.at_shard(run, shard, Waiting::Close),
            Order::Foreign { shard, operation, value, .. } | Order::Restored { shard, operation, value } => {
                self.at_shard(run, shard, Waiting::Arrived(vec![(operation, value)]));
            }
            Order::Start { shard, task, read_first } => match self.held.start(run, shard, task) {
                Start::Begin => self.at_shard(run, shard, Waiting::Begin(task, read_first)),
                Start::Return => self.say(run, Report::Returned(task)),
                Start::Known => {
                    if let Some(result) = self.held.result(run, task) {
                        self.say(run, result);
                    }
                }
            },
            Order::Granted(task) => match self.held.granted(run, task, self.now(), self.host.intent_age_ms()) {
                Grant::Call => {
                    let running = self.running.get_mut(&(run.clone(), task));
                    if let Some(grant) = running.and_then(|running| running.grant.take()) {
                        // A task that ended meanwhile reports that itself.
                        let _ = grant.send(());
                    }
                }
                Grant::Answer(result) => {
                    self.abort(run, task);
                    self.say(run, Report::Result { task, result });
                }
                Grant::Ignore => {}
            },
            Order::IntentRefused(task) => {
                if self.held.refused(run, task) {
                    self.abort(run, task);
                }
            }
            Order::Drop(task) => match self.held.dropped(run, task) {
                Dropped::Forgotten => self.abort(run, task),
                Dropped::Answer(result) => {
                    self.abort(run, task);
                    self.say(run, Report::Result { task, result });
                }
                Dropped::Ignore => {}
            },
            Order::Acknowledged(task) => self.held.acknowledged(run, task),
            Order::Settle(settle) => self.at_shard(run, settle.shard, Waiting::Settle(settle)),
            Order::Drain => self.drain_run(run),
            Order::Stop => {
                self.drain_run(run);
                self.stop_providers(run);
            }
            Order::Leave => self.leave(run),
        }
    }

    fn open_shard(&mut self, run: &RunId, epoch: u64, open: OpenShard) {
        let number = open.shard;
        let state = self.runs.entry(run.clone()).or_insert_with(|| RunState {
            context: Arc::new(RunContext::new(run.clone())),
            epoch,
            shards: BTreeMap::new(),
        });
        if let Some(known @ (ShardState::Opening(_) | ShardState::Open { .. })) = state.shards.get_mut(&number) {
            if let ShardState::Open { shard, closing } = known {
                *closing = false;
                let shard = shard.clone();
                tokio::spawn(async move {
                    for slot in shard.providers() {
                        slot.retry().await;
                    }
                    for slot in shard.live.slots() {
                        slot.retry().await;
                    }
                });
            }
            self.at_shard(run, number, Waiting::Arrived(open.restored));
            return;
        }
        state.shards.insert(number, ShardState::Opening(Vec::new()));
        let (host, context, events) = (self.host.clone(), state.context.clone(), self.events.clone());
        tokio::spawn(async move {
            let run = context.id.clone();
            let opening = tokio::task::spawn_blocking(move || {
                Shard::open(&host, &context.id, &context.live, context.objects.clone(), open)
            });
            let outcome = opening.await.unwrap_or_else(|_| Err(vec![defect("The part of the plan cannot be opened.")]));
            let _ = events.send(Event::Opened { run, shard: number, outcome: outcome.map(Box::new) }).await;
        });
    }

    /// Handles an order for a shard, now or once the shard is open.
    fn at_shard(&mut self, run: &RunId, number: u32, what: Waiting) {
        let state = self.runs.get_mut(run).and_then(|state| {
            let context = state.context.clone();
            state.shards.get_mut(&number).map(|shard| (context, shard))
        });
        match state {
            None => self.no_shard(run, number, what),
            Some((_, ShardState::Opening(waiting))) => waiting.push(what),
            Some((_, ShardState::Refused)) => match what {
                Waiting::Begin(..) => drop(self.held.shard_refused(run, number)),
                Waiting::Settle(_) => self.no_shard(run, number, what),
                Waiting::Arrived(_) | Waiting::Close => {}
            },
            Some((context, ShardState::Open { shard, closing })) => {
                let shard = shard.clone();
                match what {
                    Waiting::Arrived(results) => {
                        for (operation, value) in results {
                            arrived(&shard, &context, operation, &value);
                        }
                    }
                    Waiting::Begin(task, read_first) => self.begin(context, number, shard, task, read_first),
                    Waiting::Settle(order) => self.settle(context, shard, order),
                    Waiting::Close => {
                        *closing = true;
                        self.close_unused(run, number, &shard);
                    }
                }
            }
        }
    }

    /// Handles an order for a shard that was never opened here.
    fn no_shard(&mut self, run: &RunId, number: u32, what: Waiting) {
        match what {
            Waiting::Begin(task, _) => {
                let problem = defect(&format!("Shard {number} is not open at this worker."));
                if let Some(report) = self.held.finished(run, task, TaskResult::failed(encode_diagnostics(&[problem])))
                {
                    self.say(run, report);
                }
            }
            Waiting::Settle(order) => {
                let verdict = Verdict::Unknown(format!("shard {number} is not open at this worker"));
                self.say(run, Report::Settled { task: order.task, verdict });
            }
            Waiting::Arrived(_) | Waiting::Close => {
                tracing::warn!(%run, shard = number, "an order for a shard that is not open");
            }
        }
    }

    fn begin(&mut self, run: Arc<RunContext>, number: u32, shard: Arc<Shard>, task: Task, read_first: bool) {
        let (grant, granted) = oneshot::channel();
        let key = (run.id.clone(), task);
        let events = self.events.clone();
        let context = TaskContext {
            host: self.host.clone(),
            run,
            shard: shard.clone(),
            task,
            read_first,
            permission: Permission { events: events.clone(), granted: Some(granted) },
        };
        let (room, id) = (self.room.clone(), key.0.clone());
        // Boxed, since a task is large and is moved several times on its way into the runtime.
        let working = tokio::spawn(Box::pin(async move {
            let Ok(_room) = room.acquire_owned().await else { return };
            let event = match AssertUnwindSafe(carry_out(context)).catch_unwind().await {
                Ok(outcome) => Event::Finished { run: id, task, outcome },
                Err(_) => Event::Broken { run: id, task },
            };
            let _ = events.send(event).await;
        }));
        self.running.insert(key, Running { abort: working.abort_handle(), grant: Some(grant), number, shard });
    }

    fn settle(&self, run: Arc<RunContext>, shard: Arc<Shard>, order: SettleOrder) {
        let (host, events, room) = (self.host.clone(), self.events.clone(), self.settling.clone());
        tokio::spawn(async move {
            let Ok(_room) = room.acquire_owned().await else { return };
            let (id, task) = (run.id.clone(), order.task);
            let permission = Permission { events: events.clone(), granted: None };
            let context = TaskContext { host, run, shard, task, read_first: false, permission };
            let verdict = match AssertUnwindSafe(settle(&context, &order)).catch_unwind().await {
                Ok(verdict) => verdict,
                Err(_) => Verdict::Unknown(String::from("the search for evidence was ended by a defect of the worker")),
            };
            let _ = events.send(Event::Settled { run: id, task, verdict }).await;
        });
    }

    fn abort(&mut self, run: &RunId, task: Task) {
        let Some(running) = self.running.remove(&(run.clone(), task)) else { return };
        running.abort.abort();
        self.close_unused(run, running.number, &running.shard);
    }

    /// Handles an event.
    pub(crate) fn happened(&mut self, event: Event) {
        match event {
            Event::Opened { run, shard, outcome } => self.opened(&run, shard, outcome),
            Event::Asked { run, task, planned } => {
                if self.held.asked(&run, task, planned, self.now()) {
                    self.say(&run, Report::Intent { task, planned });
                }
            }
            Event::Finished { run, task, outcome } => self.finished(&run, task, outcome),
            Event::Broken { run, task } => {
                let problem = defect("A panic in the worker ended the task. The log of the worker has more.");
                let outcome = match self.held.is_called(&run, task) {
                    true => Outcome::InDoubt {
                        reason: String::from("the worker met a defect of its own after the call was allowed"),
                        provider_dead: false,
                        diagnostics: vec![problem],
                    },
                    false => Outcome::failed(vec![problem]),
                };
                self.finished(&run, task, outcome);
            }
            Event::Settled { run, task, verdict } => self.say(&run, Report::Settled { task, verdict }),
        }
    }

    fn finished(&mut self, run: &RunId, task: Task, outcome: Outcome) {
        let running = self.running.remove(&(run.clone(), task));
        if let Some(report) = self.held.finished(run, task, outcome.into()) {
            self.say(run, report);
        }
        if let Some(running) = running {
            self.release(&running.shard, running.shard.live.ended(task.operation));
            self.close_unused(run, running.number, &running.shard);
        }
    }

    fn opened(&mut self, run: &RunId, number: u32, outcome: Result<Box<Shard>, Problems>) {
        // The run may have ended meanwhile.
        let Some(state) = self.runs.get_mut(run) else { return };
        let Some(ShardState::Opening(waiting)) = state.shards.remove(&number) else { return };
        match outcome {
            Ok(shard) => {
                let opened = ShardState::Open { shard: Arc::from(shard), closing: false };
                state.shards.insert(number, opened);
                for what in waiting {
                    // A task that was forgotten while it waited does not begin.
                    if let Waiting::Begin(task, _) = &what
                        && !self.held.holds(run, *task)
                    {
                        continue;
                    }
                    self.at_shard(run, number, what);
                }
            }
            Err(diagnostics) => {
                state.shards.insert(number, ShardState::Refused);
                self.held.shard_refused(run, number);
                self.say(run, Report::Refused { shard: number, diagnostics: encode_diagnostics(&diagnostics) });
                for what in waiting {
                    if let Waiting::Settle(_) = what {
                        self.no_shard(run, number, what);
                    }
                }
            }
        }
    }

    /// Closes ephemeral objects without users.
    fn release(&self, shard: &Arc<Shard>, objects: Vec<Arc<ObjectSlot>>) {
        for slot in objects {
            let (host, all) = (self.host.clone(), shard.objects.clone());
            self.host.later(async move { slot.close(&all, &host, false).await });
        }
    }

    /// Closes all open ephemeral objects, and returns when they are closed. The worker ends.
    pub(crate) async fn close_objects(&self) {
        for state in self.runs.values() {
            state.context.objects.close_all(&self.host).await;
        }
        self.host.closed().await;
    }

    /// Ends the providers of a closed shard, once they have no users.
    fn close_unused(&mut self, run: &RunId, number: u32, shard: &Arc<Shard>) {
        let state = self.runs.get_mut(run).map(|state| &mut state.shards);
        let over = match state.as_ref().and_then(|shards| shards.get(&number)) {
            Some(ShardState::Open { closing, .. }) => *closing,
            Some(ShardState::Opening(_)) => false,
            Some(ShardState::Refused) | None => true,
        };
        if !over || self.held.uses(run, number) {
            return;
        }
        if let Some(shards) = state {
            shards.remove(&number);
        }
        let (host, shard) = (self.host.clone(), shard.clone());
        self.host.later(async move {
            let unused = shard.live.over();
            join_all(unused.iter().map(|slot| slot.close(&shard.objects, &host, false))).await;
            for slot in shard.providers().filter(|slot| !shard.objects.need(&slot.text)) {
                slot.close(&host).await;
            }
        });
    }

    /// Asks the providers of a run to end their calls early.
    fn stop_providers(&self, run: &RunId) {
        let Some(state) = self.runs.get(run) else { return };
        state.context.set_stopping(true);
        for shard in state.shards.values() {
            let ShardState::Open { shard, .. } = shard else { continue };
            let shard = shard.clone();
            tokio::spawn(async move {
                futures::future::join_all(shard.providers().map(|slot| slot.stop())).await;
            });
        }
    }

    fn leave(&mut self, run: &RunId) {
        for task in self.held.leave(run) {
            self.abort(run, task);
        }
        let Some(state) = self.runs.remove(run) else { return };
        for (number, shard) in state.shards {
            if let ShardState::Open { shard, .. } = shard {
                self.close_unused(run, number, &shard);
            }
        }
        let (host, objects) = (self.host.clone(), state.context.objects.clone());
        self.host.later(async move { objects.close_all(&host).await });
    }

    fn drain_run(&mut self, run: &RunId) {
        for task in self.held.drain(run) {
            self.abort(run, task);
            self.say(run, Report::Returned(task));
        }
    }

    /// The worker is about to leave: it starts no new call.
    pub(crate) fn drain(&mut self) {
        for (run, task) in self.held.drain_worker() {
            self.abort(&run, task);
            self.say(&run, Report::Returned(task));
        }
    }

    /// The worker must leave soon: providers are asked to end their calls early.
    pub(crate) fn stop(&self) {
        self.runs.keys().for_each(|run| self.stop_providers(run));
    }
}

fn arrived(shard: &Shard, run: &RunContext, operation: u32, value: &[u8]) {
    if let Err(error) = shard.results.arrived(operation, value, &run.live) {
        // A reader of the missing result fails and reports that.
        tracing::error!(run = %run.id, operation, %error, "a result cannot be read");
    }
}
