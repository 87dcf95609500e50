//! Every problem that Weft reports has a code and an explanation, and codes never change their meaning.
//!
//! The sources are searched for summaries of problems. The first argument of a diagnostic is a summary. In files with
//! their own constructors of diagnostics, every string that looks like a summary counts as a summary. [`NO_SUMMARIES`]
//! lists strings that look like summaries but are not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use weft_graph_format::explain;
use weft_suite::{ARROWS, root, rust_files};

/// Strings that look like summaries but are not: parts of details, lines of output, reasons after a colon.
const NO_SUMMARIES: &[&str] = &[
    "Import complete",
    "Successfully moved * object(s)",
    "Created and switched to workspace \"*\"",
    "Deleted workspace \"*\"",
    "Switched to workspace \"*\"",
    "The plan needs workers with these labels: *",
    "Claims: *; doubts: *",
    "Declared lost by *: *; damaged: *",
    "Replicas that confirm each write: *",
    "Runs: *",
    "Server: Redis *; connection *; user *",
    "State: serial *, *, **",
    "Store: * (workspace *)",
    "PORT on this machine, IP:PORT such as 0.0.0.0:9464, or unix:PATH",
    "Grant the caller the rights to read, write and list objects of *",
    "Bearer *",
    "BaoSettings(* at *)",
    "HostedSettings(*/* *)",
    "Check the names of organization and host, and whether the token is valid",
    "Changed from backend \"*\" to cloud backend",
    "Changed from cloud backend to backend \"*\"",
    "Please provide a new workspace name",
    "Additional checksums for this platform are now tracked in the lock file",
    "All checksums for this platform were already tracked in the lock file",
    "Backend configuration block has changed",
    "Backend type changed from \"*\" to \"*\"",
    "Could not resolve provider *: *",
    "Could not retrieve the list of available versions for provider *: *",
    "Diff: ",
    "Error while installing * v*: *",
    "Error, decoded message length too large",
    "Executing: [*]",
    "Expression(* at *)",
    "Found * and *",
    "Function * does not exist within a valid namespace (provider,core)",
    "Hub(* workers, * runs)",
    "The existing instances are: *",
    "Initial configuration of the requested backend \"*\"",
    "It was written by a newer tool",
    "LiveObjects(* slots)",
    "Mismatched list element types: *",
    "Mismatched map element types: *",
    "Mismatched set element types: *",
    "Missing value",
    "On line * of *: *",
    "On line * of the dependency lock file: *",
    "TFVars file content to decode",
    "The for_each of a provider needs a map, or a set of strings",
    "The given key does not identify an element in this collection value",
    "The list of providers",
    "The remote registry returned warnings for *:*",
    "The specified plugin cache dir * cannot be opened",
    "The store does not respond. Retrying: *",
    "Type mismatch for object attribute *: *",
    "Type mismatch for tuple element *: *",
    "Unsetting the previously set backend \"*\"",
    "Usage: weft [global options] *",
    "Warning: *",
    "Would move",
    "Would remove",
];

/// Summaries that are composed of parts, and the resulting texts.
const COMPOSED: &[(&str, &[&str])] = &[
    ("Invalid *", &["Invalid resource type", "Invalid data source", "Invalid ephemeral resource"]),
    ("Invalid * value", &["Invalid bucket value", "Invalid key value", "Invalid workspace_key_prefix value"]),
    ("no change found for ** in *", &["no change found for * in *"]),
];

/// The maximum length of a summary, in characters.
const LONGEST: usize = 90;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Text(String),
    Name(String),
    Sign(char),
}

