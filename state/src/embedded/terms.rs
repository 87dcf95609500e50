//! Operations on whole runs: recovery, the begin and end of a term, folding, and reading without the lock.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use super::backup::Backup;
use super::current_form;
use super::folder::{RunFolders, SummaryFile};
use super::journal::Group;
use super::live::{Live, Term};
use super::lock::digit_of;
use super::medium::Medium;
use super::options::Mode;
use super::problems;
use super::recovery::{self, Loaded};
use super::saves::Saves;
use super::writer::Writer;
use super::{LOOK_PAUSE, LOOKS, random_u128};
use crate::budget::LocalBudgets;
use crate::edit::{Edit, EditAnswer};
use crate::error::StoreError;
use crate::event::{Base, Began, Event, Sealed};
use crate::ledger::Ledger;
use crate::record::Opaque;
use crate::run::{Digest, Incarnation, Lease, RunHeader, RunId, RunPast, RunStatus, Token};
use crate::step::{Acquire, AcquireAnswer, ReleaseAnswer, TermEnding};
use crate::tfstate::GUARDED_FORMAT;

/// The part of an `EmbeddedStore` that its methods share with the threads for blocking work.
pub(super) struct EmbeddedCore {
    pub(super) medium: Arc<dyn Medium>,
    pub(super) mode: Mode,
    pub(super) folders: RunFolders,
    pub(super) incarnation: Incarnation,
    /// The saves during runs, if the medium needs them.
    pub(super) saves: Option<Arc<Saves>>,
    /// The data of the holder of the lock. `None` if the store was opened for reading.
    pub(super) live: Option<Mutex<Live>>,
    /// Budgets of provider calls. One process at a time uses the store, so the memory of this process suffices.
    pub(super) budgets: LocalBudgets,
}

impl EmbeddedCore {
    pub(super) fn live(&self) -> Result<MutexGuard<'_, Live>, StoreError> {
        let live = self.live.as_ref().ok_or(StoreError::ReadOnly)?;
        Ok(live.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Like `live`, for the end of a term: waits for a save in progress, and prevents further saves.
    pub(super) fn live_at_end(&self) -> Result<MutexGuard<'_, Live>, StoreError> {
        if let Some(saves) = &self.saves {
            saves.end();
        }
        self.live()
    }

    /// Recovers the work of a dead process: folds its journal into the state file. Also restores the original digit of
    /// the file's format version, so that OpenTofu accepts the file again. While a run can continue or has operations
    /// in doubt, the digit is not restored, so that OpenTofu refuses the file.
    pub(super) fn recover(
        &self,
        live: &mut Live,
        unfolded: Option<recovery::Unfolded>,
        left_behind: &BTreeSet<Digest>,
    ) -> Result<(), StoreError> {
        let dead: BTreeSet<RunId> = live
            .ledger
            .runs
            .iter()
            .filter(|(_, run)| run.status == RunStatus::Running)
            .map(|(id, _)| id.clone())
            .collect();
        for run in &dead {
            if let Some(run) = live.ledger.runs.get_mut(run) {
                run.status = RunStatus::Stopped;
            }
        }
        if let Some(found) = unfolded {
            let ended = live.ledger.runs.get(&found.run).map(|run| run.status);
            let token = Token { epoch: live.ledger.epoch + 1, term: random_u128()? };
            live.ledger.epoch = token.epoch;
            let image = match found.image {
                Some(image) => {
                    if found.written {
                        // The file may be torn. Its old content was backed up before the write.
                        live.guarded = true;
                        live.unsaved = None;
                    }
                    Some(image.0)
                }
                None => live.image()?,
            };
            let first = image.clone().map(|image| Event::Image(Opaque(image)));
            self.begin(live, &found.run, token, first)?;
            if let Some(image) = image {
                self.write_image(live, &image)?;
            }
            live.append_now(&[
                Event::Folded(live.file_digest),
                Event::Ended { status: ended.unwrap_or(RunStatus::Stopped), abandoned: false },
            ])?;
            live.end_term();
        }
        let finished: Vec<RunId> = live
            .ledger
            .runs
            .iter()
            .filter(|(id, run)| run.status.is_final() && !live.unread.contains(*id))
            .map(|(id, _)| id.clone())
            .collect();
        for run in finished {
            self.summarise(live, &run, None)?;
        }
        live.interrupted.clone_from(&dead);
        if live.guarded && !recovery::guards(&live.ledger) {
            if !dead.is_empty() || left_behind.contains(&live.file_digest) {
                live.unguard()?;
            } else {
                return Err(problems::guard_without_run(live.handle.path()));
            }
        }
        Ok(())
    }

