//! A worker: it takes orders from a coordinator over a channel of frames, and carries them out.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use weft_protocol::{CoordinatorFrame, Greeting, PROTOCOL, Welcome, WorkerFrame};

use crate::desk::{Desk, Event};
use crate::held::Open;
use crate::options::WorkerOptions;
use crate::task::Host;

/// One encoded frame of `weft.cluster.v1`.
pub type Frame = Vec<u8>;

/// A worker's end of its connection: in one process two channels, over the network a stream pumped into them.
#[derive(Debug)]
pub struct Channel {
    /// Encoded `CoordinatorFrame`s. Its end is the end of the connection.
    pub incoming: mpsc::Receiver<Frame>,
    /// Encoded `WorkerFrame`s.
    pub outgoing: mpsc::Sender<Frame>,
}

/// Why a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The coordinator closed it, or it broke: connect again and call [`Worker::run`] with the new channel.
    Disconnected,
    /// Nothing was heard for too long: as [`Ended::Disconnected`].
    Silent,
    /// The coordinator does not take this worker: its reason.
    Refused(String),
    /// [`WorkerHandle::drain`] was called, and nothing is open any more.
    Drained,
}

/// How long a coordinator may take to greet.
const WELCOME_WAIT: Duration = Duration::from_secs(10);

/// How long the closing of ephemeral objects may take when everything else is over: revoking a token is one request.
const CLOSING_WAIT: Duration = Duration::from_secs(60);

/// Events that wait for the worker; tasks wait beyond that. Each task has at most two under way.
const EVENTS: usize = 4_096;

/// Most reports in one frame, and most events looked at before anything else: large enough to share the cost of a
/// frame, small enough that a frame is on its way within a millisecond.
const FRAME_REPORTS: usize = 256;

/// Ends of heartbeats and pauses that a coordinator may ask for: nothing sensible is shorter.
const SHORTEST_BEAT: Duration = Duration::from_millis(10);

/// How long results that nobody acknowledges are offered by a worker that is to end, once nothing else is under way: a
/// coordinator that carries their run out answers within a second. What is lost then is in doubt already, or becomes so.
const DELIVERY_WAIT: Duration = Duration::from_secs(5);

/// How a worker is asked to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Wish {
    /// It is not.
    #[default]
    Stay,
    /// What runs goes on to its end.
    Drain,
    /// Providers are asked to stop.
    Stop,
}

/// Tells a running worker to end. Cheap to clone.
#[derive(Clone, Debug)]
pub struct WorkerHandle {
    wish: Arc<watch::Sender<Wish>>,
}

impl WorkerHandle {
    /// No new calls; running ones go on to their end, and their results are delivered. Then [`Worker::run`] returns
    /// [`Ended::Drained`].
    pub fn drain(&self) {
        self.wish.send_modify(|wish| *wish = (*wish).max(Wish::Drain));
    }

    /// As [`WorkerHandle::drain`], and providers are asked to end their calls early.
    pub fn stop(&self) {
        self.wish.send_replace(Wish::Stop);
    }
}

/// A worker. It outlives its connections: what it has not been acknowledged for is said again over the next one.
pub struct Worker {
    host: Arc<Host>,
    desk: Desk,
    events: mpsc::Receiver<Event>,
    handle: WorkerHandle,
    wish: watch::Receiver<Wish>,
    /// How much of the wish was passed on.
    passed: Wish,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Worker({})", self.host.options.name)
    }
}

impl Worker {
    /// A worker without work. Nothing happens before [`Worker::run`].
    pub fn new(options: WorkerOptions) -> Worker {
        let host = Arc::new(Host::new(options));
        let (sender, events) = mpsc::channel(EVENTS);
        let (sender_of_wish, wish) = watch::channel(Wish::Stay);
        let desk = Desk::new(host.clone(), sender);
        let handle = WorkerHandle { wish: Arc::new(sender_of_wish) };
        Worker { host, desk, events, handle, wish, passed: Wish::Stay }
    }

    /// Stops it from elsewhere.
    pub fn handle(&self) -> WorkerHandle {
        self.handle.clone()
    }

    /// What it has not finished with, also while it has no connection.
    pub fn open(&mut self) -> Open {
        while let Ok(event) = self.events.try_recv() {
            self.desk.happened(event);
        }
        self.pass_wish();
        self.desk.open()
    }

    /// Passes on that it is to end.
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

