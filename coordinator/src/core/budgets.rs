//! Tokens of call budgets: the shards that wait for them, the requests to the store, and the times of these requests.
//!
//! When an operation is dispatched, its shard takes tokens from all of the shard's budgets. If there are not enough
//! tokens, the shard waits in a queue, and other shards continue. Tokens are requested for operations that can start, a
//! short time ahead and in batches. So a budget costs the store a few requests per second, independent of the rate of
//! the budget.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use weft_graph_format::limits::CallBudget;
use weft_state::budget::{MOST_TOKENS, RESERVE_AHEAD_US};
use weft_state::{TokenGrant, TokenRequest};

use super::{ShardIndex, Table};
use crate::figures::Named;
use crate::outline::Outline;
use crate::table::BudgetIndex;

/// The time in milliseconds after which an unused token is discarded. Without this limit, saved tokens could be used
/// together and exceed the burst. Tokens of slow budgets live longer, because all tokens of a call must be free at the
/// same time.
const TOKEN_LIFE_MS: u64 = 250;
/// The pause in milliseconds after a request to which the store did not respond.
const TROUBLE_PAUSE_MS: u64 = 1_000;
/// The shortest time in milliseconds between two requests for a budget.
const SHORTEST_PAUSE_MS: u64 = 20;
/// The maximum number of budgets in one request. Further budgets are in the next request.
const MOST_REQUESTS: usize = 256;

const MICROSECONDS: u64 = 1_000;

/// The part of a budget that one run reserves and uses.
#[derive(Debug)]
struct Budget {
    rule: CallBudget,
    /// The times in milliseconds at which reserved tokens become free, ascending.
    tokens: VecDeque<u64>,
    /// The waiting shards, in order.
    queue: VecDeque<ShardIndex>,
    needs: BTreeMap<ShardIndex, u32>,
    /// The earliest time of the next request to the store, in milliseconds.
    again_at: u64,
    /// The number of tokens used since the last report.
    used: u64,
}

impl Budget {
    fn new(rule: CallBudget) -> Budget {
        Budget { rule, tokens: VecDeque::new(), queue: VecDeque::new(), needs: BTreeMap::new(), again_at: 0, used: 0 }
    }

    fn life_ms(&self) -> u64 {
        let together = self.rule.interval_us.saturating_mul(u64::from(self.rule.tokens_per_call)).saturating_mul(2);
        TOKEN_LIFE_MS.saturating_add(together / MICROSECONDS)
    }

    /// Discards tokens that were unused for too long.
    fn expire(&mut self, now: u64) {
        let life = self.life_ms();
        while self.tokens.front().is_some_and(|free| free.saturating_add(life) < now) {
            self.tokens.pop_front();
        }
    }

    /// Whether `need` tokens are free.
    fn has(&self, need: u32, now: u64) -> bool {
        need == 0 || self.tokens.get(need as usize - 1).is_some_and(|free| *free <= now)
    }

    /// The number of tokens that this number of calls takes.
    fn cost(&self, calls: u32) -> u32 {
        calls.saturating_mul(self.rule.tokens_per_call)
    }

    /// The request for the tokens that the waiting shards need. `demand` is the number of operations of a shard that
    /// can start. `None` if no shard waits, if enough tokens are reserved, or if the next request is not due yet.
    fn request(&self, now: u64, demand: impl Fn(ShardIndex) -> u32) -> Option<TokenRequest> {
        // Tokens may be reserved for a limited time ahead. The next request is sent if the reserved tokens do not
        // suffice for the first waiting shard. It is also sent if the last reserved token becomes free within half of
        // the limit, so that the new tokens arrive before they are needed.
        let soon = now.saturating_add(RESERVE_AHEAD_US / MICROSECONDS / 2);
        let next_need = self.queue.front().and_then(|shard| self.needs.get(shard)).copied()?;
        let reserved = self.tokens.len() as u32;
        if now < self.again_at || reserved >= next_need && self.tokens.back().is_some_and(|at| *at > soon) {
            return None;
        }
        let ahead = u32::try_from(RESERVE_AHEAD_US / self.rule.interval_us.max(1)).unwrap_or(MOST_TOKENS);
        let most = ahead.saturating_add(self.rule.burst).min(MOST_TOKENS);
        let mut wanted = 0_u32;
        for shard in &self.queue {
            let need = self.needs.get(shard).copied().unwrap_or_default();
            let others = demand(*shard).saturating_sub(1).saturating_mul(self.rule.tokens_per_call);
            wanted = wanted.saturating_add(need).saturating_add(others);
            if wanted >= most {
                break;
            }
        }
        let count = wanted.min(most).saturating_sub(reserved);
        let CallBudget { name, interval_us, burst, .. } = &self.rule;
        (count > 0).then(|| TokenRequest { budget: name.clone(), interval_us: *interval_us, burst: *burst, count })
    }

