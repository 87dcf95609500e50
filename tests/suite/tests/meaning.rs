//! Checks that no shipped code compares the summary of a problem to decide something. Summaries are English text for
//! users. Code that must distinguish problems uses their codes and causes.
//!
//! The exceptions are listed below, each with its reason. An entry that is no longer needed fails the test.

use std::collections::BTreeMap;

use weft_suite::text::{is_word, shipped_only};
use weft_suite::{ARROWS, root, source_files};

/// Files that may compare summaries, each with its reason.
const EXCEPTIONS: &[(&str, &str)] =
    &[("executor/src/change.rs", "the answer of a provider that an object does not exist has no other mark")];

/// The lines with comparisons of summaries.
fn comparisons(code: &str) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    for (at, _) in code.match_indices("summary") {
        let (before, after) = (&code[..at], &code[at + "summary".len()..]);
        let is_whole = !before.ends_with(is_word) && !after.starts_with(is_word);
        if is_whole && (is_compared(before, after) || is_matched(before, after)) {
            found.push(before.matches('\n').count() + 1);
        }
    }
    found
}

/// Whether the summary is one side of `==` or `!=`.
fn is_compared(before: &str, after: &str) -> bool {
    let mut after = after.strip_prefix("()").unwrap_or(after);
    for view in [".as_str()", ".as_ref()", ".deref()"] {
        after = after.strip_prefix(view).unwrap_or(after);
    }
    let is_path = |c: char| is_word(c) || matches!(c, '.' | '&' | '*' | '(' | ')' | '[' | ']' | '?');
    let (before, after) = (before.trim_end_matches(is_path).trim_end(), after.trim_start());
    ["==", "!="].iter().any(|operator| after.starts_with(operator) || before.ends_with(operator))
}

/// Whether the summary is the subject of `match` or `matches!`, or part of a tuple that is the subject. The argument of
/// a function in the subject does not count: the function may look up a code.
fn is_matched(before: &str, after: &str) -> bool {
    let subject = before.rfind("match ").map(|at| &before[at + "match ".len()..]);
    let is_subject = subject.is_some_and(|text| !text.contains(['{', '}', ';']) && !has_call(text));
    let argument = before.rfind("matches!(").map(|at| &before[at + "matches!(".len()..]);
    let is_argument = argument.is_some_and(|text| !text.contains([',', ';', '{', '}']) && !has_call(text));
    is_subject && after.contains('{') || is_argument
}

/// Whether a function is called in a text.
fn has_call(text: &str) -> bool {
    text.match_indices('(').any(|(at, _)| text[..at].ends_with(is_word))
}

#[test]
fn no_shipped_code_compares_summaries() {
    let allowed: BTreeMap<&str, &str> = EXCEPTIONS.iter().copied().collect();
    let mut wrong = Vec::new();
    for (room, _) in ARROWS {
        for path in source_files(&root().join(room).join("src")) {
            let file = path.strip_prefix(root()).expect("in the repository").display().to_string();
            if file.ends_with("/tests.rs") || file.contains("/tests/") || file.contains("/generated/") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let code: String = shipped_only(&text).into_iter().collect();
            let lines = comparisons(&code);
            match allowed.contains_key(file.as_str()) {
                true if lines.is_empty() => wrong.push(format!("{file} is no longer an exception: remove its entry")),
                true => {}
                false => wrong.extend(lines.iter().map(|line| format!("{file}:{line}"))),
            }
        }
    }
    assert!(wrong.is_empty(), "summaries are compared. Use a code or a cause:\n{}", wrong.join("\n"));
}

#[test]
fn comparisons_are_found() {
    for code in [
        "problem.summary == X",
        "problem.summary() != X",
        "one.summary.as_str() == X",
        "X == problem.summary",
        "X != &self.problems[0].summary",
        "matches!(problem.summary.as_str(), X)",
        "match problem.summary.as_str() { X => 1 }",
        "match (problem.summary.as_str(), y) { X => 1 }",
    ] {
        assert_eq!(comparisons(code), [1], "{code}");
    }
    for code in [
        "let summary = x; if a == b {}",
        "(&a.subject, &a.summary).cmp(&(&b.subject, &b.summary))",
        "match kind { A => problem.summary.clone() }",
        "if a == b { problem.summary }",
        "matches!(kind, A) && summary(x)",
        "match code_of(&self.summary) { A => 1 }",
        "summary_of == x",
    ] {
        assert_eq!(comparisons(code), [0; 0], "{code}");
    }
}
