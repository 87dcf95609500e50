//! Deliberate bugs that measure the simulation (`tests/simulation`). Each mutant breaks one rule that the correctness
//! of a run depends on, and the simulation must notice.
//!
//! `mutant!(Name)` marks the code of a rule. No shipped binary enables the feature `active`. Without this feature, the
//! macro is the constant `false`, and the compiler removes the branch.

#![forbid(unsafe_code)]

use std::fmt;

/// A broken rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mutant {
    /// The store does not compare the token of a step with the token of the lease.
    EpochUnchecked,
    /// The store does not compare the token of a step with the token of the lease if the step is a commit.
    FenceUncheckedAtCommit,
    /// The coordinator allows a worker to make a call without a durable intent.
    CommitWithoutIntent,
    /// A challenger takes over a lease after half of the TTL without a renewal, instead of the whole TTL.
    LeaseTakenTooEarly,
    /// The store grants a challenger the lease of another holder, although the challenger has not watched this lease
    /// for a TTL without a renewal.
    TakeoverWithoutWaiting,
    /// A result that arrives twice is recorded twice.
    ResultCountedTwice,
    /// A call whose outcome is unknown counts as a call that was not made.
    DoubtDropped,
    /// An operation starts before an operation that it needs is done.
    StartedTooEarly,
    /// An operation is retried although its earlier call may still take effect.
    RetryOfBegunCall,
    /// Other shards receive a result that is not durable.
    ExportBeforeCommit,
}

impl Mutant {
    /// All mutants.
    pub const ALL: [Mutant; 10] = [
        Mutant::EpochUnchecked,
        Mutant::FenceUncheckedAtCommit,
        Mutant::CommitWithoutIntent,
        Mutant::LeaseTakenTooEarly,
        Mutant::TakeoverWithoutWaiting,
        Mutant::ResultCountedTwice,
        Mutant::DoubtDropped,
        Mutant::StartedTooEarly,
        Mutant::RetryOfBegunCall,
        Mutant::ExportBeforeCommit,
    ];

    /// The mutant with this name.
    pub fn named(name: &str) -> Option<Mutant> {
        Mutant::ALL.into_iter().find(|mutant| mutant.to_string() == name)
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{self:?}")
    }
}

/// Whether a mutant is active in this thread.
#[macro_export]
macro_rules! mutant {
    ($name:ident) => {
        $crate::is_active($crate::Mutant::$name)
    };
}

#[cfg(feature = "active")]
thread_local! {
    static ACTIVE: std::cell::Cell<Option<Mutant>> = const { std::cell::Cell::new(None) };
}

/// Activates a mutant in this thread. `None` activates no mutant.
#[cfg(feature = "active")]
pub fn activate(mutant: Option<Mutant>) {
    ACTIVE.set(mutant);
}

/// Whether a mutant is active in this thread.
#[cfg(feature = "active")]
pub fn is_active(mutant: Mutant) -> bool {
    ACTIVE.get() == Some(mutant)
}

/// Whether a mutant is active: never in this build.
#[cfg(not(feature = "active"))]
#[inline(always)]
pub const fn is_active(_: Mutant) -> bool {
    false
}
