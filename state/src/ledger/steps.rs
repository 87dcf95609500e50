//! Steps about operations: their legality and their effects.

use weft_mutants::mutant;

use super::{Ledger, RunState};
use crate::content::{digest_of, excludes, overtaken};
use crate::result::{CommitRecord, Failure, Writes};
use crate::run::{Attempt, Digest, Lease, OpIndex, OpStatus, RunId, WorkerId};
use crate::step::{ClaimMode, DoubtOutcome, Fenced, Intent, Resolution, Stale, StoreAnswer, StoreStep};
use crate::subject::{Doubt, Revision, Subject};

/// Whether a step is new or a repetition.
enum Fresh {
    New,
    Repeated,
}

/// The identity of a commit or failure, by which a repetition is recognized.
struct StepIdentity<'a> {
    op: OpIndex,
    attempt: Attempt,
    worker: &'a WorkerId,
    intended: bool,
    becomes: OpStatus,
}

impl Ledger {
    /// The run of a lease, if the lease is current.
    pub(crate) fn check(&self, lease: &Lease) -> Result<&RunState, Fenced> {
        if lease.incarnation != self.incarnation {
            return Err(Fenced::Incarnation { now: self.incarnation });
        }
        let run = self.runs.get(&lease.run).ok_or(Fenced::NoRun)?;
        let now = run.lease.as_ref().map(|lease| lease.token);
        if now == Some(lease.token) || mutant!(EpochUnchecked) { Ok(run) } else { Err(Fenced::Token { now }) }
    }

    /// Executes the steps of the holder of a lease, in order.
    pub(crate) fn steps(&mut self, lease: &Lease, steps: &[StoreStep]) -> Vec<StoreAnswer> {
        let mut answers: Vec<StoreAnswer> = steps.iter().map(|step| self.step(lease, step)).collect();
        for position in overtaken(steps, &answers) {
            let revisions = self.repeated(&lease.run, &steps[position]);
            answers[position] = StoreAnswer::Ok { revisions, repeated: true };
        }
        answers
    }

    /// Executes one step of the holder of a lease.
    fn step(&mut self, lease: &Lease, step: &StoreStep) -> StoreAnswer {
        let run = match self.check(lease) {
            Ok(run) => run,
            Err(fenced) => match self.runs.get(&lease.run) {
                Some(run) if mutant!(FenceUncheckedAtCommit) && matches!(step, StoreStep::Commit(_)) => run,
                _ => return StoreAnswer::Fenced(fenced),
            },
        };
        match self.examine(&lease.run, run, step) {
            Err(answer) => answer,
            Ok(Fresh::Repeated) => StoreAnswer::Ok { revisions: self.repeated(&lease.run, step), repeated: true },
            Ok(Fresh::New) => StoreAnswer::Ok { revisions: self.apply(&lease.run, step, true), repeated: false },
        }
    }

    /// Checks whether the step is allowed. Changes nothing.
    fn examine(&self, id: &RunId, run: &RunState, step: &StoreStep) -> Result<Fresh, StoreAnswer> {
        match step {
            StoreStep::Intent(intent) => self.examine_intent(id, run, intent),
            StoreStep::Commit(commit) => {
                let CommitRecord { op, attempt, worker, intended, writes, .. } = commit;
                let said =
                    StepIdentity { op: *op, attempt: *attempt, worker, intended: *intended, becomes: OpStatus::Done };
                self.examine_result(id, run, said, writes, || digest_of(commit))
            }
            StoreStep::Fail(failure) => {
                let Failure { op, attempt, worker, intended, writes, .. } = failure;
                let said =
                    StepIdentity { op: *op, attempt: *attempt, worker, intended: *intended, becomes: OpStatus::Failed };
                self.examine_result(id, run, said, writes, || digest_of(failure))
            }
            StoreStep::Doubt { op, attempt, .. } => {
                let state = run.ops.get(op).map(|state| (state.record.status, state.record.attempt));
                match state {
                    Some((OpStatus::InDoubt, known)) if known == *attempt => Ok(Fresh::Repeated),
                    Some((OpStatus::Intended, known)) if known == *attempt => Ok(Fresh::New),
                    _ => Err(illegal(run, *op)),
                }
            }
            StoreStep::Resolve(resolution) => self.examine_resolution(id, run, resolution),
            StoreStep::Skip { op, .. } => match status(run, *op) {
                OpStatus::Skipped => Ok(Fresh::Repeated),
                OpStatus::Pending | OpStatus::Failed => Ok(Fresh::New),
                _ => Err(illegal(run, *op)),
            },
            StoreStep::Reopen { op } => match status(run, *op) {
                OpStatus::Pending => Ok(Fresh::Repeated),
                OpStatus::Failed | OpStatus::Skipped => Ok(Fresh::New),
                _ => Err(illegal(run, *op)),
            },
            StoreStep::Checks(writes) => self.examine_writes(id, run, writes).map(|()| Fresh::New),
            StoreStep::Stray(stray) => {
                let known = run.strays.contains_key(&digest_of(stray));
                Ok(if known { Fresh::Repeated } else { Fresh::New })
            }
        }
    }