    fn granted(&mut self, grant: TokenGrant, now: u64) {
        let ms = |us: i64| u64::try_from(us).unwrap_or_default().div_ceil(MICROSECONDS);
        let interval = i64::try_from(self.rule.interval_us).unwrap_or(i64::MAX);
        let mut at = grant.first_us;
        for _ in 0..grant.count {
            self.tokens.push_back(now.saturating_add(ms(at)));
            at = at.saturating_add(interval);
        }
        let pause = match grant.count {
            0 => ms(grant.first_us).saturating_sub(RESERVE_AHEAD_US / MICROSECONDS),
            _ => 0,
        };
        self.again_at = now.saturating_add(pause.max(SHORTEST_PAUSE_MS));
    }

    /// The time of the next change for the waiting shards that no event announces.
    fn wakes_at(&self, may_ask: bool, now: u64) -> Option<u64> {
        let need = self.queue.front().and_then(|shard| self.needs.get(shard)).copied()?;
        let free = self.tokens.get(need.max(1) as usize - 1).copied();
        let ask = may_ask.then(|| {
            let half = RESERVE_AHEAD_US / MICROSECONDS / 2;
            let reserved = self.tokens.back().filter(|_| free.is_some()).map(|at| at.saturating_sub(half));
            self.again_at.max(reserved.unwrap_or_default())
        });
        free.into_iter().chain(ask).filter(|at| *at > now).min()
    }
}

/// All budgets of a run.
#[derive(Debug)]
pub(super) struct Budgets {
    budgets: Table<BudgetIndex, Budget>,
    of_shard: Table<ShardIndex, Vec<BudgetIndex>>,
    /// The budgets with waiting shards.
    short: BTreeSet<BudgetIndex>,
    /// The budgets of the request that is on its way, in the order of the request.
    asked: Vec<BudgetIndex>,
}

impl Budgets {
    pub(super) fn new(outline: &Outline) -> Budgets {
        let budgets = outline.budgets.iter().cloned().map(Budget::new).collect();
        let of_shard = outline.shards.iter().map(|shard| shard.budgets.clone()).collect();
        Budgets {
            budgets: Table::new(budgets),
            of_shard: Table::new(of_shard),
            short: BTreeSet::new(),
            asked: Vec::new(),
        }
    }

    /// Whether a shard waits for tokens.
    pub(super) fn is_waiting(&self) -> bool {
        !self.short.is_empty()
    }

    /// Takes the tokens for a number of calls of a shard. If there are not enough tokens, takes nothing, lets the shard
    /// wait, and returns `false`.
    pub(super) fn take(&mut self, shard: ShardIndex, calls: u32, now: u64) -> bool {
        if calls == 0 || self.of_shard[shard].is_empty() {
            return true;
        }
        let mut enough = true;
        for index in self.of_shard[shard].clone() {
            let budget = &mut self.budgets[index];
            budget.expire(now);
            let need = budget.cost(calls);
            if !budget.has(need, now) {
                enough = false;
                if budget.needs.insert(shard, need).is_none() {
                    budget.queue.push_back(shard);
                }
                self.short.insert(index);
            }
        }
        if enough {
            for index in self.of_shard[shard].clone() {
                let budget = &mut self.budgets[index];
                let need = budget.cost(calls);
                budget.tokens.drain(..need as usize);
                budget.used += u64::from(need);
            }
        }
        enough
    }

    /// Removes from the queues the shards for which there are enough free tokens, and returns these shards.
    pub(super) fn take_ready(&mut self, now: u64) -> Vec<ShardIndex> {
        let mut ready = Vec::new();
        for index in self.short.clone() {
            let budget = &mut self.budgets[index];
            budget.expire(now);
            let mut promised = 0_u32;
            while let Some(shard) = budget.queue.front().copied() {
                let need = budget.needs.get(&shard).copied().unwrap_or_default();
                promised = promised.saturating_add(need);
                if !budget.has(promised, now) {
                    break;
                }
                budget.queue.pop_front();
                budget.needs.remove(&shard);
                ready.push(shard);
            }
            if budget.queue.is_empty() {
                self.short.remove(&index);
            }
        }
        ready
    }

    /// The token requests to send to the store now. Empty if none is due, or if earlier requests have no answer yet.
    /// `demand` is the number of operations of a shard that can start.
    pub(super) fn request(&mut self, now: u64, demand: impl Fn(ShardIndex) -> u32) -> Vec<TokenRequest> {
        if !self.asked.is_empty() {
            return Vec::new();
        }
        let mut requests = Vec::new();
        for index in &self.short {
            if let Some(request) = self.budgets[*index].request(now, &demand) {
                self.asked.push(*index);
                requests.push(request);
                if requests.len() == MOST_REQUESTS {
                    break;
                }
            }
        }
        requests
    }

