//! A worker: it receives orders from a coordinator over a channel of frames, and carries them out.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use weft_protocol::{CoordinatorFrame, EncodedFrame, Greeting, PROTOCOL, RunLine, Welcome, WorkerFrame};

use crate::context::Event;
use crate::desk::Desk;
use crate::held::UnfinishedWork;
use crate::host::Host;
use crate::options::WorkerOptions;
use crate::problems::reasons;
use crate::spool_writer::{ACKNOWLEDGEMENT, SpoolWriter};
use crate::unsent::Unsent;

/// A worker's end of its connection: two channels in one process. For a network connection, the program that runs the
/// worker forwards frames between the connection and these channels.
#[derive(Debug)]
pub struct Channel {
    /// Encoded `CoordinatorFrame`s. The connection ends when this channel ends.
    pub incoming: mpsc::Receiver<EncodedFrame>,
    /// Encoded `WorkerFrame`s.
    pub outgoing: mpsc::Sender<EncodedFrame>,
}

/// Why a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The coordinator closed the connection, or the connection broke. Connect again and call [`Worker::run`] with the
    /// new channel.
    Disconnected,
    /// No frame arrived for too long. Connect again as after [`Ended::Disconnected`].
    Silent,
    /// The coordinator refuses this worker, for this reason.
    Refused(String),
    /// [`WorkerHandle::drain`] was called, and no work remains.
    Drained,
}

/// The time limit for the coordinator's welcome.
const WELCOME_WAIT: Duration = Duration::from_secs(10);

/// The time limit for closing ephemeral objects at the end. Revoking a token is one request.
const CLOSING_WAIT: Duration = Duration::from_secs(60);

/// The capacity of the queue of events. When it is full, tasks wait. Each task has at most two events under way.
const EVENTS: usize = 4_096;

/// The maximum number of reports in one frame, and of events handled in a row. The number is large enough to share the
/// cost of a frame, and small enough to send the frame within a millisecond.
const FRAME_REPORTS: usize = 256;

/// The capacity of the queue of lines for coordinators. When it is full, provisioners wait for a moment.
const LINES: usize = 1_024;

/// The shortest interval of heartbeats, and the shortest pause, that a coordinator may set. Nothing shorter is useful.
const SHORTEST_BEAT: Duration = Duration::from_millis(10);

/// How long a worker that is about to end waits for acknowledgements of its results, once nothing else is running. A
/// running coordinator answers within a second. After the wait, the worker ends. If its unacknowledged results are
/// lost, their operations are in doubt.
const DELIVERY_WAIT: Duration = Duration::from_secs(5);

/// The requested end of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Wish {
    /// The worker stays.
    #[default]
    Stay,
    /// Running calls continue to their end.
    Drain,
    /// Providers are asked to stop.
    Stop,
}

/// The activity of a worker at one time, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerFigures {
    /// Whether a coordinator is connected.
    pub connected: bool,
    /// The maximum number of concurrent operations.
    pub capacity: u32,
    /// The number of running calls.
    pub calls: u64,
    /// The number of results without an acknowledgement.
    pub results: u64,
    /// The number of operations that ended since the start.
    pub finished: u64,
}

/// Ends a running worker, and shows its activity. Cheap to clone.
#[derive(Clone, Debug)]
pub struct WorkerHandle {
    wish: Arc<watch::Sender<Wish>>,
    figures: Arc<Mutex<WorkerFigures>>,
}

impl WorkerHandle {
    /// Starts no new calls. Running calls continue to their end, and their results are delivered. Then [`Worker::run`]
    /// returns [`Ended::Drained`].
    pub fn drain(&self) {
        self.wish.send_modify(|wish| *wish = (*wish).max(Wish::Drain));
    }

    /// The activity of the worker, at most one heartbeat ago.
    pub fn figures(&self) -> WorkerFigures {
        *self.figures.lock()
    }

    /// Like [`WorkerHandle::drain`]. Also asks providers to end their calls early.
    pub fn stop(&self) {
        self.wish.send_replace(Wish::Stop);
    }
}

/// A worker. A worker outlives its connections: results without an acknowledgement are sent again over the next
/// connection.
pub struct Worker {
    host: Arc<Host>,
    desk: Desk,
    events: mpsc::Receiver<Event>,
    lines: mpsc::Receiver<RunLine>,
    handle: WorkerHandle,
    wish: watch::Receiver<Wish>,
    /// The last request to end that was passed on to the desk.
    passed: Wish,
    spool: Option<SpoolWriter>,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Worker({})", self.host.options.name)
    }
}

