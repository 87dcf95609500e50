//! The whole simulation: one random step after another, until the run is done.

mod chaos;
mod terms;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::executor::block_on;
use weft_coordinator::event::{Event, FinishReason, Instruction, UserResolution};
use weft_coordinator::simulation::{Looks, batch_length};
use weft_coordinator::{Outline, term};
use weft_state::{ModelStore, Opaque, RevisionRule, RunId, TokenGrant, TokenRequest, WorkerId};

use crate::cloud::Cloud;
use crate::diary::{Diary, brief};
use crate::disk::Disk;
use crate::judge;
use crate::plan::random_plan;
use crate::process::{Around, Process};
use crate::random::Random;
use crate::seat::Seat;

/// The number of steps in which failures happen. After these, the world is calm, so that the run must end.
const CHAOS_STEPS: u64 = 1_200;
/// The number of steps after which a run counts as stuck.
const MOST_STEPS: u64 = 60_000;

/// One history.
pub(crate) struct World {
    random: Random,
    outline: Arc<Outline>,
    run: RunId,
    disk: Disk,
    cloud: Cloud,
    now: u64,
    steps: u64,
    workers: Vec<Process>,
    births: u64,
    graveyard: BTreeSet<WorkerId>,
    terms: Terms,
    decisions: Vec<UserResolution>,
    diary: Diary,
    over: bool,
    /// The percentage of possible failures that happen. A low percentage gives histories with much progress, and a high
    /// percentage gives histories with many failures.
    wildness: u64,
}

/// All terms. Several terms may believe that they hold the lease.
#[derive(Default)]
struct Terms {
    seats: BTreeMap<usize, Seat>,
    /// The newest term, while it runs.
    current: Option<usize>,
    count: u64,
    /// What the next challenger has observed about the lease.
    looks: Looks,
}

impl World {
    pub(crate) fn new(seed: u64, diary: Diary) -> World {
        let mut random = Random(seed);
        let outline = Arc::new(random_plan(&mut random));
        let rule = if random.chance(50) { RevisionRule::Sequence } else { RevisionRule::Content };
        let store = ModelStore::new(rule, seed);
        let run = RunId::parse("run-1").expect("a run id");
        block_on(term::create(&store, term::new_run(run.clone(), 0, &outline, Opaque::default()))).expect("a new run");
        let count = 1 + random.index(3);
        let wildness = [5, 15, 40, 100][random.index(4)];
        for operation in &outline.operations {
            let (needs, shard) = (brief(&operation.needs), operation.shard.0);
            let line = || format!("plan: {} is {:?} in shard {shard}, needs {needs}", operation.index, operation.kind);
            diary.write(0, line);
        }
        World {
            random,
            outline,
            disk: Disk::new(store, run.clone()),
            run,
            cloud: Cloud::default(),
            now: 0,
            steps: 0,
            workers: (0..count).map(|index| Process::new(&format!("w{index}"), 0)).collect(),
            births: 0,
            graveyard: BTreeSet::new(),
            terms: Terms::default(),
            decisions: Vec::new(),
            diary,
            over: false,
            wildness,
        }
    }

    fn calm(&self) -> bool {
        self.steps > CHAOS_STEPS
    }

    /// Whether a failure happens.
    fn happens(&mut self, percent: u64) -> bool {
        !self.calm() && self.random.chance(percent)
    }

    fn write(&self, line: impl FnOnce() -> String) {
        self.diary.write(self.now, line);
    }

    /// Simulates until the run is done.
    ///
    /// # Panics
    /// Panics if the run breaks the promise that the documentation of the crate describes.
    pub(crate) fn run(mut self) {
        while !self.over {
            self.steps += 1;
            assert!(self.steps < MOST_STEPS, "the run does not come to its end: {}", self.stuck());
            self.step();
        }
        judge::last(&mut self.disk, &self.outline, &self.cloud);
        self.diary.ended(self.now, self.terms.count);
    }

    fn stuck(&self) -> String {
        let current = self.terms.current.and_then(|index| self.terms.seats.get(&index));
        let core = current.map(|seat| format!("{:?}", seat.core));
        format!("{} terms; {}", self.terms.count, core.unwrap_or_default())
    }

