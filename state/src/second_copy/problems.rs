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

/// Joins names into one line. If there are more than [`LISTED`] names, the line ends with the number of the rest.
pub(super) fn listed(names: impl IntoIterator<Item = String>) -> String {
    let mut names: Vec<String> = names.into_iter().collect();
    let more = names.len().saturating_sub(LISTED);
    names.truncate(LISTED);
    let list = names.join(", ");
    if more > 0 { format!("{list} and {more} more") } else { list }
}

/// The store is empty, and the write-ahead files of this machine have only a part of its former state. `serial` is the
/// serial of the former state at the beginning of a run. `files` has the run and the path of each file.
pub(super) fn emptied(place: String, serial: u64, files: &[(&RunId, String)]) -> StoreError {
    let files = listed(files.iter().map(|(run, path)| format!("{path} (run {run})")));
    StoreError::Damaged {
        place,
        what: format!(
            "it is empty, but it had a state with serial {serial}. On this machine, only the results in these \
             write-ahead files are left: {files}"
        ),
        way_out:
            "Restore the data of the server from a backup. If there is no backup, use `weft store declare-lost` in \
                  this directory: it adds the results in these files to the state, and gives up every other record"
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
        way_out: "Wait until that process has added these results to the store or has ended, then try again".to_owned(),
    }
}

/// A run that its store has lost, and whose term has not ended. `path` is its write-ahead file.
pub(super) fn in_its_file(path: &str) -> String {
    format!(
        "its results are in the write-ahead file {path}. Weft adds them to the state when the running calls have ended, \
         or with the next plan in the same directory. The run cannot be resumed"
    )
}

/// A part of a message about a run that its store has lost: where the results are, and what to do. `path` is the
/// write-ahead file of the run, which may be gone by now. `added` is what was restored when the store was opened again,
/// or the reason why that failed.
pub(super) fn kept_words(path: &str, added: Result<&LostStore, &StoreError>) -> String {
    let lost = match added {
        Err(error) => {
            return format!(
                "its results are in the write-ahead file {path}, and could not be added to the state: {error}. When the \
                 store can be used again, `weft plan` in the directory of the run adds them. The run cannot be resumed"
            );
        }
        Ok(lost) => lost,
    };
    let mut words = match lost.recovered.is_empty() {
        true => format!("its write-ahead file {path} had no result that the state lacks"),
        false => format!(
            "Weft added the results in its write-ahead file {path} to the state: {}",
            listed(lost.recovered.iter().cloned())
        ),
    };
    if !lost.unused.is_empty() {
        let files = listed(lost.unused.iter().cloned());
        words.push_str(&match lost.changed.is_empty() {
            true => format!(". These files belong to another state, so their results were not used: {files}"),
            false => format!(
                ". These objects were changed again since, so their results were not used: {}. The results are in {files}",
                listed(lost.changed.iter().cloned())
            ),
        });
    }
    words.push_str(". The run cannot be resumed");
    match lost.uncertain.is_empty() {
        true => words.push_str(". Make a new plan"),
        false => words.push_str(&format!(
            ". Calls for these objects had begun, and their results are unknown: {}. Look at these objects, import those \
             that the state lacks, then make a new plan",
            listed(lost.uncertain.iter().cloned())
        )),
    }
    words
}

/// A run whose state has a copy, in a process that does not know the copy.
pub(super) fn waits_for_copy(path: &str) -> String {
    format!(
        "its results are in the write-ahead file {path}. The state has a copy in a backend, which this process does not \
         know. Make a new plan in the directory of the configuration: this restores the state from the copy. The \
         coordinator adds the results before the next run. The run cannot be resumed"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_run_names_its_file_its_results_and_the_way_out() {
        let words = |lost: LostStore| kept_words("ahead-1", Ok(&lost));
        let list = |name: &str| vec![name.to_owned()];
        let nothing = "its write-ahead file ahead-1 had no result that the state lacks. The run cannot be resumed. Make a \
                       new plan";
        assert_eq!(words(LostStore::default()), nothing);
        let uncertain = words(LostStore { recovered: list("a.b"), uncertain: list("a.c"), ..LostStore::default() });
        assert!(
            uncertain.contains("to the state: a.b. The run") && uncertain.contains("unknown: a.c. Look"),
            "{uncertain}"
        );
        let unused = words(LostStore { changed: list("a.b"), unused: list("ahead-1.unused"), ..LostStore::default() });
        assert!(unused.contains("not used: a.b. The results are in ahead-1.unused."), "{unused}");
        let other = words(LostStore { unused: list("ahead-1.unused"), ..LostStore::default() });
        assert!(other.contains("belong to another state, so their results were not used: ahead-1.unused."), "{other}");
    }
}
