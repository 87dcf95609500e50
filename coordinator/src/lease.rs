//! Decides whether the holder of a lease must pause, and whether a challenger may take over. Both depend on the time
//! since the last renewal. The functions are plain functions over data; the caller passes times of one clock.

use std::time::Duration;

use weft_mutants::mutant;
use weft_state::{LeaseView, Token};

/// The freshness of a holder's own lease.
#[derive(Clone, Debug)]
pub struct Freshness {
    pause: Duration,
    renewed: Duration,
    paused: bool,
}

impl Freshness {
    /// The freshness of a lease that was just acquired. New calls may begin for `pause` without a renewal.
    pub fn new(pause: Duration, now: Duration) -> Freshness {
        Freshness { pause, renewed: now, paused: false }
    }

    /// Records a successful renewal. `sent` is the time when the request was sent, not the time of the answer, which
    /// may be late. A challenger measures from the time when it sees the renewal in the store, which is after `sent`.
    pub fn renewed(&mut self, sent: Duration) {
        self.renewed = self.renewed.max(sent);
    }

    /// Returns `true` if the run must pause from now on, `false` if it may continue, and `None` if nothing has changed.
    pub fn turned(&mut self, now: Duration) -> Option<bool> {
        let paused = now.saturating_sub(self.renewed) >= self.pause;
        (std::mem::replace(&mut self.paused, paused) != paused).then_some(paused)
    }
}

/// The result of a check of another process's lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// The first check.
    First,
    /// The lease was renewed, so its holder is alive. The wait begins again.
    Moved,
    /// The lease was not renewed since the last check, but the TTL has not passed yet.
    Waits,
    /// The lease was not renewed for a TTL: it may be taken over.
    Unmoved,
}

/// The checks of one lease by a challenger.
#[derive(Clone, Debug, Default)]
pub struct Looks {
    seen: Option<(Token, u64, Duration)>,
}

impl Looks {
    /// Checks the lease.
    pub fn look(&mut self, view: &LeaseView, ttl: Duration, now: Duration) -> Look {
        let ttl = if mutant!(LeaseTakenTooEarly) { ttl / 2 } else { ttl };
        match self.seen {
            Some((token, heartbeat, since)) if (token, heartbeat) == (view.token, view.heartbeat) => {
                if now.saturating_sub(since) >= ttl { Look::Unmoved } else { Look::Waits }
            }
            earlier => {
                self.seen = Some((view.token, view.heartbeat, now));
                if earlier.is_some() { Look::Moved } else { Look::First }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use weft_state::Holder;

    use super::*;

    const TTL: Duration = Duration::from_secs(10);

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn view(heartbeat: u64) -> LeaseView {
        LeaseView { token: Token { epoch: 1, term: 7 }, heartbeat, holder: Holder::default(), age_ms: None }
    }

    #[test]
    fn a_lease_without_a_heartbeat_for_a_ttl_may_be_taken() {
        let mut looks = Looks::default();
        assert_eq!(looks.look(&view(1), TTL, seconds(0)), Look::First);
        assert_eq!(looks.look(&view(1), TTL, seconds(9)), Look::Waits);
        assert_eq!(looks.look(&view(2), TTL, seconds(9)), Look::Moved);
        assert_eq!(looks.look(&view(2), TTL, seconds(18)), Look::Waits);
        assert_eq!(looks.look(&view(2), TTL, seconds(19)), Look::Unmoved);
    }

    #[test]
    fn a_renewed_lease_lasts_from_the_time_of_the_request() {
        let mut fresh = Freshness::new(seconds(5), seconds(0));
        assert_eq!(fresh.turned(seconds(5)), Some(true));
        fresh.renewed(seconds(4));
        assert_eq!(fresh.turned(seconds(6)), Some(false));
        assert_eq!(fresh.turned(seconds(9)), Some(true), "the answer came at 6, but the request left at 4");
    }
}
