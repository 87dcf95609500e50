//! The diagnostics of `force-unlock`, as constructors.

use std::path::Path;

use weft_graph_format::diagnostic::Diagnostic;
use weft_state::remote::BackendError;

/// The store has leases instead of locks.
pub fn no_locks() -> Diagnostic {
    Diagnostic::error(
        "Failed to unlock state",
        "Runs in this store hold a lease, not a lock. A lease expires by itself when its holder has ended. \"weft runs \
         list\" shows the runs.",
    )
}

/// The state is not locked.
pub fn not_locked(state: &Path) -> Diagnostic {
    Diagnostic::error(
        "Failed to unlock state: LocalState not locked",
        format!("There is no lock on {}.", state.display()),
    )
}

/// The lock has another id.
pub fn other_lock(given: &str, existing: &str) -> Diagnostic {
    Diagnostic::error(
        "Failed to unlock state",
        format!("Lock ID \"{given}\" does not match existing lock ID \"{existing}\"."),
    )
}

/// Removing a lock needs approval, but input is disabled.
pub fn unlock_not_approved() -> Diagnostic {
    Diagnostic::error("Approval needed", "Input is disabled, so Weft cannot ask for approval. Use -force.")
}

/// `force-unlock` takes the id of a lock.
pub fn lock_id_expected() -> Diagnostic {
    Diagnostic::error("Wrong number of arguments", "Expected a single argument: LOCK_ID")
}

/// The backend did not release the lock.
pub fn not_unlocked(error: &BackendError) -> Diagnostic {
    Diagnostic::error(format!("Failed to unlock state: {error}"), "")
}
