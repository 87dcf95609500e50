//! A clock that continues to run while the machine is suspended.
//!
//! On Linux, [`std::time::Instant`] stops during a suspend. With that clock, a worker that was suspended for an hour
//! would treat an old grant as fresh. It would make the call after another worker has looked for evidence. A suspended
//! coordinator would grant intents under a lease that another coordinator has taken over.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

#[cfg(any(target_os = "linux", target_os = "android"))]
const CLOCK: ClockId = ClockId::Boottime;

/// Other systems need no special clock: their monotonic clock counts the time of a suspend.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const CLOCK: ClockId = ClockId::Monotonic;

/// A point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(Duration);

impl Moment {
    /// The current time.
    pub fn now() -> Moment {
        let time = clock_gettime(CLOCK);
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
        Moment(Duration::new(seconds, nanoseconds))
    }

    /// The time since this moment, including suspends.
    pub fn elapsed(self) -> Duration {
        Moment::now().0.saturating_sub(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_runs_on() {
        let before = Moment::now();
        std::thread::sleep(Duration::from_millis(2));
        assert!(before.elapsed() >= Duration::from_millis(2));
        assert!(Moment::now() > before);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_clock_counts_from_the_start_of_the_machine() {
        let uptime = std::fs::read_to_string("/proc/uptime").expect("the uptime");
        let seconds: f64 = uptime.split_whitespace().next().and_then(|text| text.parse().ok()).expect("seconds");
        // `/proc/uptime` includes suspends. The difference of the two clocks is the time between the two readings.
        let apart = Moment::now().0.as_secs_f64() - seconds;
        assert!((-0.1..60.0).contains(&apart), "{apart} s apart");
    }
}
