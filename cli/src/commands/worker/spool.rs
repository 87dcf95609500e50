//! The spool of `weft worker`: its location and its encryption.

use std::path::PathBuf;
use std::sync::Arc;

use weft_executor::{FileSpool, SealError, SpoolError, SpoolSeal, WorkerSpool};
use weft_graph_format::diagnostic::Diagnostic;
use weft_sealing::{Sealing, TargetName};

use crate::command::Invocation;
use crate::commands::problems;
use crate::render::counted::counted;

/// The directory in the data directory, beside the write-ahead files of coordinators.
const FOLDER: &str = "weft";

/// Encrypts the records like a state, because they contain objects of a state.
#[derive(Debug)]
struct StateSeal(Arc<Sealing>);

impl StateSeal {
    const CONTEXT: &[u8] = b"results of a worker";
}

impl SpoolSeal for StateSeal {
    fn seals(&self) -> bool {
        self.0.seals(&TargetName::State)
    }

    fn seal(&self, plain: &[u8]) -> Result<Vec<u8>, SealError> {
        Ok(self.0.seal_record(&TargetName::State, Self::CONTEXT, plain)?)
    }

    fn open(&self, sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        Ok(self.0.open_record(&TargetName::State, Self::CONTEXT, sealed)?.plain.to_vec())
    }
}

/// Opens the spool of the worker with this name, in the directory of `-spool` or in the data directory. Reports the
/// results that an earlier worker with this name has left in the spool.
///
/// # Errors
/// Returns an error if another worker uses the spool, if the stored results cannot be decrypted, or if the directory of
/// `-spool` cannot be used.
pub fn open(
    invocation: &Invocation<'_>,
    name: &str,
    sealing: Arc<Sealing>,
) -> Result<Option<(WorkerSpool, PathBuf)>, Diagnostic> {
    let named = invocation.arguments.value("spool").map(PathBuf::from);
    let folder = named.clone().unwrap_or_else(|| invocation.context.data_directory.join(FOLDER));
    match FileSpool::open(&folder, name, Arc::new(StateSeal(sealing))) {
        Ok((spool, found)) => {
            let path = spool.path().to_owned();
            if let Some(error) = &found.without_room {
                invocation.view.diagnostics(&[problems::no_room_for_results(error)]);
            }
            if found.outdated > 0 {
                invocation.view.diagnostics(&[problems::outdated_results(found.outdated, &path)]);
            }
            if !found.results.is_empty() {
                let results = counted(found.results.len(), "result");
                invocation.view.line(&format!("{} has {results} that no coordinator has accepted", path.display()));
            }
            Ok(Some((WorkerSpool { place: Arc::new(spool), results: found.results }, path)))
        }
        Err(error @ SpoolError::Io { .. }) if named.is_none() => {
            invocation.view.diagnostics(&[problems::no_spool(&error)]);
            Ok(None)
        }
        Err(error) => Err(problems::spool_unusable(&error)),
    }
}
