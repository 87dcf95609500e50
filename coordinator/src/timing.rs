//! Times and limits of the run protocol, each with its reason, and their relations.

use std::time::Duration;

/// A run's lease may be taken over when its heartbeat counter has not moved for this long on the challenger's own
/// clock. This is long enough for a pause of a busy machine or a restart of the store, and short enough for a person to
/// wait.
pub const LEASE_TTL: Duration = Duration::from_secs(10);

/// How often a lease is renewed. Several tries fit into half a TTL.
pub const RENEW_INTERVAL: Duration = Duration::from_secs(2);

/// Without a renewal for this long, no new call starts.
pub const LEASE_PAUSE: Duration = Duration::from_secs(5);

/// A worker does not act on an intent that is older. A call that was granted by a coordinator that is being replaced
/// must not begin after the successor has looked.
pub const INTENT_MAX_AGE: Duration = Duration::from_millis(2500);

/// How often workers and coordinators send a heartbeat over an idle stream.
pub const WORKER_HEARTBEAT: Duration = Duration::from_secs(2);

/// A worker that is silent for this long has left: its stream hangs.
pub const WORKER_SILENCE: Duration = Duration::from_secs(8);

/// How often an HTTP/2 connection is pinged. Streams of workers have their own heartbeats; this detects dead peers of
/// other calls, and connections without a stream.
pub const KEEP_ALIVE: Duration = Duration::from_secs(4);

/// How long the answer to a ping may take.
pub const KEEP_ALIVE_WAIT: Duration = Duration::from_secs(4);

/// How long a disconnected worker may take to reconnect with its results before others look for evidence. This covers a
/// restart of the network or of the coordinator.
pub const RECONNECT_GRACE: Duration = Duration::from_secs(6);

/// How long a coordinator that takes over a run waits for workers before it leases shards, so that the first worker
/// does not get all of them.
pub const GATHER: Duration = Duration::from_millis(1500);

/// How long a new run waits before it leases shards. By then the run knows every connected worker, so that the first
/// one does not get all shards.
pub const GATHER_CONNECTED: Duration = Duration::from_millis(100);

/// How long a new run waits for workers with the labels that its plan demands, before it is refused. Workers that start
/// at the same time as the coordinator, or reconnect, are there by then.
pub const LABELS_WAIT: Duration = Duration::from_secs(5);

/// The time after which a run that has work and no worker reports that. Workers that start at the same time have
/// connected by then, and the user has not yet noticed the silence.
pub const NO_WORKER_NOTICE: Duration = Duration::from_secs(5);

/// How often the core receives a tick: a fraction of the shortest time above.
pub const TICK: Duration = Duration::from_millis(250);

/// The maximum number of tasks of one run at one worker: enough to hide the latency of a store and a network at
/// thousands of operations a second, and few enough that a lost worker loses little.
pub const WINDOW: u32 = 256;

/// The maximum number of concurrent settle orders at one worker. Each may read from a provider.
pub const SETTLE_WINDOW: u32 = 64;

/// The maximum number of steps in one batch of the store. A batch is one wait for durability, and is sent again as a
/// whole after an error.
pub const STORE_BATCH: usize = 512;

/// The maximum number of orders in one frame to a worker. A frame stays well below [`FRAME_BYTES`] even with large
/// values.
pub const FRAME_ORDERS: usize = 256;

/// The maximum size of a frame, fragment or plan that is accepted over the network.
pub const FRAME_BYTES: usize = 512 << 20;

/// The maximum size of a request that brings no plan. Values of ephemeral variables are the largest part.
pub const REQUEST_BYTES: usize = 8 << 20;

/// The capacity of the queues of frames to and from a worker. When one is full, the sender waits.
pub const CHANNEL_FRAMES: usize = 1024;

/// The capacity of the queue of events for a watcher. A slower watcher misses events, and receives the current state
/// instead.
pub const WATCH_EVENTS: usize = 65_536;

/// The number of waiting events from which on no lines of provisioners are passed on to watchers: lines must not
/// displace events of operations.
pub const WATCH_LINES: usize = WATCH_EVENTS / 4;

/// How long to wait for what providers return after the second signal. A request that a provider cancels ends within a
/// second or so, and a person who asked twice does not wait much longer.
pub const STOP_WAIT: Duration = Duration::from_secs(5);

/// The time limit for the store to take the last records of a run that is left, and to release the lease.
pub const LEAVE_DEADLINE: Duration = Duration::from_secs(2);

/// The time limit for the store to end a finished run. A backend may have to write a large state over a slow network.
pub const END_DEADLINE: Duration = Duration::from_secs(600);

/// The first pause before a store is tried again. It doubles up to [`STORE_RETRY_MOST`].
pub const STORE_RETRY_FIRST: Duration = Duration::from_millis(50);

/// The longest pause between two tries of a store.
pub const STORE_RETRY_MOST: Duration = Duration::from_secs(2);

/// How long a server that answers with errors is tried again before the term ends. An administrator has time to make
/// room or to lift a restriction, and a wrong setting does not block a run forever. A server that does not answer at
/// all is retried without a limit: the user sees that, and can stop the run.
pub const STORE_REFUSED_MOST: Duration = Duration::from_secs(120);

const _: () = {
    assert!(RENEW_INTERVAL.as_millis() * 2 < LEASE_PAUSE.as_millis(), "one lost renewal must not pause a run");
    assert!(LEASE_PAUSE.as_millis() * 2 <= LEASE_TTL.as_millis(), "a holder pauses before it can be replaced");
    assert!(INTENT_MAX_AGE.as_millis() * 4 <= LEASE_TTL.as_millis(), "a call begins long before a takeover");
    assert!(KEEP_ALIVE.as_millis() + KEEP_ALIVE_WAIT.as_millis() <= WORKER_SILENCE.as_millis(), "alike");
    assert!(WORKER_HEARTBEAT.as_millis() * 3 < WORKER_SILENCE.as_millis(), "two lost heartbeats are no silence");
    assert!(INTENT_MAX_AGE.as_millis() < RECONNECT_GRACE.as_millis(), "no call begins after evidence is sought");
    assert!(TICK.as_millis() * 4 <= GATHER.as_millis(), "ticks are finer than what they measure");
    assert!(STORE_RETRY_MOST.as_millis() < LEASE_PAUSE.as_millis(), "a store is tried often within half a TTL");
    assert!(STORE_RETRY_MOST.as_millis() * 10 < STORE_REFUSED_MOST.as_millis(), "a refusal is tried again many times");
    assert!(WINDOW as usize <= STORE_BATCH, "a whole window fits into a batch");
};
