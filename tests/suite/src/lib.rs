//! Helpers for the tests of the whole project in `tests/`: the rooms with their arrows, and the paths of sources.

pub mod text;

use std::path::{Path, PathBuf};

/// The arrows of the design: each crate, and the crates of the project that it may use.
pub const ARROWS: &[(&str, &[&str])] = &[
    ("graph-format", &[]),
    ("mutants", &[]),
    ("proto", &[]),
    ("protocol", &["graph-format", "proto"]),
    ("identity", &[]),
    ("sealing", &[]),
    ("syntax", &["graph-format"]),
    ("expressions", &["graph-format", "syntax"]),
    ("evaluator", &["graph-format", "syntax", "expressions"]),
    ("providers", &["graph-format", "proto", "sealing"]),
    ("registry", &["graph-format", "providers"]),
    ("state", &["graph-format", "mutants", "sealing"]),
    ("backends", &["graph-format", "sealing", "state"]),
    ("planner", &["graph-format", "expressions", "evaluator", "providers", "state"]),
    ("remote", &["sealing"]),
    ("executor", &["graph-format", "expressions", "providers", "protocol", "remote"]),
    ("coordinator", &["graph-format", "identity", "mutants", "proto", "protocol", "state"]),
    (
        "cli",
        &[
            "graph-format",
            "identity",
            "proto",
            "protocol",
            "syntax",
            "expressions",
            "evaluator",
            "providers",
            "registry",
            "sealing",
            "state",
            "backends",
            "planner",
            "executor",
            "coordinator",
        ],
    ),
];

/// The root of the repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All Rust files below a directory, in order.
///
/// # Panics
/// Panics if a directory cannot be read.
pub fn rust_files(dir: &Path) -> Vec<PathBuf> {
    files(dir, &[".rs"])
}

/// All files with Rust code below a directory, in sorted order. These include the files `*.rs.in`, which other files
/// include with `include!`.
///
/// # Panics
/// Panics if a directory cannot be read.
pub fn source_files(dir: &Path) -> Vec<PathBuf> {
    files(dir, &[".rs", ".rs.in"])
}

fn files(dir: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![dir.to_path_buf()];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(&dir).expect("a readable folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                pending.push(path);
            } else if endings.iter().any(|ending| path.to_string_lossy().ends_with(ending)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
