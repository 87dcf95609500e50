//! Decides how to reconcile the state in Redis and its second copy. This module does no I/O.

use crate::redis::{CopyMarks, Front};
use crate::run::Digest;

/// The copy in the backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Behind {
    pub(super) lineage: String,
    pub(super) serial: u64,
    pub(super) digest: Digest,
}

/// How to reconcile the state and the copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// Do nothing: the state and the copy are equal.
    Equal,
    /// Write the copy.
    Write,
    /// Only record the copy as written: the store contains everything in the copy, because lost records were replayed.
    Adopt,
    /// Replace the state in Redis with the copy.
    Read,
    /// Replace the state in Redis with the copy, which the store itself wrote before it lost its last records.
    Behind,
    /// Report the difference: it is unknown which of the two states is right.
    Differ(Difference),
}

/// How a state and its copy differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Difference {
    /// The copy has another lineage.
    Lineage,
    /// The copy was changed, and so was the state in Redis.
    BothChanged,
    /// The copy was changed, and its serial did not rise.
    Older,
}

/// Compares the state in Redis with its copy. `own` means that this store has written the copy.
pub(super) fn decide(front: &Front, copy: Option<&Behind>, marks: &CopyMarks, own: bool) -> Decision {
    let Some(copy) = copy else {
        // Another program may have removed the copy, or it never existed. Redis has everything.
        return if front.fresh { Decision::Equal } else { Decision::Write };
    };
    if front.fresh && marks.is_empty() {
        return Decision::Read;
    }
    if let Some(mark) = marks.of(copy.digest) {
        return if mark.serial == front.serial { Decision::Equal } else { Decision::Write };
    }
    if copy.lineage != front.lineage {
        return Decision::Differ(Difference::Lineage);
    }
    if own && front.serial < copy.serial {
        return Decision::Behind;
    }
    if own && front.replayed {
        return Decision::Adopt;
    }
    match &marks.written {
        // The store was used without the backend before.
        None if copy.serial <= front.serial => Decision::Write,
        None => Decision::Differ(Difference::BothChanged),
        Some(written) if front.serial != written.serial => Decision::Differ(Difference::BothChanged),
        Some(written) if copy.serial < written.serial => Decision::Differ(Difference::Older),
        Some(_) => Decision::Read,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::CopyMark;

    fn mark(serial: u64, content: &str) -> Option<CopyMark> {
        Some(CopyMark { serial, digest: Digest::of(content.as_bytes()) })
    }

    #[test]
    fn every_combination_has_one_answer() {
        let front = |serial, fresh| Front { lineage: "a".to_owned(), serial, fresh, copied: true, replayed: false };
        let copy = |lineage: &str, serial, content: &str| {
            Some(Behind { lineage: lineage.to_owned(), serial, digest: Digest::of(content.as_bytes()) })
        };
        let none = CopyMarks::default();
        let at_5 = CopyMarks { written: mark(5, "five"), writing: None };
        let at_7 = CopyMarks { written: mark(5, "five"), writing: mark(7, "seven") };
        for (front, copy, marks, want) in [
            (front(0, true), None, &none, Decision::Equal),
            (front(3, false), None, &none, Decision::Write),
            (front(3, false), None, &at_5, Decision::Write),
            (front(0, true), copy("b", 4, "x"), &none, Decision::Read),
            (front(5, false), copy("a", 5, "five"), &at_5, Decision::Equal),
            (front(6, false), copy("a", 5, "five"), &at_5, Decision::Write),
            // The process died while it wrote the copy: before the write or after it.
            (front(7, false), copy("a", 5, "five"), &at_7, Decision::Write),
            (front(7, false), copy("a", 7, "seven"), &at_7, Decision::Equal),
            (front(8, false), copy("a", 7, "seven"), &at_7, Decision::Write),
            // Another tool has written the copy.
            (front(5, false), copy("a", 6, "other"), &at_5, Decision::Read),
            (front(6, false), copy("a", 6, "other"), &at_5, Decision::Differ(Difference::BothChanged)),
            (front(5, false), copy("a", 4, "other"), &at_5, Decision::Differ(Difference::Older)),
            (front(5, false), copy("b", 6, "other"), &at_5, Decision::Differ(Difference::Lineage)),
            // The store was used without the backend before.
            (front(5, false), copy("a", 4, "x"), &none, Decision::Write),
            (front(5, false), copy("a", 6, "x"), &none, Decision::Differ(Difference::BothChanged)),
            (front(5, false), copy("b", 4, "x"), &none, Decision::Differ(Difference::Lineage)),
        ] {
            assert_eq!(decide(&front, copy.as_ref(), marks, false), want, "{front:?} {copy:?} {marks:?}");
        }
        for (serial, want) in [
            // The store was restored to the moment of the previous copy or to a later moment, or it was used without
            // the backend since the previous copy.
            (5, Decision::Behind),
            (6, Decision::Behind),
            (7, Decision::Differ(Difference::BothChanged)),
        ] {
            assert_eq!(decide(&front(serial, false), copy("a", 7, "seven").as_ref(), &at_5, true), want, "{serial}");
        }
        let replayed = Front { replayed: true, ..front(7, false) };
        assert_eq!(decide(&replayed, copy("a", 7, "seven").as_ref(), &at_5, true), Decision::Adopt);
    }
}
