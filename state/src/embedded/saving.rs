//! Saves the state during a run whose journal is on this machine only. Other machines then find the results up to the
//! last save, even if this machine is lost.
//!
//! - A saved state has the format version [`GUARDED_FORMAT`], so that OpenTofu refuses it. Each save increases the
//!   serial of the state.
//! - A line of the journal announces each save with its serial and digest, before the document is written. Recovery
//!   accepts the state that the term began from and every announced state. It applies the whole journal of the term to
//!   the accepted state. Steps that the document already contains change nothing.
//! - The state is copied while the lock of the store is held. It is encoded and sent without the lock.

use std::path::PathBuf;

use super::live::Live;
use super::lock::digit_of;
use super::recovery;
use super::saves::{SaveUnderWay, Saves};
use super::sealed::Seals;
use super::terms::EmbeddedCore;
use super::writer::Durable;
use crate::error::StoreError;
use crate::event::{Event, Saving};
use crate::run::Digest;
use crate::tfstate::{GUARDED_FORMAT, StateFile, WRITER_VERSION};

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
    /// A copy of the state with the next serial, or `None` if the document is up to date.
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

impl EmbeddedCore {
    /// Saves the state unless the document is up to date.
    pub(super) fn save(&self, under_way: &SaveUnderWay) {
        let saves = under_way.saves();
        let saved = self.try_save(saves);
        if let Err(error) = &saved {
            tracing::warn!("the state could not be saved during its run: {error}");
        }
        saves.note(saved);
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
