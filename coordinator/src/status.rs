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
//! Operations that change nothing outside have no intent: `leased -> done | failed`.

use weft_state::OpStatus;

/// The status of an operation, as a coordinator sees it: the store's statuses, and `leased`. A lease needs no durable
/// record, since nothing can have happened before the intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Status {
    /// Nothing happened yet, or it may be tried again.
    #[default]
    Pending,
    /// A worker has it.
    Leased,
    /// An intent is durable.
    Intended,
    /// The result is durable.
    Done,
    /// The failure is durable.
    Failed,
    /// An input failed or is in doubt.
    Skipped,
    /// Its worker had an intent, and is gone or cannot tell the outcome.
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

    /// Whether nothing more happens to it in this term without new evidence.
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
    /// A worker receives it.
    Lease,
    /// The worker is gone before the intent, or returned it.
    Unlease,
    /// The intent is durable.
    Intend,
    /// The result is durable.
    Commit,
    /// The failure is durable.
    Fail,
    /// The worker is gone or cannot tell the outcome.
    Doubt,
    /// Evidence shows that the attempt took effect.
    SettleDone,
    /// Evidence shows that it did not, or a duplicate is accepted.
    SettlePending,
    /// The operation is given up, or evidence shows a failure.
    SettleFailed,
    /// An input failed or is in doubt.
    Skip,
    /// A resume tries it again, or its input is settled.
    Reopen,
}

/// An event that is illegal for the status of its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{happening:?} cannot happen to an operation that is {status:?}")]
pub struct IllegalTransition {
    /// The status.
    pub status: Status,
    /// The event.
    pub happening: Happening,
}

/// The status after an event.
///
/// # Errors
/// [`IllegalTransition`] for every transition that is not in the protocol.
pub fn transition(status: Status, happening: Happening) -> Result<Status, IllegalTransition> {
    use Happening as H;
    use Status as S;
    match (status, happening) {
        (S::Pending, H::Lease) => Ok(S::Leased),
        (S::Leased, H::Unlease) => Ok(S::Pending),
        (S::Leased, H::Intend) => Ok(S::Intended),
        (S::Leased | S::Intended, H::Commit) => Ok(S::Done),
        (S::Leased | S::Intended, H::Fail) => Ok(S::Failed),
        (S::Intended, H::Doubt) => Ok(S::InDoubt),
        (S::InDoubt, H::SettleDone) => Ok(S::Done),
        (S::InDoubt, H::SettlePending) => Ok(S::Pending),
        (S::InDoubt, H::SettleFailed) => Ok(S::Failed),
        (S::Pending, H::Skip) => Ok(S::Skipped),
        (S::Failed | S::Skipped, H::Reopen) => Ok(S::Pending),
        _ => Err(IllegalTransition { status, happening }),
    }
}

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
    const HAPPENINGS: [Happening; 11] = [
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

    #[test]
    fn all_transitions_are_those_of_the_table() {
        let mut table = String::new();
        for status in STATUSES {
            for happening in HAPPENINGS {
                if let Ok(next) = transition(status, happening) {
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
        assert!(HAPPENINGS.iter().all(|happening| transition(Status::Done, *happening).is_err()));
    }
}
