//! Operations on whole runs: creation, lease, claims and end.

use std::collections::{BTreeMap, BTreeSet};

use weft_mutants::mutant;

use super::{LeaseState, Ledger, RunState};
use crate::content::{excludes, ordered};
use crate::run::{
    Attempt, Digest, Holder, Lease, LeaseView, NewRun, OpCounts, OpIndex, OpStatus, RunHeader, RunId, RunStatus, Token,
};
use crate::step::{
    Acquire, AcquireAnswer, Claim, ClaimAnswer, CreateAnswer, Fenced, HeldSubject, ReleaseAnswer, RenewAnswer, Stale,
    TermEnding,
};
use crate::subject::Subject;

/// The reason for the doubt of an abandoned intent.
pub(crate) const ABANDONED: &str = "the run was abandoned during this call";

impl Ledger {
    /// Adds a new run.
    pub(crate) fn create(&mut self, run: NewRun, keep_plan: bool) -> CreateAnswer {
        let plan = Digest::of(&run.plan.0);
        if let Some(known) = self.runs.get(&run.id) {
            let same =
                (known.plan, known.operations, known.started_unix_ms) == (plan, run.operations, run.started_unix_ms);
            let untouched =
                known.ops.is_empty() && known.strays.is_empty() && !known.claimed && known.status == RunStatus::Stopped;
            return if same && untouched { CreateAnswer::Created } else { CreateAnswer::Exists(known.status) };
        }
        let state = RunState {
            plan,
            plan_bytes: if keep_plan { run.plan } else { Default::default() },
            operations: run.operations,
            started_unix_ms: run.started_unix_ms,
            status: RunStatus::Stopped,
            claimed: false,
            abandoned: false,
            lease: None,
            holder: Holder::default(),
            ops: BTreeMap::new(),
            counts: OpCounts::default(),
            written: BTreeMap::new(),
            claims: BTreeMap::new(),
            strays: BTreeMap::new(),
            summarised: None,
        };
        self.runs.insert(run.id, state);
        CreateAnswer::Created
    }

    /// ACQUIRE. `alone` means that the caller has the lock of the embedded store, so there is no other holder.
    pub(crate) fn acquire(&mut self, request: &Acquire, alone: bool) -> AcquireAnswer {
        let Some(run) = self.runs.get_mut(&request.run) else { return AcquireAnswer::NoRun };
        let grant =
            |token| AcquireAnswer::Granted(Lease { run: request.run.clone(), incarnation: self.incarnation, token });
        if let Some(lease) = &run.lease {
            if lease.token.term == request.term {
                return grant(lease.token);
            }
            let unmoved = request.unmoved.as_ref();
            let seen = unmoved.is_some_and(|seen| (seen.token, seen.heartbeat) == (lease.token, lease.heartbeat));
            if !alone && !seen && !mutant!(TakeoverWithoutWaiting) {
                let view = LeaseView {
                    token: lease.token,
                    heartbeat: lease.heartbeat,
                    holder: run.holder.clone(),
                    age_ms: None,
                };
                return AcquireAnswer::Held(view);
            }
        }
        self.epoch += 1;
        let token = Token { epoch: self.epoch, term: request.term };
        run.lease = Some(LeaseState { token, heartbeat: 0 });
        run.holder = request.holder.clone();
        run.status = RunStatus::Running;
        run.abandoned = false;
        run.summarised = None;
        grant(token)
    }

    /// RENEW.
    pub(crate) fn renew(&mut self, lease: &Lease) -> RenewAnswer {
        if let Err(fenced) = self.check(lease) {
            return RenewAnswer::Fenced(fenced);
        }
        match self.runs.get_mut(&lease.run).and_then(|run| run.lease.as_mut()) {
            Some(state) => {
                state.heartbeat += 1;
                RenewAnswer::Renewed { heartbeat: state.heartbeat }
            }
            None => RenewAnswer::Fenced(Fenced::Token { now: None }),
        }
    }

    /// CLAIM: grants all claims or none.
    pub(crate) fn claim(&mut self, lease: &Lease, claims: &[Claim]) -> ClaimAnswer {
        if let Err(fenced) = self.check(lease) {
            return ClaimAnswer::Fenced(fenced);
        }
        let claims = ordered(claims);
        let mut stale = Vec::new();
        let mut held = Vec::new();
        for claim in &claims {
            let others = self.claims.get(&claim.subject).into_iter().flatten();
            for (run, mode) in others.filter(|(run, mode)| **run != lease.run && excludes(claim.mode, **mode)) {
                held.push(HeldSubject {
                    subject: claim.subject.clone(),
                    mode: *mode,
                    run: run.clone(),
                    holder: self.runs.get(run).map(|run| run.holder.clone()).unwrap_or_default(),
                });
            }
            let found = self.revision(&claim.subject);
            if found != claim.expected {
                stale.push(Stale { subject: claim.subject.clone(), expected: claim.expected, found });
            }
        }
        if stale.is_empty() && held.is_empty() {
            self.take(&lease.run, &claims);
            return ClaimAnswer::Claimed;
        }
        let addresses: BTreeSet<&str> = held
            .iter()
            .filter_map(|held| match &held.subject {
                Subject::Instance(address) => Some(address.as_str()),
                _ => None,
            })
            .collect();
        let doubts = self.doubts.values().filter(|doubt| addresses.contains(doubt.key.address.as_str()));
        ClaimAnswer::Refused { stale, doubts: doubts.cloned().collect(), held }
    }