    fn examine_intent(&self, id: &RunId, run: &RunState, intent: &Intent) -> Result<Fresh, StoreAnswer> {
        let known = run.ops.get(&intent.op).map(|state| &state.record);
        if let Some(known) = known
            && known.status == OpStatus::Intended
            && (known.attempt, &known.worker, &known.planned) == (intent.attempt, &intent.worker, &intent.planned)
            && known.target.as_ref() == Some(&intent.target)
        {
            return Ok(Fresh::Repeated);
        }
        if !may_begin(run, intent.op, intent.attempt) {
            return Err(illegal(run, intent.op));
        }
        let subject = Subject::Instance(intent.target.address.clone());
        if run.claims.get(&subject) != Some(&ClaimMode::Exclusive) {
            return Err(StoreAnswer::NotClaimed(vec![subject]));
        }
        if let Some(doubt) = self.doubts.get(&intent.target) {
            return Err(StoreAnswer::Doubtful(Box::new(doubt.clone())));
        }
        let found = self.revision(&subject);
        match intent.base {
            Some(expected) if expected != found => Err(StoreAnswer::Stale(vec![Stale { subject, expected, found }])),
            _ => {
                debug_assert!(self.claims.get(&subject).is_some_and(|runs| runs.contains_key(id)));
                Ok(Fresh::New)
            }
        }
    }

    fn examine_result(
        &self,
        id: &RunId,
        run: &RunState,
        said: StepIdentity<'_>,
        writes: &Writes,
        digest: impl FnOnce() -> Digest,
    ) -> Result<Fresh, StoreAnswer> {
        let StepIdentity { op, attempt, worker, intended, becomes } = said;
        let known = run.ops.get(&op);
        if let Some(known) = known
            && known.record.status == becomes
            && (known.record.attempt, &known.record.worker) == (attempt, worker)
            && known.settled == digest()
        {
            return Ok(Fresh::Repeated);
        }
        let legal = if intended {
            known.is_some_and(|known| {
                let record = &known.record;
                record.status == OpStatus::Intended && (record.attempt, &record.worker) == (attempt, worker)
            })
        } else {
            may_begin(run, op, attempt)
        };
        if !legal {
            return Err(illegal(run, op));
        }
        self.examine_writes(id, run, writes).map(|()| Fresh::New)
    }

    /// Checks that the run has an exclusive claim on each instance in `writes`, and that no other run has claimed the
    /// other subjects in `writes`, such as outputs and check results.
    fn examine_writes(&self, id: &RunId, run: &RunState, writes: &Writes) -> Result<(), StoreAnswer> {
        let refused: Vec<Subject> = writes
            .subjects()
            .into_iter()
            .filter(|subject| {
                if run.claims.get(subject) == Some(&ClaimMode::Exclusive) {
                    return false;
                }
                let others = self.claims.get(subject).into_iter().flatten();
                let mut taken = others.filter(|(other, mode)| *other != id && excludes(ClaimMode::Exclusive, **mode));
                matches!(subject, Subject::Instance(_)) || taken.next().is_some()
            })
            .collect();
        if refused.is_empty() { Ok(()) } else { Err(StoreAnswer::NotClaimed(refused)) }
    }

