//! The connected workers, for all runs of a coordinator: the identity of each worker, the frames that are sent to it,
//! and the runs that receive its reports.

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
use crate::fleet::{WorkerListing, WorkerStatus};
use crate::outline::HOME;
use crate::plan::is_of_command_line;
use crate::process::{is_dead, worker_id, worker_name};
use crate::timing::{CHANNEL_FRAMES, INTENT_MAX_AGE, WORKER_HEARTBEAT, WORKER_SILENCE};
use crate::transport::CoordinatorEnd;

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

struct Connected {
    id: WorkerId,
    peer: Peer,
    hello: Greeting,
    outgoing: mpsc::Sender<CoordinatorFrame>,
    /// Distinguishes connections of the same worker.
    connection: u64,
    /// Whether the worker announced that it is about to leave.
    leaving: bool,
    /// Unregistered runs of which the worker has tasks, about which the worker sent reports, or whose registration
    /// ended while the worker was connected. When such a run is registered, the worker must send a new greeting for it.
    unheard: BTreeSet<RunId>,
    /// The hub drops this sender to end the connection.
    hang_up: Option<tokio::sync::oneshot::Sender<()>>,
}

/// Whether the worker that sent this greeting may send something about a run. The worker of a command line may do this
/// only for its own run.
fn may_tell_of(hello: &Greeting, run: &RunId) -> bool {
    let own = hello.labels.get(HOME).filter(|_| is_of_command_line(&hello.name, &hello.labels));
    own.is_none_or(|own| own == run.as_str())
}

#[derive(Default)]
struct State {
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

/// The connected workers.
#[derive(Clone, Default)]
pub struct Hub {
    state: Arc<Mutex<State>>,
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
pub(crate) struct Listening {
    run: RunId,
    hub: Weak<Mutex<State>>,
    meters: Arc<Meters>,
}

impl Drop for Listening {
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
            let _ = link.outgoing.send(welcome(Some(refusal))).await;
            return;
        }
        if link.outgoing.send(welcome(None)).await.is_err() {
            return;
        }
        let id = worker_id(&hello.name, &hello.incarnation);
        info!(worker = %hello.name, "worker connected");
        let (connection, hung_up) = self.enter(id.clone(), hello, &link).await;
        self.listen(&id, &mut link, hung_up).await;
        drop(link);
        self.leave(&id, connection).await;
    }

    /// The reason to refuse a worker, or `None`.
    fn refusal(&self, hello: &Greeting, link: &Link) -> Option<String> {
        if !works_with(hello.protocol) {
            let theirs = hello.protocol;
            return Some(format!(
                "the worker uses protocol version {theirs}, but the coordinator uses version {PROTOCOL}: update the \
                 program with the older version"
            ));
        }
        if hello.name.is_empty() || hello.name.contains('/') {
            return Some("a worker needs a name without `/`".to_owned());
        }
        if !link.is_worker && !is_of_command_line(&hello.name, &hello.labels) {
            return Some(format!(
                "{} does not have the role worker, so this process may only carry out operations that must run on the \
                 machine of its user",
                link.peer
            ));
        }
        let state = self.state.lock();
        let known = state.workers.get(&hello.name)?;
        if known.peer != link.peer {
            return Some(format!(
                "another caller has connected as the worker {}: give this worker another name with -name",
                hello.name
            ));
        }
        let taken = Some(known).filter(|known| known.hello.incarnation != hello.incarnation)?;
        (!is_dead(&taken.id)).then(|| {
            format!("another worker named {} is connected: give this worker another name with -name", hello.name)
        })
    }

