//! Times and limits of the run protocol, each with its reason, and their relations.

use std::time::Duration;

/// A run's lease may be taken over if its heartbeat counter did not change for this time on the challenger's own clock.
/// The time is long enough for a pause of a busy machine or a restart of the store, but short enough for a user to
/// wait.
pub const LEASE_TTL: Duration = Duration::from_secs(10);

/// The interval between two renewals of a lease. It allows several attempts before [`LEASE_PAUSE`], which is half a
/// TTL.
pub const RENEW_INTERVAL: Duration = Duration::from_secs(2);

/// The time without a renewal after which no new call starts.
pub const LEASE_PAUSE: Duration = Duration::from_secs(5);

/// The age after which a worker no longer acts on an intent. A coordinator that is being replaced may have granted the
/// call, but the call must not begin after the successor has looked for evidence.
pub const INTENT_MAX_AGE: Duration = Duration::from_millis(2500);

/// How often workers and coordinators send a heartbeat over an idle stream.
pub const WORKER_HEARTBEAT: Duration = Duration::from_secs(2);

/// The time without a frame after which a worker counts as disconnected, because its stream may hang.
pub const WORKER_SILENCE: Duration = Duration::from_secs(8);

/// The interval of pings on an HTTP/2 connection. Streams of workers have their own heartbeats. Pings detect dead peers
/// during other calls, and on connections without a stream.
pub const KEEP_ALIVE: Duration = Duration::from_secs(4);

/// The time limit for the answer to a ping.
pub const KEEP_ALIVE_WAIT: Duration = Duration::from_secs(4);

/// How long a disconnected worker may take to reconnect with its results before other workers look for evidence. This
/// time suffices for a restart of the network or of the coordinator.
pub const RECONNECT_GRACE: Duration = Duration::from_secs(6);

/// The time that a coordinator waits for workers before it leases the shards of a run that it takes over. Otherwise the
/// first worker would get all shards.
pub const GATHER: Duration = Duration::from_millis(1500);

/// The time that a new run waits before it leases shards. After this time, the run knows every connected worker.
/// Without the wait, the first worker would get all shards.
pub const GATHER_CONNECTED: Duration = Duration::from_millis(100);

/// How long a new run waits for workers with the labels that its plan requires, before the run is refused. This time
/// suffices for workers that reconnect, or start at the same time as the coordinator.
pub const LABELS_WAIT: Duration = Duration::from_secs(5);

/// The time after which a run with work reports that no worker is connected. This time suffices for workers that start
/// together with the run, and is so short that the user does not yet wonder about the silence.
pub const NO_WORKER_NOTICE: Duration = Duration::from_secs(5);

/// The interval of ticks for the state machine: a fraction of the times above, except [`GATHER_CONNECTED`].
pub const TICK: Duration = Duration::from_millis(250);

/// The maximum number of tasks of one run at one worker: enough to hide the latency of a store and a network at
/// thousands of operations a second, and few enough that a lost worker loses little.
pub const WINDOW: u32 = 256;

/// The maximum number of concurrent orders to settle at one worker. Each order may cause a read by a provider.
pub const SETTLE_WINDOW: u32 = 64;

/// The maximum number of steps in one batch for the store. A batch waits once for durability. After an error, the whole
/// batch is sent again.
pub const STORE_BATCH: usize = 512;

/// The maximum number of orders in one frame to a worker. A frame stays well below [`FRAME_BYTES`] even with large
/// values.
pub const FRAME_ORDERS: usize = 256;

/// The maximum size of a frame, fragment or plan that is accepted over the network.
pub const FRAME_BYTES: usize = 512 << 20;

/// The maximum size of a request without a plan. Values of ephemeral variables are its largest part.
pub const REQUEST_BYTES: usize = 8 << 20;

/// The capacity of the queues of frames to and from a worker. When a queue is full, its sender waits.
pub const CHANNEL_FRAMES: usize = 1024;

/// The capacity of the queue of events for a watcher. If the queue overflows, the watcher misses events. A client of
/// the coordinator receives a summary of the run instead.
pub const WATCH_EVENTS: usize = 65_536;

/// If this number of events waits for the slowest watcher, lines of provisioners are dropped for all watchers. Lines
/// must not displace events of operations.
pub const WATCH_LINES: usize = WATCH_EVENTS / 4;

/// The time to wait for results of providers after the second signal. A request that a provider cancels ends within
/// about a second, and a user who asked twice does not want to wait much longer.
pub const STOP_WAIT: Duration = Duration::from_secs(5);

/// The time limit for the store to record the last steps of a run that ends at once, and to release the lease.
pub const LEAVE_DEADLINE: Duration = Duration::from_secs(2);

/// The time limit for the store to end a finished run. A backend may have to write a large state over a slow network.
pub const END_DEADLINE: Duration = Duration::from_secs(600);

/// The first pause before a request to a store is retried. The pause doubles up to [`STORE_RETRY_MOST`].
pub const STORE_RETRY_FIRST: Duration = Duration::from_millis(50);

/// The longest pause between two attempts at a request to a store.
pub const STORE_RETRY_MOST: Duration = Duration::from_secs(2);

/// If a server returns errors, requests are retried for this time before the term ends. This time lets an administrator
/// free space or lift a restriction, but a wrong setting does not block a run forever. If a server does not respond at
/// all, requests are retried without a limit: the user sees the retries, and can stop the run.
pub const STORE_REFUSED_MOST: Duration = Duration::from_secs(120);

const _: () = {
    assert!(RENEW_INTERVAL.as_millis() * 2 < LEASE_PAUSE.as_millis(), "one lost renewal must not pause a run");
    assert!(LEASE_PAUSE.as_millis() * 2 <= LEASE_TTL.as_millis(), "a holder pauses before it can be replaced");
    assert!(INTENT_MAX_AGE.as_millis() * 4 <= LEASE_TTL.as_millis(), "a call begins long before a takeover");
    assert!(
        KEEP_ALIVE.as_millis() + KEEP_ALIVE_WAIT.as_millis() <= WORKER_SILENCE.as_millis(),
        "pings detect a dead peer no later than heartbeats do"
    );
    assert!(WORKER_HEARTBEAT.as_millis() * 3 < WORKER_SILENCE.as_millis(), "two lost heartbeats are no silence");
    assert!(INTENT_MAX_AGE.as_millis() < RECONNECT_GRACE.as_millis(), "no call begins after evidence is sought");
    assert!(TICK.as_millis() * 4 <= GATHER.as_millis(), "ticks are finer than what they measure");
    assert!(STORE_RETRY_MOST.as_millis() < LEASE_PAUSE.as_millis(), "a store is tried often within half a TTL");
    assert!(STORE_RETRY_MOST.as_millis() * 10 < STORE_REFUSED_MOST.as_millis(), "a refusal is tried again many times");
    assert!(WINDOW as usize <= STORE_BATCH, "a whole window fits into a batch");
};
