//! The connected workers, for all runs of a coordinator: the identity of each worker, the frames that are sent to it,
//! and the runs that receive its reports.

mod listing;
mod problems;
mod scope;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tracing::{info, warn};
use weft_identity::Peer;
use weft_protocol::{CoordinatorFrame, FrameError, Greeting, PROTOCOL, RunLine, Welcome, WorkerFrame, works_with};
use weft_state::{RunId, WorkerId};

use crate::event::{Event, Hello};
use crate::figures::{Figures, Meters};
use crate::process::{is_dead, worker_id, worker_name};
use crate::timing::{CHANNEL_FRAMES, INTENT_MAX_AGE, WORKER_HEARTBEAT, WORKER_SILENCE};
use crate::transport::CoordinatorEnd;
use problems::WorkerRefusal;
use scope::Scope;

/// A time that never passes, for connections within a process.
const NEVER: Duration = Duration::from_millis(u32::MAX as u64);

/// A worker's connection, as a pair of queues of frames.
pub(crate) struct Link {
    pub(crate) outgoing: mpsc::Sender<CoordinatorFrame>,
    pub(crate) incoming: mpsc::Receiver<Result<WorkerFrame, FrameError>>,
    /// Whether both ends may be silent without being disconnected. A worker in the same process lives as long as the
    /// coordinator, and both are silent while their process is suspended.
    pub(crate) patient: bool,
    /// The identity of the caller at the worker's end of the connection.
    pub(crate) peer: Peer,
    /// Whether the worker may carry out operations of any run. The worker of a command line may only carry out the home
    /// operations of its own run.
    pub(crate) is_worker: bool,
}

/// The queue of events for a registered run.
pub(crate) type EventSender = mpsc::Sender<Vec<Event>>;

/// A connection, as its own greeting describes it. Later connections of the same worker do not change it.
struct Caller {
    id: WorkerId,
    scope: Scope,
}

struct Connected {
    id: WorkerId,
    peer: Peer,
    hello: Greeting,
    scope: Scope,
    outgoing: mpsc::Sender<CoordinatorFrame>,
    /// Distinguishes connections of the same worker.
    connection: u64,
    /// Whether the worker announced that it is about to leave.
    leaving: bool,
    /// Unregistered runs for which the worker must send a new greeting when they are registered. The worker has tasks
    /// of such a run, has sent reports about it, or was connected when its registration ended.
    unheard: BTreeSet<RunId>,
    /// The hub drops this sender to end the connection.
    hang_up: Option<tokio::sync::oneshot::Sender<()>>,
}

/// What a [`Hub`] knows about the workers and runs of this process.
#[derive(Default)]
struct HubState {
    workers: BTreeMap<String, Connected>,
    runs: BTreeMap<RunId, EventSender>,
    /// The names of the workers that the operator drains. A name stays in this set while its worker is disconnected.
    drained: BTreeSet<String>,
    /// The number of tasks of each worker, by run.
    loads: BTreeMap<RunId, BTreeMap<WorkerId, u32>>,
    connections: u64,
    /// Whether new connections are closed at once.
    closed: bool,
}

impl HubState {
    /// The registered runs that a worker with this scope may work for.
    fn listeners(&self, scope: &Scope) -> Vec<EventSender> {
        self.runs.iter().filter(|(run, _)| scope.allows(run)).map(|(_, sender)| sender.clone()).collect()
    }
}

/// The connected workers.
#[derive(Clone, Default)]
pub struct Hub {
    state: Arc<Mutex<HubState>>,
    meters: Arc<Meters>,
    /// Whether the store encrypts its content.
    sealed: bool,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.state.lock();
        write!(out, "Hub({} workers, {} runs)", state.workers.len(), state.runs.len())
    }
}

/// The registration of a run. Dropping it unregisters the run.
pub(crate) struct RunRegistration {
    run: RunId,
    hub: Weak<Mutex<HubState>>,
    meters: Arc<Meters>,
}

impl Drop for RunRegistration {
    fn drop(&mut self) {
        self.meters.forget_run(&self.run);
        if let Some(state) = self.hub.upgrade() {
            let mut state = state.lock();
            state.runs.remove(&self.run);
            state.loads.remove(&self.run);
            // A later term must not rely on an earlier greeting.
            for worker in state.workers.values_mut() {
                worker.unheard.insert(self.run.clone());
            }
        }
    }
}

impl Hub {
    /// A hub without workers.
    pub fn new() -> Hub {
        Hub::default()
    }

    /// A hub without workers. `sealed` says whether the store encrypts its content.
    pub(crate) fn of_store(sealed: bool) -> Hub {
        Hub { sealed, ..Hub::default() }
    }

    /// The meters of the coordinator.
    pub(crate) fn meters(&self) -> &Arc<Meters> {
        &self.meters
    }

