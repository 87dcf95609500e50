//! Explanations of problems: each kind of problem has a code, and a text with an example.
//!
//! There is one file for each subject, with an entry for each summary of a [`crate::diagnostic::Diagnostic`]:
//!
//! ```text
//! W0101 Unsupported argument
//! What it means and what to do about it.
//!     resource "terraform_data" "a" {
//!       inptu = 1
//!     }
//!   right
//!     resource "terraform_data" "a" {
//!       input = 1
//!     }
//! ```
//!
//! The corrected example follows a line with two spaces and `right`. `tests/diagnostics/explained.py` runs the examples,
//! and describes how to write them.
//!
//! A `*` in a summary matches any text. Codes are assigned by hand and never reused: `codes.txt` beside the tests lists
//! every code that was ever assigned. The function that reports a problem does not name the code of the problem:
//! [`code_of`] finds the code by the summary.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::diagnostic::{Diagnostic, NOT_BEGUN_BY_PROVIDER};

/// The code of all diagnostics that come from providers. Providers write the summaries of these diagnostics.
pub const SAID_BY_A_PROVIDER: &str = "W1033";

/// The files with the explanations, by subject.
const FILES: [&str; 13] = [
    include_str!("explain/syntax.txt"),
    include_str!("explain/blocks.txt"),
    include_str!("explain/references.txt"),
    include_str!("explain/expressions.txt"),
    include_str!("explain/values.txt"),
    include_str!("explain/resources.txt"),
    include_str!("explain/modules.txt"),
    include_str!("explain/planning.txt"),
    include_str!("explain/state.txt"),
    include_str!("explain/commands.txt"),
    include_str!("explain/packages.txt"),
    include_str!("explain/runs.txt"),
    include_str!("explain/tests.txt"),
];

/// The minimum number of letters of a pattern, without its stars. Shorter patterns match too many texts to identify a
/// kind of problem.
const LEAST_LETTERS: usize = 5;

/// The explanation of a kind of problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// `W` and four digits.
    pub code: &'static str,
    /// The summary of such problems, with a `*` for each part that varies.
    pub summary: &'static str,
    /// What the problem means and what to do about it, in one paragraph.
    pub text: String,
    /// An example that causes the problem.
    pub example: String,
    /// The corrected example, or the commands that solve the problem.
    pub right: String,
}

/// The line of an entry that precedes the corrected example.
const RIGHT: &str = "  right";

struct Catalogue {
    all: Vec<Explanation>,
    by_summary: BTreeMap<&'static str, usize>,
    /// The entries whose summaries contain stars, the most specific first.
    patterns: Vec<usize>,
}

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    let mut all: Vec<Explanation> = FILES.iter().flat_map(|file| entries(file)).collect();
    all.sort_by_key(|entry| entry.code);
    let by_summary = all.iter().enumerate().map(|(at, entry)| (entry.summary, at)).collect();
    let letters = |at: &usize| all[*at].summary.chars().filter(|c| c.is_alphanumeric()).count();
    let mut patterns: Vec<usize> =
        (0..all.len()).filter(|at| all[*at].summary.contains('*') && letters(at) >= LEAST_LETTERS).collect();
    patterns.sort_by_key(|at| std::cmp::Reverse(letters(at)));
    Catalogue { all, by_summary, patterns }
});

/// The entries of a file.
fn entries(file: &'static str) -> Vec<Explanation> {
    let mut found: Vec<Explanation> = Vec::new();
    let mut is_right = false;
    for line in file.lines() {
        if let Some((code, summary)) = header(line) {
            found.push(Explanation {
                code,
                summary,
                text: String::new(),
                example: String::new(),
                right: String::new(),
            });
            is_right = false;
            continue;
        }
        let Some(entry) = found.last_mut() else { continue };
        match line.strip_prefix("    ") {
            Some(example) => {
                let text = if is_right { &mut entry.right } else { &mut entry.example };
                text.push_str(example);
                text.push('\n');
            }
            None if line == RIGHT => is_right = true,
            None if line.is_empty() => {}
            None => {
                if !entry.text.is_empty() {
                    entry.text.push(' ');
                }
                entry.text.push_str(line);
            }
        }
    }
    found
}

/// The code and the summary, if an entry begins with this line.
fn header(line: &str) -> Option<(&str, &str)> {
    let (code, summary) = line.split_once(' ')?;
    is_code(code).then_some((code, summary))
}

/// Whether a text has the form of a code: `W0101`.
pub fn is_code(text: &str) -> bool {
    text.strip_prefix('W').is_some_and(|digits| digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// All explanations, in the order of their codes.
pub fn all() -> &'static [Explanation] {
    &CATALOGUE.all
}

/// The explanation of a code.
pub fn explanation(code: &str) -> Option<&'static Explanation> {
    let all = &CATALOGUE.all;
    all.binary_search_by_key(&code, |entry| entry.code).ok().and_then(|at| all.get(at))
}

/// The code of problems with this summary.
pub fn code_of(summary: &str) -> Option<&'static str> {
    let catalogue = &*CATALOGUE;
    let exact = catalogue.by_summary.get(summary).copied();
    let found =
        exact.or_else(|| catalogue.patterns.iter().copied().find(|at| fits(catalogue.all[*at].summary, summary)))?;
    catalogue.all.get(found).map(|entry| entry.code)
}

/// The code of a problem: the problem's own code if there is one, otherwise the code of its summary.
pub fn code(problem: &Diagnostic) -> Option<&str> {
    if is_code(&problem.code) {
        return Some(problem.code.as_str());
    }
    if problem.code == NOT_BEGUN_BY_PROVIDER { Some(SAID_BY_A_PROVIDER) } else { code_of(&problem.summary) }
}

/// Whether a text matches a pattern, in which each `*` matches any text.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_complete() {
        for entry in all() {
            assert!(!entry.text.is_empty() && !entry.example.is_empty(), "{}", entry.code);
            assert!(entry.text.ends_with('.'), "{}: {}", entry.code, entry.text);
            assert!(!entry.right.is_empty(), "{} has no corrected example", entry.code);
            assert_ne!(entry.example, entry.right, "{}", entry.code);
        }
        for pair in all().windows(2) {
            assert!(pair[0].code < pair[1].code, "{} is given twice", pair[1].code);
        }
        assert_eq!(CATALOGUE.by_summary.len(), all().len(), "a summary occurs twice");
    }

    #[test]
    fn a_summary_leads_to_its_code() {
        for (summary, code) in [
            ("Unsupported argument", Some("W0101")),
            ("Duplicate data \"x\" configuration", Some("W0112")),
            ("Cycle: a, b: c", Some("W0224")),
            ("Resource precondition failed", Some("W0430")),
            ("quota exceeded", None),
            ("a: b", None),
        ] {
            assert_eq!(code_of(summary), code, "{summary}");
        }
        let own = Diagnostic::error("Unsupported argument", "").code(SAID_BY_A_PROVIDER);
        assert_eq!(super::code(&own), Some(SAID_BY_A_PROVIDER));
        let marked = Diagnostic::error("Unsupported argument", "").code("read-for-check");
        assert_eq!(super::code(&marked), Some("W0101"));
        assert!(explanation(SAID_BY_A_PROVIDER).is_some());
    }

    #[test]
    fn a_star_matches_any_text() {
        assert!(fits("a * c", "a b c") && fits("*: *", "x: y") && fits("* end", "the end") && fits("a*", "a"));
        assert!(!fits("a * c", "a b d") && !fits("a*b", "b") && !fits("ab", "abc"));
    }
}
