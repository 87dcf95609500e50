//! Everything together, one random step after another, until the run is done.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use futures::executor::block_on;
use weft_state::{
    Acquire, AcquireAnswer, Holder, Lease, ModelStore, OpIndex, OpStatus, Opaque, Outcome, ReleaseAnswer, RevisionRule,
    RunId, RunStatus, RunStore, StoreAnswer, StoreStep, WorkerId,
};

use super::Random;
use super::cloud::Cloud;
use super::plan::random_plan;
use super::process::{Around, Process};
use crate::core::{Coordinator, RunOptions};
use crate::event::{Cancel, Command, Decision, Event, Finish, FinishReason, UserResolution};
use crate::outline::Outline;
use crate::term;

/// Steps in which things break; after these the world is calm, so that the run must come to its end.
const CHAOS_STEPS: u64 = 700;
/// Steps after which a run counts as stuck.
const MOST_STEPS: u64 = 60_000;

struct Seat {
    core: Coordinator,
    lease: Lease,
    steps: VecDeque<StoreStep>,
    batch: Vec<StoreStep>,
    finish: Option<Finish>,
}

pub(super) struct World {
    random: Random,
    outline: Arc<Outline>,
    store: ModelStore,
    run: RunId,
    now: u64,
    steps: u64,
    cloud: Cloud,
    workers: Vec<Process>,
    births: u64,
    graveyard: BTreeSet<WorkerId>,
    terms: Terms,
    kept: Kept,
    decisions: Vec<UserResolution>,
    diary: Diary,
    over: bool,
}

/// The terms that were begun. More than one may believe that it holds the lease.
#[derive(Default)]
struct Terms {
    seats: BTreeMap<usize, Seat>,
    current: Option<usize>,
    count: u64,
}

/// Operations that the store has something of.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) done: BTreeSet<u32>,
    pub(super) strays: BTreeSet<u32>,
}

/// What happened, as a number that equal histories have in common, and as text.
#[derive(Default)]
struct Diary {
    history: u64,
    /// Prints everything.
    trace: bool,
}

impl Diary {
    fn note(&mut self, what: u64) {
        self.history = self.history.wrapping_mul(31).wrapping_add(what);
    }
}

impl World {
    pub(super) fn new(seed: u64) -> World {
        let mut random = Random(seed);
        let outline = Arc::new(random_plan(&mut random));
        let rule = if random.chance(50) { RevisionRule::Sequence } else { RevisionRule::Content };
        let store = ModelStore::new(rule, seed);
        let run = RunId::parse("run-1").expect("a run id");
        block_on(term::create(&store, run.clone(), 0, &outline, Opaque::default())).expect("a new run");
        let count = 1 + random.index(3);
        World {
            random,
            outline,
            store,
            run,
            now: 0,
            steps: 0,
            cloud: Cloud::default(),
            workers: (0..count).map(|index| Process::new(&format!("w{index}"), 0)).collect(),
            births: 0,
            graveyard: BTreeSet::new(),
            terms: Terms::default(),
            kept: Kept::default(),
            decisions: Vec::new(),
            diary: Diary::default(),
            over: false,
        }
    }

    /// The same, printing what happens.
    pub(super) fn traced(mut self) -> World {
        self.diary.trace = true;
        self
    }

    fn calm(&self) -> bool {
        self.steps > CHAOS_STEPS
    }

    /// Until the run is done; gives something that equal histories have in common.
    pub(super) fn run(mut self) -> (u64, u64, u64) {
        while !self.over {
            self.steps += 1;
            assert!(self.steps < MOST_STEPS, "the run does not come to its end: {}", self.stuck());
            self.step();
        }
        self.judge();
        (self.diary.history, self.now, self.terms.count)
    }

    fn stuck(&self) -> String {
        let current = self.terms.current.and_then(|index| self.terms.seats.get(&index));
        let core = current.map(|seat| format!("{:?}", seat.core));
        format!("{} terms; {}", self.terms.count, core.unwrap_or_default())
    }

    fn step(&mut self) {
        if self.terms.current.is_none() {
            self.begin_term();
            return;
        }
        match self.random.below(120) {
            0..=24 => self.pass_time(),
            25..=44 => self.some_worker(|worker| worker.alive, Process::work),
            45..=64 => self.some_worker(|worker| worker.alive && !worker.inbox.is_empty(), Process::obey),
            65..=84 => self.hear(),
            85..=104 => self.store_works(),
            105..=109 => self.come_back(),
            110 => self.announce_dead(),
            _ if self.calm() => self.pass_time(),
            111..=112 => self.kill_worker(),
            113..=115 => self.break_stream(),
            116 => self.crash_coordinator(),
            117 => self.replace_coordinator(),
            118 => self.interrupt(),
            _ => self.announce_dead(),
        }
        self.end_terms();
    }

