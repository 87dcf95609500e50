//! Updates the lock file after an installation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use weft_graph_format::address::ProviderSource;
use weft_graph_format::diagnostic::Diagnostic;
use weft_providers::lock_file::LockFile;
use weft_providers::platform::Platform;

use crate::problems;

/// Whether the lock file may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// The file is written if it has changed.
    Update,
    /// The file must not be written: `-lockfile=readonly`.
    ReadOnly,
}

impl LockMode {
    /// Parses the value of `-lockfile`. As in OpenTofu, any text is accepted, and only `readonly` has an effect.
    pub fn from_flag(text: &str) -> LockMode {
        if text == "readonly" { LockMode::ReadOnly } else { LockMode::Update }
    }
}

/// What happened to the lock file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockOutcome {
    /// The lock file is up to date.
    Unchanged,
    /// The lock file was created.
    Created,
    /// The lock file was changed.
    Updated,
    /// The lock file needs a change, but must not be written, or could not be written.
    NotSaved,
}

/// Writes the new selections if they differ from the old ones and writing is allowed.
pub fn settle(path: &Path, old: &LockFile, new: &LockFile, mode: LockMode) -> (LockOutcome, Vec<Diagnostic>) {
    if old.selects_the_same(new) {
        return (LockOutcome::Unchanged, Vec::new());
    }
    if mode == LockMode::ReadOnly {
        let diagnostic = if old.same_providers(new) {
            problems::other_packages_locked()
        } else {
            problems::other_providers_locked()
        };
        return (LockOutcome::NotSaved, vec![diagnostic]);
    }
    let outcome = if path.exists() { LockOutcome::Updated } else { LockOutcome::Created };
    match new.save(path) {
        Ok(()) => (outcome, Vec::new()),
        Err(error) => (LockOutcome::NotSaved, vec![problems::lock_file_not_saved(path, &error)]),
    }
}

/// A warning that the new lock file does not work on other platforms. `None` if the lock file works on other platforms.
pub fn incomplete_warning(incomplete: &[ProviderSource], platform: &Platform) -> Option<Diagnostic> {
    if incomplete.is_empty() {
        return None;
    }
    Some(problems::incomplete_lock_file(incomplete, platform))
}

/// A reminder of active overrides. `None` if there are none.
pub fn override_warning(overrides: &BTreeMap<ProviderSource, PathBuf>) -> Option<Diagnostic> {
    if overrides.is_empty() {
        return None;
    }
    Some(problems::overrides_active(overrides))
}
