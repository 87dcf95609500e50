//! The release of a lease at the end of a term.

use std::time::Duration;

use tokio::time::timeout;
use tracing::warn;
use weft_state::{Lease, ReleaseAnswer, RunStatus, RunStore, StoreError, TermEnding};

use crate::event::FinishReason;
use crate::timing::{END_DEADLINE, LEAVE_DEADLINE};

/// The outcome of the release of a lease.
pub(super) enum Released {
    /// The run has this status now.
    With(RunStatus),
    /// Another process has taken over the run.
    Fenced,
    /// The store did not answer.
    Unknown,
}

/// The time limit for the store at the end of a term. A drained run was interrupted only once, so it gets as much time
/// to write its state as a complete run.
pub(super) fn deadline(reason: FinishReason) -> Duration {
    match reason {
        FinishReason::Complete | FinishReason::Resolved | FinishReason::Drained | FinishReason::NoWorker => {
            END_DEADLINE
        }
        FinishReason::Left | FinishReason::Fenced | FinishReason::StoreRefused | FinishReason::Defect => LEAVE_DEADLINE,
    }
}

/// Releases the lease.
///
/// # Errors
/// Returns an error if the store could not end the run. The content of the state file may then exist only in the
/// journal.
pub(super) async fn release(
    store: &dyn RunStore,
    lease: &Lease,
    ending: TermEnding,
    deadline: Duration,
) -> Result<Released, StoreError> {
    let status = match timeout(deadline, store.release(lease, ending)).await {
        Ok(Ok(ReleaseAnswer::Released(header))) => Released::With(header.status),
        Ok(Ok(ReleaseAnswer::Open(open))) => {
            warn!(run = %lease.run, "the run ends while the outcome of {} calls is unknown", open.len());
            Released::Unknown
        }
        Ok(Ok(ReleaseAnswer::Fenced(_))) => Released::Fenced,
        Ok(Err(error)) => {
            warn!(run = %lease.run, "the lease could not be released: {error}");
            return Err(error);
        }
        Err(_) => {
            warn!(run = %lease.run, "the store did not confirm the release of the lease in time");
            Released::Unknown
        }
    };
    Ok(status)
}
