//! The data of the process that holds the lock, and the changes that this process makes: guard, image, steps.

use std::collections::{BTreeMap, BTreeSet};

use super::current_form;
use super::lock::digit_of;
use super::medium::Document;
use super::recovery::{self, LastTerm};
use super::sealed::Seals;
use super::writer::{Durable, Writer};
use crate::error::StoreError;
use crate::event::{Event, Saving};
use crate::ledger::Ledger;
use crate::record::Opaque;
use crate::run::{Digest, Lease, RunId};
use crate::step::{Claim, ClaimMode, Fenced, StoreAnswer, StoreStep};
use crate::tfstate::{GUARDED_FORMAT, StateFile, WRITER_VERSION};

/// The data of the process that holds the lock.
pub(super) struct Live {
    // The fields are dropped in this order: the journal must be finished before the lock is released.
    pub(super) term: Option<Term>,
    pub(super) ledger: Ledger,
    /// The digest of the content of the state file, without serial and lineage.
    pub(super) folded_content: Digest,
    /// The digest of the state file's bytes.
    pub(super) file_digest: Digest,
    /// The ends of the last journals.
    pub(super) ends: BTreeMap<RunId, LastTerm>,
    /// Finished runs whose summary was read, but not their journals.
    pub(super) unread: BTreeSet<RunId>,
    pub(super) guarded: bool,
    /// Whether the state is sealed differently than configured now. If so, the next write must rewrite the whole state.
    pub(super) outdated: bool,
    /// The content digest of the last image: the last content that [`Live::image`] returned.
    pub(super) imaged: Option<Digest>,
    /// The content of the state file when it was opened, until it is backed up.
    pub(super) unsaved: Option<Vec<u8>>,
    /// The content of the `-state` file, for the first write to the `-state-out` file, which is still empty.
    pub(super) seed: Option<Vec<u8>>,
    /// The runs whose process had ended when the store was opened.
    pub(super) interrupted: BTreeSet<RunId>,
    pub(super) seals: Seals,
    pub(super) handle: Box<dyn Document>,
}

/// The running term.
pub(super) struct Term {
    pub(super) run: RunId,
    pub(super) epoch: u64,
    pub(super) writer: Writer,
}

impl Live {
    /// The new content of the state file with the next serial, or `None` if the file is up to date.
    pub(super) fn image(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        let content = self.ledger.content_digest();
        if !self.outdated && content == self.folded_content {
            return Ok(None);
        }
        self.ledger.terraform_version = WRITER_VERSION.to_owned();
        let image = self.next_image()?;
        self.imaged = Some(content);
        Ok(Some(image))
    }

    /// The journal line that must precede the write of this image. The line contains the image if a crash could leave a
    /// partly written file.
    pub(super) fn announcement(&self, image: &[u8]) -> Event {
        if !self.handle.is_atomic() {
            return Event::Image(Opaque(image.to_vec()));
        }
        let lines = self.term.as_ref().map(|term| term.writer.chain().lines).unwrap_or_default();
        Event::Saving(Saving { serial: self.ledger.serial, lines, digest: recovery::state_digest(image) })
    }

    /// The newest state, including the results of steps that the journal did not accept. `None` if the document already
    /// contains this state.
    pub(super) fn newest(&self, unrecorded: &[StoreStep]) -> Option<StateFile> {
        let content = self.ledger.content_digest();
        let unrecorded: Vec<_> = unrecorded.iter().filter(|step| recovery::writes_state(step)).collect();
        if unrecorded.is_empty() && content == self.folded_content {
            return None;
        }
        let mut file = self.ledger.to_file();
        WRITER_VERSION.clone_into(&mut file.terraform_version);
        // The journal may already have an image with this serial.
        file.serial += u64::from(self.imaged != Some(content)) + u64::from(!unrecorded.is_empty());
        unrecorded.into_iter().filter_map(StoreStep::writes).for_each(|writes| file.write(writes));
        Some(file)
    }

    /// The content of the state file with the next serial. The caller adopts the serial only if it writes the content.
    pub(super) fn next_image(&mut self) -> Result<Vec<u8>, StoreError> {
        if self.ledger.terraform_version.is_empty() {
            self.ledger.terraform_version = WRITER_VERSION.to_owned();
        }
        self.ledger.serial += 1;
        let image = self.present_image();
        if image.is_err() {
            self.ledger.serial -= 1;
        }
        image
    }

    /// The content of the state file with its current serial.
    pub(super) fn present_image(&self) -> Result<Vec<u8>, StoreError> {
        self.seals.state(&self.ledger.to_file(), self.handle.path())
    }

