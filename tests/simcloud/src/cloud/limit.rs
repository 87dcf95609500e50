//! Rate limits of requests: one token bucket for each region, as in real clouds.

use std::time::{Duration, Instant};

use serde::Deserialize;

/// The rate limit of a region.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Average number of requests per second.
    pub per_second: f64,
    /// Maximum number of requests at once after a pause. By default, the number of requests per second.
    pub burst: Option<f64>,
}

impl Rate {
    /// Checks the rate. The error is a sentence.
    pub fn check(&self) -> Result<(), String> {
        let burst = self.capacity();
        if self.per_second > 0.0 && self.per_second.is_finite() && burst >= 1.0 && burst.is_finite() {
            return Ok(());
        }
        Err("a rate needs per_second above 0 and a burst of at least 1".to_owned())
    }

    fn capacity(&self) -> f64 {
        self.burst.unwrap_or(self.per_second.max(1.0))
    }
}

/// The bucket of one region.
#[derive(Debug)]
pub struct Bucket {
    rate: Rate,
    level: f64,
    filled: Instant,
    /// The number of accepted requests.
    pub taken: u64,
    /// The number of refused requests.
    pub refused: u64,
}

impl Bucket {
    /// A full bucket.
    pub fn new(rate: Rate, now: Instant) -> Bucket {
        Bucket { rate, level: rate.capacity(), filled: now, taken: 0, refused: 0 }
    }

    /// Accepts one request. The error is the time to wait until a request would be accepted.
    pub fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let passed = now.saturating_duration_since(self.filled).as_secs_f64();
        self.level = (self.level + passed * self.rate.per_second).min(self.rate.capacity());
        self.filled = now;
        if self.level >= 1.0 {
            self.level -= 1.0;
            self.taken += 1;
            return Ok(());
        }
        self.refused += 1;
        Err(Duration::from_secs_f64((1.0 - self.level) / self.rate.per_second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_allows_its_burst_and_then_its_rate() {
        let start = Instant::now();
        let mut bucket = Bucket::new(Rate { per_second: 10.0, burst: Some(2.0) }, start);
        assert!(bucket.take(start).is_ok() && bucket.take(start).is_ok());
        let wait = bucket.take(start).unwrap_err();
        assert!(wait > Duration::from_millis(90) && wait <= Duration::from_millis(100), "{wait:?}");
        assert!(bucket.take(start + Duration::from_millis(101)).is_ok());
        assert!(bucket.take(start + Duration::from_millis(102)).is_err());
    }
}
