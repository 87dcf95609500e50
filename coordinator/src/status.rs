//! The status of an operation and its legal transitions: one pure function, with exactly the statuses of the run
//! protocol.
//!
//! ```text
//! pending -> leased -> intended -> done | failed | in-doubt        skipped (an input failed or is in doubt)
//! leased -> pending (worker gone before intent)    failed -> pending (resume)
//! skipped -> pending (the input is settled)
//! in-doubt -> done | pending | failed              only by evidence
//! ```
//!
//! Operations that change no real object have no intent: `leased -> done | failed`.

use std::fmt;

use weft_state::OpStatus;

/// The status of an operation, as a coordinator sees it: the store's statuses, and `leased`. A lease needs no durable
/// record, because no call is made before the intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Status {
    /// Nothing has happened yet, or the operation may be retried.
    #[default]
    Pending,
    /// A worker has the operation.
    Leased,
    /// An intent is durable.
    Intended,
    /// The result is durable.
    Done,
    /// The failure is durable.
    Failed,
    /// An input failed or is in doubt.
    Skipped,
    /// There is an intent, but the worker was lost or does not know the outcome.
    InDoubt,
}

impl Status {
    /// The word in messages and JSON. `leased` shows as `pending`, as in the store.
    pub fn word(self) -> &'static str {
        match self {
            Status::Pending | Status::Leased => "pending",
            Status::Intended => "intended",
            Status::Done => "done",
            Status::Failed => "failed",
            Status::Skipped => "skipped",
            Status::InDoubt => "in-doubt",
        }
    }

    /// Whether the status can change in this term only by new evidence.
    pub fn is_settled(self) -> bool {
        matches!(self, Status::Done | Status::Failed | Status::Skipped | Status::InDoubt)
    }
}

impl From<OpStatus> for Status {
    fn from(status: OpStatus) -> Status {
        match status {
            OpStatus::Pending => Status::Pending,
            OpStatus::Intended => Status::Intended,
            OpStatus::Done => Status::Done,
            OpStatus::Failed => Status::Failed,
            OpStatus::InDoubt => Status::InDoubt,
            OpStatus::Skipped => Status::Skipped,
        }
    }
}

/// An event in the life of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Happening {
    /// A worker receives the operation.
    Lease,
    /// The worker was lost before the intent, or returned the operation.
    Unlease,
    /// The intent is durable.
    Intend,
    /// The result is durable.
    Commit,
    /// The failure is durable.
    Fail,
    /// The worker was lost or does not know the outcome.
    Doubt,
    /// Evidence shows that the attempt took effect.
    SettleDone,
    /// Evidence shows that the attempt had no effect, or the user accepts a duplicate.
    SettlePending,
    /// The user abandons the operation, or evidence shows a failure.
    SettleFailed,
    /// An input failed or is in doubt.
    Skip,
    /// A resumed run retries the operation, or its failed input is settled.
    Reopen,
}

impl Happening {
    /// The status after this event.
    pub fn leads_to(self) -> Status {
        match self {
            Happening::Lease => Status::Leased,
            Happening::Intend => Status::Intended,
            Happening::Commit | Happening::SettleDone => Status::Done,
            Happening::Fail | Happening::SettleFailed => Status::Failed,
            Happening::Doubt => Status::InDoubt,
            Happening::Unlease | Happening::SettlePending | Happening::Reopen => Status::Pending,
            Happening::Skip => Status::Skipped,
        }
    }
}

impl fmt::Display for Happening {
    /// Writes what happened, as the rest of a sentence that names the operation.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Happening::Lease => "a worker receives it",
            Happening::Unlease => "its worker has returned it, or the connection to the worker was lost",
            Happening::Intend => "the store has its intent",
            Happening::Commit => "the store has its result",
            Happening::Fail => "the store has its failure",
            Happening::Doubt => "the store has the doubt about it",
            Happening::SettleDone => "evidence shows that it took effect",
            Happening::SettlePending => "evidence shows that it took no effect",
            Happening::SettleFailed => "evidence shows that it failed",
            Happening::Skip => "one of its inputs failed or is in doubt",
            Happening::Reopen => "it is tried again",
        })
    }
}

/// The status after an event; `None` if the protocol does not have this transition.
pub fn transition(status: Status, happening: Happening) -> Option<Status> {
    use Happening as H;
    use Status as S;
    let is_legal = match happening {
        H::Lease | H::Skip => status == S::Pending,
        H::Unlease | H::Intend => status == S::Leased,
        H::Commit | H::Fail => matches!(status, S::Leased | S::Intended),
        H::Doubt => status == S::Intended,
        H::SettleDone | H::SettlePending | H::SettleFailed => status == S::InDoubt,
        H::Reopen => matches!(status, S::Failed | S::Skipped),
    };
    is_legal.then(|| happening.leads_to())
}

/// Every happening.
#[cfg(test)]
pub(crate) const HAPPENINGS: [Happening; 11] = [
    Happening::Lease,
    Happening::Unlease,
    Happening::Intend,
    Happening::Commit,
    Happening::Fail,
    Happening::Doubt,
    Happening::SettleDone,
    Happening::SettlePending,
    Happening::SettleFailed,
    Happening::Skip,
    Happening::Reopen,
];

#[cfg(test)]
mod tests {
    use super::*;

    const STATUSES: [Status; 7] = [
        Status::Pending,
        Status::Leased,
        Status::Intended,
        Status::Done,
        Status::Failed,
        Status::Skipped,
        Status::InDoubt,
    ];

    #[test]
    fn all_transitions_are_those_of_the_table() {
        let mut table = String::new();
        for status in STATUSES {
            for happening in HAPPENINGS {
                if let Some(next) = transition(status, happening) {
                    table.push_str(&format!("{status:?} {happening:?} {next:?}\n"));
                }
            }
        }
        assert_eq!(
            table,
            "Pending Lease Leased\nPending Skip Skipped\nLeased Unlease Pending\nLeased Intend Intended\n\
             Leased Commit Done\nLeased Fail Failed\nIntended Commit Done\nIntended Fail Failed\n\
             Intended Doubt InDoubt\nFailed Reopen Pending\nSkipped Reopen Pending\nInDoubt SettleDone Done\n\
             InDoubt SettlePending Pending\nInDoubt SettleFailed Failed\n"
        );
    }

    #[test]
    fn a_finished_operation_stays_finished() {
        assert!(HAPPENINGS.iter().all(|happening| transition(Status::Done, *happening).is_none()));
    }
}
