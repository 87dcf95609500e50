//! Files of placement rules that are refused, and why.

use std::ops::RangeInclusive;

/// Why a file of placement rules is refused.
#[derive(Debug, thiserror::Error)]
pub enum PlacementError {
    /// The text is not TOML, or not in the form of the file. The message has line and column if they are known.
    #[error("{}", .0.to_string().trim_end())]
    Form(#[source] toml::de::Error),
    /// An entry cannot be used.
    #[error("{table} {number} {problem}")]
    Entry {
        /// The name of the entry's table in the file.
        table: &'static str,
        /// The position of the entry in its table, from 1.
        number: usize,
        /// The problem.
        problem: EntryProblem,
    },
}

impl PlacementError {
    /// The problem of the entry at `index` of a table.
    pub(super) fn entry(table: &'static str, index: usize, problem: EntryProblem) -> PlacementError {
        PlacementError::Entry { table, number: index + 1, problem }
    }
}

/// The problem of one entry of a file of placement rules. Its message is the rest of a sentence about the entry.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EntryProblem {
    /// A rule is about home operations and about provider instances.
    #[error("has `home` together with patterns for provider instances")]
    HomeWithPatterns,
    /// A rule has no pattern.
    #[error("matches nothing: give `provider`, `module`, `alias`, `key`, `arguments` or `home`")]
    MatchesNothing,
    /// A rule requires nothing.
    #[error("needs `labels`, `concurrency` or `instances`")]
    RequiresNothing,
    /// A rule allows no operation.
    #[error("has the concurrency 0, so that nothing could ever run")]
    NoConcurrency,
    /// A rule allows no open provider instance.
    #[error("has `instances` 0, so that nothing could ever run")]
    NoInstances,
    /// A rule about home operations limits provider instances.
    #[error("has `home` together with `instances`")]
    HomeWithInstances,
    /// A label has an empty name.
    #[error("has a label without a name")]
    NamelessLabel,
    /// A placeholder in the value of a label does not end.
    #[error("has the label value {value:?} with an unclosed brace")]
    UnclosedBrace {
        /// The value of the label.
        value: String,
    },
    /// A rate is too low, too high, or not a number.
    #[error(
        "has the rate {rate}. A rate is a number of calls per second from {} to {}", .allowed.start(), .allowed.end()
    )]
    Rate {
        /// The rate.
        rate: f64,
        /// The allowed rates.
        allowed: RangeInclusive<f64>,
    },
    /// A burst is 0 or too large.
    #[error("needs a burst from 1 to {largest}")]
    Burst {
        /// The largest burst.
        largest: u32,
    },
    /// The number of tokens of a call is 0 or too large.
    #[error("needs tokens_per_call from 1 to {most}")]
    TokensPerCall {
        /// The maximum number of tokens.
        most: u32,
    },
    /// A call and the read before it need more tokens than the burst has.
    #[error("has the burst {burst}, which is less than the tokens of two calls")]
    BurstBelowTwoCalls {
        /// The burst.
        burst: u32,
    },
    /// Too many retries.
    #[error("has more than {most} attempts")]
    Attempts {
        /// The maximum number of retries.
        most: u32,
    },
    /// The time for retries is too long.
    #[error("has more than {most} seconds")]
    Seconds {
        /// The maximum time in seconds.
        most: u32,
    },
    /// Too many patterns.
    #[error("has more than {most} patterns")]
    Patterns {
        /// The maximum number of patterns.
        most: usize,
    },
    /// A pattern is too short or too long.
    #[error("has the pattern {pattern:?}. A pattern has from {} to {} bytes", .allowed.start(), .allowed.end())]
    PatternLength {
        /// The pattern.
        pattern: String,
        /// The allowed lengths in bytes.
        allowed: RangeInclusive<usize>,
    },
}

/// A label has a placeholder for which a provider instance has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MissingLabelValue {
    /// The name in the placeholder.
    pub(super) placeholder: String,
}