    /// Starts a term's journal and makes its first frame durable.
    pub(super) fn begin(
        &self,
        live: &mut Live,
        run: &RunId,
        token: Token,
        also: Option<Event>,
    ) -> Result<(), StoreError> {
        let files = &self.folders.files;
        let known = live.ends.get(run).copied();
        // If a journal has no valid frame, its term never began. The journal is removed.
        for epoch in files.epochs(run)? {
            if known.is_none_or(|last| epoch > last.epoch) {
                files.remove_journal(run, epoch)?;
            }
        }
        self.folders.remove_summary(run)?;
        if let Some(seed) = live.seed.take() {
            let mut guarded = seed;
            let found = digit_of(&guarded, live.handle.path())?;
            guarded[found.offset] = GUARDED_FORMAT;
            live.handle.write(&guarded)?;
            live.guarded = true;
            live.file_digest = recovery::state_digest(&guarded);
        }
        let holder = live.ledger.runs.get(run).map(|run| run.holder.clone()).unwrap_or_default();
        let began = Began {
            run: run.clone(),
            token,
            holder,
            base: Base {
                lineage: live.ledger.lineage.clone(),
                serial: live.ledger.serial,
                digest: live.file_digest,
                instances: live.ledger.instance_revisions(),
            },
            sealed: known.map(|last| Sealed { epoch: last.epoch, length: last.length, hash: last.chain.hash }),
        };
        let mut chain = known.map(|last| last.chain).unwrap_or_default();
        let mut group = Group::default();
        group.push(&mut chain, &Event::Began(began));
        if let Some(event) = also {
            group.push(&mut chain, &event);
        }
        let seal = live.seals.journal(run, token.epoch);
        let frame = group.frame(&seal).map_err(|error| problems::unsealed(live.handle.path(), error))?;
        let sink = files.start_journal(run, token.epoch, &frame)?;
        let writer = Writer::start(sink, seal, frame.len() as u64, chain)?;
        live.term = Some(Term { run: run.clone(), epoch: token.epoch, writer });
        Ok(())
    }

    /// Writes the ledger to the state file, unless the file already has this content. In both cases, the caller adds
    /// [`Event::Folded`] to the journal afterwards.
    fn fold(&self, live: &mut Live) -> Result<(), StoreError> {
        if let Some(image) = live.image()? {
            live.append_now(&[live.announcement(&image)])?;
            if !live.handle.is_in_place() {
                return Err(self.replaced(live, &image));
            }
            self.write_image(live, &image)?;
        }
        Ok(())
    }

    /// Writes a state to the directory of its run, because the state file was replaced. Returns the error for the user,
    /// which names the written file. Without a run, or if writing fails, the error names no written file.
    fn replaced(&self, live: &Live, image: &[u8]) -> StoreError {
        let path = live.handle.path().display().to_string();
        let Some(run) = live.term.as_ref().map(|term| term.run.clone()) else { return StoreError::NotThere(path) };
        match self.folders.keep_state(&run, image) {
            Ok(kept) => StoreError::Replaced { path, run, kept: kept.display().to_string() },
            Err(error) => error,
        }
    }

    /// Backs up the old content once, and writes the new content in place.
    pub(super) fn write_image(&self, live: &mut Live, image: &[u8]) -> Result<(), StoreError> {
        if !live.handle.is_in_place() {
            return Err(self.replaced(live, image));
        }
        live.guard()?;
        self.back_up(live)?;
        let mut guarded = image.to_vec();
        if let Ok(found) = digit_of(&guarded, live.handle.path()) {
            guarded[found.offset] = GUARDED_FORMAT;
        }
        live.handle.write(&guarded)?;
        live.folded_content = live.ledger.content_digest();
        self.settled(live)?;
        live.file_digest = recovery::state_digest(image);
        Ok(())
    }

    /// Removes unencrypted copies of a state that is now sealed as configured.
    fn settled(&self, live: &mut Live) -> Result<(), StoreError> {
        if std::mem::take(&mut live.outdated) && live.seals.seal_states() {
            self.folders.drop_open()?;
        }
        Ok(())
    }

