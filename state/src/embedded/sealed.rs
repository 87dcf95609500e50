//! The encryption of the store's files. The state file uses OpenTofu's envelope. Journal frames and plans of runs are
//! sealed records in Weft's own format. Without encryption in the configuration, everything is plain text.

use std::path::Path;
use std::sync::Arc;

use weft_sealing::{OpenError, SealError, Sealing, TargetName, Zeroizing, is_sealed};

use super::lock::digit_of;
use super::problems;
use crate::error::StoreError;
use crate::record::Opaque;
use crate::run::RunId;
use crate::tfstate::StateFile;

/// The seals of the files of one state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seals(Arc<Sealing>);

/// A state that was read from a file.
#[derive(Debug)]
pub(crate) struct OpenedState {
    /// The state.
    pub(crate) file: StateFile,
    /// Whether the state would be written differently now: with another method, without encryption, or newly encrypted.
    pub(crate) outdated: bool,
}

impl Seals {
    pub(crate) fn new(sealing: Arc<Sealing>) -> Seals {
        Seals(sealing)
    }

    /// Whether states are encrypted.
    pub(super) fn seal_states(&self) -> bool {
        self.0.seals(&TargetName::State)
    }

    /// Parses the state in a file. Also accepts a file in which a run has changed the digit of the format version, so
    /// that OpenTofu refuses the file. `path` names the file in errors.
    ///
    /// # Errors
    /// Returns an error if the content cannot be decrypted, or is not a state.
    pub(crate) fn parse(&self, content: &[u8], path: &Path) -> Result<OpenedState, StoreError> {
        let place = path.display().to_string();
        if !is_sealed(content) && !self.0.covers(&TargetName::State) {
            return Ok(OpenedState { file: StateFile::parse(content, &place)?, outdated: false });
        }
        let (plain, outdated) = self.open(content, path)?;
        Ok(OpenedState { file: StateFile::parse(&plain, &place)?, outdated })
    }

    /// The plain text of the state in a file. The format version in this text is 4, which every tool accepts, even if a
    /// run guards the file with the version 9.
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

    /// The bytes to write for a state. `path` names the file in errors.
    ///
    /// # Errors
    /// Returns an error if the state cannot be encrypted.
    pub(crate) fn state(&self, file: &StateFile, path: &Path) -> Result<Vec<u8>, StoreError> {
        let plain = file.to_bytes();
        if !self.0.seals(&TargetName::State) {
            return Ok(plain);
        }
        self.0.seal_state(&plain).map_err(|error| unsealed(path, error))
    }

    /// The bytes to store for the plan of a run. They are encrypted if this is configured, because the plan contains
    /// values of the state.
    ///
    /// # Errors
    /// Returns an error if the plan cannot be encrypted.
    pub(super) fn plan(&self, run: &RunId, plan: &Opaque, path: &Path) -> Result<Vec<u8>, StoreError> {
        let sealed = self.0.seal_kept_plan(&plan_context(run), &plan.0);
        sealed.map_err(|error| unsealed(path, error))
    }

    /// The plan of a run from its stored bytes.
    ///
    /// # Errors
    /// Returns an error if the plan cannot be decrypted.
    pub(super) fn open_plan(&self, run: &RunId, bytes: &[u8], path: &Path) -> Result<Vec<u8>, StoreError> {
        let opened = self.0.open_kept_plan(&plan_context(run), bytes);
        Ok(opened.map_err(|error| unopened(path, error))?.plain.to_vec())
    }

    /// The seal of the journal of a term.
    pub(super) fn journal(&self, run: &RunId, epoch: u64) -> JournalSeal {
        JournalSeal { seals: self.clone(), context: format!("journal\0{run}\0{epoch}").into_bytes() }
    }
}

fn plan_context(run: &RunId) -> Vec<u8> {
    format!("plan\0{run}").into_bytes()
}

fn unopened(path: &Path, error: OpenError) -> StoreError {
    problems::unopened(path, error)
}

fn unsealed(path: &Path, error: SealError) -> StoreError {
    problems::unsealed(path, error)
}

/// The seal of the frames of one journal. Each frame is bound to its run, its term and its position.
#[derive(Clone, Debug)]
pub(super) struct JournalSeal {
    seals: Seals,
    context: Vec<u8>,
}

impl JournalSeal {
    fn context(&self, first: u64) -> Vec<u8> {
        [self.context.as_slice(), &first.to_le_bytes()].concat()
    }

    /// Encrypts the lines of a frame. Returns `None` if the lines stay unencrypted. `first` is the number of the first
    /// line.
    pub(super) fn seal(&self, first: u64, lines: &[u8]) -> Result<Option<Vec<u8>>, SealError> {
        match self.seals.0.seals(&TargetName::State) {
            true => self.seals.0.seal_record(&TargetName::State, &self.context(first), lines).map(Some),
            false => Ok(None),
        }
    }

    /// Decrypts the lines of a sealed frame.
    pub(super) fn open(&self, first: u64, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, OpenError> {
        Ok(self.seals.0.open_record(&TargetName::State, &self.context(first), sealed)?.plain)
    }

    /// Returns an error if unsealed frames are not accepted. An unsealed frame could come from anyone who can write to
    /// the file.
    pub(super) fn check_plain(&self) -> Result<(), OpenError> {
        self.seals.0.open_record(&TargetName::State, &[], &[]).map(|_| ())
    }
}