    /// Handles the answer of the store to the request. `None` if the store did not answer.
    pub(super) fn granted(&mut self, grants: Option<Vec<TokenGrant>>, now: u64) {
        let mut grants = grants.map(Vec::into_iter);
        for index in std::mem::take(&mut self.asked) {
            let budget = &mut self.budgets[index];
            match grants.as_mut().and_then(Iterator::next) {
                Some(grant) => budget.granted(grant, now),
                None => budget.again_at = now.saturating_add(TROUBLE_PAUSE_MS),
            }
        }
    }

    /// The time after `now` of the next change that no event announces.
    pub(super) fn wakes_at(&self, now: u64) -> Option<u64> {
        let may_ask = self.asked.is_empty();
        self.short.iter().filter_map(|index| self.budgets[*index].wakes_at(may_ask, now)).min()
    }

    /// Whether a shard waits for tokens of one of its budgets.
    pub(super) fn waits(&self, shard: ShardIndex) -> bool {
        self.of_shard[shard].iter().any(|index| self.budgets[*index].needs.contains_key(&shard))
    }

    /// The names of the budgets that a shard waits for.
    pub(super) fn short_for(&self, shard: ShardIndex) -> impl Iterator<Item = &str> {
        let short = self.of_shard[shard].iter().filter(move |index| self.budgets[**index].needs.contains_key(&shard));
        short.map(|index| self.budgets[*index].rule.name.as_str())
    }

    /// The numbers of reserved tokens by budget.
    pub(super) fn reserved(&self) -> Named {
        let mut reserved = Named::default();
        self.budgets.iter().for_each(|budget| reserved.add(&budget.rule.name, budget.tokens.len() as u64));
        reserved
    }

