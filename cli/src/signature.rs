//! Signatures of plan files: their location, and whether an apply requires one.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::time::SystemTime;

use weft_graph_format::diagnostic::Diagnostic;
use weft_identity::signature::{MAX_BYTES, TrustedKeys, Verified};
use weft_state::{Digest, RunHeader};

use crate::context::environment;
use crate::options::Arguments;
use crate::problems;

/// The variable with the path of the file of trusted keys.
const REQUIRED: &str = "WEFT_REQUIRE_SIGNATURE";
/// The suffix of a signature file, after the name of the plan file.
const SUFFIX: &str = ".sig";

/// Reads a small file. `None` if it does not exist.
///
/// # Errors
/// Returns an error if the file cannot be read or is too large.
pub fn small_file(path: &str) -> Result<Option<Vec<u8>>, Diagnostic> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes));
    match read {
        Ok(_) if bytes.len() > MAX_BYTES => Err(problems::signature_file_too_large(path, MAX_BYTES)),
        Ok(_) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(problems::signature_file_unreadable(path, &error)),
    }
}

/// The trusted keys in a file.
///
/// # Errors
/// Returns an error if the file cannot be read or has no usable key.
pub fn trusted_keys(path: &str) -> Result<TrustedKeys, Diagnostic> {
    let pem = small_file(path)?.ok_or_else(|| problems::key_file_missing(path))?;
    TrustedKeys::from_pem(&pem).map_err(|error| problems::key_refused(path, &error))
}

/// The trusted keys, one of which must have signed a plan. `None` if no signature is required.
///
/// # Errors
/// Returns errors of [`trusted_keys`].
pub fn required(arguments: &Arguments) -> Result<Option<TrustedKeys>, Diagnostic> {
    let given = arguments.value("require-signature").map(str::to_owned);
    let path = given.or_else(|| environment(REQUIRED)).filter(|path| !path.is_empty());
    path.map(|path| trusted_keys(&path)).transpose()
}

/// The path of the signature of a plan.
pub fn path(arguments: &Arguments, plan: &str) -> String {
    arguments.value("signature").map_or_else(|| format!("{plan}{SUFFIX}"), str::to_owned)
}

/// Verifies the signature of a plan.
///
/// # Errors
/// Returns an error if the signature is missing or invalid.
pub fn verify(trusted: &TrustedKeys, path: &str, digest: Digest) -> Result<Verified, Diagnostic> {
    let document = small_file(path)?.ok_or_else(|| problems::signature_missing(path))?;
    let verified = trusted.verify(&document, &digest.hex(), SystemTime::now());
    verified.map_err(|error| problems::signature_refused(path, &error))
}

/// Checks that no run of a store has used the plan. A signature is valid for one run only.
///
/// # Errors
/// Returns an error if a run has used the plan.
pub fn unused(runs: &[RunHeader], digest: Digest) -> Result<(), Diagnostic> {
    match runs.iter().find(|run| run.plan == digest) {
        Some(run) => Err(problems::signature_used(&run.id, run.status)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use weft_state::{EmbeddedOptions, EmbeddedStore, Holder, NewRun, Opaque, RunStatus, RunStore as _};

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_signature_is_valid_for_one_run() {
        let folder = tempfile::tempdir().unwrap();
        let options = EmbeddedOptions::new(folder.path().join("terraform.tfstate"), Holder::default());
        let store = tokio::task::spawn_blocking(|| EmbeddedStore::open(options)).await.unwrap().unwrap();
        let digest = Digest::of(b"plan");
        assert_eq!(unused(&store.runs().await.unwrap(), digest), Ok(()));
        let id = weft_state::random_run_id().unwrap();
        let plan = Opaque(b"plan".to_vec());
        let run = NewRun { id: id.clone(), started_unix_ms: 1, operations: 1, plan, starts_now: false };
        store.create_run(run).await.unwrap();
        let runs = store.runs().await.unwrap();
        assert_eq!(unused(&runs, digest), Err(problems::signature_used(&id, RunStatus::Stopped)));
        assert_eq!(unused(&runs, Digest::of(b"another plan")), Ok(()));
    }
}
