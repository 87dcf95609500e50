//! The storage of the embedded store: a state document under a lock, and the files of its runs.
//!
//! A document is a file or an object of a backend. The files of runs are in a directory, or they are objects beside the
//! document. The rest of the store does not depend on this difference.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use super::backup::Backup;
use crate::error::StoreError;
use crate::run::RunId;
use crate::tfstate::FormatDigit;

/// The storage of one state and its runs.
pub(crate) trait Medium: fmt::Debug + Send + Sync {
    /// The path of the document, for messages.
    fn path(&self) -> &Path;

    /// Locks the document. After this call, no process that held the lock earlier can add to a journal.
    ///
    /// # Errors
    /// [`StoreError::Locked`] with the holder. Errors of files and services.
    fn lock(&self) -> Result<Box<dyn Document>, StoreError>;

    /// The content of the document, read without the lock, and whether another process holds the lock. Empty content
    /// means that there is no document.
    fn peek(&self) -> Result<(Vec<u8>, bool), StoreError>;

    /// The files of the runs of this state.
    fn files(&self) -> Arc<dyn RunFiles>;

    /// Whether it is known that another process has taken over the lock of this process.
    fn is_superseded(&self) -> bool {
        false
    }
}

/// The state document, locked until it is dropped.
pub(crate) trait Document: fmt::Debug + Send {
    /// The path of the document, for messages.
    fn path(&self) -> &Path;

    /// Whether the locked document is still the one that other programs find at its path.
    fn is_in_place(&self) -> bool;

    /// The whole content, or empty if there is no document.
    fn read(&self) -> Result<Vec<u8>, StoreError>;

    /// The content as this process knows it. If another process has changed the document, the next write fails.
    fn current(&self) -> Result<Vec<u8>, StoreError> {
        self.read()
    }

    /// Whether a crash during a write leaves either the old content or the new content, never a mixture.
    fn is_atomic(&self) -> bool {
        false
    }

    /// Overwrites the format digit, durably.
    fn set_digit(&self, found: FormatDigit, digit: u8) -> Result<(), StoreError>;

    /// Replaces the whole content, durably. A crash may leave a torn document unless [`Document::is_atomic`].
    fn write(&self, content: &[u8]) -> Result<(), StoreError>;

    /// Replaces the whole content, durably. A crash leaves the old content or the new one.
    fn replace(&self, content: &[u8]) -> Result<(), StoreError>;

    /// Finishes a replacement that a crash interrupted. Returns the content of the document.
    fn settle(&self) -> Result<Vec<u8>, StoreError>;

    /// Stores a copy of earlier content, if the medium supports copies.
    fn back_up(&self, content: &[u8], at: &Backup) -> Result<(), StoreError>;

    /// The means to save the document during a run. `None` if the medium needs no saves, because other machines can
    /// read its journals, or because the document is on this machine only. Also `None` if the service must not get
    /// states during a run ([`crate::remote::RemoteState::is_saved_midway`]).
    fn saver(&self) -> Option<Arc<dyn Saver>> {
        None
    }
}

/// Saves the document during a run. A save replaces the whole content, and no reader sees partial content.
pub(crate) trait Saver: Send + Sync {
    /// Replaces the whole content, durably.
    ///
    /// # Errors
    /// Errors of the medium. Whether the content was written is then unknown.
    fn save(&self, content: Bytes) -> Result<(), StoreError>;
}

/// The files of runs. Names have the form `RUN/NAME`.
pub(crate) trait RunFiles: fmt::Debug + Send + Sync {
    /// The path of a file, for messages.
    fn path(&self, name: &str) -> PathBuf;

    /// The names of all files, sorted.
    fn list(&self) -> Result<Vec<String>, StoreError>;

    /// The contents of these files, or `None` for absent files.
    fn read(&self, names: &[String]) -> Result<Vec<Option<Vec<u8>>>, StoreError>;

    /// Writes a file as a whole, durably.
    fn write(&self, name: &str, content: &[u8]) -> Result<(), StoreError>;

    /// Writes files as [`RunFiles::write`] does: in the given order, or concurrently if each write is a request to a
    /// service.
    fn write_all(&self, files: &[(String, Vec<u8>)]) -> Result<(), StoreError> {
        files.iter().try_for_each(|(name, content)| self.write(name, content))
    }

    /// Writes files as [`RunFiles::write_all`] does. The files may become durable later, but at the latest when the
    /// next journal starts.
    fn write_with_journal(&self, files: &[(String, Vec<u8>)]) -> Result<(), StoreError> {
        self.write_all(files)
    }

    /// Writes a file whose absence does no harm. May return before the file is written.
    fn write_late(&self, name: &str, content: &[u8]) -> Result<(), StoreError> {
        self.write(name, content)
    }

    /// Removes these files, in this order. Absent files are no error.
    fn remove(&self, names: &[String]) -> Result<(), StoreError>;

    /// Removes every file of a run, the header first: without the header, the other files are ignored.
    fn remove_run(&self, run: &RunId) -> Result<(), StoreError>;

    /// Moves every file of a run aside. Returns their new location.
    fn set_aside(&self, run: &RunId) -> Result<PathBuf, StoreError>;

    /// The epochs of the journals of a run, in ascending order.
    fn epochs(&self, run: &RunId) -> Result<Vec<u64>, StoreError>;

    /// The frames of a journal, in order.
    fn read_journal(&self, run: &RunId, epoch: u64) -> Result<Vec<u8>, StoreError>;

    /// Removes a journal.
    fn remove_journal(&self, run: &RunId, epoch: u64) -> Result<(), StoreError>;

    /// Creates a journal with its first frame, durably. Also makes the files durable that
    /// [`RunFiles::write_with_journal`] has begun to write.
    fn start_journal(&self, run: &RunId, epoch: u64, frame: &[u8]) -> Result<Box<dyn JournalSink>, StoreError>;

    /// Makes the journals of a finished run cheaper to read. Their content stays the same.
    fn pack(&self, run: &RunId) -> Result<(), StoreError>;
}

/// The writable end of a journal, for its only writer.
pub(crate) trait JournalSink: Send + Sync {
    /// The path of the journal, for messages.
    fn path(&self) -> &Path;

    /// Appends a frame at this offset, durably. After an error, the journal must not be used again.
    ///
    /// # Errors
    /// [`StoreError::Superseded`] if a later term has begun. [`StoreError::Closed`] if the medium failed.
    fn append(&self, offset: u64, frame: &[u8]) -> Result<(), StoreError>;

    /// Reserves room from one offset to another, if the medium has limited room.
    fn reserve(&self, from: u64, upto: u64) -> Result<(), StoreError>;

    /// Whether each append is a request to a service. If so, fewer and larger frames are better.
    fn gathers(&self) -> bool {
        false
    }

    /// Frees the reserved room after `end`, the end of the journal.
    fn close(&self, end: u64);
}
