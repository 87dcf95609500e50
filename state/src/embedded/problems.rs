//! The errors of the embedded store, as constructors.

use std::fmt::Display;
use std::io;
use std::path::Path;

use weft_sealing::{OpenError, SealError};

use crate::error::StoreError;
use crate::remote::LockInfo;
use crate::run::RunId;

/// The file system refused an operation.
fn failed(doing: String) -> impl FnOnce(io::Error) -> StoreError {
    move |error| StoreError::Io { doing, error: error.to_string() }
}

/// A file or directory cannot be read.
pub(super) fn reading(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    failed(format!("reading {}", path.display()))
}

/// A required file is missing.
pub(super) fn missing(path: &Path) -> StoreError {
    reading(path)(io::ErrorKind::NotFound.into())
}

/// A file or directory cannot be written.
pub(super) fn writing(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    failed(format!("writing {}", path.display()))
}

/// A directory cannot be created.
pub(super) fn creating(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    failed(format!("creating {}", path.display()))
}

/// A file or directory cannot be removed.
pub(super) fn removing(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    failed(format!("removing {}", path.display()))
}

/// A file cannot be opened.
pub(super) fn opening(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    failed(format!("opening {}", path.display()))
}

/// A file cannot be locked.
pub(super) fn locking(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    failed(format!("locking {}", path.display()))
}

/// A directory cannot be found.
pub(super) fn looking_for(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    failed(format!("looking for {}", path.display()))
}

/// The directory of a run cannot be moved.
pub(super) fn moving(run: &RunId, target: &Path) -> impl FnOnce(io::Error) -> StoreError {
    failed(format!("moving {run} to {}", target.display()))
}

/// The disk has no room for the results of open intents.
pub(super) fn reserving_room(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    failed(format!("reserving disk space for {}", path.display()))
}

/// The thread of a journal cannot be started.
pub(super) fn starting_journal(error: io::Error) -> StoreError {
    failed("starting the journal's thread".to_owned())(error)
}

fn damaged(path: &Path, what: impl Into<String>, way_out: impl Into<String>) -> StoreError {
    StoreError::Damaged { place: path.display().to_string(), what: what.into(), way_out: way_out.into() }
}

/// The header of a run cannot be decoded.
pub(super) fn not_a_header(path: &Path) -> StoreError {
    damaged(
        path,
        "it is not the header of a run",
        "Restore the file from a backup. If a newer version of Weft wrote the file, use that version",
    )
}

/// The plan file of a run is not the one that the run began with.
pub(super) fn other_plan(path: &Path) -> StoreError {
    damaged(
        path,
        "its digest is not the one in the run's header",
        "Restore the original plan file at this path, or set the run aside with `weft runs abandon`",
    )
}

/// A journal has a bad frame before a valid one.
pub(super) fn damaged_journal(path: &Path, offset: usize, what: &str) -> StoreError {
    damaged(
        path,
        format!("{what} at byte {offset}, with valid records after it"),
        "Restore the file from a backup, or set the run aside with `weft runs abandon`, which lists every object that \
         the run may have changed",
    )
}

/// The first line of a journal is not the start of a term.
pub(super) fn journal_without_start(path: &Path, run: &RunId) -> StoreError {
    damaged(path, "its first record is not the record with which a journal begins", restore_or_abandon(run))
}

/// A journal does not continue the previous journal of its run.
pub(super) fn other_journal_before(path: &Path, run: &RunId) -> StoreError {
    damaged(path, "the previous journal is not the one that this journal continues", restore_or_abandon(run))
}

fn restore_or_abandon(run: &RunId) -> String {
    format!("Restore the run's directory from a backup, or set the run aside with `weft runs abandon {run}`")
}

/// Two runs have journals that the state file does not have yet.
pub(super) fn two_unfolded_journals(folder: &Path, other: &RunId) -> StoreError {
    damaged(
        folder,
        format!("the state file contains neither the changes of this run nor those of run {other}"),
        "Restore .weft and the state file together from one backup",
    )
}

/// A state file is guarded, but the run that guards it is missing.
pub(super) fn guard_without_run(path: &Path) -> StoreError {
    damaged(
        path,
        "it has format version 9, so a run has not ended, but the files of that run are not in this directory",
        "If another machine or directory has the journal, continue there with `weft runs resume`. If the journal is \
         lost, look at the real objects, then replace the state with `weft state push FILE`. FILE is the \
         errored.tfstate of that run, if that file exists. Otherwise, FILE is the output of `weft state pull`, which \
         has the changes that were saved",
    )
}