    fn step(&mut self) {
        if self.terms.current.is_none() {
            self.next_term();
        }
        match self.random.below(124) {
            0..=24 => self.pass_time(),
            25..=44 => self.some_worker(|_| true, Process::work),
            45..=64 => self.some_worker(|worker| !worker.inbox.is_empty(), Process::obey),
            65..=84 => self.hear(),
            85..=94 => self.write_batch(),
            95..=104 => self.answer_batch(),
            105..=109 => self.come_back(),
            110 => self.announce_dead(),
            _ if self.calm() || !self.random.chance(self.wildness) => self.pass_time(),
            111..=112 => self.kill_worker(),
            113..=115 => self.break_stream(),
            116 => self.crash_coordinator(),
            117..=118 => self.suspend_coordinator(),
            119 => self.interrupt(),
            120 => self.suspend_worker(),
            121 => self.leave_worker(),
            122 => self.crash_store(),
            _ => self.announce_dead(),
        }
        self.end_terms();
    }

    fn pass_time(&mut self) {
        // In the calm steps, every process is fast enough to use an intent before it is too old.
        let most = if self.calm() { 4 } else { 20 };
        self.now += 1 + self.random.below(most);
        self.cloud.pass(self.now);
        self.look_at_lease();
        for index in self.terms.seats.keys().copied().collect::<Vec<_>>() {
            self.tend_lease(index);
            self.tell(index, Event::Tick);
        }
    }