    /// Backs up the old content once, as the options require.
    fn back_up(&self, live: &mut Live) -> Result<(), StoreError> {
        let Some(old) = live.unsaved.take() else { return Ok(()) };
        if self.mode.backup == Backup::Never {
            return Ok(());
        }
        let mut copy = old;
        if live.outdated {
            // If encryption was just enabled for the state, the backup must be encrypted, too.
            copy = live.seals.state(&live.seals.parse(&copy, live.handle.path())?.file, live.handle.path())?;
        }
        if let Ok(found) = digit_of(&copy, live.handle.path()) {
            copy[found.offset] = found.unguarded();
        }
        live.handle.back_up(&copy, &self.mode.backup)
    }

    /// EDIT: backs up the old content, then writes the new content to the file.
    pub(super) fn edit(&self, edit: &Edit) -> Result<EditAnswer, StoreError> {
        let mut live = self.live()?;
        let live = &mut *live;
        if let Some(term) = &live.term {
            return Err(problems::run_in_progress(&term.run));
        }
        let before = live.ledger.clone();
        let answer = live.ledger.edit(edit);
        if answer != EditAnswer::Edited {
            return Ok(answer);
        }
        let written = match live.image() {
            Ok(None) if edit.identity.is_none() => return Ok(answer),
            Ok(None) if live.ledger.serial == 0 => live.next_image(),
            // The content is the same, but the identity changes. The image has exactly the given identity.
            Ok(None) => live.present_image(),
            Ok(Some(image)) => Ok(image),
            Err(error) => Err(error),
        };
        let written = written.and_then(|image| {
            self.back_up(live)?;
            self.put(live, &image)
        });
        if written.is_err() {
            live.ledger = before;
        }
        written.map(|()| answer)
    }

    /// Writes new content in place, with the digit that the file has.
    fn put(&self, live: &mut Live, image: &[u8]) -> Result<(), StoreError> {
        if !live.handle.is_in_place() {
            return Err(self.replaced(live, image));
        }
        let mut bytes = image.to_vec();
        if live.guarded {
            let found = digit_of(&bytes, live.handle.path())?;
            bytes[found.offset] = GUARDED_FORMAT;
        }
        live.handle.replace(&bytes)?;
        live.folded_content = live.ledger.content_digest();
        self.settled(live)?;
        live.file_digest = recovery::state_digest(&bytes);
        Ok(())
    }

    /// Writes the summary of a finished run. `ended` is `None` if the run ended in another process.
    fn summarise(&self, live: &mut Live, run: &RunId, ended: Option<u64>) -> Result<(), StoreError> {
        let Some(state) = live.ledger.runs.get_mut(run) else { return Ok(()) };
        let header = state.header(run);
        let past = RunPast { ended_unix_ms: ended.or(header.past.ended_unix_ms), ..header.past };
        state.summarised = Some(past.clone());
        let summary = SummaryFile {
            status: header.status.word().to_owned(),
            counts: header.counts,
            epoch: live.ends.get(run).map(|last| last.epoch).unwrap_or_default(),
            state: live.file_digest.hex(),
            abandoned: header.abandoned,
            past,
        };
        self.folders.write_summary(run, &summary)?;
        self.folders.files.pack(run)
    }

    /// Finishes RELEASE or ABANDON after the step in memory: journal, fold, summary and digit, in this order.
    pub(super) fn finish(&self, live: &mut Live, header: &RunHeader, abandoned: bool) -> Result<(), StoreError> {
        self.fold(live)?;
        live.append_now(&[Event::Folded(live.file_digest), Event::Ended { status: header.status, abandoned }])?;
        live.end_term();
        if header.status.is_final() {
            self.summarise(live, &header.id, Some(unix_ms()))?;
        }
        if live.guarded && !recovery::guards(&live.ledger) {
            live.unguard()?;
        }
        for removed in self.folders.prune()? {
            live.forget(&removed);
        }
        Ok(())
    }

