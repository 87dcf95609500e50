//! A coordinator: the core of a term, and the driver's view of store and lease.

use std::collections::VecDeque;
use std::time::Duration;

use weft_coordinator::Coordinator;
use weft_coordinator::event::{Event, Finish};
use weft_coordinator::simulation::{Freshness, Orders};
use weft_state::{Lease, RenewAnswer, StoreStep};

/// The time to live of a lease. The times here have the same relations as the shipped times: 32 units stand for one
/// second.
pub(crate) const LEASE_TTL: u64 = 320;
pub(crate) const LEASE_PAUSE: u64 = 160;
pub(crate) const RENEW_INTERVAL: u64 = 64;
/// The age from which a worker ignores a granted intent.
pub(crate) const INTENT_AGE: u64 = 80;

/// A renewal that has not arrived yet.
pub(crate) struct Renewal {
    sent: u64,
    arrives: u64,
    answer: RenewAnswer,
}

/// A coordinator that believes that it holds the lease.
pub(crate) struct Seat {
    pub(crate) core: Coordinator,
    /// The connections that the coordinator knows.
    pub(crate) orders: Orders,
    pub(crate) lease: Lease,
    pub(crate) steps: VecDeque<StoreStep>,
    /// The batch that was sent and has no answer yet.
    pub(crate) batch: Vec<StoreStep>,
    /// Whether the store has the batch, so that it is not sent again.
    pub(crate) sent: bool,
    pub(crate) finish: Option<Finish>,
    /// Events that arrived while the coordinator was suspended.
    pub(crate) mailbox: Vec<Event>,
    /// The coordinator does nothing until this time.
    pub(crate) suspended_until: u64,
    /// The total time for which the clock of the coordinator has stood still.
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

    /// The coordinator's own clock. During a suspension, the clock either stands still, or continues so that it seems
    /// to jump afterwards.
    pub(crate) fn clock(&self, now: u64) -> u64 {
        now - self.stood_still
    }

    pub(crate) fn is_awake(&self, now: u64) -> bool {
        now >= self.suspended_until
    }

    /// Suspends the coordinator for a while.
    pub(crate) fn suspend(&mut self, now: u64, length: u64, clock_stops: bool) {
        self.suspended_until = now + length;
        if clock_stops {
            self.stood_still += length;
        }
    }

    /// Whether the coordinator sends a renewal now.
    pub(crate) fn renews(&mut self, now: u64) -> bool {
        let clock = self.clock(now);
        let due = self.renewal.is_none() && clock >= self.next_renewal;
        if due {
            self.next_renewal = clock + RENEW_INTERVAL;
        }
        due
    }

    /// Records the answer of the store to a renewal. The answer arrives later.
    pub(crate) fn renewal_answered(&mut self, now: u64, late: u64, answer: RenewAnswer) {
        self.renewal = Some(Renewal { sent: self.clock(now), arrives: now + late, answer });
    }

    /// Handles the answer to a renewal, if it arrives now. Returns whether the lease is lost.
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

    /// Whether the coordinator starts to pause (`true`) or continues (`false`) now, or `None` if neither.
    pub(crate) fn turned(&mut self, now: u64) -> Option<bool> {
        self.freshness.turned(Duration::from_millis(self.clock(now)))
    }
}