    fn with_worker<T>(&mut self, chosen: usize, act: impl FnOnce(&mut Process, &mut Around<'_>) -> T) -> T {
        let mut around = Around {
            now: self.now,
            calm: self.steps > CHAOS_STEPS,
            run: &self.run,
            outline: &self.outline,
            cloud: &mut self.cloud,
            random: &mut self.random,
            kept: &self.disk.kept,
        };
        act(&mut self.workers[chosen], &mut around)
    }

    fn some_worker(&mut self, wanted: impl Fn(&Process) -> bool, act: impl Fn(&mut Process, &mut Around<'_>)) {
        let now = self.now;
        let may = |index: &usize| self.workers[*index].is_awake(now) && wanted(&self.workers[*index]);
        let candidates: Vec<usize> = (0..self.workers.len()).filter(may).collect();
        if candidates.is_empty() {
            return;
        }
        let chosen = candidates[self.random.index(candidates.len())];
        self.with_worker(chosen, act);
        if self.workers[chosen].has_left() {
            self.write(|| format!("{} has left", self.workers[chosen].id));
            self.kill(chosen);
        }
    }

    /// Delivers one report to a coordinator, sometimes twice.
    fn hear(&mut self) {
        let now = self.now;
        let may = |index: &usize| self.workers[*index].is_awake(now) && self.workers[*index].speaks();
        let candidates: Vec<usize> = (0..self.workers.len()).filter(may).collect();
        if candidates.is_empty() {
            return;
        }
        let chosen = candidates[self.random.index(candidates.len())];
        let worker = &mut self.workers[chosen];
        let (Some(seat), Some(report)) = (worker.connection, worker.report()) else { return };
        let id = worker.id.clone();
        if self.random.chance(5) {
            self.tell(seat, Event::Said(id.clone(), report.clone()));
        }
        self.tell(seat, Event::Said(id, report));
    }

    /// Sends the batch of a seat to the store. The batch takes effect completely, in part, or not at all.
    fn write_batch(&mut self) {
        let now = self.now;
        let may = |seat: &Seat| seat.is_awake(now) && !seat.sent && !(seat.batch.is_empty() && seat.steps.is_empty());
        let candidates: Vec<usize> =
            self.terms.seats.iter().filter(|(_, seat)| may(seat)).map(|(index, _)| *index).collect();
        if candidates.is_empty() {
            return;
        }
        let chosen = candidates[self.random.index(candidates.len())];
        let size = 1 + self.random.index(8);
        let lost = self.happens(5);
        let tears = self.happens(8);
        let Some(seat) = self.terms.seats.get_mut(&chosen) else { return };
        if seat.batch.is_empty() {
            seat.batch = seat.steps.drain(..batch_length(&seat.steps, size)).collect();
        }
        if lost {
            return;
        }
        let torn = tears.then(|| self.random.index(seat.batch.len()));
        seat.sent = torn.is_none();
        let (lease, batch) = (seat.lease.clone(), seat.batch.clone());
        self.write(|| match torn {
            None => format!("term {chosen} gives the store {}", brief(&batch)),
            Some(count) => format!("term {chosen} gives the store only {count} of {}", brief(&batch)),
        });
        self.disk.write(chosen, &lease, &batch, torn);
    }

    /// Makes written steps durable, or delivers or loses an answer.
    fn answer_batch(&mut self) {
        if self.disk.is_dirty() && self.random.chance(60) {
            self.disk.sync();
        }
        let now = self.now;
        let may = |index: &usize, seat: &Seat| seat.is_awake(now) && self.disk.has_answer(*index);
        let candidates: Vec<usize> =
            self.terms.seats.iter().filter(|(index, seat)| may(index, seat)).map(|(index, _)| *index).collect();
        if candidates.is_empty() {
            return;
        }
        let chosen = candidates[self.random.index(candidates.len())];
        let lost = self.happens(8);
        let (Some(seat), Some(answers)) = (self.terms.seats.get_mut(&chosen), self.disk.answer(chosen)) else { return };
        seat.sent = false;
        if lost {
            self.write(|| format!("an answer of the store to term {chosen} gets lost"));
            return;
        }
        seat.batch.clear();
        self.tell(chosen, Event::Stored(answers));
    }

    /// Delivers an event to the core of a coordinator, now or after its suspension.
    fn tell(&mut self, index: usize, event: Event) {
        let now = self.now;
        let Some(seat) = self.terms.seats.get_mut(&index) else { return };
        if !seat.is_awake(now) {
            if event != Event::Tick {
                seat.mailbox.push(event);
            }
            return;
        }
        let mut events = std::mem::take(&mut seat.mailbox);
        events.push(event);
        for event in events {
            let Some(seat) = self.terms.seats.get_mut(&index) else { return };
            if event != Event::Tick {
                self.diary.write(now, || format!("term {index} hears {}", brief(&event)));
            }
            let clock = seat.clock(now);
            seat.orders.hear(&event);
            let instructions = seat.core.step(clock, event);
            seat.core.check_invariants();
            self.perform(index, instructions);
        }
    }

    fn perform(&mut self, index: usize, instructions: Vec<Instruction>) {
        for instruction in instructions {
            self.diary.count(self.now);
            if !matches!(instruction, Instruction::Progress(_)) {
                self.diary.write(self.now, || format!("term {index} -> {}", brief(&instruction)));
            }
            let Some(seat) = self.terms.seats.get_mut(&index) else { return };
            match instruction {
                Instruction::Store(steps) => {
                    self.diary.count(steps.len() as u64);
                    seat.steps.extend(steps);
                }
                Instruction::Send { worker, orders } => {
                    let epoch = seat.lease.token.epoch;
                    let known = seat.orders.connection(&worker);
                    let mine = |process: &&mut Process| {
                        process.id == worker && process.connection == Some(index) && known == Some(process.connections)
                    };
                    if let Some(process) = self.workers.iter_mut().find(mine) {
                        self.diary.count(orders.len() as u64);
                        orders.into_iter().for_each(|order| process.receive(&self.run, epoch, order));
                    }
                }
                Instruction::Progress(_) => {}
                Instruction::TakeTokens(requests) => seat.mailbox.push(tokens(&requests, self.steps)),
                Instruction::Finish(finish) => {
                    let bad = matches!(
                        finish.reason,
                        FinishReason::Fenced | FinishReason::StoreRefused | FinishReason::Defect
                    );
                    let current = self.terms.current == Some(index);
                    let reason = finish.reason;
                    let defect = finish.defect.as_ref().map(ToString::to_string).unwrap_or_default();
                    assert!(!(bad && current), "the current term ended with {reason:?}: {defect}");
                    assert_ne!(reason, FinishReason::Defect, "a term ended with {defect}");
                    seat.finish = Some(finish);
                }
            }
        }
    }
}

/// The store's answer to a request for tokens. Sometimes the store grants nothing, or fewer tokens than requested.
fn tokens(requests: &[TokenRequest], step: u64) -> Event {
    let grant = |request: &TokenRequest| match step % 4 {
        1 => TokenGrant { count: 1, first_us: 0 },
        2 => TokenGrant { count: 0, first_us: request.interval_us as i64 },
        _ => TokenGrant { count: request.count, first_us: 0 },
    };
    Event::Tokens((!step.is_multiple_of(4)).then(|| requests.iter().map(grant).collect()))
}
