//! Updates the second copy of a state while a coordinator on another machine changes the state. The state is in Redis,
//! and the copy is in the backend of the configuration.
//!
//! The coordinator knows neither the configuration nor the credentials of the backend. The command has both, so the
//! command writes the copy: at intervals while it watches the run, and at the end, before it reports success. If the
//! command exits earlier, the next command writes the copy first.

use weft_graph_format::diagnostic::Diagnostic;
use weft_state::SecondCopyStore;

use super::{Access, StoreLocation, problem};

/// The second copy of a state while a coordinator changes the state.
#[derive(Debug)]
pub struct Coordinated(Option<SecondCopyStore>);

impl Coordinated {
    /// Opens the backend with the copy, before a run begins. If the store is empty, the state is restored from the
    /// copy. Otherwise, the copy is updated with the results of earlier runs. The function does nothing for a state
    /// without a copy.
    ///
    /// # Errors
    /// Returns an error if the backend or the store cannot be used, for example because there are no credentials.
    /// Returns an error if both the state and its copy were changed.
    pub async fn open(place: &StoreLocation) -> Result<Coordinated, Diagnostic> {
        let StoreLocation::Redis { copy: Some(_), .. } = place else { return Ok(Coordinated(None)) };
        let opened = place.open_redis(Access::Change).await;
        opened.map(|store| Coordinated(Some(store))).map_err(|error| problem(&error))
    }

    /// Begins to update the copy at intervals.
    pub fn begin(&self) {
        if let Some(store) = &self.0 {
            store.copy_at_intervals();
        }
    }

    /// Updates the copy, if it is not complete.
    ///
    /// # Errors
    /// Returns an error if the copy cannot be written.
    pub async fn catch_up(&self) -> Result<(), Diagnostic> {
        match &self.0 {
            Some(store) => store.catch_up().await.map_err(|error| problem(&error)),
            None => Ok(()),
        }
    }
}
