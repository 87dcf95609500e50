//! Access for `tests/simulation` to decisions that are otherwise private. The feature `simulation` enables it.

use weft_state::{Lease, RunStore, TermEnding};

pub use crate::batch::batch_length;
pub use crate::core::Beginning;
pub use crate::lease::{Freshness, Look, Looks};
pub use crate::orders::Orders;
use crate::outline::Outline;
use crate::term::{self, RunError};

/// Claims the subjects of the run, and reads the input of its term.
///
/// # Errors
/// Returns an error if the run cannot begin. The error says how to release the lease.
pub async fn prepare(
    store: &dyn RunStore,
    lease: &Lease,
    outline: &Outline,
) -> Result<Beginning, (RunError, TermEnding)> {
    term::prepare(store, lease, outline).await
}
