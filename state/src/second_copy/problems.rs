//! Errors of write-ahead files, as constructors.

use std::path::Path;

use crate::error::StoreError;

/// A file operation failed. `doing` is the operation without the path.
pub(super) fn failed(doing: &str, path: &Path) -> impl Fn(std::io::Error) -> StoreError {
    let doing = format!("{doing} {}", path.display());
    move |error| StoreError::Io { doing: doing.clone(), error: error.to_string() }
}
