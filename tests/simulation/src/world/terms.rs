//! Terms: how they begin, keep their lease, and end.

use std::sync::Arc;
use std::time::Duration;

use futures::executor::block_on;
use weft_coordinator::event::{Event, Finish, FinishReason};
use weft_coordinator::simulation::{Look, Looks, prepare};
use weft_coordinator::{Coordinator, RunOptions};
use weft_state::{Acquire, AcquireAnswer, Holder, Lease, LeaseView, OpIndex, ReleaseAnswer, RunStatus};

use super::World;
use crate::judge;
use crate::process::Process;
use crate::seat::{LEASE_TTL, Seat};

impl World {
    /// Continues a run that no known coordinator executes: either it is done, or a coordinator acquires it.
    pub(super) fn next_term(&mut self) {
        let header = self.disk.header();
        if header.status == RunStatus::Done {
            self.over = true;
        } else if header.lease.is_none() {
            self.acquire(None);
        }
    }

    /// Lets a challenger observe the lease, as every coordinator does with runs of others.
    pub(super) fn look_at_lease(&mut self) {
        let Some(view) = self.disk.lease() else { return };
        let (ttl, now) = (Duration::from_millis(LEASE_TTL), Duration::from_millis(self.now));
        match self.terms.looks.look(&view, ttl, now) {
            Look::Unmoved => self.acquire(Some(view)),
            // A coordinator can also request the lease without having observed it. If another coordinator holds the
            // lease, the request is not granted.
            Look::Waits if self.happens(3) => self.acquire(None),
            _ => {}
        }
    }

    fn acquire(&mut self, unmoved: Option<LeaseView>) {
        let (run, term) = (self.run.clone(), u128::from(self.terms.count) + 1);
        let holder = Holder { machine: "m".to_owned(), process: term as u32, user: "u".to_owned() };
        let request = Acquire { run, holder, term, unmoved };
        if let AcquireAnswer::Granted(lease) = self.disk.acquire(request, self.now, LEASE_TTL) {
            self.begin_term(lease);
        }
    }

    fn begin_term(&mut self, lease: Lease) {
        self.terms.count += 1;
        self.terms.looks = Looks::default();
        let index = self.terms.count as usize;
        self.write(|| format!("term {index} begins"));
        let beginning = block_on(prepare(self.disk.synced(), &lease, &self.outline)).map_err(|(error, _)| error);
        let beginning = beginning.expect("claims are granted");
        self.disk.sync();
        let resolutions = std::mem::take(&mut self.decisions);
        let options = RunOptions {
            parallelism: self.random.chance(30).then_some(3),
            gather_ms: 30,
            grace_ms: 200,
            fixed_workers: false,
            spread: self.terms.count,
            only_resolve: !resolutions.is_empty() && self.random.chance(30),
            look_up: false,
            resolutions,
        };
        let begun = Coordinator::begin(self.now, Arc::clone(&self.outline), options, beginning);
        let (core, instructions) = begun.expect("a sound plan");
        let holders = core.absent_holders();
        self.terms.seats.insert(index, Seat::new(core, lease, self.now));
        self.terms.current = Some(index);
        self.perform(index, instructions);
        for holder in holders {
            if self.graveyard.contains(&holder) && self.random.chance(60) {
                self.tell(index, Event::Dead(holder));
            }
        }
    }

    /// Handles the renewals of one seat. A renewal is sent, answered late, or lost.
    pub(super) fn tend_lease(&mut self, index: usize) {
        let now = self.now;
        let Some(seat) = self.terms.seats.get_mut(&index).filter(|seat| seat.is_awake(now)) else { return };
        if seat.finish.is_some() {
            return;
        }
        let due = seat.renews(now);
        if due && !self.happens(15) {
            let late = if self.happens(20) { self.random.below(LEASE_TTL) } else { self.random.below(10) };
            let Some(seat) = self.terms.seats.get_mut(&index) else { return };
            let answer = self.disk.renew(&seat.lease, now);
            seat.renewal_answered(now, late, answer);
        }
        let Some(seat) = self.terms.seats.get_mut(&index) else { return };
        if seat.renewal_arrives(now) {
            return self.tell(index, Event::Fenced);
        }
        if let Some(paused) = seat.turned(now) {
            self.tell(index, Event::Paused(paused));
        }
    }

    /// Releases the leases of terms that have ended, once the store has all their steps.
    pub(super) fn end_terms(&mut self) {
        let ended = |seat: &Seat| match &seat.finish {
            Some(finish) => finish.reason == FinishReason::Fenced || (seat.batch.is_empty() && seat.steps.is_empty()),
            None => false,
        };
        let Some(index) = self.terms.seats.iter().find(|(_, seat)| ended(seat)).map(|(index, _)| *index) else {
            return;
        };
        let Some(seat) = self.terms.seats.remove(&index) else { return };
        self.disk.forget(index);
        let Some(finish) = seat.finish else { return };
        if self.terms.current == Some(index) {
            self.terms.current = None;
        }
        let answer = finish.release.map(|ending| self.disk.release(&seat.lease, ending));
        if let Some(ReleaseAnswer::Released(_)) = answer {
            judge::compare(&mut self.disk, &finish);
            self.decide(&finish);
        }
        for worker in &mut self.workers {
            if worker.connection == Some(index) && self.random.chance(50) {
                worker.disconnect();
            }
        }
        self.hear_the_rest(index);
    }

    /// Delivers the last orders of an ended term to its workers, and disconnects them.
    fn hear_the_rest(&mut self, seat: usize) {
        for index in 0..self.workers.len() {
            while self.workers[index].connection == Some(seat)
                && self.workers[index].is_awake(self.now)
                && !self.workers[index].inbox.is_empty()
            {
                self.with_worker(index, Process::obey);
            }
            if self.workers[index].connection == Some(seat) {
                self.workers[index].disconnect();
            }
        }
    }

    /// Simulates a user who resolves the doubts: switches off the worker's machine, then inspects the cloud.
    fn decide(&mut self, finish: &Finish) {
        if finish.reason == FinishReason::Left || !(self.calm() || self.random.chance(70)) {
            return;
        }
        let view = self.disk.view();
        for operation in &finish.in_doubt {
            let Some(record) = view.ops.get(&OpIndex(*operation)) else { continue };
            if let Some(index) = self.workers.iter().position(|worker| worker.id == record.worker) {
                self.kill(index);
            }
            self.decisions.push(judge::decision(*operation, &self.cloud, &mut self.random));
        }
    }
}
