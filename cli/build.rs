//! Passes the commit of the sources to a release build, for `weft version`.

use std::path::Path;
use std::process::Command;

/// The variable with the commit. `scripts/package` sets it itself.
const COMMIT: &str = "WEFT_COMMIT";

fn main() {
    println!("cargo::rerun-if-env-changed={COMMIT}");
    // A development build must not compile the crate again after each commit.
    if std::env::var_os(COMMIT).is_some() || std::env::var("PROFILE").as_deref() != Ok("release") {
        return;
    }
    let head = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.git/logs/HEAD");
    if head.exists() {
        println!("cargo::rerun-if-changed={}", head.display());
    }
    if let Some(commit) = commit() {
        println!("cargo::rustc-env={COMMIT}={commit}");
    }
}

/// The commit of the checkout around this crate. `None` without git, or outside of a checkout.
fn commit() -> Option<String> {
    let git = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let text = String::from_utf8(git.stdout).ok()?;
    let text = text.trim();
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| text.to_owned())
}