    /// WITHDRAW of a run that has begun no operation.
    pub(super) fn withdraw(&self, lease: &Lease) -> Result<ReleaseAnswer, StoreError> {
        let mut live = self.live_at_end()?;
        let live = &mut *live;
        let untouched = live.ledger.is_untouched(&lease.run);
        let answer = live.ledger.release(lease, TermEnding::Finished);
        let ReleaseAnswer::Released(header) = &answer else { return Ok(answer) };
        if !untouched {
            self.finish(live, header, false)?;
            return Ok(answer);
        }
        live.end_term();
        live.forget(&lease.run);
        self.folders.files.remove_run(&lease.run)?;
        if live.guarded && !recovery::guards(&live.ledger) {
            live.unguard()?;
        }
        Ok(answer)
    }

    /// ACQUIRE.
    pub(super) fn acquire(&self, request: &Acquire) -> Result<AcquireAnswer, StoreError> {
        let mut live = self.live()?;
        let live = &mut *live;
        if let Some(term) = &live.term {
            let run = live.ledger.runs.get(&term.run);
            let token = run.and_then(|run| run.lease.as_ref()).map(|lease| lease.token);
            if term.run == request.run && token.is_some_and(|token| token.term == request.term) {
                return Ok(live.ledger.acquire(request, true));
            }
            let view = run.and_then(|run| run.header(&term.run).lease);
            if live.ledger.runs.contains_key(&request.run)
                && let Some(view) = view
            {
                return Ok(AcquireAnswer::Held(view));
            }
        }
        if !live.ledger.runs.contains_key(&request.run) {
            return Ok(AcquireAnswer::NoRun);
        }
        if live.unread.contains(&request.run) {
            self.read_in(live, &request.run)?;
        }
        let before = live.ledger.runs.get(&request.run).cloned();
        let answer = live.ledger.acquire(request, true);
        if let AcquireAnswer::Granted(lease) = &answer {
            if let Err(error) = self.begin(live, &request.run, lease.token, None) {
                if let Some(before) = before {
                    live.ledger.runs.insert(request.run.clone(), before);
                }
                return Err(error);
            }
            if let Some(saves) = &self.saves {
                saves.begin();
            }
        }
        Ok(answer)
    }

    /// Reads the journals of a finished run that is resumed.
    pub(super) fn read_in(&self, live: &mut Live, run: &RunId) -> Result<(), StoreError> {
        if let Some((mut ledger, last)) = recovery::load_run(&self.folders, run, self.incarnation)?
            && let Some(state) = ledger.runs.remove(run)
        {
            live.ledger.runs.insert(run.clone(), state);
            live.ends.extend(last.map(|last| (run.clone(), last)));
        }
        live.unread.remove(run);
        Ok(())
    }

    /// Reads the files again, for a store that was opened for reading. Also returns whether another process has locked
    /// the state.
    pub(super) fn look(&self) -> Result<(Loaded, bool), StoreError> {
        let mut left = LOOKS;
        loop {
            left -= 1;
            match self.look_once() {
                // The holder of the lock may be writing the file at this moment.
                Err(StoreError::StateFile(_) | StoreError::StateMismatch { .. }) if left > 0 => {
                    std::thread::sleep(LOOK_PAUSE);
                }
                answer => return answer,
            }
        }
    }

    pub(super) fn look_once(&self) -> Result<(Loaded, bool), StoreError> {
        let path = self.medium.path();
        let (content, held) = self.medium.peek()?;
        let content = current_form(content, path)?;
        let mut loaded = recovery::load(&self.folders, &content, path, self.incarnation)?;
        for run in loaded.ledger.runs.values_mut() {
            if run.status == RunStatus::Running {
                match held {
                    true => {
                        let token = Token { epoch: loaded.ledger.epoch, term: 0 };
                        run.lease = Some(crate::ledger::LeaseState { token, heartbeat: 0 });
                    }
                    false => run.status = RunStatus::Stopped,
                }
            }
        }
        Ok((loaded, held))
    }

    /// Queries a ledger: the ledger in memory if this process holds the lock, otherwise a ledger that is read from the
    /// files for this query.
    pub(super) fn ask<Answer>(&self, question: impl FnOnce(&Ledger) -> Answer) -> Result<Answer, StoreError> {
        match self.live {
            Some(_) => Ok(question(&self.live()?.ledger)),
            None => Ok(question(&self.look()?.0.ledger)),
        }
    }

    /// Waits until all journal lines are durable.
    pub(super) fn settle(&self) -> Result<(), StoreError> {
        match &self.live {
            Some(_) => self.live()?.append_now(&[]),
            None => Ok(()),
        }
    }
}

/// The current time in milliseconds since 1970.
fn unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or_default()
}
