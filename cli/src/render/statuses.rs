//! The words for the statuses of runs and operations, in all text output.

use weft_coordinator::listing::OperationCounts;
use weft_state::ChangeTotals;

/// The words in documents, and the words in text output.
const WORDS: [(&str, &str); 8] = [
    ("pending", "pending"),
    ("intended", "running"),
    ("running", "running"),
    ("stopped", "stopped"),
    ("done", "done"),
    ("failed", "failed"),
    ("skipped", "skipped"),
    ("in-doubt", "in doubt"),
];

/// The status of a run or an operation, for display. `word` is the status in JSON output. A word from a later version
/// is returned unchanged.
pub fn status(word: &str) -> &str {
    WORDS.iter().find(|(name, _)| *name == word).map_or(word, |(_, shown)| shown)
}

/// The nonzero counts of a run: `4 done, 3 pending, 1 in doubt`.
pub fn counts(counts: &OperationCounts) -> String {
    let OperationCounts { pending, running, done, failed, skipped, in_doubt } = *counts;
    let parts = [
        (done, "done"),
        (running, "intended"),
        (pending, "pending"),
        (failed, "failed"),
        (skipped, "skipped"),
        (in_doubt, "in-doubt"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {}", status(word))).collect();
    if parts.is_empty() { "no operations".to_owned() } else { parts.join(", ") }
}

/// The changes that a run has made to objects: `3 added, 1 changed, 0 destroyed`.
pub fn changes(totals: &ChangeTotals) -> String {
    format!("{} added, {} changed, {} destroyed", totals.added, totals.changed, totals.destroyed)
}

#[cfg(test)]
mod tests {
    use weft_state::{OpStatus, RunStatus};

    use super::*;

    #[test]
    fn every_status_has_a_word() {
        let runs = [RunStatus::Running, RunStatus::Stopped, RunStatus::Done, RunStatus::Failed, RunStatus::InDoubt];
        let operations = [
            OpStatus::Pending,
            OpStatus::Intended,
            OpStatus::Done,
            OpStatus::Failed,
            OpStatus::InDoubt,
            OpStatus::Skipped,
        ];
        let words = runs.map(RunStatus::word).into_iter().chain(operations.map(OpStatus::word));
        for word in words {
            assert!(WORDS.iter().any(|(name, _)| *name == word), "{word}");
        }
    }

    #[test]
    fn counts_are_listed_in_one_order() {
        let found = OperationCounts { pending: 2, running: 1, done: 4, failed: 1, skipped: 3, in_doubt: 1 };
        assert_eq!(counts(&found), "4 done, 1 running, 2 pending, 1 failed, 3 skipped, 1 in doubt");
        assert_eq!(counts(&OperationCounts::default()), "no operations");
        assert_eq!(changes(&ChangeTotals { added: 1, changed: 2, destroyed: 3 }), "1 added, 2 changed, 3 destroyed");
    }
}