/// A file cannot be decrypted.
pub(super) fn unopened(path: &Path, error: OpenError) -> StoreError {
    StoreError::Unopened { place: path.display().to_string(), error }
}

/// A file cannot be encrypted.
pub(super) fn unsealed(path: &Path, error: SealError) -> StoreError {
    StoreError::Unsealed { place: path.display().to_string(), error }
}

/// This process has locked the state file already.
pub(super) fn locked_here(path: &Path) -> StoreError {
    StoreError::Locked { path: path.display().to_string(), holder: "this process".to_owned() }
}

/// This process has the state file open for writing, so it must not open the file again.
pub(super) fn open_here(path: &Path) -> StoreError {
    let holder = "this process, which has already opened the state".to_owned();
    StoreError::Locked { path: path.display().to_string(), holder }
}

/// The holder of a lock according to its lock file, with the process if the operating system knows it.
pub(super) fn known_holder(who: &str, operation: &str, process: Option<u32>, since: &str) -> String {
    let process = process.map(|process| format!("process {process}, since ")).unwrap_or_default();
    format!("{who} ({operation}, {process}{since})")
}

/// The holder of a lock that has no lock file.
pub(super) fn unknown_holder(process: Option<u32>) -> String {
    process.map_or_else(|| "another process".to_owned(), |process| format!("process {process}"))
}

/// Another holder has the lock of a backend. `message` comes from the backend. `wanted` is the requested lock. Backends
/// that do not know the holder return the requested lock as the holder.
pub(super) fn held(path: &Path, holder: &LockInfo, wanted: &LockInfo, message: &str) -> StoreError {
    let LockInfo { id, operation, who, created, .. } = holder;
    let holder = match id.is_empty() || *id == wanted.id {
        true => format!("another process ({message})"),
        false => format!(
            "{who} ({operation}, lock {id}, since {created}; if that process has ended, release the lock with \"weft \
             force-unlock {id}\")"
        ),
    };
    StoreError::Locked { path: path.display().to_string(), holder }
}

/// The service, or a proxy in front of it, ignores the conditions of writes.
pub(super) fn no_conditions(path: &Path) -> StoreError {
    StoreError::Unfit(format!(
        "{} was created twice: the service, or a proxy on the way to it, ignores the condition \"only if absent\". \
         Without this condition, two runs could change the state at the same time. Use a service with conditional \
         writes",
        path.display()
    ))
}

/// The state file is on a network file system.
pub(super) fn network_file_system(path: &Path) -> StoreError {
    StoreError::Unfit(format!(
        "{} is on a network file system, whose locks do not reliably prevent two runs at the same time. Keep the state \
         on a local disk or in Redis, or allow the network file system with WEFT_ALLOW_NETWORK_STATE=1",
        path.display()
    ))
}

/// A run holds the state that an edit would change.
pub(super) fn run_in_progress(run: &RunId) -> StoreError {
    StoreError::Closed(format!(
        "this process carries out run {run}, and other changes of the state are possible only after the run has ended"
    ))
}

/// The thread of a journal has ended.
pub(super) fn writer_gone() -> StoreError {
    StoreError::Closed(
        "the thread that writes it has ended unexpectedly. Look at `weft runs list`, and continue the run with `weft \
         runs resume`"
            .to_owned(),
    )
}

/// Why a journal accepts no more lines: a group exceeds the maximum.
pub(super) fn group_too_large(path: &Path, size: usize) -> StoreError {
    StoreError::Closed(format!("{size} bytes of records are too many for one write to {}", path.display()))
}

/// Why a journal accepts no more lines: a write failed.
pub(super) fn write_failed(path: &Path, error: &dyn Display) -> StoreError {
    StoreError::Closed(format!("{}: {error}", path.display()))
}

/// Why a journal accepts no more lines: a later term has begun.
pub(super) fn superseded(path: &Path) -> StoreError {
    StoreError::Superseded(path.display().to_string())
}

/// The text in place of the list of instances, if a state differs from the base of a journal but all instances are
/// equal.
pub(super) fn no_instance_differs() -> String {
    "none, only outputs, check results, serial or lineage".to_owned()
}
