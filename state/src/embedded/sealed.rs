//! What of the store's files is encrypted: the state file in OpenTofu's envelope, frames of journals and plans of runs
//! as records of our own. Where nothing is configured, everything stays plain.

use std::path::Path;
use std::sync::Arc;

use weft_sealing::{OpenError, SealError, Sealing, TargetName, Zeroizing, is_sealed};

use super::lock::digit_of;
use crate::record::Opaque;
use crate::run::RunId;
use crate::store::StoreError;
use crate::tfstate::StateFile;

/// With what the files of one state are sealed.
#[derive(Clone, Debug, Default)]
pub(super) struct Seals(Arc<Sealing>);

/// A state as a file has it.
#[derive(Debug)]
pub(super) struct OpenedState {
    /// The state.
    pub(super) file: StateFile,
    /// It would be written otherwise now: encrypted with another method, no more, or at last.
    pub(super) outdated: bool,
}

impl Seals {
    pub(super) fn new(sealing: Arc<Sealing>) -> Seals {
        Seals(sealing)
    }

    /// Whether states are encrypted.
    pub(super) fn seal_states(&self) -> bool {
        self.0.seals(&TargetName::State)
    }

    /// The state in a file, guarded or not.
    ///
    /// # Errors
    /// When it cannot be opened, or is no state; `path` names it.
    pub(super) fn parse(&self, content: &[u8], path: &Path) -> Result<OpenedState, StoreError> {
        let place = path.display().to_string();
        if !is_sealed(content) && !self.0.covers(&TargetName::State) {
            return Ok(OpenedState { file: StateFile::parse(content, &place)?, outdated: false });
        }
        let (plain, outdated) = self.open(content, path)?;
        Ok(OpenedState { file: StateFile::parse(&plain, &place)?, outdated })
    }

    /// The plain text of the state in a file, its format digit that of any tool.
    ///
    /// # Errors
    /// See [`Seals::parse`].
    pub(super) fn plain(&self, content: &[u8], path: &Path) -> Result<Vec<u8>, StoreError> {
        let (plain, _) = self.open(content, path)?;
        let mut plain = plain.to_vec();
        let found = digit_of(&plain, path)?;
        plain[found.offset] = found.unguarded();
        Ok(plain)
    }

    fn open(&self, content: &[u8], path: &Path) -> Result<(Zeroizing<Vec<u8>>, bool), StoreError> {
        let opened = self.0.open_state(content).map_err(|error| unopened(path, error))?;
        Ok((opened.plain, opened.outdated))
    }

    /// The bytes that the file of a state has.
    ///
    /// # Errors
    /// When it cannot be sealed; `path` names it.
    pub(super) fn state(&self, file: &StateFile, path: &Path) -> Result<Vec<u8>, StoreError> {
        let plain = file.to_bytes();
        if !self.0.seals(&TargetName::State) {
            return Ok(plain);
        }
        self.0.seal_state(&plain).map_err(|error| unsealed(path, error))
    }

    /// The plan of a run as its folder keeps it: it holds values of the state.
    ///
    /// # Errors
    /// When it cannot be sealed.
    pub(super) fn plan(&self, run: &RunId, plan: &Opaque, path: &Path) -> Result<Vec<u8>, StoreError> {
        let sealed = self.0.seal_kept_plan(&plan_context(run), &plan.0);
        sealed.map_err(|error| unsealed(path, error))
    }

    /// The plan of a run from what its folder keeps.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(super) fn open_plan(&self, run: &RunId, bytes: &[u8], path: &Path) -> Result<Vec<u8>, StoreError> {
        let opened = self.0.open_kept_plan(&plan_context(run), bytes);
        Ok(opened.map_err(|error| unopened(path, error))?.plain.to_vec())
    }

    /// With what the journal of a term is sealed.
    pub(super) fn journal(&self, run: &RunId, epoch: u64) -> JournalSeal {
        JournalSeal { seals: self.clone(), context: format!("journal\0{run}\0{epoch}").into_bytes() }
    }
}

fn plan_context(run: &RunId) -> Vec<u8> {
    format!("plan\0{run}").into_bytes()
}

fn unopened(path: &Path, error: OpenError) -> StoreError {
    StoreError::Unopened { place: path.display().to_string(), error }
}

fn unsealed(path: &Path, error: SealError) -> StoreError {
    StoreError::Unsealed { place: path.display().to_string(), error }
}

/// With what the frames of one journal are sealed: each bound to its run, its term and its place there.
#[derive(Clone, Debug)]
pub(super) struct JournalSeal {
    seals: Seals,
    context: Vec<u8>,
}

impl JournalSeal {
    fn context(&self, first: u64) -> Vec<u8> {
        [self.context.as_slice(), &first.to_le_bytes()].concat()
    }

    /// The lines of a frame sealed; none when they stay as they are. `first` is the number of the first of them.
    pub(super) fn seal(&self, first: u64, lines: &[u8]) -> Result<Option<Vec<u8>>, SealError> {
        match self.seals.0.seals(&TargetName::State) {
            true => self.seals.0.seal_record(&TargetName::State, &self.context(first), lines).map(Some),
            false => Ok(None),
        }
    }

    /// The lines of a sealed frame.
    pub(super) fn open(&self, first: u64, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, OpenError> {
        Ok(self.seals.0.open_record(&TargetName::State, &self.context(first), sealed)?.plain)
    }

    /// Whether frames that are not sealed may be believed: whoever can write the file could have made them.
    pub(super) fn check_plain(&self) -> Result<(), OpenError> {
        self.seals.0.open_record(&TargetName::State, &[], &[]).map(|_| ())
    }
}