    fn examine_resolution(&self, id: &RunId, run: &RunState, step: &Resolution) -> Result<Fresh, StoreAnswer> {
        let (becomes, settled, writes) = match &step.outcome {
            DoubtOutcome::Done(commit) => (OpStatus::Done, digest_of(commit), Some(&commit.writes)),
            DoubtOutcome::Failed(failure) => (OpStatus::Failed, digest_of(failure), Some(&failure.writes)),
            DoubtOutcome::Pending => (OpStatus::Pending, digest_of(step), None),
        };
        let Some(known) = run.ops.get(&step.op) else { return Err(illegal(run, step.op)) };
        if known.record.status == becomes && known.record.attempt == step.attempt && known.settled == settled {
            return Ok(Fresh::Repeated);
        }
        if known.record.status != OpStatus::InDoubt || known.record.attempt != step.attempt {
            return Err(illegal(run, step.op));
        }
        match writes {
            Some(writes) => self.examine_writes(id, run, writes).map(|()| Fresh::New),
            None => Ok(Fresh::New),
        }
    }

    /// The revisions that the first delivery of a repeated step returned.
    fn repeated(&self, id: &RunId, step: &StoreStep) -> Vec<(Subject, Revision)> {
        let Some(run) = self.runs.get(id) else { return Vec::new() };
        let known = |subject: Subject| run.written.get(&subject).map(|revision| (subject.clone(), *revision));
        step.writes().into_iter().flat_map(Writes::subjects).filter_map(known).collect()
    }

    /// Executes a step that was examined or comes from the journal. If `state` is `false`, changes only the record of
    /// the run, because the state already contains the writes of the step.
    pub(crate) fn apply(&mut self, id: &RunId, step: &StoreStep, state: bool) -> Vec<(Subject, Revision)> {
        if let StoreStep::Doubt { op, attempt, reason } = step {
            self.doubt(id, *op, *attempt, reason);
            return Vec::new();
        }
        let keep = self.keep_results;
        let Some(run) = self.runs.get_mut(id) else { return Vec::new() };
        match step {
            StoreStep::Intent(intent) => {
                run.set_status(intent.op, OpStatus::Intended);
                let known = &mut run.ops.entry(intent.op).or_default().record;
                known.attempt = intent.attempt;
                known.worker = intent.worker.clone();
                known.target = Some(intent.target.clone());
                known.action = Some(intent.action.clone());
                known.planned = intent.planned;
                known.result = None;
                known.failure = None;
            }
            StoreStep::Commit(commit) => settle_done(run, commit, keep),
            StoreStep::Fail(failure) => settle_failed(run, failure, keep),
            StoreStep::Resolve(resolution) => {
                let key = run.ops.get(&resolution.op).and_then(|known| known.record.target.clone());
                match &resolution.outcome {
                    DoubtOutcome::Done(commit) => settle_done(run, commit, keep),
                    DoubtOutcome::Failed(failure) => settle_failed(run, failure, keep),
                    DoubtOutcome::Pending => {
                        run.set_status(resolution.op, OpStatus::Pending);
                        run.ops.entry(resolution.op).or_default().settled = digest_of(resolution);
                    }
                }
                if let Some(key) = key
                    && self.doubts.get(&key).is_some_and(|doubt| doubt.run == *id && doubt.op == resolution.op)
                {
                    self.doubts.remove(&key);
                }
            }
            StoreStep::Skip { op, .. } => run.set_status(*op, OpStatus::Skipped),
            StoreStep::Reopen { op } => run.set_status(*op, OpStatus::Pending),
            StoreStep::Stray(stray) => {
                run.strays.insert(digest_of(stray), stray.clone());
            }
            StoreStep::Doubt { .. } | StoreStep::Checks(_) => {}
        }
        match step.writes() {
            Some(writes) => self.write(id, writes, state),
            None => Vec::new(),
        }
    }

