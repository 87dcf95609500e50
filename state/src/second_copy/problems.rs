//! Errors of write-ahead files, as constructors.

use std::path::Path;

use super::notice::LostStore;
use crate::error::StoreError;
use crate::run::RunId;

/// A file operation failed. `doing` is the operation without the path.
pub(super) fn failed(doing: &str, path: &Path) -> impl Fn(std::io::Error) -> StoreError {
    let doing = format!("{doing} {}", path.display());
    move |error| StoreError::Io { doing: doing.clone(), error: error.to_string() }
}

/// The maximum number of names in a list. More would hide the advice.
const LISTED: usize = 50;

/// Joins names to one line, up to a maximum number.
fn listed(names: impl IntoIterator<Item = String>) -> String {
    let mut names: Vec<String> = names.into_iter().collect();
    let more = names.len().saturating_sub(LISTED);
    names.truncate(LISTED);
    let list = names.join(", ");
    if more > 0 { format!("{list} and {more} more") } else { list }
}

/// The store is empty, and the write-ahead files of this machine have a part of its former state only.
/// `files` has the run and the path of each.
pub(super) fn emptied(place: String, serial: u64, files: &[(&RunId, String)]) -> StoreError {
    let paths = listed(files.iter().map(|(_, path)| path.clone()));
    let runs = listed(files.iter().map(|(run, _)| run.to_string()));
    StoreError::Damaged {
        place,
        what: format!(
            "it is empty, but it had a state with serial {serial} when these runs began: {runs}. Their results are in \
             {paths}. The rest of the state is lost"
        ),
        way_out: "Restore the data of the server from a backup. If there is no backup, `weft store declare-lost` in \
                  this directory keeps the results in these files and gives up the rest of the state"
            .to_owned(),
    }
}

/// The store is empty, and a process that is alive has results of its former state in the file at `path`.
pub(super) fn emptied_in_use(place: String, run: &RunId, path: &str) -> StoreError {
    StoreError::Damaged {
        place,
        what: format!(
            "it is empty, but a process on this machine still carries out run {run}, and its results are in {path}"
        ),
        way_out: "Wait until that process has ended or has added these results to the store, then try again".to_owned(),
    }
}

/// What a process knows about a run that its store has lost. `path` is the write-ahead file of the run.
pub(super) fn kept_words(run: &RunId, path: &str, added: Result<&LostStore, &StoreError>) -> String {
    let lost = match added {
        Err(error) => {
            return format!(
                "{error}. The results of the run are in the write-ahead file {path}. As soon as the store can be used, \
                 `weft plan` in the directory of this file adds these results to the state. The run cannot be resumed"
            );
        }
        Ok(lost) => lost,
    };
    let mut words = match lost.recovered.is_empty() {
        true => format!("the write-ahead file {path} has no results of run {run}"),
        false => format!(
            "Weft added the results in the write-ahead file {path} to the state: {}",
            listed(lost.recovered.iter().cloned())
        ),
    };
    if !lost.uncertain.is_empty() {
        let names = listed(lost.uncertain.iter().cloned());
        words.push_str(&format!(". Calls for these objects had begun, and their results are unknown: {names}"));
    }
    words.push_str(". The run cannot be resumed. Look at the real objects, then make a new plan");
    words
}

/// A run whose state has a copy, in a process that does not know the copy.
pub(super) fn waits_for_copy(path: &str) -> String {
    format!(
        "the state has a copy in a backend. Make a new plan in the directory of the configuration: this restores the \
         state from the copy. The write-ahead file {path} has the results of the run, and the coordinator adds them at \
         the next run. The run cannot be resumed"
    )
}
