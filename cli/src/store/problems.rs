//! The diagnostics of stores, as constructors.

use std::path::Path;

use weft_graph_format::diagnostic::Diagnostic;
use weft_state::StoreError;
use weft_state::tfstate::{ContentProblem, StateFileError};

use crate::backend::of_backend;
use crate::problems::BAD_STATE;

/// The summary if a key service returns no key.
const NO_KEY: &str = "Unable to fetch encryption key data";

/// Converts an error of a store to a diagnostic.
pub fn of_store(error: &StoreError) -> Diagnostic {
    if let StoreError::StateFile(StateFileError::Invalid { problems, .. }) = error {
        return Diagnostic::error("Error acquiring the state lock", ContentProblem::list(problems)).code(BAD_STATE);
    }
    if let StoreError::Backend(error) = error {
        return of_backend(error);
    }
    let (summary, hint) = match error {
        StoreError::Overtaken(_) => ("State changed by another program", ""),
        StoreError::CopyDiffers { .. } => ("State and its copy differ", ""),
        StoreError::Locked { .. } => ("Error acquiring the state lock", ""),
        StoreError::StateFile(_) => ("Error acquiring the state lock", " Nothing was changed."),
        StoreError::Unopened { error, .. } if error.lacks_key() => (NO_KEY, " Nothing was changed."),
        StoreError::Unsealed { error, .. } if error.lacks_key() => (NO_KEY, " Nothing was written unencrypted."),
        StoreError::Unopened { .. } => (
            "Error acquiring the state lock",
            " Nothing was changed. Set the settings that encrypted the state, in the configuration or in \
             TF_ENCRYPTION. After a change of keys, put the former method into a fallback block.",
        ),
        StoreError::Unsealed { .. } => ("State not encrypted", " Nothing was written unencrypted."),
        StoreError::Unfit(_) => ("Store not fit to hold state", ""),
        StoreError::Address(_) => ("Invalid store address", ""),
        StoreError::Unreachable { .. } => {
            ("Store does not respond", " Check the address of the store, and that its server is running.")
        }
        StoreError::NoConnection { .. } => ("No connection to the store", ""),
        StoreError::Damaged { .. } | StoreError::StateMismatch { .. } | StoreError::LostWrites { .. } => {
            ("State damaged", "")
        }
        StoreError::Replaced { .. } | StoreError::NotThere(_) => ("State file replaced", ""),
        StoreError::NoState(_) => ("No state", ""),
        StoreError::Frozen { .. } => ("Run frozen", ""),
        StoreError::Emptied { .. } => ("Run lost", ""),
        StoreError::TooManyRuns { .. } => ("Too many runs", ""),
        StoreError::InUse { .. } => ("Workspace in use", ""),
        StoreError::NoRun(_) => ("No such run", ""),
        _ => ("State store failed", ""),
    };
    let text = error.to_string();
    let stop = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    Diagnostic::error(summary, format!("{text}{stop}{hint}"))
}

/// A plan is not encrypted, because a key service returned no key.
pub fn no_key(error: &dyn std::fmt::Display) -> Diagnostic {
    Diagnostic::error(NO_KEY, format!("{error}. Nothing was written."))
}

/// The store with the state of a plan must be given, but is not.
pub fn state_not_named(backend: &str) -> Diagnostic {
    Diagnostic::error(
        "State of the plan not named",
        format!(
            "The plan was made from the state in {backend}. Name that state with the option -store or the environment \
             variable WEFT_STORE. The plan alone is not enough, because it does not contain the password of the store."
        ),
    )
}

/// The password of a store is in a command-line argument.
pub fn password_in_argument() -> Diagnostic {
    Diagnostic::error(
        "Password in an argument",
        "The option -store contains a password, and other users of this machine can see the arguments of a process. \
         Write the address without the password, such as redis://USER@HOST/0?state=NAME, and name a file with the \
         password in WEFT_REDIS_PASSWORD_FILE. The variables WEFT_REDIS_PASSWORD and WEFT_STORE may also contain the \
         password.",
    )
}

/// A password is set twice.
pub fn two_passwords(first: &str, second: &str) -> Diagnostic {
    Diagnostic::error(
        "Password given twice",
        format!("A password for Redis is in {first} and in {second}. Remove one of them."),
    )
}

/// The directory of `-backup` does not exist.
pub fn backup_without_directory(path: &Path, folder: &Path) -> Diagnostic {
    Diagnostic::error(
        "State store failed",
        format!(
            "The previous state cannot be kept in {}, because {} is not a directory. Nothing was changed. Create the \
             directory, or name another file with -backup.",
            path.display(),
            folder.display()
        ),
    )
}
