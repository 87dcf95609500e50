//! Carries out the decisions of [`crate::docket`]: the runs, shards and running tasks of a worker.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::join_all;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::AbortHandle;
use weft_graph_format::run::RunId;
use weft_protocol::clock::Moment;
use weft_protocol::diagnostics::encode_diagnostics;
use weft_protocol::{OpenShard, Report, RunOrders, SettleOrder, SettleVerdict, Task};

use crate::context::{Event, Permission, RunContext, TaskContext};
use crate::docket::{DeskAction, Docket, Now};
use crate::host::Host;
use crate::problems::{reasons, shard_broken};
use crate::settle::settle;
use crate::shard::Shard;
use crate::shard::ephemeral::ObjectSlot;
use crate::subject::Problems;
use crate::task::run_task;

/// The maximum number of concurrent searches for evidence. Each may read from a provider, and none is urgent.
const MOST_SETTLING: usize = 64;

/// A run with its open shards on this worker.
struct OpenRun {
    context: Arc<RunContext>,
    /// The open shards.
    shards: BTreeMap<u32, Arc<Shard>>,
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
    docket: Docket,
    runs: BTreeMap<RunId, OpenRun>,
    running: BTreeMap<(RunId, Task), Running>,
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
            docket: Docket::default(),
            runs: BTreeMap::new(),
            running: BTreeMap::new(),
            room: Arc::new(Semaphore::new(capacity)),
            settling: Arc::new(Semaphore::new(MOST_SETTLING)),
            began: Moment::now(),
        }
    }

    fn now(&self) -> Now {
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Now { ms, intent_age: self.host.intent_age_ms() }
    }

    /// The decisions, for reading.
    pub(crate) fn docket(&self) -> &Docket {
        &self.docket
    }

    /// The decisions, for changes by the spool.
    pub(crate) fn docket_mut(&mut self) -> &mut Docket {
        &mut self.docket
    }

    /// Handles a new connection: reports that may be lost are queued again.
    pub(crate) fn connected(&mut self, protocol: u32) {
        self.docket.connected(protocol);
    }

    /// Takes the oldest reports, at most `most`.
    pub(crate) fn take_reports(&mut self, most: usize) -> impl Iterator<Item = (RunId, Report)> {
        self.docket.take_reports(most)
    }

    /// Handles the orders of a coordinator.
    pub(crate) fn ordered(&mut self, of_run: RunOrders) {
        let RunOrders { run, epoch, orders } = of_run;
        let actions = self.docket.heard(&run, epoch);
        self.perform_actions(actions);
        for order in orders {
            let actions = self.docket.ordered(&run, epoch, order, self.now());
            self.perform_actions(actions);
        }
    }

    fn perform_actions(&mut self, actions: Vec<DeskAction>) {
        for action in actions {
            match action {
                DeskAction::Open(run, open) => self.open_shard(&run, *open),
                DeskAction::Reopened(run, number) => self.retry(&run, number),
                DeskAction::Arrived(run, number, results) => {
                    if let Some((context, shard)) = self.shard(&run, number) {
                        for (operation, value) in results {
                            arrived(&shard, &context, operation, &value);
                        }
                    }
                }
                DeskAction::Begin { run, shard: number, task, read_first } => {
                    if let Some((context, shard)) = self.shard(&run, number) {
                        self.begin(context, number, shard, task, read_first);
                    }
                }
                DeskAction::Call(run, task) => {
                    let running = self.running.get_mut(&(run, task));
                    if let Some(grant) = running.and_then(|running| running.grant.take()) {
                        // If the task has ended in the meantime, the send fails, and the task reports its own end.
                        let _ = grant.send(());
                    }
                }
                DeskAction::Abort(run, task) => self.abort(&run, task),
                DeskAction::Settle(run, order) => {
                    if let Some((context, shard)) = self.shard(&run, order.shard) {
                        self.settle(context, shard, order);
                    }
                }
                DeskAction::Close(run, number) => {
                    if let Some((_, shard)) = self.shard(&run, number) {
                        self.close_unused(&run, number, &shard);
                    }
                }
                DeskAction::NewTerm(run) => {
                    if let Some(state) = self.runs.get(&run) {
                        state.context.set_stopping(false);
                    }
                }
                DeskAction::Stop(run) => self.stop_providers(&run),
                DeskAction::Leave(run, tasks) => self.leave(&run, tasks),
            }
        }
    }

    /// An open shard and its run. The docket names only open shards.
    fn shard(&self, run: &RunId, number: u32) -> Option<(Arc<RunContext>, Arc<Shard>)> {
        let state = self.runs.get(run)?;
        Some((state.context.clone(), state.shards.get(&number)?.clone()))
    }

    fn open_shard(&mut self, run: &RunId, open: OpenShard) {
        let number = open.shard;
        let state = self
            .runs
            .entry(run.clone())
            .or_insert_with(|| OpenRun { context: Arc::new(RunContext::new(run.clone())), shards: BTreeMap::new() });
        let (host, context, events) = (self.host.clone(), state.context.clone(), self.events.clone());
        tokio::spawn(async move {
            let run = context.id.clone();
            let opening = tokio::task::spawn_blocking(move || {
                Shard::open(&host, &context.id, &context.live, context.objects.clone(), open)
            });
            let outcome = opening.await.unwrap_or_else(|_| Err(vec![shard_broken()]));
            let _ = events.send(Event::Opened { run, shard: number, outcome: outcome.map(Box::new) }).await;
        });
    }

    /// Allows another start of the providers and ephemeral objects of a shard that failed to start.
    fn retry(&self, run: &RunId, number: u32) {
        let Some((_, shard)) = self.shard(run, number) else { return };
        tokio::spawn(async move {
            for slot in shard.providers() {
                slot.retry().await;
            }
            for slot in shard.live.slots() {
                slot.retry().await;
            }
        });
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
        // Boxed, because a task is large and is moved several times on its way into the runtime.
        let working = tokio::spawn(Box::pin(async move {
            let Ok(_room) = room.acquire_owned().await else { return };
            let event = match AssertUnwindSafe(run_task(context)).catch_unwind().await {
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
                Err(_) => SettleVerdict::Unknown(reasons::search_broken()),
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
            Event::Asked { run, task, planned } => self.docket.asked(&run, task, planned, self.now().ms),
            Event::Finished { run, task, outcome } => {
                self.docket.finished(&run, task, outcome.into());
                self.ended(&run, task);
            }
            Event::Broken { run, task } => {
                self.docket.broken(&run, task);
                self.ended(&run, task);
            }
            Event::Settled { run, task, verdict } => self.docket.settled(&run, task, verdict),
        }
    }

    /// Handles the end of a task: closes the objects that only this task needed.
    fn ended(&mut self, run: &RunId, task: Task) {
        let Some(running) = self.running.remove(&(run.clone(), task)) else { return };
        self.release(&running.shard, running.shard.live.ended(task.operation));
        self.close_unused(run, running.number, &running.shard);
    }

    fn opened(&mut self, run: &RunId, number: u32, outcome: Result<Box<Shard>, Problems>) {
        let (shard, outcome) = match outcome {
            Ok(shard) => (Some(Arc::from(shard)), Ok(())),
            Err(problems) => (None, Err(encode_diagnostics(&problems))),
        };
        let Some(actions) = self.docket.opened(run, number, outcome) else { return };
        if let (Some(shard), Some(state)) = (shard, self.runs.get_mut(run)) {
            state.shards.insert(number, shard);
        }
        self.perform_actions(actions);
    }

    /// Closes ephemeral objects without users.
    fn release(&self, shard: &Arc<Shard>, objects: Vec<Arc<ObjectSlot>>) {
        for slot in objects {
            let (host, all) = (self.host.clone(), shard.objects.clone());
            self.host.later(async move { slot.close(&all, &host, false).await });
        }
    }

    /// Closes all open ephemeral objects, and waits until they are closed. For the end of the worker.
    pub(crate) async fn close_objects(&self) {
        for state in self.runs.values() {
            state.context.objects.close_all(&self.host).await;
        }
        self.host.closed().await;
    }

    /// Ends the providers of a closed shard, if they have no users.
    fn close_unused(&mut self, run: &RunId, number: u32, shard: &Arc<Shard>) {
        if !self.docket.may_close(run, number) {
            return;
        }
        if let Some(state) = self.runs.get_mut(run) {
            state.shards.remove(&number);
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
            let shard = shard.clone();
            tokio::spawn(async move {
                futures::future::join_all(shard.providers().map(|slot| slot.stop())).await;
            });
        }
    }

    fn leave(&mut self, run: &RunId, tasks: Vec<Task>) {
        for task in tasks {
            if let Some(running) = self.running.remove(&(run.clone(), task)) {
                running.abort.abort();
            }
        }
        let Some(state) = self.runs.remove(run) else { return };
        for (number, shard) in state.shards {
            self.close_unused(run, number, &shard);
        }
        let (host, objects) = (self.host.clone(), state.context.objects.clone());
        self.host.later(async move { objects.close_all(&host).await });
    }

    /// Lets the worker leave: it starts no new call.
    pub(crate) fn drain(&mut self) {
        let actions = self.docket.drain();
        self.perform_actions(actions);
    }

    /// Lets the worker leave soon: providers are asked to end their calls early.
    pub(crate) fn stop(&self) {
        self.runs.keys().for_each(|run| self.stop_providers(run));
    }
}

fn arrived(shard: &Shard, run: &RunContext, operation: u32, value: &[u8]) {
    if let Err(error) = shard.results.arrived(operation, value, &run.live) {
        // An operation that reads the missing result fails, and reports that the result is missing.
        tracing::error!(run = %run.id, operation, %error, "a result cannot be read");
    }
}
