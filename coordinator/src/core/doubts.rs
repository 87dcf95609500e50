//! What is known about doubts: the decisions of the user, and the reason of each doubt.

use std::collections::BTreeMap;

use super::Position;
use crate::event::Decision;

/// Operations whose outcome is unknown.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    decisions: BTreeMap<Position, Decision>,
    reasons: BTreeMap<Position, String>,
}

impl Doubts {
    /// Records the user's decision about an operation. A later decision replaces an earlier one.
    pub(super) fn decide(&mut self, position: Position, decision: Decision) {
        self.decisions.insert(position, decision);
    }

    /// The user's decision that is not carried out yet.
    pub(super) fn decision(&self, position: Position) -> Option<&Decision> {
        self.decisions.get(&position)
    }

    /// Removes a decision that was carried out, or cannot be carried out.
    pub(super) fn end_decision(&mut self, position: Position) {
        self.decisions.remove(&position);
    }

    /// Why the outcome is unknown.
    pub(super) fn reason(&self, position: Position) -> String {
        self.reasons.get(&position).cloned().unwrap_or_default()
    }

    /// Records why the outcome is unknown.
    pub(super) fn keep_reason(&mut self, position: Position, reason: String) {
        self.reasons.insert(position, reason);
    }

    /// Removes everything about an operation whose outcome is known.
    pub(super) fn resolved(&mut self, position: Position) {
        self.decisions.remove(&position);
        self.reasons.remove(&position);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resolved_doubt_leaves_nothing() {
        let mut doubts = Doubts::default();
        doubts.decide(Position(0), Decision::Absent);
        doubts.decide(Position(0), Decision::Retry);
        doubts.keep_reason(Position(0), "lost".to_owned());
        assert_eq!(doubts.decision(Position(0)), Some(&Decision::Retry));
        doubts.end_decision(Position(0));
        assert_eq!((doubts.decision(Position(0)), doubts.reason(Position(0)).as_str()), (None, "lost"));
        doubts.resolved(Position(0));
        assert_eq!(doubts.reason(Position(0)), "");
    }
}
