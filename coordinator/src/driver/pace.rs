//! Requests for tokens, and the counts of a term for metrics.

use std::sync::Arc;

use tracing::warn;
use weft_state::{StoreError, TokenGrant};

use super::{Driver, Flight};
use crate::event::Event;

impl Driver {
    /// Adds the counts to the meters.
    pub(super) fn meter(&mut self) {
        let mut counted = std::mem::take(&mut self.told.counted);
        counted.append(&self.core.take_counted());
        self.hub.meters().count(&counted);
    }

    /// The request to the store for the tokens.
    pub(super) fn tokens_flight(&mut self) -> Flight<Result<Vec<TokenGrant>, StoreError>> {
        let wanted = self.outbound.take_wanted_tokens();
        if wanted.is_empty() {
            return None;
        }
        let store = Arc::clone(&self.store);
        Some(Box::pin(async move { store.take_tokens(&wanted).await }))
    }

    /// Handles the answer of the store to a request for tokens.
    pub(super) fn tokens_came(&mut self, answer: Result<Vec<TokenGrant>, StoreError>) {
        let grants = match answer {
            Ok(grants) => Some(grants),
            Err(error) => {
                warn!(run = %self.run, "the store did not return tokens of call budgets: {error}");
                None
            }
        };
        self.step(Event::Tokens(grants));
    }
}
