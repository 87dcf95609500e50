//! Repairs: setting aside a run that cannot be recovered, and replacing a state whose journal is lost.

use std::path::PathBuf;
use std::sync::Arc;

use super::folder::RunFolders;
use super::local::LocalMedium;
use super::lock::digit_of;
use super::medium::Medium;
use super::remote::RemoteMedium;
use super::sealed::Seals;
use super::{Backup, EmbeddedOptions, EmbeddedStore, RemoteOptions, current_form, recovery};
use crate::error::StoreError;
use crate::run::RunId;
use crate::tfstate::StateFile;

impl EmbeddedStore {
    /// Sets aside a run that cannot be recovered. Either its journal is damaged, or the state file is not the one that
    /// the run began from. Moves the directory of the run to `.weft/set-aside/RUN`. The state in the state file stays
    /// as it is. If there is no other unfinished run, the guard of the file (format version 9) is removed, so that
    /// other tools can use the file again.
    ///
    /// Returns the new directory, and every object that the run had an intent or a result for. The state file may be
    /// wrong about these objects. The file `state` in the new directory has the objects as the run wrote them.
    ///
    /// # Errors
    /// Returns an error if another process has the lock. [`StoreError::NoRun`]. [`StoreError::Io`].
    pub fn set_aside(options: &EmbeddedOptions, run: &RunId) -> Result<(Vec<String>, PathBuf), StoreError> {
        let medium = LocalMedium::new(options.clone(), true)?;
        let seals = Seals::new(Arc::clone(&options.sealing));
        let folders = RunFolders::new(medium.files(), medium.name(), seals);
        set_aside(&medium, &folders, run)
    }

    /// Like [`EmbeddedStore::set_aside`], for a state in a backend.
    ///
    /// # Errors
    /// See [`EmbeddedStore::set_aside`]. Errors of the backend.
    pub fn set_aside_remote(options: RemoteOptions, run: &RunId) -> Result<(Vec<String>, PathBuf), StoreError> {
        let seals = Seals::new(Arc::clone(&options.sealing));
        let medium = RemoteMedium::new(options)?;
        let folders = RunFolders::new(medium.files(), medium.name(), seals);
        set_aside(&medium, &folders, run)
    }

    /// Replaces a guarded state (format version 9) if the files of the run that guards it are not on this machine. The
    /// new state is not guarded. `decide` receives the current state, and returns the new state or the reason for
    /// keeping the current one. Returns `None`, and changes nothing, if the state is not guarded, or if this machine
    /// has the files of an unfinished run.
    ///
    /// # Errors
    /// Returns an error if another process has the lock, or if the state is unreadable. [`StoreError::Io`].
    pub fn replace_orphan<Refusal>(
        options: &EmbeddedOptions,
        decide: impl FnOnce(&StateFile) -> Result<StateFile, Refusal>,
    ) -> Result<Option<Result<(), Refusal>>, StoreError> {
        let medium = LocalMedium::new(options.clone(), true)?;
        let folders = RunFolders::new(medium.files(), medium.name(), Seals::new(Arc::clone(&options.sealing)));
        replace_orphan(&medium, &folders, &options.backup, decide)
    }

    /// Like [`EmbeddedStore::replace_orphan`], for a state in a backend.
    ///
    /// # Errors
    /// See [`EmbeddedStore::replace_orphan`]. Errors of the backend.
    pub fn replace_orphan_remote<Refusal>(
        options: RemoteOptions,
        decide: impl FnOnce(&StateFile) -> Result<StateFile, Refusal>,
    ) -> Result<Option<Result<(), Refusal>>, StoreError> {
        let seals = Seals::new(Arc::clone(&options.sealing));
        let medium = RemoteMedium::new(options)?;
        let folders = RunFolders::new(medium.files(), medium.name(), seals);
        replace_orphan(&medium, &folders, &Backup::Never, decide)
    }
}

/// See [`EmbeddedStore::replace_orphan`].
fn replace_orphan<Refusal>(
    medium: &dyn Medium,
    folders: &RunFolders,
    backup: &Backup,
    decide: impl FnOnce(&StateFile) -> Result<StateFile, Refusal>,
) -> Result<Option<Result<(), Refusal>>, StoreError> {
    let handle = medium.lock()?;
    let path = handle.path();
    let mut content = current_form(handle.settle()?, path)?;
    let Ok(found) = digit_of(&content, path) else { return Ok(None) };
    if !found.is_guarded() || folders.list()?.iter().any(|folder| folder.summary.is_none()) {
        return Ok(None);
    }
    let opened = folders.seals.parse(&content, path)?;
    let file = match decide(&opened.file) {
        Ok(file) => file,
        Err(refusal) => return Ok(Some(Err(refusal))),
    };
    content[found.offset] = found.unguarded();
    if opened.outdated {
        // If encryption was just enabled for the state, the backup must be encrypted, too.
        content = folders.seals.state(&opened.file, path)?;
    }
    if *backup != Backup::Never {
        handle.back_up(&content, backup)?;
    }
    handle.replace(&folders.seals.state(&file, path)?)?;
    Ok(Some(Ok(())))
}

/// See [`EmbeddedStore::set_aside`].
fn set_aside(medium: &dyn Medium, folders: &RunFolders, run: &RunId) -> Result<(Vec<String>, PathBuf), StoreError> {
    let handle = medium.lock()?;
    let all = folders.list()?;
    let folder = all.iter().find(|folder| folder.id == *run).ok_or_else(|| StoreError::NoRun(run.clone()))?;
    let touched = recovery::touched(folder)?;
    // Writes the results of the run for the user, because journals are not human-readable.
    let written = recovery::written(folder)?;
    folders.keep_state(run, &folders.seals.state(&written, handle.path())?)?;
    let folder = folders.files.set_aside(run)?;
    let content = handle.read()?;
    if let Ok(found) = digit_of(&content, handle.path())
        && found.is_guarded()
        && all.iter().all(|folder| folder.id == *run || folder.summary.is_some())
    {
        handle.set_digit(found, found.unguarded())?;
    }
    Ok((touched, folder))
}