impl Worker {
    /// A worker without work. Nothing happens before [`Worker::run`].
    pub fn new(mut options: WorkerOptions) -> Worker {
        let spool = options.spool.take();
        let maker = options.incarnation.clone();
        let figures = WorkerFigures { capacity: options.capacity.max(1), ..WorkerFigures::default() };
        let (to_lines, lines) = mpsc::channel(LINES);
        let host = Arc::new(Host::new(options, to_lines));
        let (sender, events) = mpsc::channel(EVENTS);
        let (sender_of_wish, wish) = watch::channel(Wish::Stay);
        let mut desk = Desk::new(host.clone(), sender);
        let spool = spool.map(|spool| {
            desk.docket_mut().restore(spool.results);
            SpoolWriter::new(spool.place, maker)
        });
        let handle = WorkerHandle { wish: Arc::new(sender_of_wish), figures: Arc::new(Mutex::new(figures)) };
        Worker { host, desk, events, lines, handle, wish, passed: Wish::Stay, spool }
    }

    /// A handle to end the worker from elsewhere.
    pub fn handle(&self) -> WorkerHandle {
        self.handle.clone()
    }

    /// The unfinished work of the worker, with or without a connection.
    pub fn open(&mut self) -> UnfinishedWork {
        while let Ok(event) = self.events.try_recv() {
            self.desk.happened(event);
        }
        self.pass_wish();
        self.desk.docket().open()
    }

    /// Waits for something while no coordinator is connected. Running calls continue in the meantime, and their results
    /// go to the spool at once.
    pub async fn wait_for<T>(&mut self, until: impl Future<Output = T>) -> T {
        let mut until = std::pin::pin!(until);
        loop {
            self.pass_wish();
            self.spool_some(true);
            tokio::select! {
                biased;
                found = &mut until => return found,
                event = self.events.recv() => self.happened_all(event),
                Ok(()) = self.wish.changed() => {}
                () = written(&mut self.spool, &mut self.desk) => {}
            }
        }
    }

    /// Gives results without an acknowledgement to the spool.
    fn spool_some(&mut self, all: bool) {
        if let Some(spool) = &mut self.spool {
            spool.begin(self.desk.docket_mut(), all);
        }
    }

    /// Before the process ends, writes unacknowledged results to the spool, if there is one. Returns the number of
    /// results that are not in the spool, and are lost.
    pub async fn settle_spool(&mut self) -> usize {
        if let Some(spool) = &mut self.spool {
            spool.finish(self.desk.docket_mut()).await;
        }
        self.desk.docket().not_durable()
    }

    /// Passes on the request to end.
    fn pass_wish(&mut self) {
        let wish = *self.wish.borrow_and_update();
        if wish > self.passed {
            self.desk.drain();
            if wish == Wish::Stop {
                self.desk.stop();
            }
            self.passed = wish;
        }
    }

    /// Works for the coordinator at the other end of the channel until the connection ends. Tasks that are running at
    /// that time continue, and the next call of this function reports their results. Must be called within a tokio
    /// runtime.
    pub async fn run(&mut self, channel: Channel) -> Ended {
        let Channel { mut incoming, outgoing } = channel;
        let greeting = WorkerFrame { greeting: Some(self.greeting()), ..WorkerFrame::default() };
        if outgoing.send(greeting.encode()).await.is_err() {
            return Ended::Disconnected;
        }
        let first = self.wait_for(timeout(WELCOME_WAIT, incoming.recv())).await;
        let frame = match first {
            Ok(Some(frame)) => CoordinatorFrame::decode(&frame),
            Ok(None) => return Ended::Disconnected,
            Err(_) => return Ended::Silent,
        };
        let welcome = match frame {
            Ok(CoordinatorFrame { welcome: Some(Welcome { refused: Some(reason), .. }), .. }) => {
                return Ended::Refused(reason);
            }
            Ok(CoordinatorFrame { welcome: Some(welcome), orders, .. }) => {
                self.desk.connected(welcome.protocol);
                if let Some(spool) = &mut self.spool {
                    spool.connected(welcome.sealed);
                }
                orders.into_iter().for_each(|of_run| self.desk.ordered(of_run));
                welcome
            }
            Ok(CoordinatorFrame { welcome: None, .. }) => {
                return Ended::Refused(reasons::no_welcome());
            }
            Err(error) => return Ended::Refused(reasons::first_frame_undecodable(&error)),
        };
        self.note(true);
        let ended = self.serve(&welcome, incoming, outgoing).await;
        self.note(false);
        ended
    }

    /// Handles an event, and counts the operations that ended.
    fn happened(&mut self, event: Event) {
        self.handle.figures.lock().finished += u64::from(matches!(event, Event::Finished { .. }));
        self.desk.happened(event);
    }

    /// Updates the figures for metrics.
    fn note(&self, connected: bool) {
        let UnfinishedWork { calls, results } = self.desk.docket().open();
        let mut figures = self.handle.figures.lock();
        *figures = WorkerFigures { connected, calls: calls as u64, results: results as u64, ..*figures };
    }