    /// Announces a worker to all runs. An older connection of the same worker is closed.
    async fn enter(&self, id: WorkerId, hello: Greeting, link: &Link) -> (u64, tokio::sync::oneshot::Receiver<()>) {
        let (hang_up, hung_up) = tokio::sync::oneshot::channel();
        let (older, connection, told) = {
            let mut state = self.state.lock();
            state.connections += 1;
            let connection = state.connections;
            let held = hello.held.iter().map(|held| held.run.clone()).filter(|run| may_tell_of(&hello, run));
            let unheard = held.filter(|run| !state.runs.contains_key(run)).collect();
            let drained = state.drained.contains(&hello.name).then(|| Event::Leaving(id.clone()));
            let events = |run| {
                let joined = Event::Joined(for_run(&id, connection, &hello, run));
                std::iter::once(joined).chain(drained.clone()).collect()
            };
            let told: Vec<(EventSender, Vec<Event>)> =
                state.runs.iter().map(|(run, sender)| (sender.clone(), events(run))).collect();
            let name = hello.name.clone();
            let hang_up = Some(hang_up).filter(|_| !state.closed);
            let (outgoing, peer) = (link.outgoing.clone(), link.peer.clone());
            let entry =
                Connected { id: id.clone(), peer, hello, outgoing, connection, leaving: false, unheard, hang_up };
            (state.workers.insert(name, entry), connection, told)
        };
        let mut gone: Vec<Event> = Vec::new();
        if let Some(older) = older {
            gone.push(Event::Left(older.id.clone()));
            if is_dead(&older.id) {
                gone.push(Event::Dead(older.id));
            }
        }
        for (sender, own) in told {
            let mut events = gone.clone();
            events.extend(own);
            let _ = sender.send(events).await;
        }
        (connection, hung_up)
    }

