//! Times and bounds of the run protocol, each with its reason, and how they relate.

use std::time::Duration;

/// A run's lease may be taken over when its heartbeat counter has not moved for this long on the challenger's own
/// clock. Long enough for a pause of a busy machine or a store that restarts, short enough that a person waits for it.
pub const LEASE_TTL: Duration = Duration::from_secs(10);

/// How often a lease is renewed: several tries fit into half a TTL.
pub const RENEW_INTERVAL: Duration = Duration::from_secs(2);

/// Without a renewal for this long no new call is started.
pub const LEASE_PAUSE: Duration = Duration::from_secs(5);

/// An intent older than this is not acted on by its worker: what was granted by a coordinator that is being replaced
/// must not begin after the successor has looked.
pub const INTENT_MAX_AGE: Duration = Duration::from_millis(2500);

/// How often workers and coordinator send a heartbeat over an idle stream.
pub const WORKER_HEARTBEAT: Duration = Duration::from_secs(2);

/// A worker that was silent for this long has left: its stream hangs.
pub const WORKER_SILENCE: Duration = Duration::from_secs(8);

/// How often an HTTP/2 connection is asked whether the other side is still there. Streams of workers have heartbeats of
/// their own; this ends the other calls, and connections on which no stream was opened.
pub const KEEP_ALIVE: Duration = Duration::from_secs(4);

/// How long the answer to that may take.
pub const KEEP_ALIVE_WAIT: Duration = Duration::from_secs(4);

/// How long a worker that left may come back with its results before evidence is sought elsewhere. It covers a
/// restart of the network or of the coordinator.
pub const RECONNECT_GRACE: Duration = Duration::from_secs(6);

/// After a coordinator takes a run over, it waits this long for workers before it leases shards, so that the first one
/// to come back does not get them all.
pub const GATHER: Duration = Duration::from_millis(1500);

/// A new run waits this long before it leases shards: all workers that are connected must have been heard of, so that
/// the first one does not get them all.
pub const GATHER_CONNECTED: Duration = Duration::from_millis(100);

/// How often the core hears that time passed: a fraction of the shortest time above.
pub const TICK: Duration = Duration::from_millis(250);

/// Most tasks of one run at one worker: enough to hide a store's and a network's delay at thousands of operations a
/// second, little enough that a lost worker loses little.
pub const WINDOW: u32 = 256;

/// Most settle tasks at one worker at once: each may read from a provider.
pub const SETTLE_WINDOW: u32 = 64;

/// Most steps in one batch of the store: a batch is one durability wait, and bounds what is sent again after an error.
pub const STORE_BATCH: usize = 512;

/// Most orders in one frame to a worker, so that a frame stays well below [`FRAME_BYTES`] even with large values.
pub const FRAME_ORDERS: usize = 256;

/// Largest frame, fragment or plan that is accepted over the network.
pub const FRAME_BYTES: usize = 512 << 20;

/// Frames that wait for a worker or from it; beyond that the sender waits.
pub const CHANNEL_FRAMES: usize = 1024;

/// Events that wait for a watcher; one that is slower misses some and is told where the run stands instead.
pub const WATCH_EVENTS: usize = 65_536;

/// After the second signal providers are asked to stop: this is how long what they return is waited for. A request that
/// a provider gives up ends within a second or so; a person who asked twice does not wait much longer.
pub const STOP_WAIT: Duration = Duration::from_secs(5);

/// What the store gets to take the last records of a run that is left, and the lease.
pub const LEAVE_DEADLINE: Duration = Duration::from_secs(2);

/// First wait before a store is tried again; doubled up to [`STORE_RETRY_MOST`].
pub const STORE_RETRY_FIRST: Duration = Duration::from_millis(50);

/// Longest wait between two tries of a store.
pub const STORE_RETRY_MOST: Duration = Duration::from_secs(2);

/// How long a server that answers with errors is tried again before the term ends. An administrator who makes room or
/// lifts a restriction has time for that; a setting that stays wrong does not hold a run for ever. A server that does
/// not answer at all is waited for without a limit: whoever waits sees that, and can stop the run.
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