    /// The current values of the meters.
    pub fn figures(&self) -> Figures {
        self.meters.figures(self.listing())
    }

    /// Serves a worker in the same process until its end of the connection is dropped.
    pub async fn attach(&self, end: CoordinatorEnd) {
        let CoordinatorEnd { to_worker, mut from_worker } = end;
        let (outgoing, mut frames) = mpsc::channel::<CoordinatorFrame>(CHANNEL_FRAMES);
        let (sender, incoming) = mpsc::channel(CHANNEL_FRAMES);
        let out = async move {
            while let Some(frame) = frames.recv().await {
                if to_worker.send(frame.encode()).await.is_err() {
                    break;
                }
            }
        };
        let into = async move {
            while let Some(bytes) = from_worker.recv().await {
                if sender.send(WorkerFrame::decode(&bytes)).await.is_err() {
                    break;
                }
            }
        };
        let pumps = tokio::spawn(async move {
            tokio::join!(out, into);
        });
        let peer = Peer::SameUser { user: rustix::process::getuid().as_raw() };
        self.serve(Link { outgoing, incoming, patient: true, peer, is_worker: true }).await;
        let _ = pumps.await;
    }

    /// Serves one connection until it ends.
    pub(crate) async fn serve(&self, mut link: Link) {
        let silence = if link.patient { NEVER } else { WORKER_SILENCE };
        let first = timeout(silence, link.incoming.recv()).await;
        let Ok(Some(Ok(WorkerFrame { greeting: Some(hello), .. }))) = first else {
            warn!("a connection was closed, because its first message was not the greeting of a worker");
            return;
        };
        let welcome = |refused: Option<String>| CoordinatorFrame {
            welcome: Some(Welcome {
                heartbeat_ms: WORKER_HEARTBEAT.as_millis() as u32,
                pause_ms: u32::try_from(silence.as_millis()).unwrap_or(u32::MAX),
                intent_age_ms: INTENT_MAX_AGE.as_millis() as u32,
                protocol: PROTOCOL,
                refused,
                sealed: self.sealed,
            }),
            ..CoordinatorFrame::default()
        };
        if let Some(refusal) = self.refusal(&hello, &link) {
            warn!(worker = %hello.name, "{refusal}");
            self.meters.refused("worker");
            let _ = link.outgoing.send(welcome(Some(refusal.to_string()))).await;
            return;
        }
        if link.outgoing.send(welcome(None)).await.is_err() {
            return;
        }
        let caller = Caller { id: worker_id(&hello.name, &hello.incarnation), scope: Scope::of(&hello) };
        info!(worker = %hello.name, "worker connected");
        let (connection, hung_up) = self.enter(&caller, hello, &link).await;
        self.listen(&caller, &mut link, hung_up).await;
        drop(link);
        self.leave(&caller, connection).await;
    }

    /// The reason to refuse a worker, or `None`.
    fn refusal(&self, hello: &Greeting, link: &Link) -> Option<WorkerRefusal> {
        if !works_with(hello.protocol) {
            return Some(WorkerRefusal::Version { theirs: hello.protocol });
        }
        if hello.name.is_empty() || hello.name.contains('/') {
            return Some(WorkerRefusal::Name);
        }
        if !link.is_worker && !Scope::of(hello).is_limited() {
            return Some(WorkerRefusal::Role(link.peer.clone()));
        }
        let state = self.state.lock();
        let known = state.workers.get(&hello.name)?;
        if known.peer != link.peer {
            return Some(WorkerRefusal::OtherCaller(hello.name.clone()));
        }
        let taken = Some(known).filter(|known| known.hello.incarnation != hello.incarnation)?;
        (!is_dead(&taken.id)).then(|| WorkerRefusal::NameTaken(hello.name.clone()))
    }

