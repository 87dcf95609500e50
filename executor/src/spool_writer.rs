//! Writes to a spool concurrently with the work of a worker, one batch after another.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::docket::Docket;
use crate::spool::{Spool, SpoolError, SpoolWork};

/// If a connected coordinator does not acknowledge a result within this time, the result is also written to the spool.
/// A store acknowledges within milliseconds, so the spool usually costs nothing. If there is no acknowledgement after
/// this time, something is slow or unavailable.
pub(crate) const ACKNOWLEDGEMENT: Duration = Duration::from_millis(100);

/// The pause after a failed write. The cause, such as a full disk, usually lasts for minutes, so more frequent attempts
/// would not help.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Connects a docket with its spool.
pub(crate) struct SpoolWriter {
    place: Arc<dyn Spool>,
    /// The incarnation of this process.
    maker: String,
    writing: Option<JoinHandle<(SpoolWork, Result<(), SpoolError>)>>,
    /// Whether results may be stored. Results of an encrypted state are stored only in an encrypted file.
    allowed: bool,
    /// The time of the last attempt, if it failed. The failure was logged once.
    failed: Option<Instant>,
}

impl SpoolWriter {
    pub(crate) fn new(place: Arc<dyn Spool>, maker: String) -> SpoolWriter {
        SpoolWriter { place, maker, writing: None, allowed: true, failed: None }
    }

    /// Handles a new connection to a coordinator. `sealed` says whether its store encrypts its content.
    pub(crate) fn connected(&mut self, sealed: bool) {
        self.allowed = !sealed || self.place.is_sealed();
        if !self.allowed {
            tracing::warn!(
                "the state is encrypted and this worker has no keys, so results are kept in memory only: set TF_ENCRYPTION"
            );
        }
    }

    /// Begins to write a batch, if there is something to write and no batch is under way.
    pub(crate) fn begin(&mut self, docket: &mut Docket, all: bool) {
        let rests = self.failed.is_some_and(|failed| failed.elapsed() < AFTER_FAILURE);
        if self.writing.is_none() && self.allowed && !rests {
            self.begin_now(docket, all);
        }
    }

    fn begin_now(&mut self, docket: &mut Docket, all: bool) {
        let work = docket.spool_work(all, &self.maker);
        if work.is_empty() {
            return;
        }
        let place = Arc::clone(&self.place);
        self.writing = Some(tokio::task::spawn_blocking(move || {
            let written = place.write(&work);
            (work, written)
        }));
    }

    /// Waits for the batch under way. Without such a batch, this method never returns.
    pub(crate) async fn written(&mut self, docket: &mut Docket) {
        let Some(writing) = &mut self.writing else { return std::future::pending().await };
        let written = writing.await;
        self.writing = None;
        match written {
            Ok((work, Ok(()))) => {
                docket.spooled(&work.keep, true);
                self.failed = None;
            }
            Ok((work, Err(error))) => {
                docket.spooled(&work.keep, false);
                if self.failed.replace(Instant::now()).is_none() {
                    tracing::warn!(
                        "results cannot be written to the disk, so they are lost when this process ends: {error}"
                    );
                }
            }
            Err(error) => {
                tracing::error!("the file with the results of the worker cannot be written: {error}");
                self.allowed = false;
            }
        }
    }

    /// Writes all remaining results, before the process ends.
    pub(crate) async fn finish(&mut self, docket: &mut Docket) {
        if self.writing.is_some() {
            self.written(docket).await;
        }
        if self.allowed {
            self.begin_now(docket, true);
        }
        if self.writing.is_some() {
            self.written(docket).await;
        }
    }
}
