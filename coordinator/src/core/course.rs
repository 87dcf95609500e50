//! The requests of the user to end a term, and the pause after a lease was not renewed in time.

use super::clock::Clock;
use crate::timing::{LEAVE_DEADLINE, STOP_WAIT};

/// The requests of the user, and whether the lease is fresh. Each stage includes the earlier stages.
#[derive(Debug, Default)]
pub(super) struct Course {
    draining: bool,
    /// When providers were asked to stop.
    stopping: Option<u64>,
    /// When the user left the run: from then on, open calls become doubts, and the term ends.
    leaving: Option<u64>,
    paused: bool,
}

impl Course {
    /// Prevents new operations and calls until the end of the term. Returns whether this is a change.
    pub(super) fn drain(&mut self) -> bool {
        !std::mem::replace(&mut self.draining, true)
    }

    /// Records that providers are asked to stop. Returns whether this is a change.
    pub(super) fn stop(&mut self, now: u64) -> bool {
        self.draining = true;
        let is_news = self.stopping.is_none();
        self.stopping.get_or_insert(now);
        is_news
    }

    /// Records that the user left the run. Returns whether this is a change.
    pub(super) fn leave(&mut self, now: u64) -> bool {
        self.draining = true;
        let is_news = self.leaving.is_none();
        self.leaving.get_or_insert(now);
        is_news
    }

    /// Records that the lease was not renewed in time, or is fresh again.
    pub(super) fn pause(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// Whether no new operation or call may begin until the end of the term.
    pub(super) fn is_draining(&self) -> bool {
        self.draining
    }

    /// Whether providers were asked to stop.
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.is_some()
    }

    /// Whether the lease was not renewed in time. It may still be renewed.
    pub(super) fn is_paused(&self) -> bool {
        self.paused
    }

    /// Whether operations and calls may begin now.
    pub(super) fn may_begin(&self) -> bool {
        !(self.draining || self.paused)
    }

    /// Whether providers were asked to stop, and the time limit for this has passed.
    pub(super) fn has_stopped(&self, clock: &Clock) -> bool {
        self.stopping.is_some_and(|since| clock.has_passed(since, STOP_WAIT))
    }

    /// Whether the user left the run: open calls become doubts, and the term ends.
    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.is_some()
    }

    /// Whether the user left the run, and the time limit for the store to record the doubts has passed.
    pub(super) fn has_left(&self, clock: &Clock) -> bool {
        self.leaving.is_some_and(|since| clock.has_passed(since, LEAVE_DEADLINE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stage_is_news_once_and_includes_the_earlier_ones() {
        let mut course = Course::default();
        assert!(course.may_begin());
        assert!(course.stop(3) && !course.stop(4) && !course.drain());
        assert!(course.is_draining() && course.is_stopping() && !course.is_leaving());
        assert!(course.leave(5) && !course.leave(6));
        let mut clock = Clock::new(3);
        assert!(!course.has_stopped(&clock) && !course.has_left(&clock));
        clock.advance(3 + STOP_WAIT.as_millis() as u64);
        assert!(course.has_stopped(&clock), "the first request counts");
        assert!(course.has_left(&clock));
    }

    #[test]
    fn a_pause_ends_and_a_drain_does_not() {
        let mut course = Course::default();
        course.pause(true);
        assert!(!course.may_begin() && course.is_paused());
        course.pause(false);
        assert!(course.may_begin());
        course.drain();
        course.pause(false);
        assert!(!course.may_begin());
    }
}
