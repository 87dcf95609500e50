//! Updates the lock file after an installation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use weft_graph_format::address::ProviderSource;
use weft_graph_format::diagnostic::Diagnostic;
use weft_providers::lock_file::LockFile;
use weft_providers::platform::Platform;

/// Whether the lock file may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// If needed.
    Update,
    /// `-lockfile=readonly`.
    ReadOnly,
}

impl LockMode {
    /// Parses the value of `-lockfile`. OpenTofu accepts any text, and acts only on this one.
    pub fn from_flag(text: &str) -> LockMode {
        if text == "readonly" { LockMode::ReadOnly } else { LockMode::Update }
    }
}

/// What happened to the lock file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockOutcome {
    /// It is up to date.
    Unchanged,
    /// It was created.
    Created,
    /// It was changed.
    Updated,
    /// It must not be written, or could not.
    NotSaved,
}

/// Writes the new selections if they differ from the old ones and writing is allowed.
pub fn settle(path: &Path, old: &LockFile, new: &LockFile, mode: LockMode) -> (LockOutcome, Vec<Diagnostic>) {
    if old.selects_the_same(new) {
        return (LockOutcome::Unchanged, Vec::new());
    }
    if mode == LockMode::ReadOnly {
        let diagnostic = if old.same_providers(new) {
            Diagnostic::warning(
                "Provider lock file not updated",
                "The selected packages differ from those in the lock file, and -lockfile=readonly does not allow \
                changes. Run \"weft init\" without the option to record them.",
            )
        } else {
            Diagnostic::error(
                "Provider dependency changes detected",
                "The required providers differ from those in the lock file, and -lockfile=readonly does not allow \
                changes. Run \"weft init\" without the option to record them.",
            )
        };
        return (LockOutcome::NotSaved, vec![diagnostic]);
    }
    let outcome = if path.exists() { LockOutcome::Updated } else { LockOutcome::Created };
    match new.save(path) {
        Ok(()) => (outcome, Vec::new()),
        Err(error) => {
            let detail = format!("The dependency lock file {} cannot be written: {error}.", path.display());
            (LockOutcome::NotSaved, vec![Diagnostic::error("Failed to save dependency lock file", detail)])
        }
    }
}

/// A warning that the new lock file does not work on other platforms; `None` if it does.
pub fn incomplete_warning(incomplete: &[ProviderSource], platform: &Platform) -> Option<Diagnostic> {
    if incomplete.is_empty() {
        return None;
    }
    let list: String = incomplete.iter().map(|source| format!("\n  - {}", source.for_display())).collect();
    let detail = format!(
        "The sources of these providers have no checksums, so Weft computed them from the packages that it \
         installed:{list}\n\nThe .terraform.lock.hcl file has their checksums for {platform} only, and Weft cannot install \
         them on other platforms. To add the checksums for another platform, run:\n  weft providers lock \
         -platform=linux_amd64\n(linux_amd64 stands for that platform)"
    );
    Some(Diagnostic::warning("Incomplete lock file information for providers", detail))
}

/// A reminder of active overrides; `None` without any.
pub fn override_warning(overrides: &BTreeMap<ProviderSource, PathBuf>) -> Option<Diagnostic> {
    if overrides.is_empty() {
        return None;
    }
    let list: String =
        overrides.iter().map(|(source, path)| format!("\n - {} in {}", source.for_display(), path.display())).collect();
    let detail = format!(
        "The following provider development overrides are set in the CLI configuration:{list}\n\nThese providers are \
         neither installed nor locked, and their versions are not checked. Applying with them may make the state \
         incompatible with published releases."
    );
    Some(Diagnostic::warning("Provider development overrides are in effect", detail))
}