    /// Announces a worker to the runs that it may work for. An older connection of the same worker is closed.
    async fn enter(&self, caller: &Caller, hello: Greeting, link: &Link) -> (u64, tokio::sync::oneshot::Receiver<()>) {
        let (hang_up, hung_up) = tokio::sync::oneshot::channel();
        let Caller { id, scope } = caller;
        let (older, connection, told) = {
            let mut state = self.state.lock();
            state.connections += 1;
            let connection = state.connections;
            let held = hello.held.iter().map(|held| held.run.clone()).filter(|run| scope.allows(run));
            let unheard = held.filter(|run| !state.runs.contains_key(run)).collect();
            let drained = state.drained.contains(&hello.name).then(|| Event::Leaving(id.clone()));
            let events = |run: &RunId| -> Vec<Event> {
                let joined = || Event::Joined(for_run(id, connection, &hello, run));
                if scope.allows(run) { std::iter::once(joined()).chain(drained.clone()).collect() } else { Vec::new() }
            };
            let told: Vec<(RunId, EventSender, Vec<Event>)> =
                state.runs.iter().map(|(run, sender)| (run.clone(), sender.clone(), events(run))).collect();
            let name = hello.name.clone();
            let entry = Connected {
                id: id.clone(),
                peer: link.peer.clone(),
                hello,
                scope: scope.clone(),
                outgoing: link.outgoing.clone(),
                connection,
                leaving: false,
                unheard,
                hang_up: Some(hang_up).filter(|_| !state.closed),
            };
            (state.workers.insert(name, entry), connection, told)
        };
        let mut gone: Vec<Event> = Vec::new();
        if let Some(older) = &older {
            gone.push(Event::Left(older.id.clone()));
            gone.extend(is_dead(&older.id).then(|| Event::Dead(older.id.clone())));
        }
        for (run, sender, own) in told {
            let knew = older.as_ref().is_some_and(|older| older.scope.allows(&run));
            let mut events = if knew { gone.clone() } else { Vec::new() };
            events.extend(own);
            if !events.is_empty() {
                let _ = sender.send(events).await;
            }
        }
        (connection, hung_up)
    }

    /// Passes the reports of a worker to the runs, until the worker is silent for too long or disconnects.
    async fn listen(&self, caller: &Caller, link: &mut Link, mut hung_up: tokio::sync::oneshot::Receiver<()>) {
        let id = &caller.id;
        let mut heartbeat = 0;
        let mut beats = tokio::time::interval(WORKER_HEARTBEAT);
        let mut heard = tokio::time::Instant::now();
        loop {
            tokio::select! {
                frame = link.incoming.recv() => match frame {
                    Some(Ok(frame)) => {
                        heard = tokio::time::Instant::now();
                        self.spread(caller, frame).await;
                    }
                    Some(Err(error)) => {
                        warn!(worker = worker_name(id), "the worker's frame cannot be decoded: {error}");
                        return;
                    }
                    None => return,
                },
                _ = beats.tick() => {
                    if !link.patient && heard.elapsed() > WORKER_SILENCE {
                        warn!(worker = worker_name(id), "the worker was silent for {WORKER_SILENCE:?}");
                        return;
                    }
                    heartbeat += 1;
                    let frame = CoordinatorFrame { heartbeat, ..CoordinatorFrame::default() };
                    if let Err(mpsc::error::TrySendError::Closed(_)) = link.outgoing.try_send(frame) {
                        return;
                    }
                }
                _ = &mut hung_up => return,
            }
        }
    }

    async fn spread(&self, caller: &Caller, frame: WorkerFrame) {
        let id = &caller.id;
        if frame.leaving {
            info!(worker = worker_name(id), "worker is about to leave");
            let told = {
                let mut state = self.state.lock();
                if let Some(worker) = state.workers.get_mut(worker_name(id)).filter(|worker| worker.id == *id) {
                    worker.leaving = true;
                }
                state.listeners(&caller.scope)
            };
            for sender in told {
                let _ = sender.send(vec![Event::Leaving(id.clone())]).await;
            }
        }
        let mut lines: BTreeMap<RunId, Vec<Event>> = BTreeMap::new();
        for RunLine { run, line } in frame.lines {
            if caller.scope.allows(&run) {
                lines.entry(run).or_default().push(Event::Line(line));
            }
        }
        for (run, lines) in lines {
            let sender = self.state.lock().runs.get(&run).cloned();
            if let Some(sender) = sender {
                let _ = sender.send(lines).await;
            }
        }
        for of_run in frame.reports {
            let Some(sender) = self.listener(caller, &of_run.run) else { continue };
            let events = of_run.reports.into_iter().map(|report| Event::Said(id.clone(), report));
            let _ = sender.send(events.collect()).await;
        }
    }

    /// The run that receives the reports of a worker. If the run is not registered, returns `None`. The worker must
    /// then send a new greeting when the run is registered.
    fn listener(&self, caller: &Caller, run: &RunId) -> Option<EventSender> {
        let Caller { id, scope } = caller;
        if !scope.allows(run) {
            warn!(worker = worker_name(id), %run, "the worker of a command line reported about the run of another one");
            return None;
        }
        let mut state = self.state.lock();
        let HubState { workers, runs, .. } = &mut *state;
        let worker = workers.get_mut(worker_name(id)).filter(|worker| worker.id == *id)?;
        let listener = runs.get(run).cloned();
        if listener.is_none() {
            worker.unheard.insert(run.clone());
        }
        listener
    }