    /// Turns an open intent into a doubt.
    pub(super) fn doubt(&mut self, id: &RunId, op: OpIndex, attempt: Attempt, reason: &str) {
        let Some(run) = self.runs.get_mut(id) else { return };
        run.set_status(op, OpStatus::InDoubt);
        let known = &run.ops.entry(op).or_default().record;
        if let Some((key, action)) = known.target.clone().zip(known.action.clone()) {
            let doubt = Doubt {
                key: key.clone(),
                run: id.clone(),
                op,
                attempt,
                worker: known.worker.clone(),
                action,
                planned: known.planned,
                reason: reason.to_owned(),
            };
            self.doubts.insert(key, doubt);
        }
    }

    /// Writes to the state outside of any run.
    pub(crate) fn overwrite(&mut self, writes: &Writes) {
        self.content.begin_commit();
        for write in &writes.instances {
            self.content.set_instance(&write.address, write.record.clone());
        }
        for write in &writes.outputs {
            self.content.set_output(write.clone());
        }
        if let Some(checks) = &writes.checks {
            self.content.set_checks(checks.clone());
        }
    }

    /// Writes to the state. A subject gets its new revision even if its content does not change.
    fn write(&mut self, id: &RunId, writes: &Writes, state: bool) -> Vec<(Subject, Revision)> {
        if writes.is_empty() {
            return Vec::new();
        }
        self.content.begin_commit();
        let mut written = Vec::with_capacity(writes.instances.len() + writes.outputs.len());
        for write in &writes.instances {
            let revision = match state {
                true => self.content.set_instance(&write.address, write.record.clone()),
                false => write.record.as_ref().map(crate::content::content_revision).unwrap_or_default(),
            };
            written.push((Subject::Instance(write.address.clone()), revision));
        }
        for write in &writes.outputs {
            let revision = match state {
                true => self.content.set_output(write.clone()),
                false => write.record.as_ref().map(crate::content::content_revision).unwrap_or_default(),
            };
            written.push((Subject::Output(write.name.clone()), revision));
        }
        if let Some(checks) = &writes.checks {
            let revision = match state {
                true => self.content.set_checks(checks.clone()),
                false => checks.as_ref().map(crate::content::content_revision).unwrap_or_default(),
            };
            written.push((Subject::Checks, revision));
        }
        if let Some(run) = self.runs.get_mut(id) {
            run.written.extend(written.iter().cloned());
        }
        written
    }
}

fn settle_done(run: &mut RunState, commit: &CommitRecord, keep: bool) {
    run.set_status(commit.op, OpStatus::Done);
    let state = run.ops.entry(commit.op).or_default();
    state.settled = digest_of(commit);
    state.record.attempt = commit.attempt;
    state.record.worker = commit.worker.clone();
    state.record.failure = None;
    state.record.result = keep.then(|| commit.result.clone());
}

fn settle_failed(run: &mut RunState, failure: &Failure, keep: bool) {
    run.set_status(failure.op, OpStatus::Failed);
    let state = run.ops.entry(failure.op).or_default();
    state.settled = digest_of(failure);
    state.record.attempt = failure.attempt;
    state.record.worker = failure.worker.clone();
    state.record.result = None;
    state.record.failure = keep.then(|| failure.clone());
}

fn status(run: &RunState, op: OpIndex) -> OpStatus {
    run.ops.get(&op).map(|state| state.record.status).unwrap_or_default()
}

/// Whether a new attempt may begin: the operation is idle, and the attempt is later than every earlier one.
fn may_begin(run: &RunState, op: OpIndex, attempt: Attempt) -> bool {
    let last = run.ops.get(&op).map(|state| state.record.attempt).unwrap_or_default();
    attempt > last && matches!(status(run, op), OpStatus::Pending | OpStatus::Failed | OpStatus::Skipped)
}

fn illegal(run: &RunState, op: OpIndex) -> StoreAnswer {
    let record = run.ops.get(&op).map(|state| state.record.clone()).unwrap_or_default();
    StoreAnswer::Illegal { status: record.status, attempt: record.attempt, worker: record.worker }
}
