//! Saves the state while its run goes on, where the journal is on this machine only. Others then find what the run has
//! done up to the last save, even if this machine is lost.
//!
//! - A saved state has the guard digit, so that OpenTofu refuses it, and its serial rises.
//! - A line of the journal announces each save with its serial and digest, before the document is written. Recovery
//!   accepts the state that the term began from and every announced one, and applies the whole journal of the term to
//!   it. A step that the document has already changes nothing.
//! - One save is under way at a time. The end of a term waits for it, so that none comes after the last state.
//! - The state is copied under the lock of the store, and encoded and sent without it.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::live::Live;
use super::lock::digit_of;
use super::medium::Saver;
use super::recovery;
use super::sealed::Seals;
use super::terms::Core;
use super::writer::Durable;
use crate::error::StoreError;
use crate::event::{Event, Saving};
use crate::run::Digest;
use crate::tfstate::{GUARDED_FORMAT, StateFile, WRITER_VERSION};

/// How often a state is saved while its run goes on, as often as OpenTofu writes states.
pub const SAVE_INTERVAL: Duration = Duration::from_secs(20);

/// The saves of one store.
pub(super) struct Saves {
    saver: Arc<dyn Saver>,
    interval: Duration,
    pace: Mutex<Pace>,
    ended: Condvar,
}

/// When the next save is due.
struct Pace {
    /// Whether a term is running.
    running: bool,
    /// Whether a save is under way.
    busy: bool,
    /// When the term began, or the last save ended.
    last: Instant,
    /// Whether the last save failed.
    failing: bool,
    /// The first error of the last row of failures, until it is reported.
    trouble: Option<StoreError>,
}

/// A save that is under way until it is dropped.
pub(super) struct UnderWay(Arc<Saves>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut pace = self.0.pace();
        pace.busy = false;
        pace.last = Instant::now();
        self.0.ended.notify_all();
    }
}

impl Saves {
    /// Saves with this interval.
    pub(super) fn new(saver: Arc<dyn Saver>, interval: Duration) -> Saves {
        let pace = Pace { running: false, busy: false, last: Instant::now(), failing: false, trouble: None };
        Saves { saver, interval, pace: Mutex::new(pace), ended: Condvar::new() }
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A term begins.
    pub(super) fn begin(&self) {
        let mut pace = self.pace();
        pace.running = true;
        pace.last = Instant::now();
    }

    /// Begins a save if one is due.
    pub(super) fn begin_if_due(self: &Arc<Saves>) -> Option<UnderWay> {
        let mut pace = self.pace();
        if !pace.running || pace.busy || pace.last.elapsed() < self.interval {
            return None;
        }
        pace.busy = true;
        Some(UnderWay(Arc::clone(self)))
    }

    /// Waits for the save that is under way.
    pub(super) fn wait(&self) {
        drop(self.idle());
    }

    /// The term ends: waits for the save that is under way, and begins none.
    pub(super) fn end(&self) {
        self.pace().running = false;
        self.wait();
    }

    fn idle(&self) -> MutexGuard<'_, Pace> {
        let mut pace = self.pace();
        while pace.busy {
            pace = self.ended.wait(pace).unwrap_or_else(PoisonError::into_inner);
        }
        pace
    }

    /// What failed since the last call. Only the first of several failures in a row counts.
    pub(super) fn take_trouble(&self) -> Option<StoreError> {
        self.pace().trouble.take()
    }
}

/// A state that is about to be saved.
struct Taken {
    epoch: u64,
    file: StateFile,
    content: Digest,
    lines: u64,
    seals: Seals,
    path: PathBuf,
}

impl Live {
    /// A copy of the state with the next serial, if the document lacks something of it.
    fn take(&mut self) -> Option<Taken> {
        let term = self.term.as_ref().filter(|_| self.guarded)?;
        let (epoch, lines) = (term.epoch, term.writer.chain().lines);
        let content = self.ledger.content_digest();
        if content == self.folded_content {
            return None;
        }
        self.ledger.serial += 1;
        WRITER_VERSION.clone_into(&mut self.ledger.terraform_version);
        let (seals, path) = (self.seals.clone(), self.handle.path().to_owned());
        Some(Taken { epoch, file: self.ledger.to_file(), content, lines, seals, path })
    }

    fn announce(&self, epoch: u64, saving: Saving) -> Option<Durable> {
        let term = self.term.as_ref().filter(|term| term.epoch == epoch)?;
        Some(term.writer.append(&[Event::Saving(saving)]))
    }
}

impl Core {
    /// Saves the state if the document lacks something of it.
    pub(super) fn save(&self, under_way: &UnderWay) {
        let saves = &under_way.0;
        let saved = self.try_save(saves);
        let mut pace = saves.pace();
        let failed_before = std::mem::replace(&mut pace.failing, saved.is_err());
        if let Err(error) = saved {
            tracing::warn!("the state could not be saved while its run goes on: {error}");
            if !failed_before {
                pace.trouble = Some(error);
            }
        }
    }

    fn try_save(&self, saves: &Saves) -> Result<(), StoreError> {
        let Some(taken) = self.live()?.take() else { return Ok(()) };
        let Taken { epoch, file, content, lines, seals, path } = taken;
        let mut image = seals.state(&file, &path)?;
        let serial = file.serial;
        drop(file);
        let digest = recovery::state_digest(&image);
        let found = digit_of(&image, &path)?;
        image[found.offset] = GUARDED_FORMAT;
        let announced = self.live()?.announce(epoch, Saving { serial, lines, digest });
        let Some(announced) = announced else { return Ok(()) };
        announced.wait_blocking()?;
        saves.saver.save(image.into())?;
        let mut live = self.live()?;
        if live.term.as_ref().is_some_and(|term| term.epoch == epoch) {
            live.folded_content = content;
            live.file_digest = digest;
        }
        Ok(())
    }
}
