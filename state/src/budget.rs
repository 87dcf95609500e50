//! Budgets of provider calls as token buckets. All users of a store share its buckets.
//!
//! A bucket is stored as one moment: the time when it will be full again. A request can reserve tokens that become free
//! within the next half second, and the grant says when. So a caller needs only a few requests per second, regardless
//! of the number of its calls. If a caller dies, at most the tokens of a full bucket and of half a second are lost.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// How far in the future a reserved token may become free, in microseconds. Runs that share a budget take turns of this
/// length. Each run sends about two requests in this time.
pub const RESERVE_AHEAD_US: u64 = 500_000;

/// The maximum number of tokens of one request. A budget of 10,000 calls per second reserves half of them at a time.
pub const MOST_TOKENS: u32 = 10_000;

/// The maximum number of buckets that a process remembers. Full buckets are forgotten first. A plan has a few buckets.
const MOST_BUCKETS: usize = 10_000;

/// A request for tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRequest {
    /// The name of the budget.
    pub budget: String,
    /// The time in which one token becomes free, in microseconds.
    pub interval_us: u64,
    /// The maximum number of tokens that are free at the same time.
    pub burst: u32,
    /// The number of requested tokens.
    pub count: u32,
}

/// Reserved tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenGrant {
    /// The number of reserved tokens. It may be 0.
    pub count: u32,
    /// When the first token becomes free, in microseconds from now. Negative if this time has passed. The other tokens
    /// follow at the interval of the request. If no token was granted, this is when the next token becomes free.
    pub first_us: i64,
}

/// Reserves tokens of a bucket that will be full at `full` (in microseconds, like `now`). Returns the grant, and when
/// the bucket will be full afterwards. The script for Redis makes the same computation.
pub(crate) fn reserve(now: u64, full: Option<u64>, request: &TokenRequest) -> (TokenGrant, u64) {
    let interval = request.interval_us.max(1);
    let burst = u64::from(request.burst.max(1));
    // After the clock was set back, `full` may be far in the future. The limit keeps the next requests from waiting for
    // that moment.
    let latest = now.saturating_add(burst.saturating_mul(interval)).saturating_add(RESERVE_AHEAD_US);
    let full = full.unwrap_or(now).clamp(now, latest);
    let fitting = (now + RESERVE_AHEAD_US).saturating_sub(full) / interval;
    let owed = full.saturating_sub(now + RESERVE_AHEAD_US).div_ceil(interval);
    let free = (fitting + burst).saturating_sub(owed);
    let count = u64::from(request.count.min(MOST_TOKENS)).min(free);
    let first = i128::from(full) - i128::from((burst - 1).saturating_mul(interval)) - i128::from(now);
    let first_us = i64::try_from(first).unwrap_or(i64::MIN);
    (TokenGrant { count: count as u32, first_us }, full.saturating_add(count.saturating_mul(interval)))
}

/// Buckets in the memory of this process.
#[derive(Debug)]
pub struct LocalBudgets {
    begun: Instant,
    /// When each bucket will be full, in microseconds since `begun`.
    full: Mutex<BTreeMap<String, u64>>,
}

impl Default for LocalBudgets {
    fn default() -> LocalBudgets {
        LocalBudgets { begun: Instant::now(), full: Mutex::default() }
    }
}

impl LocalBudgets {
    /// Reserves tokens for each request, in order.
    pub fn take(&self, requests: &[TokenRequest]) -> Vec<TokenGrant> {
        let now = u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        // Nothing panics while the lock is held; a poisoned lock still guards sound data.
        let mut full = self.full.lock().unwrap_or_else(PoisonError::into_inner);
        if full.len() > MOST_BUCKETS {
            full.retain(|_, full| *full > now);
        }
        let take = |request: &TokenRequest| {
            let (grant, after) = reserve(now, full.get(&request.budget).copied(), request);
            full.insert(request.budget.clone(), after);
            grant
        };
        requests.iter().map(take).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(count: u32) -> TokenRequest {
        TokenRequest { budget: "a".into(), interval_us: 50_000, burst: 4, count }
    }

    #[test]
    fn a_full_bucket_gives_its_burst_at_once_and_the_rest_in_steps() {
        let now = 1_000_000;
        let (grant, full) = reserve(now, None, &request(100));
        // 4 at once, and 10 within half a second.
        assert_eq!(grant, TokenGrant { count: 14, first_us: -150_000 });
        let last = grant.first_us + 13 * 50_000;
        assert_eq!(last, RESERVE_AHEAD_US as i64);
        assert_eq!(full, now + 14 * 50_000);
        let (none, same) = reserve(now, Some(full), &request(1));
        assert_eq!((none.count, same), (0, full));
        assert_eq!(none.first_us, 550_000, "when the next one is free");
    }

    #[test]
    fn a_rate_holds_over_any_sequence_of_requests() {
        let (mut now, mut full, mut given) = (0_u64, None, 0_u64);
        for step in 0..1_000_u64 {
            let (grant, after) = reserve(now, full, &request((step % 7) as u32));
            let times = (0..i64::from(grant.count)).map(|index| (grant.first_us + index * 50_000).max(0));
            assert!(times.clone().all(|time| time <= RESERVE_AHEAD_US as i64));
            given += times.count() as u64;
            full = Some(after);
            now += step * 37 % 90_000;
        }
        assert!(given <= (now + RESERVE_AHEAD_US) / 50_000 + 4, "{given} tokens in {now} microseconds");
        assert!(given > now / 50_000 * 9 / 10, "{given} tokens in {now} microseconds");
    }

    #[test]
    fn a_slow_budget_gives_its_burst_and_then_says_when() {
        let slow = TokenRequest { interval_us: 10_000_000, burst: 1, ..request(3) };
        let (grant, full) = reserve(5, None, &slow);
        assert_eq!((grant.count, grant.first_us), (1, 0));
        let (grant, _) = reserve(5, Some(full), &slow);
        assert_eq!((grant.count, grant.first_us), (0, 10_000_000));
        let (grant, _) = reserve(9_600_000, Some(full), &slow);
        assert_eq!((grant.count, grant.first_us), (1, 400_005), "it is reserved half a second ahead");
    }

    #[test]
    fn a_clock_that_was_set_back_costs_no_more_than_a_full_bucket() {
        let (_, full) = reserve(1_000_000_000_000, None, &request(4));
        let (grant, full) = reserve(1_000, Some(full), &request(1));
        assert_eq!(grant.count, 0);
        let (grant, _) = reserve(full, Some(full), &request(4));
        assert_eq!(grant.count, 4);
    }

    #[test]
    fn budgets_have_names() {
        let budgets = LocalBudgets::default();
        let other = TokenRequest { budget: "b".into(), ..request(14) };
        let grants = budgets.take(&[request(14), request(14), other]);
        assert_eq!(grants.iter().map(|grant| grant.count).collect::<Vec<_>>(), [14, 0, 14]);
    }
}