    /// Passes the reports of a worker to the runs, until the worker is silent for too long or disconnects.
    async fn listen(&self, id: &WorkerId, link: &mut Link, mut hung_up: tokio::sync::oneshot::Receiver<()>) {
        let mut heartbeat = 0;
        let mut beats = tokio::time::interval(WORKER_HEARTBEAT);
        let mut heard = tokio::time::Instant::now();
        loop {
            tokio::select! {
                frame = link.incoming.recv() => match frame {
                    Some(Ok(frame)) => {
                        heard = tokio::time::Instant::now();
                        self.spread(id, frame).await;
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

    async fn spread(&self, id: &WorkerId, frame: WorkerFrame) {
        if frame.leaving {
            info!(worker = worker_name(id), "worker is about to leave");
            let told: Vec<EventSender> = {
                let mut state = self.state.lock();
                if let Some(worker) = state.workers.get_mut(worker_name(id)) {
                    worker.leaving = true;
                }
                state.runs.values().cloned().collect()
            };
            for sender in told {
                let _ = sender.send(vec![Event::Leaving(id.clone())]).await;
            }
        }
        for (run, lines) in self.lines(id, frame.lines) {
            let sender = self.state.lock().runs.get(&run).cloned();
            if let Some(sender) = sender {
                let _ = sender.send(lines).await;
            }
        }
        for of_run in frame.reports {
            let Some(sender) = self.listener(id, &of_run.run) else { continue };
            let events = of_run.reports.into_iter().map(|report| Event::Said(id.clone(), report));
            let _ = sender.send(events.collect()).await;
        }
    }

    /// The run that receives the reports of a worker. If the run is not registered, the worker must send a new greeting
    /// when it is.
    fn listener(&self, id: &WorkerId, run: &RunId) -> Option<EventSender> {
        let mut state = self.state.lock();
        let State { workers, runs, .. } = &mut *state;
        let worker = workers.get_mut(worker_name(id)).filter(|worker| worker.id == *id)?;
        if !may_tell_of(&worker.hello, run) {
            warn!(worker = worker_name(id), %run, "the worker of a command line reported about the run of another one");
            return None;
        }
        let listener = runs.get(run).cloned();
        if listener.is_none() {
            worker.unheard.insert(run.clone());
        }
        listener
    }

    /// Lines of provisioners, by run. From the worker of a command line, only lines of its own run are accepted.
    fn lines(&self, id: &WorkerId, lines: Vec<RunLine>) -> BTreeMap<RunId, Vec<Event>> {
        let mut found: BTreeMap<RunId, Vec<Event>> = BTreeMap::new();
        if lines.is_empty() {
            return found;
        }
        let state = self.state.lock();
        let Some(worker) = state.workers.get(worker_name(id)) else { return found };
        for RunLine { run, line } in lines {
            if may_tell_of(&worker.hello, &run) {
                found.entry(run).or_default().push(Event::Line(line));
            }
        }
        found
    }

    async fn leave(&self, id: &WorkerId, connection: u64) {
        let told: Vec<EventSender> = {
            let mut state = self.state.lock();
            let name = worker_name(id).to_owned();
            match state.workers.get(&name) {
                Some(known) if known.connection == connection => state.workers.remove(&name),
                // A newer connection has replaced this connection, and announced itself.
                _ => return,
            };
            state.runs.values().cloned().collect()
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

    /// Registers a run, and sends it an event for each connected worker. A worker is disconnected instead if it has
    /// tasks of the run, sent reports about the run earlier, or was connected when an earlier registration of the run
    /// ended. The worker then reconnects with a new greeting, so that no report is missed.
    pub(crate) async fn listen_for(&self, run: &RunId, sender: EventSender) -> Listening {
        let events = {
            let mut state = self.state.lock();
            state.runs.insert(run.clone(), sender.clone());
            let mut events = Vec::new();
            let State { workers, drained, .. } = &mut *state;
            for (name, worker) in workers {
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
        Listening { run: run.clone(), hub: Arc::downgrade(&self.state), meters: Arc::clone(&self.meters) }
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

    /// The connected workers that carry out operations of any run, by name.
    pub fn listing(&self) -> Vec<WorkerListing> {
        let state = self.state.lock();
        let tasks = |id: &WorkerId| state.loads.values().filter_map(|loads| loads.get(id)).sum();
        let workers = state.workers.iter().filter(|(name, worker)| !is_of_command_line(name, &worker.hello.labels));
        let listing = |(name, worker): (&String, &Connected)| WorkerListing {
            name: name.clone(),
            labels: worker.hello.labels.clone(),
            version: worker.hello.version.clone(),
            status: match (worker.leaving, state.drained.contains(name)) {
                (true, _) => WorkerStatus::Leaving,
                (false, true) => WorkerStatus::Draining,
                (false, false) => WorkerStatus::Ready,
            }
            .word()
            .to_owned(),
            tasks: tasks(&worker.id),
            capacity: worker.hello.capacity,
            identity: worker.peer.to_string(),
        };
        workers.map(listing).collect()
    }

    /// Drains a worker, or lets the worker take work again if `drained` is `false`. A drained worker stays drained
    /// after a reconnect, as long as this coordinator runs. If `drained` is `true`, returns `false` if no worker with
    /// this name is connected. Otherwise, returns `false` if no worker with this name is connected or drained. Always
    /// returns `false` for a connected worker of a command line.
    pub async fn drain(&self, name: &str, drained: bool) -> bool {
        let told = {
            let mut state = self.state.lock();
            let Some(worker) = state.workers.get(name) else { return !drained && state.drained.remove(name) };
            if is_of_command_line(name, &worker.hello.labels) {
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

    /// Records the numbers of tasks that the workers have in a run.
    pub(crate) fn note_loads(&self, run: &RunId, loads: BTreeMap<WorkerId, u32>) {
        self.state.lock().loads.insert(run.clone(), loads);
    }

    /// Names of the connected workers.
    pub fn workers(&self) -> Vec<String> {
        self.state.lock().workers.keys().cloned().collect()
    }

    /// The labels of the connected workers that carry out operations of any run, by name.
    pub fn labels(&self) -> BTreeMap<String, BTreeMap<String, String>> {
        let state = self.state.lock();
        let workers = state.workers.iter().filter(|(name, worker)| {
            !worker.leaving && !state.drained.contains(*name) && !is_of_command_line(name, &worker.hello.labels)
        });
        workers.map(|(name, worker)| (name.clone(), worker.hello.labels.clone())).collect()
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
        held: match may_tell_of(greeting, run) {
            true => greeting.held.iter().filter(|held| held.run == *run).cloned().collect(),
            false => Vec::new(),
        },
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