    /// Records the claims of a run. If each append to the journal is a request to a service, and the run will write the
    /// state file, [`Self::guard`] runs while the claims are appended. Otherwise, it runs before the first intent.
    pub(super) fn claimed(&mut self, claims: Vec<Claim>) -> Result<(), StoreError> {
        let is_early = claims.iter().any(|claim| claim.mode == ClaimMode::Exclusive)
            && self.term.as_ref().is_some_and(|term| term.writer.gathers());
        let events = [Event::Claimed(claims)];
        let Some(durable) = self.term.as_ref().map(|term| term.writer.append(&events)) else { return Ok(()) };
        if is_early {
            self.guard()?;
        }
        durable.wait_blocking()
    }

    /// Appends lines to the journal of the running term and waits until they are durable. Does nothing without a term.
    pub(super) fn append_now(&self, events: &[Event]) -> Result<(), StoreError> {
        match &self.term {
            Some(term) => term.writer.append(events).wait_blocking(),
            None => Ok(()),
        }
    }

    /// Guards the file against OpenTofu.
    pub(super) fn guard(&mut self) -> Result<(), StoreError> {
        if self.guarded {
            return Ok(());
        }
        if !self.handle.is_in_place() {
            return Err(StoreError::NotThere(self.handle.path().display().to_string()));
        }
        let content = self.handle.current()?;
        if content.is_empty() {
            let empty = StateFile { lineage: self.ledger.lineage.clone(), ..StateFile::create() };
            let mut bytes = self.seals.state(&empty, self.handle.path())?;
            let found = digit_of(&bytes, self.handle.path())?;
            bytes[found.offset] = GUARDED_FORMAT;
            self.handle.write(&bytes)?;
            self.file_digest = recovery::state_digest(&bytes);
        } else {
            // A file of an earlier version is rewritten: other tools check the digit only in version 4.
            let current = current_form(content.clone(), self.handle.path())?;
            if current != content {
                self.handle.write(&current)?;
            }
            let found = digit_of(&current, self.handle.path())?;
            self.handle.set_digit(found, GUARDED_FORMAT)?;
        }
        self.guarded = true;
        Ok(())
    }

    /// Removes the guard from the file. A file that never had any content becomes empty.
    pub(super) fn unguard(&mut self) -> Result<(), StoreError> {
        let content = self.handle.current()?;
        let found = digit_of(&content, self.handle.path())?;
        let file = self.seals.parse(&content, self.handle.path())?.file;
        if file.is_empty() && file.serial == 0 && self.unsaved.is_none() {
            self.handle.write(&[])?;
            self.file_digest = recovery::state_digest(&[]);
        } else {
            self.handle.set_digit(found, found.unguarded())?;
        }
        self.guarded = false;
        Ok(())
    }

    /// Closes the journal of the running term.
    pub(super) fn end_term(&mut self) {
        if let Some(term) = self.term.take() {
            let chain = term.writer.chain();
            let (run, epoch) = (term.run.clone(), term.epoch);
            let length = term.writer.finish();
            self.ends.insert(run, LastTerm { epoch, length, chain });
        }
    }

    /// Drops everything about a run whose files are removed.
    pub(super) fn forget(&mut self, run: &RunId) {
        self.ledger.runs.remove(run);
        self.unread.remove(run);
        self.ends.remove(run);
    }

    /// Executes steps in memory and queues their journal lines.
    pub(super) fn steps(
        &mut self,
        lease: &Lease,
        steps: Vec<StoreStep>,
    ) -> Result<(Vec<StoreAnswer>, Option<Durable>), StoreError> {
        if let Err(fenced) = self.ledger.check(lease) {
            return Ok((vec![StoreAnswer::Fenced(fenced); steps.len()], None));
        }
        let Some(term) = &self.term else {
            return Ok((vec![StoreAnswer::Fenced(Fenced::Token { now: None }); steps.len()], None));
        };
        term.writer.check()?;
        let intents = steps.iter().filter(|step| matches!(step, StoreStep::Intent(_))).count() as u64;
        if intents > 0 {
            let open = self.ledger.runs.get(&lease.run).map(|run| run.counts.running).unwrap_or_default();
            term.writer.reserve(u64::from(open) + intents)?;
        }
        if intents > 0 || steps.iter().any(recovery::writes_state) {
            self.guard()?;
        }
        let answers = self.ledger.steps(lease, &steps);
        let new = steps.into_iter().zip(&answers);
        let new = new.filter(|(_, answer)| matches!(answer, StoreAnswer::Ok { repeated: false, .. }));
        let events: Vec<Event> = new.map(|(step, _)| Event::Step(step)).collect();
        let durable = self.term.as_ref().map(|term| term.writer.append(&events));
        Ok((answers, durable))
    }
}
