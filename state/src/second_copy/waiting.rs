//! The write-ahead files of a store that was emptied, as `weft store` shows them.

use super::SecondCopyOptions;
use super::opening::files_of;
use super::settle::{Adopted, gap};
use super::term_file::TermFile;
use crate::error::StoreError;
use crate::redis::RedisStore;

/// A write-ahead file with results that an emptied store does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingFile {
    /// The path.
    pub path: String,
    /// The run of the results.
    pub run: String,
    /// The serial of the state when the file began.
    pub serial: u64,
    /// The serial that the state had, if all files together have only a part of it. Without a copy, the rest is lost.
    pub missing: Option<u64>,
    /// The objects with results in the file.
    pub objects: Vec<String>,
    /// The objects of calls whose results are unknown.
    pub uncertain: Vec<String>,
    /// Whether the process that writes the file is alive.
    pub alive: bool,
}

impl WaitingFile {
    fn new(file: &TermFile, missing: Option<u64>) -> WaitingFile {
        let mut objects: Vec<String> = file.written().map(|subject| subject.to_string()).collect();
        objects.sort();
        objects.dedup();
        WaitingFile {
            path: file.shown(),
            run: file.start.run.to_string(),
            serial: file.origin().serial,
            missing,
            objects,
            uncertain: file.uncertain(),
            alive: !file.is_locked(),
        }
    }
}

/// The write-ahead files that an empty store has yet to adopt. Changes nothing.
///
/// # Errors
/// Errors of the store and of the file system.
pub async fn waiting_files(options: &SecondCopyOptions) -> Result<Vec<WaitingFile>, StoreError> {
    let SecondCopyOptions { server, workspace, sealing, .. } = options;
    let current = match RedisStore::connect(server, workspace, false, sealing.clone()).await {
        Err(StoreError::NoState(_)) => None,
        Err(error) => return Err(error),
        Ok(redis) if redis.front().await?.0.fresh => Some(redis.incarnation()),
        Ok(_) => return Ok(Vec::new()),
    };
    let adopted = match options.copy {
        Some(_) => Adopted::All { declared: false },
        None => Adopted::Uncopied { declared: false },
    };
    let found = files_of(options)?.get().of_others()?;
    let waits = |file: &&TermFile| Some(file.start.incarnation) != current && adopted.has(file);
    let mut waiting: Vec<&TermFile> = found.dead.iter().chain(&found.alive).filter(waits).collect();
    let missing = gap(&mut waiting);
    Ok(waiting.into_iter().map(|file| WaitingFile::new(file, missing)).collect())
}
