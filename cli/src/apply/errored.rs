//! `errored.tfstate`: the newest state of a run whose store has failed, in the working directory.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use tokio::time::timeout;
use weft_coordinator::RunOutcome;
use weft_graph_format::diagnostic::Diagnostic;
use weft_sealing::{SealError, Sealing, TargetName};
use weft_state::tfstate::StateFile;
use weft_state::{RunStore, StoreError, StoreStep};

use super::problems::not_saved;
use super::unsaved::{ERRORED, Unsaved, Unwritten};
use crate::context::Context;

/// The name that an existing `errored.tfstate` with other content gets.
const EARLIER: &str = "errored.tfstate.backup";
/// How long the newest state may take. A disk that hangs must not keep the command from ending.
const NEWEST_WAIT: Duration = Duration::from_secs(30);
/// The mode of the file: states may hold secrets.
const PRIVATE: u32 = 0o600;

/// If the store of a run has failed, writes the newest state to a file, and returns the problem that says how to
/// continue. Writes nothing and returns `None` if the store has not failed, or if it has already saved everything.
pub async fn keep(context: &Context, store: &dyn RunStore, outcome: &RunOutcome) -> Option<Diagnostic> {
    let error = outcome.store_error.as_ref()?;
    // The store has already written the state to a file, and the error names this file. No second file is needed.
    if matches!(error, StoreError::Replaced { .. }) {
        return None;
    }
    let unwritten = match timeout(NEWEST_WAIT, store.newest(&outcome.unrecorded)).await {
        Ok(Ok(None)) => return None,
        Ok(Ok(Some(file))) => write(context, store, &file).err(),
        Ok(Err(error)) => Some(Unwritten::Store(error)),
        Err(_) => Some(Unwritten::Silent),
    };
    let run = outcome.run.to_string();
    let (journal, unrecorded) = (store.journal_place(&outcome.run), instances(&outcome.unrecorded));
    Some(not_saved(&Unsaved { run: &run, error, journal, unrecorded, unwritten }))
}

fn write(context: &Context, store: &dyn RunStore, file: &StateFile) -> Result<(), Unwritten> {
    let sealing = match context.sealed_by.get() {
        Some(sealing) => sealing.clone(),
        None if store.is_sealed() => return Err(Unwritten::NoSettings),
        None => Default::default(),
    };
    let bytes = sealed(&sealing, file)?;
    Ok(put(Path::new(ERRORED), Path::new(EARLIER), &bytes)?)
}

fn sealed(sealing: &Sealing, file: &StateFile) -> Result<Vec<u8>, SealError> {
    let plain = file.to_bytes();
    match sealing.seals(&TargetName::State) {
        true => sealing.seal_state(&plain),
        false => Ok(plain),
    }
}

/// Replaces a file atomically. An existing file with other content is renamed to `earlier`.
fn put(path: &Path, earlier: &Path, content: &[u8]) -> io::Result<()> {
    match fs::read(path) {
        Ok(found) if found == content => return Ok(()),
        Ok(_) => fs::rename(path, earlier)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(PRIVATE).open(&fresh)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&fresh, path)
}

/// The instances that `steps` write, in order and without duplicates.
fn instances(steps: &[StoreStep]) -> Vec<String> {
    let mut names = Vec::new();
    for step in steps {
        let writes = step.writes().into_iter().flat_map(|writes| &writes.instances);
        names.extend(writes.map(|write| write.address.clone()));
    }
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn an_earlier_file_is_kept_and_the_new_one_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let (path, earlier) = (folder.path().join("errored"), folder.path().join("earlier"));
        put(&path, &earlier, b"one").unwrap();
        put(&path, &earlier, b"one").unwrap();
        assert!(!earlier.exists());
        put(&path, &earlier, b"two").unwrap();
        assert_eq!((fs::read(&path).unwrap(), fs::read(&earlier).unwrap()), (b"two".to_vec(), b"one".to_vec()));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, PRIVATE);
    }
}