    fn pass_time(&mut self) {
        self.now += 1 + self.random.below(20);
        self.cloud.pass(self.now);
        for index in self.terms.seats.keys().copied().collect::<Vec<_>>() {
            if Some(index) != self.terms.current && self.random.chance(10) {
                self.tell(index, Event::Fenced);
            }
            self.tell(index, Event::Tick);
        }
    }

    fn some_worker(&mut self, wanted: impl Fn(&Process) -> bool, act: impl Fn(&mut Process, &mut Around<'_>)) {
        let candidates: Vec<usize> = (0..self.workers.len()).filter(|index| wanted(&self.workers[*index])).collect();
        if candidates.is_empty() {
            return;
        }
        let chosen = candidates[self.random.index(candidates.len())];
        let mut around = Around {
            now: self.now,
            calm: self.steps > CHAOS_STEPS,
            outline: &self.outline,
            cloud: &mut self.cloud,
            random: &mut self.random,
            kept: &self.kept,
        };
        act(&mut self.workers[chosen], &mut around);
    }

    /// A coordinator hears one message; now and then twice.
    fn hear(&mut self) {
        let speaking = |worker: &Process| worker.connection.is_some() && !worker.outbox.is_empty();
        let candidates: Vec<usize> = (0..self.workers.len()).filter(|index| speaking(&self.workers[*index])).collect();
        if candidates.is_empty() {
            return;
        }
        let chosen = candidates[self.random.index(candidates.len())];
        let worker = &mut self.workers[chosen];
        let (Some(seat), Some(message)) = (worker.connection, worker.outbox.pop_front()) else { return };
        let id = worker.id.clone();
        if self.random.chance(5) {
            self.tell(seat, Event::Said(id.clone(), message.clone()));
        }
        self.tell(seat, Event::Said(id, message));
    }

    /// One batch goes to the store; its reply may get lost, before or after it took effect.
    fn store_works(&mut self) {
        let waiting = |seat: &Seat| !(seat.batch.is_empty() && seat.steps.is_empty());
        let candidates: Vec<usize> =
            self.terms.seats.iter().filter(|(_, seat)| waiting(seat)).map(|(index, _)| *index).collect();
        if candidates.is_empty() {
            return;
        }
        let chosen = candidates[self.random.index(candidates.len())];
        let size = 1 + self.random.index(8);
        let fate = if self.calm() { 50 } else { self.random.below(100) };
        let Some(seat) = self.terms.seats.get_mut(&chosen) else { return };
        if seat.batch.is_empty() {
            seat.batch = (0..size).filter_map(|_| seat.steps.pop_front()).collect();
        }
        if fate < 5 {
            return;
        }
        let (lease, batch) = (seat.lease.clone(), seat.batch.clone());
        let answers = block_on(self.store.step_batch(&lease, batch.clone())).expect("the model answers");
        for (step, answer) in batch.iter().zip(&answers) {
            self.note(step, answer);
        }
        if fate >= 10 {
            if let Some(seat) = self.terms.seats.get_mut(&chosen) {
                seat.batch.clear();
            }
            self.tell(chosen, Event::Stored(answers));
        }
    }

    /// What the store has acknowledged.
    fn note(&mut self, step: &StoreStep, answer: &StoreAnswer) {
        if !answer.is_ok() {
            return;
        }
        match step {
            StoreStep::Commit(commit) => {
                self.kept.done.insert(commit.op.0);
            }
            StoreStep::Resolve(resolution) if matches!(resolution.outcome, Outcome::Done(_)) => {
                self.kept.done.insert(resolution.op.0);
            }
            StoreStep::Stray(stray) => {
                self.kept.strays.insert(stray.op.0);
            }
            _ => {}
        }
    }

    /// A dead worker is started again, or one without a connection connects.
    fn come_back(&mut self) {
        let chosen = self.random.index(self.workers.len());
        if !self.workers[chosen].alive {
            self.births += 1;
            self.workers[chosen] = Process::new(&self.workers[chosen].name.clone(), self.births);
            return;
        }
        let Some(current) = self.terms.current else { return };
        if self.workers[chosen].connection.is_none() {
            let hello = self.workers[chosen].connect(current);
            self.tell(current, Event::Joined(hello));
        }
    }

    fn kill_worker(&mut self) {
        let chosen = self.random.index(self.workers.len());
        self.kill(chosen);
        if self.random.chance(50) {
            self.announce_dead();
        }
    }

    fn kill(&mut self, chosen: usize) {
        let worker = &mut self.workers[chosen];
        if !worker.alive {
            return;
        }
        worker.alive = false;
        let id = worker.id.clone();
        let connection = worker.connection;
        worker.disconnect();
        self.graveyard.insert(id.clone());
        self.cloud.caller_died(&id, self.now);
        if let Some(seat) = connection {
            self.tell(seat, Event::Left(id));
        }
    }

    fn announce_dead(&mut self) {
        let dead: Vec<WorkerId> = self.graveyard.iter().cloned().collect();
        let Some(current) = self.terms.current else { return };
        if !dead.is_empty() {
            let id = dead[self.random.index(dead.len())].clone();
            self.tell(current, Event::Dead(id));
        }
    }

    fn break_stream(&mut self) {
        let chosen = self.random.index(self.workers.len());
        let Some(seat) = self.workers[chosen].connection else { return };
        self.workers[chosen].disconnect();
        let id = self.workers[chosen].id.clone();
        self.tell(seat, Event::Left(id));
    }

    fn crash_coordinator(&mut self) {
        if let Some(current) = self.terms.current.take() {
            self.terms.seats.remove(&current);
            for worker in &mut self.workers {
                if worker.connection == Some(current) {
                    worker.disconnect();
                }
            }
        }
    }

    /// Another one takes the run over while the old one knows nothing of it.
    fn replace_coordinator(&mut self) {
        self.terms.current = None;
    }

    fn interrupt(&mut self) {
        let Some(current) = self.terms.current else { return };
        let how = [Cancel::Drain, Cancel::Drain, Cancel::Stop, Cancel::Leave][self.random.index(4)];
        self.tell(current, Event::Cancel(how));
    }

    fn begin_term(&mut self) {
        let header = block_on(self.store.runs()).expect("the model answers").remove(0);
        if header.status == RunStatus::Done {
            self.over = true;
            return;
        }
        self.terms.count += 1;
        let holder = Holder { machine: "m".to_owned(), process: self.terms.count as u32, user: "u".to_owned() };
        let (run, term) = (self.run.clone(), u128::from(self.terms.count));
        let request = Acquire { run, holder, term, unmoved: header.lease };
        let AcquireAnswer::Granted(lease) = block_on(self.store.acquire(request)).expect("the model answers") else {
            panic!("a lease that does not move is granted");
        };
        let beginning = block_on(term::prepare(&self.store, &lease, &self.outline)).map_err(|(error, _)| error);
        let beginning = beginning.expect("claims are granted");
        let resolutions = std::mem::take(&mut self.decisions);
        let options = RunOptions {
            parallelism: self.random.chance(30).then_some(3),
            gather_ms: 30,
            grace_ms: 200,
            fixed_workers: false,
            only_resolve: !resolutions.is_empty() && self.random.chance(30),
            resolutions,
        };
        let begun = Coordinator::begin(self.now, Arc::clone(&self.outline), options, beginning);
        let (core, commands) = begun.expect("a sound plan");
        let index = self.terms.count as usize;
        let holders = core.absent_holders();
        self.terms.seats.insert(index, Seat { core, lease, steps: VecDeque::new(), batch: Vec::new(), finish: None });
        self.terms.current = Some(index);
        self.carry_out(index, commands);
        for holder in holders {
            if self.graveyard.contains(&holder) && self.random.chance(60) {
                self.tell(index, Event::Dead(holder));
            }
        }
    }

    fn tell(&mut self, index: usize, event: Event) {
        let Some(seat) = self.terms.seats.get_mut(&index) else { return };
        let told = (self.diary.trace && event != Event::Tick).then(|| format!("{event:?}"));
        let commands = seat.core.step(self.now, event);
        seat.core.check_loads();
        if let Some(told) = told {
            println!("{} term {index}: {told}", self.now);
        }
        self.carry_out(index, commands);
    }

    fn carry_out(&mut self, index: usize, commands: Vec<Command>) {
        for command in commands {
            if self.diary.trace {
                println!("{} term {index} -> {command:?}", self.now);
            }
            self.diary.note(self.now);
            match command {
                Command::Store(steps) => {
                    if let Some(seat) = self.terms.seats.get_mut(&index) {
                        self.diary.note(steps.len() as u64);
                        seat.steps.extend(steps);
                    }
                }
                Command::Send { worker, orders } => {
                    let mine = |process: &&mut Process| process.id == worker && process.connection == Some(index);
                    if let Some(process) = self.workers.iter_mut().find(mine) {
                        self.diary.note(orders.len() as u64);
                        process.inbox.extend(orders);
                    }
                }
                Command::Progress(_) => {}
                Command::Finish(finish) => {
                    if let Some(seat) = self.terms.seats.get_mut(&index) {
                        seat.finish = Some(finish);
                    }
                }
            }
        }
    }

    /// Terms that are over give their lease back once the store has all their steps.
    fn end_terms(&mut self) {
        let ended = |seat: &Seat| match &seat.finish {
            Some(finish) => finish.reason == FinishReason::Fenced || (seat.batch.is_empty() && seat.steps.is_empty()),
            None => false,
        };
        let Some(index) = self.terms.seats.iter().find(|(_, seat)| ended(seat)).map(|(index, _)| *index) else {
            return;
        };
        let Some(seat) = self.terms.seats.remove(&index) else { return };
        let Some(finish) = seat.finish else { return };
        assert!(
            self.terms.current != Some(index)
                || !matches!(finish.reason, FinishReason::Fenced | FinishReason::StoreRefused | FinishReason::Defect),
            "the current term ended with {:?}",
            finish.reason
        );
        if self.terms.current == Some(index) {
            self.terms.current = None;
        }
        let answer = finish.release.map(|ending| block_on(self.store.release(&seat.lease, ending)));
        if let Some(Ok(ReleaseAnswer::Released(_))) = answer {
            self.compare(&finish);
            self.decide(&finish);
        }
        for worker in &mut self.workers {
            if worker.connection == Some(index) && self.random.chance(50) {
                worker.disconnect();
            }
        }
        // The others hear the end of what was sent, and connect again.
        self.hear_the_rest(index);
    }

    fn hear_the_rest(&mut self, seat: usize) {
        for index in 0..self.workers.len() {
            while self.workers[index].connection == Some(seat) && !self.workers[index].inbox.is_empty() {
                let mut around = Around {
                    now: self.now,
                    calm: self.steps > CHAOS_STEPS,
                    outline: &self.outline,
                    cloud: &mut self.cloud,
                    random: &mut self.random,
                    kept: &self.kept,
                };
                self.workers[index].obey(&mut around);
            }
            if self.workers[index].connection == Some(seat) {
                self.workers[index].disconnect();
            }
        }
    }

    /// What a term says at its end is what the store says.
    fn compare(&self, finish: &Finish) {
        let view = block_on(self.store.run(&self.run)).expect("the model answers").expect("the run");
        let doubtful = view.ops.iter().filter(|(_, record)| record.status == OpStatus::InDoubt);
        let doubtful: Vec<u32> = doubtful.map(|(op, _)| op.0).collect();
        // Who leaves at once says what was known then; steps were under way.
        if finish.reason != FinishReason::Left {
            assert_eq!(finish.in_doubt, doubtful, "every doubt is named");
        }
        if finish.reason == FinishReason::Complete {
            assert_eq!(finish.unfinished, Vec::<u32>::new());
            assert_eq!(finish.counts.in_doubt, view.header.counts.in_doubt);
        }
    }

    /// The user looks at what is in doubt: its machine is switched off, then the cloud is asked.
    fn decide(&mut self, finish: &Finish) {
        if finish.reason == FinishReason::Left || !(self.calm() || self.random.chance(70)) {
            return;
        }
        let view = block_on(self.store.run(&self.run)).expect("the model answers").expect("the run");
        for operation in &finish.in_doubt {
            let Some(record) = view.ops.get(&OpIndex(*operation)) else { continue };
            if let Some(index) = self.workers.iter().position(|worker| worker.id == record.worker) {
                self.kill(index);
            }
            let decision = match self.cloud.has(*operation) {
                true => Decision::Adopt("id".to_owned()),
                false if self.random.chance(50) => Decision::Absent,
                false => Decision::Retry,
            };
            self.decisions.push(UserResolution { operation: *operation, decision });
        }
    }

    /// The cloud's ledger against the store.
    fn judge(&self) {
        let view = block_on(self.store.run(&self.run)).expect("the model answers").expect("the run");
        let snapshot = block_on(self.store.snapshot()).expect("the model answers");
        assert!(snapshot.doubts.is_empty());
        for operation in &self.outline.operations {
            let status = view.ops.get(&OpIndex(operation.index)).map(|record| record.status);
            assert_eq!(status, Some(OpStatus::Done), "{}", operation.address);
            if operation.changes_world {
                assert_eq!(self.cloud.effects.get(&operation.index), Some(&1), "{}", operation.address);
                let there = snapshot.instances.contains_key(&operation.address);
                assert_eq!(there, operation.action == "act" && !is_delete(operation), "{}", operation.address);
            }
        }
    }
}

fn is_delete(operation: &crate::outline::OutlineOperation) -> bool {
    operation.kind == crate::outline::OperationKind::Delete
}
