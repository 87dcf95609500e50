//! Signatures of plan files: their location, and whether an apply requires one.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::time::SystemTime;

use weft_graph_format::diagnostic::Diagnostic;
use weft_identity::signature::{MAX_BYTES, TrustedKeys, Verified};
use weft_state::{Digest, RunStore};

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

/// Checks that no run of this store has used the plan. A signature is valid for one run only.
///
/// # Errors
/// Returns an error if a run has used the plan, or if the store fails.
pub async fn unused(store: &dyn RunStore, digest: Digest) -> Result<(), Diagnostic> {
    let runs = store.runs().await.map_err(|error| crate::store::problem(&error))?;
    match runs.iter().find(|run| run.plan == digest) {
        Some(run) => Err(problems::signature_used(&run.id)),
        None => Ok(()),
    }
}
