//! Failures.

use weft_coordinator::event::{Cancel, Event};
use weft_state::WorkerId;

use super::World;
use crate::process::Process;
use crate::seat::LEASE_TTL;

impl World {
    /// Starts a dead worker again, or connects a disconnected one.
    pub(super) fn come_back(&mut self) {
        let chosen = self.random.index(self.workers.len());
        if !self.workers[chosen].alive {
            self.births += 1;
            let births = self.births;
            self.workers[chosen] = match self.random.chance(80) {
                true => self.workers[chosen].heir(births),
                // The spool is lost.
                false => Process::new(&self.workers[chosen].name, births),
            };
            return;
        }
        let Some(current) = self.terms.current else { return };
        let worker = &mut self.workers[chosen];
        if worker.is_awake(self.now) && worker.connection.is_none() {
            let hello = worker.connect(current);
            let (leaving, id) = (worker.leaving, worker.id.clone());
            self.tell(current, Event::Joined(hello));
            if leaving {
                self.tell(current, Event::Leaving(id));
            }
        }
    }

    pub(super) fn kill_worker(&mut self) {
        let chosen = self.random.index(self.workers.len());
        self.kill(chosen);
        if self.random.chance(50) {
            self.announce_dead();
        }
    }

    pub(super) fn kill(&mut self, chosen: usize) {
        let worker = &mut self.workers[chosen];
        if !worker.alive {
            return;
        }
        worker.alive = false;
        let (id, connection) = (worker.id.clone(), worker.connection);
        worker.disconnect();
        self.write(|| format!("worker {id} dies"));
        self.graveyard.insert(id.clone());
        self.cloud.caller_died(&id, self.now);
        if let Some(seat) = connection {
            self.tell(seat, Event::Left(id));
        }
    }

    pub(super) fn announce_dead(&mut self) {
        let dead: Vec<WorkerId> = self.graveyard.iter().cloned().collect();
        let Some(current) = self.terms.current else { return };
        if !dead.is_empty() {
            let id = dead[self.random.index(dead.len())].clone();
            self.tell(current, Event::Dead(id));
        }
    }

    pub(super) fn break_stream(&mut self) {
        let chosen = self.random.index(self.workers.len());
        self.hang_up(chosen);
    }

    fn hang_up(&mut self, chosen: usize) {
        let Some(seat) = self.workers[chosen].connection else { return };
        self.workers[chosen].disconnect();
        let id = self.workers[chosen].id.clone();
        self.tell(seat, Event::Left(id));
    }

    /// Suspends the machine of a worker. The worker's clock continues, and so do its calls in the cloud.
    pub(super) fn suspend_worker(&mut self) {
        let chosen = self.random.index(self.workers.len());
        let length = 20 + self.random.below(LEASE_TTL);
        self.workers[chosen].suspended_until = self.now + length;
        self.write(|| format!("worker {} is suspended for {length} ms", self.workers[chosen].id));
        if self.random.chance(50) {
            self.hang_up(chosen);
        }
    }

    /// Asks a worker to leave in an orderly way.
    pub(super) fn leave_worker(&mut self) {
        let chosen = self.random.index(self.workers.len());
        if !self.workers[chosen].is_awake(self.now) || self.workers[chosen].leaving {
            return;
        }
        let (id, connection) = (self.workers[chosen].id.clone(), self.workers[chosen].connection);
        self.write(|| format!("worker {id} is asked to leave"));
        if let Some(seat) = connection {
            self.tell(seat, Event::Leaving(id));
        }
        self.with_worker(chosen, Process::leave);
    }

    pub(super) fn crash_coordinator(&mut self) {
        let Some(current) = self.terms.current.take() else { return };
        self.write(|| format!("the coordinator of term {current} dies"));
        self.terms.seats.remove(&current);
        self.disk.forget(current);
        for worker in &mut self.workers {
            if worker.connection == Some(current) {
                worker.disconnect();
            }
        }
    }

    /// Suspends a coordinator, possibly for so long that another coordinator takes over its run. The clock of the
    /// suspended coordinator stands still during that time, or jumps afterwards.
    pub(super) fn suspend_coordinator(&mut self) {
        let Some(current) = self.terms.current else { return };
        let length = 1 + self.random.below(LEASE_TTL * 2);
        let (clock_stops, breaks) = (self.random.chance(50), self.random.chance(60));
        let now = self.now;
        let Some(seat) = self.terms.seats.get_mut(&current).filter(|seat| seat.is_awake(now)) else { return };
        seat.suspend(now, length, clock_stops);
        self.write(|| format!("the coordinator of term {current} is suspended for {length} ms"));
        if breaks {
            for index in 0..self.workers.len() {
                if self.workers[index].connection == Some(current) {
                    self.hang_up(index);
                }
            }
        }
    }

    /// Crashes the machine of the store: steps that were not durable are lost.
    pub(super) fn crash_store(&mut self) {
        let lost = self.disk.crash();
        self.write(|| format!("the store fails and loses the batches of terms {lost:?}"));
        for seat in lost {
            if let Some(seat) = self.terms.seats.get_mut(&seat) {
                seat.sent = false;
            }
        }
    }

    pub(super) fn interrupt(&mut self) {
        let Some(current) = self.terms.current else { return };
        let how = [Cancel::Drain, Cancel::Drain, Cancel::Stop, Cancel::Leave][self.random.index(4)];
        self.tell(current, Event::Cancel(how));
    }
}
