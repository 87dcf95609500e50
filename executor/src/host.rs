//! The state that all tasks of a worker share.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use weft_protocol::RunLine;
use weft_providers::ProviderPool;

use crate::options::WorkerOptions;

/// The maximum age of a granted intent, unless the coordinator sets another: a quarter of a lease of ten seconds.
const INTENT_AGE_MS: u64 = 2_500;

/// State shared by all tasks of a worker.
pub(crate) struct Host {
    pub(crate) options: WorkerOptions,
    pub(crate) pool: ProviderPool,
    /// Lines of provisioners for coordinators.
    pub(crate) lines: mpsc::Sender<RunLine>,
    /// The maximum age of a granted intent, in milliseconds.
    intent_age_ms: AtomicU64,
    /// Background work that no task waits for: objects and processes that are being closed.
    closing: Mutex<JoinSet<()>>,
}

impl Host {
    pub(crate) fn new(options: WorkerOptions, lines: mpsc::Sender<RunLine>) -> Host {
        let pool = ProviderPool::new(options.pool.clone());
        Host { options, pool, lines, intent_age_ms: AtomicU64::new(INTENT_AGE_MS), closing: Mutex::default() }
    }

    /// Runs a future in the background. Before the worker ends, it waits for the future.
    pub(crate) fn later(&self, closing: impl Future<Output = ()> + Send + 'static) {
        let mut set = self.closing.lock();
        while set.try_join_next().is_some() {}
        set.spawn(closing);
    }

    /// Waits for the background work.
    pub(crate) async fn closed(&self) {
        let set = std::mem::take(&mut *self.closing.lock());
        set.join_all().await;
    }

    pub(crate) fn intent_age_ms(&self) -> u64 {
        self.intent_age_ms.load(Ordering::Relaxed)
    }

    pub(crate) fn set_intent_age_ms(&self, age: u64) {
        self.intent_age_ms.store(age, Ordering::Relaxed);
    }
}