    fn greeting(&self) -> Greeting {
        let options = &self.host.options;
        Greeting {
            name: options.name.clone(),
            incarnation: options.incarnation.clone(),
            labels: options.labels.clone(),
            capacity: options.capacity.max(1),
            packages: options.packages.held(),
            held: self.desk.docket().held(),
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    async fn serve(
        &mut self,
        welcome: &Welcome,
        mut incoming: mpsc::Receiver<EncodedFrame>,
        outgoing: mpsc::Sender<EncodedFrame>,
    ) -> Ended {
        self.host.set_intent_age_ms(u64::from(welcome.intent_age_ms));
        let pause = Duration::from_millis(welcome.pause_ms.into()).max(SHORTEST_BEAT);
        let mut beat = interval(Duration::from_millis(welcome.heartbeat_ms.into()).max(SHORTEST_BEAT));
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut heard, mut spoke, mut beats) = (Instant::now(), Instant::now(), 0);
        let (mut told, mut rests_since): (bool, Option<Instant>) = (false, None);
        let mut unsent = Unsent::default();
        let mut spools = interval(ACKNOWLEDGEMENT);
        spools.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            self.pass_wish();
            let ends = self.passed > Wish::Stay;
            let docket = self.desk.docket();
            if told && docket.is_idle() && unsent.is_empty() {
                return Ended::Drained;
            }
            let rests = ends && docket.only_results();
            rests_since = rests.then(|| rests_since.unwrap_or_else(Instant::now));
            if told && rests_since.is_some_and(|since| since.elapsed() >= DELIVERY_WAIT) {
                tracing::warn!(results = docket.open().results, "results were not accepted by any coordinator");
                return Ended::Drained;
            }
            let reports = docket.reports();
            tokio::select! {
                biased;
                _ = beat.tick() => {
                    if heard.elapsed() > pause {
                        return Ended::Silent;
                    }
                    self.note(true);
                    if spoke.elapsed() >= beat.period() / 2 {
                        beats += 1;
                        // If the channel is full, frames are waiting in it, and these frames also show that the worker
                        // is alive.
                        let sent = outgoing.try_send(WorkerFrame { heartbeat: beats, ..WorkerFrame::default() }.encode());
                        if let Err(mpsc::error::TrySendError::Closed(_)) = sent {
                            return Ended::Disconnected;
                        }
                    }
                }
                _ = spools.tick(), if self.spool.is_some() => self.spool_some(false),
                () = written(&mut self.spool, &mut self.desk) => {}
                changed = self.wish.changed() => {
                    if changed.is_err() {
                        return Ended::Drained;
                    }
                }
                frame = incoming.recv(), if reports < FRAME_REPORTS => {
                    let Some(frame) = frame else { return Ended::Disconnected };
                    heard = Instant::now();
                    match CoordinatorFrame::decode(&frame) {
                        Ok(found) => found.orders.into_iter().for_each(|of_run| self.desk.ordered(of_run)),
                        Err(error) => {
                            tracing::error!(%error, "the coordinator's frame cannot be decoded");
                            return Ended::Disconnected;
                        }
                    }
                }
                () = unsent.receive(&mut self.lines), if !unsent.has_lines() => {}
                event = self.events.recv(), if reports < FRAME_REPORTS => {
                    self.happened_all(event);
                }
                // The announcement comes before the returned tasks, so that the coordinator does not send these again.
                permit = outgoing.reserve(), if reports > 0 || !unsent.is_empty() || (ends && !told) => {
                    let Ok(permit) = permit else { return Ended::Disconnected };
                    permit.send(self.next_frame(ends && !told, &mut unsent).encode());
                    told |= ends;
                    spoke = Instant::now();
                }
            }
        }
    }

    /// The next frame for the coordinator: the announcement that the worker is about to leave, or reports and output
    /// lines.
    fn next_frame(&mut self, leaves: bool, unsent: &mut Unsent) -> WorkerFrame {
        match leaves {
            true => WorkerFrame { leaving: true, ..WorkerFrame::default() },
            false => unsent.frame(&mut self.lines, || self.desk.take_reports(FRAME_REPORTS).collect()),
        }
    }

    /// Handles an event, and the events that have arrived in the meantime.
    fn happened_all(&mut self, event: Option<Event>) {
        let mut next = event;
        let mut looked_at = 0;
        while let Some(event) = next {
            self.happened(event);
            looked_at += 1;
            next = if looked_at < FRAME_REPORTS { self.events.try_recv().ok() } else { None };
        }
    }

    /// Ends all providers, even if they are in use. Running calls are lost. Call this when [`Worker::run`] has drained,
    /// or when there is no more time.
    pub async fn close(self) {
        if timeout(CLOSING_WAIT, self.desk.close_objects()).await.is_err() {
            tracing::warn!("ephemeral objects were not closed in time");
        }
        self.host.pool.close_all().await;
    }
}

/// Waits until the batch on its way to the spool is written. Without such a batch, this function never returns.
async fn written(spool: &mut Option<SpoolWriter>, desk: &mut Desk) {
    match spool {
        Some(spool) => spool.written(desk.docket_mut()).await,
        None => std::future::pending().await,
    }
}
