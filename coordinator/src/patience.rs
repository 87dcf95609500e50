//! Decides whether and when a batch that the store refused is sent again.

use std::time::Duration;

use weft_state::StoreError;

use crate::timing::{STORE_REFUSED_MOST, STORE_RETRY_FIRST, STORE_RETRY_MOST};

/// The remaining patience for one batch.
#[derive(Debug)]
pub(crate) struct Patience {
    /// Whether at least one attempt failed.
    pub(crate) tried: bool,
    wait: Duration,
    /// How long the server has been refusing, as the sum of the pauses. The sum is reset when the server does not
    /// respond.
    refusing: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { tried: false, wait: STORE_RETRY_FIRST, refusing: Duration::ZERO }
    }
}

impl Patience {
    /// The pause before the next attempt. `None` if another attempt does not help, or if the server has refused for too
    /// long.
    pub(crate) fn wait_after(&mut self, error: &StoreError) -> Option<Duration> {
        self.tried = true;
        let wait = self.wait;
        match error {
            StoreError::Unreachable { .. } => self.refusing = Duration::ZERO,
            // An expired certificate or a changed password may be replaced soon.
            StoreError::Refused { .. } | StoreError::NoConnection { .. } if self.refusing < STORE_REFUSED_MOST => {
                self.refusing += wait;
            }
            _ => return None,
        }
        self.wait = Duration::min(wait * 2, STORE_RETRY_MOST);
        Some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> StoreError {
        StoreError::Refused { server: "s".to_owned(), error: "OOM".to_owned() }
    }

    fn unreachable() -> StoreError {
        StoreError::Unreachable { server: "s".to_owned(), error: "closed".to_owned() }
    }

    /// The pauses until another attempt is useless, at most `most`.
    fn waits(patience: &mut Patience, error: &StoreError, most: usize) -> Vec<Duration> {
        std::iter::from_fn(|| patience.wait_after(error)).take(most).collect()
    }

    #[test]
    fn refusals_are_retried_for_a_limited_time() {
        let waits = waits(&mut Patience::default(), &refused(), usize::MAX);
        let total: Duration = waits.iter().sum();
        assert!((STORE_REFUSED_MOST..STORE_REFUSED_MOST + STORE_RETRY_MOST).contains(&total), "{total:?}");
        assert_eq!(waits.first(), Some(&STORE_RETRY_FIRST));
        assert_eq!(waits.last(), Some(&STORE_RETRY_MOST));
    }

    #[test]
    fn requests_to_a_server_that_does_not_answer_are_retried() {
        let mut patience = Patience::default();
        assert_eq!(waits(&mut patience, &unreachable(), 1000).len(), 1000);
        assert!(patience.wait_after(&refused()).is_some());
    }

    #[test]
    fn an_unreachable_server_resets_the_time_of_refusals() {
        let mut patience = Patience::default();
        waits(&mut patience, &refused(), usize::MAX);
        assert!(patience.wait_after(&unreachable()).is_some());
        assert!(patience.wait_after(&refused()).is_some());
    }

    #[test]
    fn other_errors_end_the_term_at_once() {
        assert_eq!(Patience::default().wait_after(&StoreError::Unfit("x".to_owned())), None);
    }
}
