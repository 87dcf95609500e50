//! The door for `tests/simulation`: decisions that are private otherwise. The feature `simulation` opens it.

use weft_state::{Ending, Lease, RunStore};

pub use crate::core::Beginning;
pub use crate::lease::{Freshness, Look, Looks};
use crate::outline::Outline;
use crate::term::{self, RunError};

/// Claims what the run needs, and reads what its term begins from.
///
/// # Errors
/// When the run cannot begin, with how its lease is given back.
pub async fn prepare(store: &dyn RunStore, lease: &Lease, outline: &Outline) -> Result<Beginning, (RunError, Ending)> {
    term::prepare(store, lease, outline).await
}