/// The texts, names and punctuation of a source, without comments.
fn tokens(source: &str) -> Vec<Token> {
    let bytes: Vec<char> = source.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&c) = bytes.get(at) {
        let next = bytes.get(at + 1).copied();
        if c == '/' && next == Some('/') {
            while bytes.get(at).is_some_and(|c| *c != '\n') {
                at += 1;
            }
        } else if c == '"' {
            let (text, end) = quoted(&bytes, at + 1);
            found.push(Token::Text(text));
            at = end;
        } else if c == 'r' && matches!(next, Some('"' | '#')) {
            let hashes = bytes[at + 1..].iter().take_while(|c| **c == '#').count();
            if bytes.get(at + 1 + hashes) != Some(&'"') {
                at += 1;
                continue;
            }
            let end: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
            let begin = at + 2 + hashes;
            let length = bytes[begin..].windows(end.len()).position(|part| part == end).unwrap_or(0);
            found.push(Token::Text(bytes[begin..begin + length].iter().collect()));
            at = begin + length + end.len();
        } else if c == '\'' {
            // A character, or a lifetime.
            match (next, bytes.get(at + 2), bytes.get(at + 3)) {
                (Some('\\'), _, _) => {
                    at += 3;
                    while bytes.get(at).is_some_and(|c| *c != '\'') {
                        at += 1;
                    }
                    at += 1;
                }
                (Some(_), Some('\''), _) => at += 3,
                _ => at += 1,
            }
        } else if c.is_alphabetic() || c == '_' {
            let begin = at;
            while bytes.get(at).is_some_and(|c| c.is_alphanumeric() || *c == '_') {
                at += 1;
            }
            found.push(Token::Name(bytes[begin..at].iter().collect()));
        } else {
            if !c.is_whitespace() {
                found.push(Token::Sign(c));
            }
            at += 1;
        }
    }
    found
}

fn quoted(bytes: &[char], mut at: usize) -> (String, usize) {
    let mut text = String::new();
    while let Some(&c) = bytes.get(at) {
        at += 1;
        match (c, bytes.get(at).copied()) {
            ('"', _) => break,
            ('\\', Some('\n')) => {
                while bytes.get(at).is_some_and(|c| c.is_whitespace()) {
                    at += 1;
                }
            }
            ('\\', Some('n')) => {
                text.push('\n');
                at += 1;
            }
            ('\\', Some(escaped)) => {
                text.push(escaped);
                at += 1;
            }
            _ => text.push(c),
        }
    }
    (text, at)
}

/// A text with an asterisk for each part that is filled in.
fn pattern(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let Some(close) = rest[open..].find('}') else { break };
        out.push_str(&rest[..open]);
        out.push('*');
        rest = &rest[open + close + 1..];
    }
    out.push_str(rest);
    out
}

fn looks_like_a_summary(text: &str) -> bool {
    let fits = text.chars().count() <= LONGEST && text.contains(' ') && !text.contains('\n');
    let begins = text.starts_with(|c: char| c.is_uppercase() || c == '"');
    let sentence = text.ends_with(['.', ':', ',', '?', '!']) || text.contains(". ") || text.contains(".{");
    fits && begins && !sentence && !text.contains("weft ")
}

/// The summaries in a source.
fn summaries(source: &str) -> BTreeSet<String> {
    let shipped = source.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let own_ways = ["Diagnostic", ".error(", ".report", "problem("].iter().any(|way| shipped.contains(way));
    let tokens = tokens(shipped);
    let mut found = BTreeSet::new();
    let name = |at: usize, wanted: &[&str]| match tokens.get(at) {
        Some(Token::Name(name)) => wanted.contains(&name.as_str()),
        _ => false,
    };
    for (at, token) in tokens.iter().enumerate() {
        let Token::Text(text) = token else { continue };
        let before = |steps: usize| at.checked_sub(steps).and_then(|at| tokens.get(at));
        let mut call = 1;
        if before(1) == Some(&Token::Sign('(')) && at >= 3 && name(at - 3, &["format"]) {
            call = 4;
        }
        if before(call) == Some(&Token::Sign('&')) {
            call += 1;
        }
        let direct = before(call) == Some(&Token::Sign('('))
            && at > call + 3
            && name(at - call - 1, &["error", "warning"])
            && name(at - call - 4, &["Diagnostic"]);
        let signs = |token: Option<&Token>, allowed: &str| match token {
            Some(Token::Sign(sign)) => allowed.contains(*sign),
            _ => false,
        };
        let placed = signs(before(1), "(,=>{&|") && signs(tokens.get(at + 1), ",;)}");
        if direct || (own_ways && placed && looks_like_a_summary(text)) {
            found.insert(pattern(text));
        }
    }
    found
}