    /// Works for the coordinator at the other end until the connection ends. Tasks that are under way then go on; the
    /// next call says what became of them. Must be called within a tokio runtime.
    pub async fn run(&mut self, channel: Channel) -> Ended {
        let Channel { mut incoming, outgoing } = channel;
        let greeting = WorkerFrame { greeting: Some(self.greeting()), ..WorkerFrame::default() };
        if outgoing.send(greeting.encode()).await.is_err() {
            return Ended::Disconnected;
        }
        let first = timeout(WELCOME_WAIT, incoming.recv()).await;
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
                self.desk.connected();
                orders.into_iter().for_each(|of_run| self.desk.ordered(of_run));
                welcome
            }
            Ok(CoordinatorFrame { welcome: None, .. }) => {
                return Ended::Refused(String::from("the coordinator did not greet"));
            }
            Err(error) => return Ended::Refused(format!("the coordinator's greeting was not understood: {error}")),
        };
        self.serve(&welcome, incoming, outgoing).await
    }

    fn greeting(&self) -> Greeting {
        let options = &self.host.options;
        Greeting {
            name: options.name.clone(),
            incarnation: options.incarnation.clone(),
            labels: options.labels.clone(),
            capacity: options.capacity.max(1),
            packages: options.packages.held(),
            held: self.desk.held(),
            protocol: PROTOCOL,
        }
    }

    async fn serve(
        &mut self,
        welcome: &Welcome,
        mut incoming: mpsc::Receiver<Frame>,
        outgoing: mpsc::Sender<Frame>,
    ) -> Ended {
        self.host.set_intent_age_ms(u64::from(welcome.intent_age_ms));
        let pause = Duration::from_millis(welcome.pause_ms.into()).max(SHORTEST_BEAT);
        let mut beat = interval(Duration::from_millis(welcome.heartbeat_ms.into()).max(SHORTEST_BEAT));
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut heard, mut spoke, mut beats) = (Instant::now(), Instant::now(), 0);
        let (mut told, mut rests_since): (bool, Option<Instant>) = (false, None);
        loop {
            self.pass_wish();
            let ends = self.passed > Wish::Stay;
            if told && self.desk.is_idle() {
                return Ended::Drained;
            }
            let rests = ends && self.desk.only_results();
            rests_since = rests.then(|| rests_since.unwrap_or_else(Instant::now));
            if told && rests_since.is_some_and(|since| since.elapsed() >= DELIVERY_WAIT) {
                tracing::warn!(results = self.desk.open().results, "results are left that no coordinator has taken");
                return Ended::Drained;
            }
            let room = self.desk.reports() < FRAME_REPORTS;
            tokio::select! {
                biased;
                _ = beat.tick() => {
                    if heard.elapsed() > pause {
                        return Ended::Silent;
                    }
                    if spoke.elapsed() >= beat.period() / 2 {
                        beats += 1;
                        // A full channel has frames under way, which say as much.
                        let sent = outgoing.try_send(WorkerFrame { heartbeat: beats, ..WorkerFrame::default() }.encode());
                        if let Err(mpsc::error::TrySendError::Closed(_)) = sent {
                            return Ended::Disconnected;
                        }
                    }
                }
                changed = self.wish.changed() => {
                    if changed.is_err() {
                        return Ended::Drained;
                    }
                }
                frame = incoming.recv(), if room => {
                    let Some(frame) = frame else { return Ended::Disconnected };
                    heard = Instant::now();
                    match CoordinatorFrame::decode(&frame) {
                        Ok(found) => found.orders.into_iter().for_each(|of_run| self.desk.ordered(of_run)),
                        Err(error) => {
                            tracing::error!(%error, "the coordinator's frame was not understood");
                            return Ended::Disconnected;
                        }
                    }
                }
                event = self.events.recv(), if room => {
                    let mut next = event;
                    let mut looked_at = 0;
                    while let Some(event) = next {
                        self.desk.happened(event);
                        looked_at += 1;
                        next = if looked_at < FRAME_REPORTS { self.events.try_recv().ok() } else { None };
                    }
                }
                // Before what it gives back: that must not come again to it.
                permit = outgoing.reserve(), if self.desk.reports() > 0 || (ends && !told) => {
                    let Ok(permit) = permit else { return Ended::Disconnected };
                    if ends && !told {
                        told = true;
                        permit.send(WorkerFrame { leaving: true, ..WorkerFrame::default() }.encode());
                    } else {
                        permit.send(WorkerFrame::of_reports(self.desk.take_reports(FRAME_REPORTS)).encode());
                    }
                    spoke = Instant::now();
                }
            }
        }
    }

    /// Ends all providers, used or not. Whatever is under way is lost; call it when [`Worker::run`] has drained, or
    /// when there is no time left.
    pub async fn close(self) {
        if timeout(CLOSING_WAIT, self.desk.close_objects()).await.is_err() {
            tracing::warn!("ephemeral objects were not closed in time");
        }
        self.host.pool.close_all().await;
    }
}
