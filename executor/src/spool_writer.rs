//! Writes to a spool beside the work of a worker, one batch after another.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::docket::Docket;
use crate::spool::{Spool, SpoolWork};

/// How long a connected coordinator may take to acknowledge a result before the result is also kept in the spool. A store
/// acknowledges within milliseconds, so that the spool costs nothing while all is well. After this time something is
/// slow or away.
pub(crate) const ACKNOWLEDGEMENT: Duration = Duration::from_millis(100);

/// The pause after a failure. An administrator makes room on a full disk within minutes.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// The way from a docket to its spool.
pub(crate) struct SpoolWriter {
    place: Arc<dyn Spool>,
    /// The incarnation of this process.
    maker: String,
    writing: Option<JoinHandle<(SpoolWork, Result<(), String>)>>,
    /// Whether results may be kept: those of an encrypted state only in an encrypted file.
    allowed: bool,
    /// When the last attempt failed. It was logged once.
    failed: Option<Instant>,
}

impl SpoolWriter {
    pub(crate) fn new(place: Arc<dyn Spool>, maker: String) -> SpoolWriter {
        SpoolWriter { place, maker, writing: None, allowed: true, failed: None }
    }

    /// A coordinator is connected, whose store encrypts or not.
    pub(crate) fn connected(&mut self, sealed: bool) {
        self.allowed = !sealed || self.place.is_sealed();
        if !self.allowed {
            tracing::warn!(
                "the state is encrypted and this worker has no keys, so results are kept in memory only: set TF_ENCRYPTION"
            );
        }
    }

    /// Begins to write what has to be written, unless a batch is under way.
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

    /// Waits for the batch under way. Never returns without one.
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
                    tracing::warn!("results cannot be kept on disk, so they are lost with this process: {error}");
                }
            }
            Err(error) => {
                tracing::error!("the spool failed: {error}");
                self.allowed = false;
            }
        }
    }

    /// Writes everything that is left, before the process ends.
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