    async fn leave(&self, caller: &Caller, connection: u64) {
        let id = &caller.id;
        let told = {
            let mut state = self.state.lock();
            let name = worker_name(id).to_owned();
            match state.workers.get(&name) {
                Some(known) if known.connection == connection => state.workers.remove(&name),
                // A newer connection has replaced this connection, and announced itself.
                _ => return,
            };
            state.listeners(&caller.scope)
        };
        info!(worker = worker_name(id), "worker disconnected");
        for sender in &told {
            let _ = sender.send(vec![Event::Left(id.clone())]).await;
        }
        if is_dead_soon(id).await {
            for sender in told {
                let _ = sender.send(vec![Event::Dead(id.clone())]).await;
            }
        }
    }

    /// Registers a run, and sends it an event for each connected worker that may work for it. A worker is disconnected
    /// instead if it has tasks of the run, sent reports about the run earlier, or was connected when an earlier
    /// registration of the run ended. The worker then reconnects with a new greeting, so that no report is missed.
    pub(crate) async fn listen_for(&self, run: &RunId, sender: EventSender) -> RunRegistration {
        let events = {
            let mut state = self.state.lock();
            state.runs.insert(run.clone(), sender.clone());
            let mut events = Vec::new();
            let HubState { workers, drained, .. } = &mut *state;
            for (name, worker) in workers.iter_mut().filter(|(_, worker)| worker.scope.allows(run)) {
                if worker.unheard.contains(run) {
                    worker.hang_up = None;
                } else {
                    events.push(Event::Joined(for_run(&worker.id, worker.connection, &worker.hello, run)));
                    if worker.leaving || drained.contains(name) {
                        events.push(Event::Leaving(worker.id.clone()));
                    }
                }
            }
            events
        };
        let _ = sender.send(events).await;
        RunRegistration { run: run.clone(), hub: Arc::downgrade(&self.state), meters: Arc::clone(&self.meters) }
    }

    /// Sends a frame to a worker, if `connection` is still the worker's connection. A worker that does not receive its
    /// frames in time is disconnected.
    pub(crate) fn send(&self, id: &WorkerId, connection: u64, frame: CoordinatorFrame) {
        let mut state = self.state.lock();
        let is_asked = |worker: &&mut Connected| worker.id == *id && worker.connection == connection;
        let Some(worker) = state.workers.get_mut(worker_name(id)).filter(is_asked) else { return };
        if worker.outgoing.try_send(frame).is_err() {
            worker.hang_up = None;
        }
    }

    /// Closes each connection after the frames that were already sent over it have arrived at the worker. Later, each
    /// new connection is closed when its greeting arrives, because the term may end before a worker has sent its
    /// greeting.
    pub(crate) fn hang_up(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        for worker in state.workers.values_mut() {
            worker.hang_up = None;
        }
    }

    /// Drains a worker, or lets the worker take work again if `drained` is `false`. A drained worker stays drained
    /// after a reconnect, as long as this coordinator runs. Returns whether there is such a worker: a connected worker
    /// or, if `drained` is `false`, a drained worker that is not connected. The worker of a command line cannot be
    /// drained.
    pub async fn drain(&self, name: &str, drained: bool) -> bool {
        let told = {
            let mut state = self.state.lock();
            let Some(worker) = state.workers.get(name) else { return !drained && state.drained.remove(name) };
            if worker.scope.is_limited() {
                return false;
            }
            let (id, leaving) = (worker.id.clone(), worker.leaving);
            let event = match drained {
                true => state.drained.insert(name.to_owned()).then_some(Event::Leaving(id)),
                false => state.drained.remove(name).then_some(Event::Stays(id)),
            };
            let senders: Vec<EventSender> = state.runs.values().cloned().collect();
            event.filter(|_| !leaving).map(|event| (event, senders))
        };
        if let Some((event, senders)) = told {
            info!(worker = name, drained, "the worker was drained or undrained");
            for sender in senders {
                let _ = sender.send(vec![event.clone()]).await;
            }
        }
        true
    }
}

/// A worker's greeting, reduced to the data for one run.
fn for_run(id: &WorkerId, connection: u64, greeting: &Greeting, run: &RunId) -> Hello {
    Hello {
        worker: id.clone(),
        connection,
        labels: greeting.labels.clone(),
        capacity: greeting.capacity,
        packages: greeting.packages.iter().flat_map(|package| package.checksums.iter().cloned()).collect(),
        held: greeting.held.iter().filter(|held| held.run == *run).cloned().collect(),
    }
}

/// Whether the process is dead, now or after the short time that a killed process takes to exit.
async fn is_dead_soon(id: &WorkerId) -> bool {
    const LOOKS: u32 = 10;
    const BETWEEN: Duration = Duration::from_millis(50);
    for _ in 0..LOOKS {
        if is_dead(id) {
            return true;
        }
        tokio::time::sleep(BETWEEN).await;
    }
    false
}

#[cfg(test)]
mod tests;
