//! A coordinator: the core of a term, and its driver's view of store and lease.

use std::collections::VecDeque;
use std::time::Duration;

use weft_coordinator::Coordinator;
use weft_coordinator::event::{Event, Finish};
use weft_coordinator::simulation::{Freshness, Orders};
use weft_state::{Lease, RenewAnswer, StoreStep};

/// The times of the simulation: a thirtieth of the shipped ones, with the same relations.
pub(crate) const LEASE_TTL: u64 = 320;
pub(crate) const LEASE_PAUSE: u64 = 160;
pub(crate) const RENEW_INTERVAL: u64 = 64;
/// The age from which a granted intent is not acted on.
pub(crate) const INTENT_AGE: u64 = 80;

/// A renewal on its way.
pub(crate) struct Renewal {
    sent: u64,
    arrives: u64,
    answer: RenewAnswer,
}

/// A coordinator that believes that it holds the lease.
pub(crate) struct Seat {
    pub(crate) core: Coordinator,
    /// The connections that it knows.
    pub(crate) orders: Orders,
    pub(crate) lease: Lease,
    pub(crate) steps: VecDeque<StoreStep>,
    /// The batch that was sent and has no answer.
    pub(crate) batch: Vec<StoreStep>,
    /// The store has the batch: nothing is sent again.
    pub(crate) sent: bool,
    pub(crate) finish: Option<Finish>,
    /// Events that arrived while it was suspended.
    pub(crate) mailbox: Vec<Event>,
    /// It does nothing until then.
    pub(crate) suspended_until: u64,
    /// How long its clock has stood still.
    stood_still: u64,
    freshness: Freshness,
    next_renewal: u64,
    pub(crate) renewal: Option<Renewal>,
}

impl Seat {
    pub(crate) fn new(core: Coordinator, lease: Lease, now: u64) -> Seat {
        Seat {
            core,
            orders: Orders::default(),
            lease,
            steps: VecDeque::new(),
            batch: Vec::new(),
            sent: false,
            finish: None,
            mailbox: Vec::new(),
            suspended_until: 0,
            stood_still: 0,
            freshness: Freshness::new(Duration::from_millis(LEASE_PAUSE), Duration::from_millis(now)),
            next_renewal: now + RENEW_INTERVAL,
            renewal: None,
        }
    }

    /// Its own clock, which stands still while it is suspended, or jumps afterwards.
    pub(crate) fn clock(&self, now: u64) -> u64 {
        now - self.stood_still
    }

    pub(crate) fn is_awake(&self, now: u64) -> bool {
        now >= self.suspended_until
    }

    /// Suspends it for a while.
    pub(crate) fn suspend(&mut self, now: u64, length: u64, clock_stops: bool) {
        self.suspended_until = now + length;
        if clock_stops {
            self.stood_still += length;
        }
    }

    /// Whether it sends a renewal now.
    pub(crate) fn renews(&mut self, now: u64) -> bool {
        let clock = self.clock(now);
        let due = self.renewal.is_none() && clock >= self.next_renewal;
        if due {
            self.next_renewal = clock + RENEW_INTERVAL;
        }
        due
    }

    /// The store has answered a renewal. The answer is on its way.
    pub(crate) fn renewal_answered(&mut self, now: u64, late: u64, answer: RenewAnswer) {
        self.renewal = Some(Renewal { sent: self.clock(now), arrives: now + late, answer });
    }

    /// The answer to a renewal that arrives now. Returns whether the lease is lost.
    pub(crate) fn renewal_arrives(&mut self, now: u64) -> bool {
        let Some(renewal) = self.renewal.take_if(|renewal| renewal.arrives <= now) else { return false };
        match renewal.answer {
            RenewAnswer::Renewed { .. } => {
                self.freshness.renewed(Duration::from_millis(renewal.sent));
                false
            }
            RenewAnswer::Fenced(_) => true,
        }
    }

    /// Whether it pauses from now on, or continues.
    pub(crate) fn turned(&mut self, now: u64) -> Option<bool> {
        self.freshness.turned(Duration::from_millis(self.clock(now)))
    }
}
