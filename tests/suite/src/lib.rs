//! Tests of the whole live in `tests/`; this library holds nothing but the way to the repository.

use std::path::PathBuf;

/// The root of the repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}
