//! Names of the rules of a placement file.

use std::fmt;

/// A rule of a file, as messages name it: `rule 1`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuleName {
    /// The name of the rule's table in the file, with a capital letter.
    pub(crate) table: &'static str,
    /// The position of the rule among the rules of its table, from 0.
    pub(crate) index: usize,
}

impl RuleName {
    /// A rule of placement.
    pub(crate) fn rule(index: usize) -> RuleName {
        RuleName { table: "Rule", index }
    }
}

impl fmt::Display for RuleName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.table, self.index + 1)
    }
}