/// Whether a file contains tests beside the tested code.
fn of_tests(file: &Path) -> bool {
    let named = |name: &str| file.file_name().is_some_and(|n| n == name);
    // The path of the project may have directories of these names.
    let below = file.to_string_lossy().rsplit_once("/src/").map(|(_, below)| below.to_owned()).unwrap_or_default();
    let in_folder = |name: &str| Path::new(&below).components().any(|part| part.as_os_str() == name);
    named("tests.rs") || named("simulation.rs") || in_folder("simulation") || in_folder("tests")
}

#[test]
fn every_summary_has_a_code() {
    let composed: BTreeMap<&str, &[&str]> = COMPOSED.iter().copied().collect();
    let mut missing = Vec::new();
    let mut seen = 0;
    // `proto` is generated.
    for (room, _) in ARROWS.iter().filter(|(room, _)| *room != "proto") {
        let files = rust_files(&root().join(room).join("src"));
        assert!(!files.is_empty(), "{room} has no sources");
        for file in files.iter().filter(|file| !of_tests(file)) {
            let text = std::fs::read_to_string(file).expect("a source can be read");
            for summary in summaries(&text) {
                seen += 1;
                let known = |summary: &str| explain::code_of(summary).is_some();
                let parts = composed.get(summary.as_str()).copied().unwrap_or_default();
                let whole = known(&summary) || (!parts.is_empty() && parts.iter().all(|part| known(part)));
                // If a summary consists only of filled-in parts, its code is assigned where the parts are made.
                let filled = !summary.chars().any(char::is_alphabetic);
                if !whole && !filled && !NO_SUMMARIES.contains(&summary.as_str()) {
                    missing.push(format!("{}: {summary:?}", file.display()));
                }
            }
        }
    }
    assert!(seen > 400, "only {seen} summaries were found");
    assert!(
        missing.is_empty(),
        "These summaries have no code. Give each the next free one in graph-format/src/explain/, with an explanation \
         and an example, and add it to tests/suite/codes.txt:\n{}",
        missing.join("\n")
    );
}

/// `codes.txt` has a line for each code that was ever assigned. Lines are only added.
#[test]
fn codes_keep_their_meaning() {
    let path = root().join("tests/suite/codes.txt");
    let text = std::fs::read_to_string(&path).expect("the list of codes can be read");
    let given: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once(' ')).collect();
    let mut by_code = BTreeMap::new();
    for (code, summary) in &given {
        assert!(explain::is_code(code), "{code} is no code");
        assert!(by_code.insert(*code, *summary).is_none(), "{code} was given twice");
    }
    for entry in explain::all() {
        match by_code.get(entry.code) {
            Some(summary) => {
                assert_eq!(*summary, entry.summary, "{} meant something else: take a new code", entry.code);
            }
            None => panic!("add this line to codes.txt:\n{} {}", entry.code, entry.summary),
        }
    }
}

#[test]
fn summaries_are_found_in_sources() {
    let source = r##"
        // Diagnostic::error("In a comment", "")
        fn a() { Diagnostic::error("Plain one", "Some detail.").at(x); }
        fn b<'a>() { Diagnostic::warning(format!("Bad {name:?} here"), DETAIL); }
        fn c() { compiling.error("By a helper", format!("No {x}."), &at); }
        fn d() { let (summary, detail) = ("In a pair", r#"raw "text""#); }
        #[cfg(test)]
mod tests { fn e() { Diagnostic::error("In a test", ""); } }
    "##;
    let found: Vec<String> = summaries(source).into_iter().collect();
    assert_eq!(found, ["Bad * here", "By a helper", "In a pair", "Plain one"]);
}
