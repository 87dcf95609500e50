//! The diagnostics of `weft store`, as constructors.

use weft_graph_format::diagnostic::Diagnostic;
use weft_state::{StoreProblem, WaitingFile};

use crate::render::counted::counted;

/// The command takes no arguments.
pub fn no_arguments() -> Diagnostic {
    Diagnostic::error("Too many command line arguments", "This command takes options only.")
}

/// The state is not in Redis.
pub fn not_redis() -> Diagnostic {
    Diagnostic::error(
        "Not a store in Redis",
        "This command is only for stores in Redis. Name the store with -store or WEFT_STORE.",
    )
}

/// The check has found a problem in a store.
pub fn found(problem: &StoreProblem) -> Diagnostic {
    let StoreProblem { place, what, way_out } = problem;
    Diagnostic::error("Store damaged", format!("{place}: {what}. {way_out}."))
}

/// An empty store has a copy. `what` says that it is empty.
pub fn restorable(what: String, copy: &str) -> StoreProblem {
    let way_out = "The next command that uses the state in this directory restores the state from this copy".to_owned();
    StoreProblem { place: copy.to_owned(), what: format!("it has a copy of the state, but {what}"), way_out }
}

/// An empty store has yet to adopt the results in a write-ahead file. `copy` is the place of a copy of the state.
pub fn emptied(file: &WaitingFile, copy: Option<&str>) -> StoreProblem {
    let WaitingFile { path, run, objects, .. } = file;
    let objects = counted(objects.len(), "object");
    let what = format!("the store is empty, but this file has results of run {run} for {objects}");
    let way_out = match (file.alive, copy, file.missing) {
        (true, _, _) => {
            "The process of this run is alive. Wait until it has added these results or has ended".to_owned()
        }
        (false, Some(copy), _) => format!(
            "The next command that uses the state in this directory restores the state from its copy in {copy}, and \
             adds these results"
        ),
        (false, None, None) => "The next command that uses the state in this directory adds these results".to_owned(),
        (false, None, Some(serial)) => format!(
            "The state had serial {serial}, and these files have only a part of it. Restore the data of the server \
             from a backup. If there is no backup, `weft store declare-lost` adds these results to the state, and gives \
             up every other record"
        ),
    };
    StoreProblem { place: path.clone(), what, way_out }
}

/// A copy of the state has the records that are to be declared lost.
pub fn copy_exists(copy: &str) -> Diagnostic {
    Diagnostic::error(
        "State damaged",
        format!(
            "No records were declared lost, because {copy} has a copy of the state. To continue from the copy, give \
             the state in Redis another name (?state=NAME)."
        ),
    )
}

/// The store is empty, and a copy of the state has the records that are to be declared lost.
pub fn copy_restores(copy: &str) -> Diagnostic {
    Diagnostic::error(
        "State damaged",
        format!(
            "No records were declared lost: the store is empty, but {copy} has a copy of the state. The next command \
             that uses the state in this directory, such as `weft plan`, restores the state from this copy, and adds \
             the results in write-ahead files of this directory."
        ),
    )
}

/// Records were not declared lost, because there is no terminal for the question.
pub fn not_approved() -> Diagnostic {
    Diagnostic::error("Approval needed", "Input is disabled, so Weft cannot ask for approval. Use -auto-approve.")
}

/// The state has changed since the check.
pub fn state_changed() -> Diagnostic {
    let detail = "The state changed after the check. No records were declared lost. Run the command again.";
    Diagnostic::error("Failed to save state", detail)
}