    /// Takes the numbers of used tokens by budget.
    pub(super) fn take_used(&mut self) -> Named {
        let mut used = Named::default();
        for index in self.budgets.positions() {
            let budget = &mut self.budgets[index];
            used.add(&budget.rule.name, std::mem::take(&mut budget.used));
        }
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outline::{OutlineShard, ShardKey};

    const SECOND: u64 = 1_000;

    /// Shards that share one budget of 20 calls a second.
    fn budgets(shards: u32) -> Budgets {
        let shard = |number| OutlineShard {
            budgets: vec![BudgetIndex(0)],
            ..OutlineShard::new(ShardKey::Provider(format!("p{number}")))
        };
        Budgets::new(&Outline {
            shards: (0..shards).map(shard).collect(),
            budgets: vec![CallBudget { name: "b".into(), interval_us: 50_000, burst: 5, tokens_per_call: 1 }],
            ..Outline::default()
        })
    }

    /// Grants `demand` tokens, which are free immediately.
    fn give(budgets: &mut Budgets, now: u64, demand: u32) -> u32 {
        let requests = budgets.request(now, |_| demand);
        let count = requests.first().map_or(0, |request| request.count);
        if !requests.is_empty() {
            budgets.granted(Some(vec![TokenGrant { count, first_us: 0 }]), now);
        }
        count
    }

    #[test]
    fn a_shard_without_a_budget_takes_nothing() {
        let mut budgets =
            Budgets::new(&Outline { shards: vec![OutlineShard::new(ShardKey::Unplaced)], ..Outline::default() });
        assert!(budgets.take(ShardIndex(0), 9, 0) && !budgets.is_waiting());
        assert!(budgets.request(0, |_| 9).is_empty() && budgets.wakes_at(0).is_none());
    }

    #[test]
    fn tokens_are_requested_in_batches_and_used_when_they_are_free() {
        let mut budgets = budgets(1);
        let shard = ShardIndex(0);
        assert!(!budgets.take(shard, 1, 0));
        assert_eq!(give(&mut budgets, 0, 300), 15, "a burst, and half a second ahead");
        assert_eq!(budgets.take_ready(0), [shard]);
        assert!(budgets.take(shard, 1, 0) && !budgets.take(shard, 1, 0));
        assert_eq!(budgets.wakes_at(0), Some(50), "the next token");
        assert!(budgets.request(50, |_| 298).is_empty(), "more than half is left");
        assert!(budgets.take_ready(49).is_empty());
        assert_eq!(budgets.take_ready(50), [shard]);
    }

    #[test]
    fn the_store_is_asked_a_few_times_a_second() {
        let mut budgets = budgets(3);
        let (mut now, mut asked, mut used, mut full) = (0, 0, 0, 0_u64);
        while now < 10 * SECOND {
            loop {
                let taken = (0..3).filter(|shard| budgets.take(ShardIndex(*shard), 1, now)).count() as u32;
                used += taken;
                if taken == 0 && budgets.take_ready(now).is_empty() {
                    break;
                }
            }
            let requests = budgets.request(now, |_| 100);
            if let [request] = &requests[..] {
                asked += 1;
                let us = now * MICROSECONDS;
                full = full.max(us);
                let room = ((us + RESERVE_AHEAD_US).saturating_sub(full) / 50_000 + 5) as u32;
                let count = request.count.min(room);
                let first_us = full as i64 - 4 * 50_000 - us as i64;
                full += u64::from(count) * 50_000;
                budgets.granted(Some(vec![TokenGrant { count, first_us }]), now);
            }
            now = budgets.wakes_at(now).expect("shards wait");
        }
        assert!((200..=206).contains(&used), "{used} calls in ten seconds");
        assert!(asked <= 60, "{asked} requests in ten seconds");
    }

    #[test]
    fn shards_take_turns() {
        let mut budgets = budgets(3);
        let shards = [ShardIndex(0), ShardIndex(1), ShardIndex(2)];
        assert!(shards.iter().all(|shard| !budgets.take(*shard, 1, 0)));
        budgets.request(0, |_| 1);
        budgets.granted(Some(vec![TokenGrant { count: 2, first_us: -50_000 }]), 0);
        assert_eq!(budgets.take_ready(0), shards[..2], "as many as there are tokens");
        assert!(budgets.take(shards[0], 1, 0) && budgets.take(shards[1], 1, 0));
        assert!(!budgets.take(shards[0], 1, 0), "it waits behind the third");
        budgets.granted(Some(Vec::new()), 0);
        assert_eq!(give(&mut budgets, 2 * SECOND, 1), 2);
        assert_eq!(budgets.take_ready(2 * SECOND), [shards[2]]);
    }

    #[test]
    fn several_budgets_are_taken_from_together() {
        let mut budgets = Budgets::new(&Outline {
            shards: vec![OutlineShard {
                budgets: vec![BudgetIndex(0), BudgetIndex(1)],
                ..OutlineShard::new(ShardKey::Unplaced)
            }],
            budgets: ["account", "region"]
                .map(|name| CallBudget { name: name.into(), interval_us: 1_000, burst: 9, tokens_per_call: 2 })
                .into(),
            ..Outline::default()
        });
        let shard = ShardIndex(0);
        assert!(!budgets.take(shard, 1, 0));
        let requests = budgets.request(0, |_| 1);
        assert_eq!(requests.iter().map(|request| request.count).collect::<Vec<_>>(), [2, 2]);
        budgets.granted(Some(vec![TokenGrant { count: 2, first_us: -9_000 }, TokenGrant { count: 1, first_us: 0 }]), 0);
        assert_eq!(budgets.take_ready(0), [shard], "the first budget has enough");
        assert!(!budgets.take(shard, 1, 0), "the second has not, and the tokens of the first stay");
        assert!(budgets.take_ready(0).is_empty());
        budgets.request(100, |_| 1);
        budgets.granted(Some(vec![TokenGrant { count: 1, first_us: 0 }]), 100);
        assert_eq!(budgets.take_ready(100), [shard]);
        assert!(budgets.take(shard, 1, 100));
        assert_eq!(budgets.take_used().0, [("account".to_owned(), 2), ("region".to_owned(), 2)].into());
        assert!(budgets.reserved().0.values().all(|reserved| *reserved == 0));
    }

    #[test]
    fn a_store_that_does_not_answer_is_asked_again_later() {
        let mut budgets = budgets(1);
        budgets.take(ShardIndex(0), 1, 0);
        assert_eq!(budgets.request(0, |_| 1).len(), 1);
        assert!(budgets.request(5, |_| 1).is_empty(), "one request at a time");
        budgets.granted(None, 10);
        assert_eq!(budgets.wakes_at(10), Some(10 + TROUBLE_PAUSE_MS));
        assert!(budgets.request(500, |_| 1).is_empty());
        assert_eq!(budgets.request(10 + TROUBLE_PAUSE_MS, |_| 1).len(), 1);
    }

    #[test]
    fn tokens_that_are_not_used_are_given_up() {
        let mut budgets = budgets(1);
        budgets.take(ShardIndex(0), 1, 0);
        assert_eq!(give(&mut budgets, 0, 1), 1);
        assert!(!budgets.take(ShardIndex(0), 1, 10 * SECOND));
        assert_eq!(budgets.reserved().0["b"], 0);
        assert_eq!(budgets.short_for(ShardIndex(0)).collect::<Vec<_>>(), ["b"]);
    }
}
