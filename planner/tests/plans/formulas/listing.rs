//! The listing of a plan's operations.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::graph::{disassemble, verify};

use super::outcome;
use crate::harness::Object;

/// The disassembly of a plan, with one operation per line.
pub(super) struct Listing(pub(super) String);

impl Listing {
    pub(super) async fn of(text: &str, state: Vec<Object>) -> Listing {
        let outcome = outcome(text, state).await;
        assert_eq!(outcome.diagnostics, Vec::<Diagnostic>::new());
        let planned = outcome.planned.expect("a plan");
        assert_eq!(verify(&planned.graph), Vec::new());
        Listing(disassemble(&planned.graph))
    }

    /// The only line with these words.
    pub(super) fn line(&self, words: &str) -> &str {
        let found: Vec<&str> = self.0.lines().filter(|line| line.contains(words)).collect();
        assert_eq!(found.len(), 1, "{words:?} in\n{}", self.0);
        found[0]
    }

    pub(super) fn has(&self, words: &str) -> bool {
        self.0.contains(words)
    }

    /// The number of the only operation with these words.
    pub(super) fn number(&self, words: &str) -> u32 {
        self.line(words).split(' ').next().and_then(|number| number.parse().ok()).expect("a number")
    }

    /// The operations that the only operation with these words waits for.
    pub(super) fn waits(&self, words: &str) -> Vec<u32> {
        let line = self.line(words);
        let after = line.split(" after ").nth(1).unwrap_or_default();
        after.split(' ').map_while(|word| word.parse().ok()).collect()
    }
}
