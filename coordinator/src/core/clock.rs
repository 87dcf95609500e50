//! The time of a term.

use std::time::Duration;

/// Time in milliseconds. It never decreases.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    now: u64,
    begun: u64,
}

impl Clock {
    /// The clock of a term that begins now.
    pub(super) fn new(now: u64) -> Clock {
        Clock { now, begun: now }
    }

    /// The time of the current event.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Sets the time of an event. A time that lies before the time of the last event counts as the time of the last
    /// event.
    pub(super) fn advance(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    /// The time since an earlier event.
    pub(super) fn elapsed_since(&self, earlier: u64) -> u64 {
        self.now.saturating_sub(earlier)
    }

    /// The time since the beginning of the term.
    pub(super) fn age(&self) -> u64 {
        self.elapsed_since(self.begun)
    }

    /// Whether `wait` has passed since an earlier event.
    pub(super) fn has_passed(&self, since: u64, wait: Duration) -> bool {
        u128::from(self.elapsed_since(since)) >= wait.as_millis()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_never_decreases() {
        let mut clock = Clock::new(5);
        clock.advance(9);
        clock.advance(7);
        assert_eq!((clock.now(), clock.age(), clock.elapsed_since(6), clock.elapsed_since(20)), (9, 4, 3, 0));
        assert!(clock.has_passed(6, Duration::from_millis(3)));
        assert!(!clock.has_passed(6, Duration::from_millis(4)));
    }
}
