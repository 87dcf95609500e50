//! Runs the same histories of steps against the model, the embedded store and a real Redis. Every answer, the state and
//! the runs must agree. A failure prints its seed, and `WEFT_SEED=N` runs only that seed.

#[path = "support/redis_server.rs"]
mod redis_server;
mod support;
#[path = "support/sealing.rs"]
mod with_words;

use std::collections::BTreeMap;
use std::sync::Arc;

use support::*;
use weft_state::*;

/// The number of histories for each pair of stores.
const HISTORIES: u64 = 60;
/// The number of actions of one history.
const LENGTH: u32 = 70;
/// The number of instances and operations. It is small so that actions collide.
const INSTANCES: u64 = 4;
const OPERATIONS: u64 = 6;

/// One in this many histories has an encrypted state.
const SEALED: u64 = 3;

/// SplitMix64: a seed determines a history.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.roll(100) < percent
    }
}

/// A store and the leases that it granted.
struct Side {
    store: Box<dyn RunStore>,
    leases: BTreeMap<(String, u128), Lease>,
    revisions: BTreeMap<Subject, Revision>,
}

impl Side {
    fn new(store: Box<dyn RunStore>) -> Side {
        Side { store, leases: BTreeMap::new(), revisions: BTreeMap::new() }
    }
}