    /// The runs that have claimed a subject, in any mode.
    pub(crate) fn holders(&self, subject: &Subject) -> Vec<HeldSubject> {
        let runs = self.claims.get(subject).into_iter().flatten();
        runs.map(|(run, mode)| HeldSubject {
            subject: subject.clone(),
            mode: *mode,
            run: run.clone(),
            holder: self.runs.get(run).map(|run| run.holder.clone()).unwrap_or_default(),
        })
        .collect()
    }

    /// Records claims that were granted.
    pub(crate) fn take(&mut self, id: &RunId, claims: &[Claim]) {
        let Some(run) = self.runs.get_mut(id) else { return };
        run.claimed = true;
        for claim in claims {
            let mode = run.claims.entry(claim.subject.clone()).or_insert(claim.mode);
            *mode = (*mode).max(claim.mode);
            self.claims.entry(claim.subject.clone()).or_default().insert(id.clone(), *mode);
        }
    }

    /// RELEASE.
    pub(crate) fn release(&mut self, lease: &Lease, ending: TermEnding) -> ReleaseAnswer {
        let run = match self.check(lease) {
            Ok(run) => run,
            Err(fenced) => return ReleaseAnswer::Fenced(fenced),
        };
        let open = open_intents(run);
        if !open.is_empty() {
            return ReleaseAnswer::Open(open.into_iter().map(|(op, _)| op).collect());
        }
        let status = match ending {
            TermEnding::Stopped => RunStatus::Stopped,
            TermEnding::Finished => final_status(run),
        };
        self.end(&lease.run, status);
        self.released(&lease.run)
    }

    /// ABANDON.
    pub(crate) fn abandon(&mut self, lease: &Lease) -> ReleaseAnswer {
        let open = match self.check(lease) {
            Ok(run) => open_intents(run),
            Err(fenced) => return ReleaseAnswer::Fenced(fenced),
        };
        self.give_up(&lease.run, open);
        self.released(&lease.run)
    }

    /// Turns open intents into doubts and ends the run.
    fn give_up(&mut self, id: &RunId, open: Vec<(OpIndex, Attempt)>) {
        for (op, attempt) in open {
            self.doubt(id, op, attempt, ABANDONED);
        }
        if let Some(status) = self.runs.get(id).map(final_status) {
            self.end(id, status);
        }
        if let Some(run) = self.runs.get_mut(id) {
            run.abandoned = true;
        }
    }

    /// Whether no operation of a run has begun.
    pub(crate) fn is_untouched(&self, id: &RunId) -> bool {
        self.runs.get(id).is_some_and(|run| run.ops.is_empty() && run.strays.is_empty())
    }

    /// Applies the end of a term as the journal records it.
    pub(crate) fn replay_end(&mut self, id: &RunId, status: RunStatus, abandoned: bool) {
        if abandoned {
            let open = self.runs.get(id).map(open_intents).unwrap_or_default();
            self.give_up(id, open);
        } else {
            self.end(id, status);
        }
    }

    fn end(&mut self, id: &RunId, status: RunStatus) {
        let Some(run) = self.runs.get_mut(id) else { return };
        run.status = status;
        run.lease = None;
        if status == RunStatus::Stopped {
            return;
        }
        run.claimed = false;
        let doubts = &self.doubts;
        let doubtful: BTreeSet<&str> =
            doubts.values().filter(|doubt| doubt.run == *id).map(|doubt| doubt.key.address.as_str()).collect();
        let kept = |subject: &Subject| match subject {
            Subject::Instance(address) => doubtful.contains(address.as_str()),
            _ => false,
        };
        let all = std::mem::take(&mut run.claims);
        for (subject, mode) in all {
            if kept(&subject) {
                run.claims.insert(subject, mode);
            } else if let Some(runs) = self.claims.get_mut(&subject) {
                runs.remove(id);
                if runs.is_empty() {
                    self.claims.remove(&subject);
                }
            }
        }
    }

    fn released(&self, id: &RunId) -> ReleaseAnswer {
        match self.runs.get(id) {
            Some(run) => ReleaseAnswer::Released(run.header(id)),
            None => ReleaseAnswer::Fenced(Fenced::NoRun),
        }
    }

    /// The headers of all runs, newest first.
    pub(crate) fn headers(&self) -> Vec<RunHeader> {
        let mut headers: Vec<RunHeader> = self.runs.iter().map(|(id, run)| run.header(id)).collect();
        newest_first(&mut headers);
        headers
    }
}

/// Sorts headers newest first, and by id if the times are equal.
pub(crate) fn newest_first(headers: &mut [RunHeader]) {
    headers.sort_by(|left, right| (right.started_unix_ms, &right.id).cmp(&(left.started_unix_ms, &left.id)));
}

fn open_intents(run: &RunState) -> Vec<(OpIndex, Attempt)> {
    let open = run.ops.iter().filter(|(_, state)| state.record.status == OpStatus::Intended);
    open.map(|(op, state)| (*op, state.record.attempt)).collect()
}

/// The final status of a run.
fn final_status(run: &RunState) -> RunStatus {
    if run.counts.in_doubt > 0 {
        RunStatus::InDoubt
    } else if run.counts.done == run.operations {
        RunStatus::Done
    } else {
        RunStatus::Failed
    }
}