#[derive(Clone, Debug)]
enum Action {
    Create(&'static str),
    Acquire { run: &'static str, term: u128, takeover: bool },
    Renew((String, u128)),
    Claim { lease: (String, u128), claims: Vec<(Subject, ClaimMode, bool)> },
    Steps { lease: (String, u128), steps: Vec<StoreStep> },
    Release { lease: (String, u128), ending: TermEnding },
    Abandon((String, u128)),
}

/// The state of a generated history.
struct Script {
    dice: Dice,
    runs: Vec<&'static str>,
    /// Every requested lease, newest last.
    leases: Vec<(String, u128)>,
    terms: u128,
    content: u64,
}

impl Script {
    fn new(seed: u64, runs: &[&'static str]) -> Script {
        Script { dice: Dice(seed), runs: runs.to_vec(), leases: Vec::new(), terms: 0, content: 0 }
    }

    fn run(&mut self) -> &'static str {
        let at = self.dice.roll(self.runs.len() as u64);
        self.runs[at as usize]
    }

    fn acquire(&mut self, run: &'static str, takeover: bool) -> Action {
        self.terms += 1;
        self.leases.push((run.to_owned(), self.terms));
        Action::Acquire { run, term: self.terms, takeover }
    }

    /// Usually the newest lease of a run, sometimes an old one.
    fn lease(&mut self) -> (String, u128) {
        let run = self.run();
        let of_run: Vec<_> = self.leases.iter().filter(|(name, _)| name == run).cloned().collect();
        let old = self.dice.chance(6);
        let pick = if old { of_run.first() } else { of_run.last() };
        pick.cloned().unwrap_or((run.to_owned(), 0))
    }

    fn next(&mut self) -> Action {
        match self.dice.roll(100) {
            0..3 => Action::Create(self.run()),
            3..11 => {
                let (run, takeover) = (self.run(), self.dice.chance(50));
                self.acquire(run, takeover)
            }
            11..14 => Action::Renew(self.lease()),
            14..28 => Action::Claim { lease: self.lease(), claims: self.claims() },
            28..90 => {
                let count = 1 + self.dice.roll(9);
                Action::Steps { lease: self.lease(), steps: (0..count).map(|_| self.step()).collect() }
            }
            90..97 => {
                let ending = if self.dice.chance(50) { TermEnding::Stopped } else { TermEnding::Finished };
                Action::Release { lease: self.lease(), ending }
            }
            _ => Action::Abandon(self.lease()),
        }
    }

    fn claims(&mut self) -> Vec<(Subject, ClaimMode, bool)> {
        let count = 1 + self.dice.roll(5);
        (0..count)
            .map(|_| {
                let index = self.dice.roll(INSTANCES) as u32;
                let subject = match self.dice.roll(10) {
                    0 => Subject::Output("o".to_owned()),
                    1 => Subject::Dependents(format!("sim_thing.d{index}")),
                    2 => Subject::Checks,
                    _ => Subject::Instance(address(index)),
                };
                let mode = if self.dice.chance(75) { ClaimMode::Exclusive } else { ClaimMode::Shared };
                (subject, mode, self.dice.chance(95))
            })
            .collect()
    }

    fn writes(&mut self, index: u32) -> Writes {
        self.content += 1;
        let there = self.dice.chance(75);
        let mut writes = writes(index, there.then_some(self.content));
        if let Some(object) = writes.instances[0].record.as_mut().and_then(|record| record.current.as_mut()) {
            let count = self.dice.roll(3);
            object.dependencies = (0..count).map(|name| format!("sim_thing.d{name}")).collect();
        }
        match self.dice.roll(12) {
            0 => {
                let record = OutputRecord {
                    value: RawJson::new(self.content.to_string()),
                    value_type: RawJson::new("\"number\""),
                    sensitive: false,
                    deprecated: None,
                };
                let record = self.dice.chance(70).then_some(record);
                writes.outputs.push(OutputWrite { name: "o".to_owned(), record });
            }
            1 => writes.checks = Some(None),
            2 => writes = Writes::default(),
            _ => {}
        }
        writes
    }

    fn step(&mut self) -> StoreStep {
        let op = self.dice.roll(OPERATIONS) as u32;
        let attempt = 1 + self.dice.roll(3) as u32;
        // An operation usually has the same instance each time.
        let index = if self.dice.chance(85) { op % INSTANCES as u32 } else { self.dice.roll(INSTANCES) as u32 };
        match self.dice.roll(100) {
            0..34 => intent(op, attempt, index),
            34..60 => {
                let writes = self.writes(index);
                let intended = self.dice.chance(85);
                StoreStep::Commit(CommitRecord { writes, intended, ..commit_record(op, attempt, index, None) })
            }
            60..70 => {
                let writes = if self.dice.chance(30) { self.writes(index) } else { Writes::default() };
                use FailureKind::{AbsenceUnproven, Error, GivenUp, ObjectKept};
                let kinds = [Error, AbsenceUnproven, GivenUp, ObjectKept];
                let kind = kinds[self.dice.roll(4) as usize];
                StoreStep::Fail(Failure { writes, kind, ..failure_record(op, attempt) })
            }
            70..78 => StoreStep::Doubt { op: OpIndex(op), attempt: Attempt(attempt), reason: "gone away".to_owned() },
            78..87 => {
                let writes = self.writes(index);
                let outcome = match self.dice.roll(3) {
                    0 => DoubtOutcome::Pending,
                    1 => DoubtOutcome::Failed(failure_record(op, attempt)),
                    _ => DoubtOutcome::Done(CommitRecord { writes, ..commit_record(op, attempt, index, None) }),
                };
                let evidence = Evidence::User("-retry".to_owned());
                StoreStep::Resolve(Resolution { op: OpIndex(op), attempt: Attempt(attempt), evidence, outcome })
            }
            87..92 => StoreStep::Skip { op: OpIndex(op), because: OpIndex(0) },
            92..97 => StoreStep::Reopen { op: OpIndex(op) },
            _ => StoreStep::Stray(Stray {
                op: OpIndex(op),
                attempt: Attempt(attempt),
                worker: worker(),
                key: DoubtKey::current(address(index)),
                object: None,
            }),
        }
    }
}

/// Removes epochs and incarnations, which may differ between stores. Terms must be equal.
fn plain(text: String) -> String {
    let mut out = String::new();
    let mut words = text.split_inclusive(|character: char| !character.is_ascii_alphanumeric() && character != ':');
    for word in &mut words {
        match word.split_once(':') {
            Some((epoch, term)) if term.len() >= 32 && epoch.bytes().all(|byte| byte.is_ascii_digit()) => {
                out.push_str("EPOCH:");
                out.push_str(term);
            }
            _ => out.push_str(word),
        }
    }
    out
}

/// The answer without the past of the run, which differs between stores.
fn timeless(mut answer: ReleaseAnswer) -> ReleaseAnswer {
    if let ReleaseAnswer::Released(header) = &mut answer {
        header.past = Default::default();
    }
    answer
}

async fn act(side: &mut Side, action: &Action) -> String {
    let lease = |side: &Side, key: &(String, u128)| side.leases.get(key).cloned();
    match action {
        Action::Create(run) => {
            format!("{:?}", side.store.create_run(new_run(run, OPERATIONS as u32, 1)).await.unwrap())
        }
        Action::Acquire { run, term, takeover } => {
            let unmoved = match side.store.run(&run_id(run)).await.unwrap().and_then(|run| run.header.lease) {
                Some(lease) if *takeover => Some(lease),
                _ => None,
            };
            let request = Acquire { unmoved, ..acquire_request(run, *term) };
            match side.store.acquire(request).await.unwrap() {
                AcquireAnswer::Granted(lease) => {
                    side.leases.insert(((*run).to_owned(), *term), lease);
                    "granted".to_owned()
                }
                AcquireAnswer::Held(view) => format!("held {}", view.token.term),
                AcquireAnswer::NoRun => "no run".to_owned(),
            }
        }
        Action::Renew(key) => match lease(side, key) {
            Some(lease) => format!("{:?}", side.store.renew(&lease).await.unwrap()),
            None => "no lease".to_owned(),
        },
        Action::Claim { lease: key, claims } => {
            let Some(lease) = lease(side, key) else { return "no lease".to_owned() };
            let snapshot = side.store.snapshot().await.unwrap();
            let claims: Vec<Claim> = claims
                .iter()
                .map(|(subject, mode, right)| {
                    let now = snapshot.revision(subject);
                    let expected = if *right { now } else { Revision(now.0 ^ 1) };
                    Claim { subject: subject.clone(), mode: *mode, expected }
                })
                .collect();
            format!("{:?}", side.store.claim(&lease, &claims).await.unwrap())
        }
        Action::Steps { lease: key, steps } => {
            let Some(lease) = lease(side, key) else { return "no lease".to_owned() };
            let mut steps = steps.clone();
            for step in &mut steps {
                if let StoreStep::Intent(intent) = step
                    && intent.attempt.0 == 2
                {
                    // Half of these intents have a base revision, which may be old.
                    let subject = Subject::Instance(intent.target.address.clone());
                    intent.base = Some(side.revisions.get(&subject).copied().unwrap_or_default());
                }
            }
            let answers = side.store.step_batch(&lease, steps).await.unwrap();
            for answer in &answers {
                if let StoreAnswer::Ok { revisions, .. } = answer {
                    side.revisions.extend(revisions.iter().cloned());
                }
            }
            format!("{answers:?}")
        }
        Action::Release { lease: key, ending } => {
            let Some(lease) = lease(side, key) else { return "no lease".to_owned() };
            format!("{:?}", timeless(side.store.release(&lease, *ending).await.unwrap()))
        }
        Action::Abandon(key) => match lease(side, key) {
            Some(lease) => format!("{:?}", timeless(side.store.abandon(&lease).await.unwrap())),
            None => "no lease".to_owned(),
        },
    }
}

/// The state and the runs in a comparable form: without lineage, serial and ages.
async fn picture(side: &Side, runs: &[&str]) -> (Snapshot, Vec<Option<RunView>>) {
    let mut snapshot = side.store.snapshot().await.unwrap();
    snapshot.lineage.clear();
    snapshot.terraform_version.clear();
    snapshot.serial = 0;
    let mut views = Vec::new();
    for run in runs {
        let mut view = side.store.run(&run_id(run)).await.unwrap();
        if let Some(lease) = view.as_mut().and_then(|view| view.header.lease.as_mut()) {
            lease.age_ms = None;
            lease.token.epoch = 0;
        }
        if let Some(view) = &mut view {
            view.header.past = Default::default();
            // An operation that was only skipped and reopened may or may not have an entry.
            view.ops.retain(|_, op| *op != OpRecord::default());
        }
        views.push(view);
    }
    (snapshot, views)
}

async fn compare(seed: u64, number: u32, action: &Action, left: &mut Side, right: &mut Side, runs: &[&str]) -> String {
    let (one, other) = (plain(act(left, action).await), plain(act(right, action).await));
    assert_eq!(one, other, "seed {seed}, action {number}: {action:?}");
    let (one_picture, other_picture) = (picture(left, runs).await, picture(right, runs).await);
    assert_eq!(one_picture, other_picture, "seed {seed}, after action {number}: {action:?}");
    one
}

fn seeds() -> Vec<u64> {
    match std::env::var("WEFT_SEED") {
        Ok(text) => vec![text.parse().unwrap()],
        Err(_) => (0..HISTORIES).collect(),
    }
}

#[tokio::test]
async fn redis_agrees_with_the_model() {
    let Some(server) = redis_server::Server::start() else { return };
    let runs = ["run-a", "run-b"];
    let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
    let sealing = with_words::sealing("words for all histories", false);
    for seed in seeds() {
        let mut script = Script::new(seed, &runs);
        let sealing = if seed % SEALED == 0 { sealing.clone() } else { Arc::default() };
        let url = server.url(&format!("s{seed}"));
        let store = RedisStore::connect(&url, "default", true, sealing).await.unwrap();
        let mut redis = Side::new(Box::new(store));
        let mut model = Side::new(Box::new(ModelStore::new(RevisionRule::Sequence, seed)));
        let mut opening = vec![Action::Create("run-a"), Action::Create("run-b")];
        opening.extend(runs.map(|run| script.acquire(run, false)));
        let rest: Vec<Action> = (0..LENGTH).map(|_| script.next()).collect();
        for (number, action) in (0..).zip(opening.into_iter().chain(rest)) {
            let answer = compare(seed, number, &action, &mut model, &mut redis, &runs).await;
            for kind in ["Ok {", "repeated: true", "Stale", "NotClaimed", "Doubtful", "Illegal", "Refused", "Open("] {
                *kinds.entry(kind.to_owned()).or_default() += u32::from(answer.contains(kind));
            }
        }
        for run in runs {
            let (model, redis) =
                (model.store.journal(&run_id(run)).await.unwrap(), redis.store.journal(&run_id(run)).await.unwrap());
            let words =
                |lines: &[JournalLine]| lines.iter().filter(|line| line.op.is_some() && line.event != "doubt").count();
            assert_eq!(words(&model), words(&redis), "seed {seed}");
        }
    }
    eprintln!("answers seen: {kinds:?}");
    if std::env::var("WEFT_SEED").is_err() {
        assert!(kinds.values().all(|count| *count > 0), "histories miss an answer: {kinds:?}");
    }
}

#[tokio::test]
async fn the_embedded_store_agrees_with_the_model_after_crashes() {
    let runs = ["run-a", "run-b"];
    let sealing = with_words::sealing("words for all histories", false);
    for seed in seeds() {
        let folder = tempfile::tempdir().unwrap();
        let open = || {
            let state = folder.path().join("terraform.tfstate");
            let sealing = if seed % SEALED == 0 { sealing.clone() } else { Arc::default() };
            EmbeddedStore::open(EmbeddedOptions { sealing, ..EmbeddedOptions::new(state, holder()) }).unwrap()
        };
        let mut script = Script::new(seed, &runs);
        let mut embedded = Side::new(Box::new(open()));
        let mut model = Side::new(Box::new(ModelStore::new(RevisionRule::Content, seed)));
        let mut number = 0;
        for run in runs {
            compare(seed, number, &Action::Create(run), &mut model, &mut embedded, &runs).await;
        }
        // One lease at a time: each round is one term of a run, which ends with a release or a crash.
        for _ in 0..6 {
            let run = script.run();
            let begin = script.acquire(run, true);
            script.runs = vec![run];
            assert_eq!(act(&mut model, &begin).await, "granted", "seed {seed}");
            assert_eq!(act(&mut embedded, &begin).await, "granted", "seed {seed}");
            for _ in 0..LENGTH / 6 {
                number += 1;
                let action = script.next();
                if matches!(action, Action::Acquire { .. }) {
                    script.leases.pop();
                    continue;
                }
                compare(seed, number, &action, &mut model, &mut embedded, &runs).await;
            }
            script.runs = runs.to_vec();
            if script.dice.chance(50) {
                // The dead process releases the lock before the next process opens the file.
                embedded.store = Box::new(ModelStore::new(RevisionRule::Content, 0));
                embedded.store = Box::new(open());
                embedded.leases.clear();
                // In the model, a takeover changes only the lease. Everything else stays, including open intents.
                let (left, right) = (picture(&model, &runs).await, picture(&embedded, &runs).await);
                assert_eq!(left.0, right.0, "seed {seed}: state after a crash");
                for (left, right) in left.1.into_iter().zip(right.1) {
                    let ops =
                        |view: Option<RunView>| view.map(|view| (view.ops, view.claims, view.written, view.strays));
                    assert_eq!(ops(left), ops(right), "seed {seed}: runs after a crash");
                }
                model.leases.clear();
                // No other run may begin before the crashed run is taken over.
                script.runs = vec![run];
                let again = script.acquire(run, true);
                act(&mut model, &again).await;
                act(&mut embedded, &again).await;
                script.runs = runs.to_vec();
            }
            let last = script.leases.last().cloned().unwrap();
            for ending in
                [Action::Release { lease: last.clone(), ending: TermEnding::Stopped }, Action::Abandon(last.clone())]
            {
                let answer = compare(seed, number, &ending, &mut model, &mut embedded, &runs).await;
                if answer.contains("Released") || answer.contains("Fenced") {
                    break;
                }
            }
        }
    }
}
