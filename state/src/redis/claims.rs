//! Claims in parts of bounded size, and the end of a term.

use std::collections::{BTreeMap, BTreeSet};

use super::codec::{self, Words};
use super::keys::RunField;
use super::problems::Damage;
use super::scripts::Script;
use super::{CLAIMS_AT_ONCE, KEPT_RUNS, RedisCore, holder, steps};
use crate::error::StoreError;
use crate::run::{Attempt, Holder, Lease, OpIndex, OpStatus, RunId};
use crate::step::{Claim, ClaimAnswer, ClaimMode, Fenced, HeldSubject, ReleaseAnswer, Stale, TermEnding};
use crate::subject::Subject;

/// The combined answers to the parts of a CLAIM, as the scripts return them.
pub(super) struct ClaimParts {
    pub(super) fenced: Option<Fenced>,
    pub(super) stale: Vec<Vec<String>>,
    pub(super) held: Vec<Vec<String>>,
}

/// The last event of an abandoned run.
pub(super) const ABANDONED_EVENT: &str = "abandoned";

impl ClaimParts {
    pub(super) fn is_free(&self) -> bool {
        self.stale.is_empty() && self.held.is_empty()
    }
}

impl RedisCore {
    /// Checks or takes claims in parts. Adds new claims to `fresh`.
    pub(super) async fn claim_parts(
        &self,
        lease: &Lease,
        claims: &[Claim],
        take: bool,
        fresh: &mut Vec<String>,
    ) -> Result<ClaimParts, StoreError> {
        let mut answer = ClaimParts { fenced: None, stale: Vec::new(), held: Vec::new() };
        let run = &lease.run;
        let keys =
            [self.keys.meta(), self.keys.run(run), self.keys.claims(), self.keys.revisions(), self.keys.journal(run)];
        let parts: Vec<&[Claim]> = if claims.is_empty() { vec![&[]] } else { claims.chunks(CLAIMS_AT_ONCE).collect() };
        for (position, part) in parts.iter().enumerate() {
            let mut command = self.calls(lease).begin(Script::Claim, &keys);
            command.arg(run.as_str()).arg(u8::from(take));
            if take && position + 1 == parts.len() {
                let line = steps::line("claimed", None, None, None);
                let digest = steps::event_digest(&line, &claims);
                command.arg(steps::plain(&line, &digest)).arg(digest);
            } else {
                command.arg("").arg("");
            }
            for claim in *part {
                let mode = if claim.mode == ClaimMode::Exclusive { "x" } else { "s" };
                command.arg(codec::subject_text(&claim.subject)).arg(mode).arg(claim.expected.0);
            }
            let words = self.connection.script(command).await?;
            if let Some(fenced) = steps::fenced(&words) {
                answer.fenced = Some(fenced);
                return Ok(answer);
            }
            match words.text(0).as_str() {
                "REFUSED" => {
                    answer.stale.extend(words.list(1).chunks_exact(3).map(<[String]>::to_vec));
                    answer.held.extend(words.list(2).chunks_exact(3).map(<[String]>::to_vec));
                    if take {
                        return Ok(answer);
                    }
                }
                "CLAIMED" => {
                    fresh.extend(words.list(1));
                    self.acknowledge(run, &words, 2);
                }
                _ => {}
            }
        }
        Ok(answer)
    }

    /// The refusal of a claim, with its holders and doubts.
    pub(super) async fn refusal(&self, parts: ClaimParts) -> Result<ClaimAnswer, StoreError> {
        let bad = || self.damaged(&self.keys.claims(), Damage::Claim);
        let mut stale = Vec::new();
        for words in &parts.stale {
            let [name, expected, found] = words.as_slice() else { return Err(bad()) };
            let (subject, expected) = steps::revision_of(name, expected).ok_or_else(bad)?;
            let found = steps::revision(found).ok_or_else(bad)?;
            stale.push(Stale { subject, expected, found });
        }
        let mut holders: BTreeMap<RunId, Holder> = BTreeMap::new();
        let mut held = Vec::new();
        let mut addresses = BTreeSet::new();
        for words in &parts.held {
            let [name, mode, run] = words.as_slice() else { return Err(bad()) };
            let run = RunId::parse(run).ok_or_else(bad)?;
            let subject = codec::subject(name).ok_or_else(bad)?;
            if !holders.contains_key(&run) {
                let mut command = redis::cmd("HGET");
                command.arg(self.keys.run(&run)).arg("holder");
                let found = holder(&codec::text(&self.connection.one(command).await?));
                let found = found.ok_or_else(|| self.damaged(&self.keys.run(&run), Damage::Holder))?;
                holders.insert(run.clone(), found);
            }
            if let Subject::Instance(address) = &subject {
                addresses.insert(address.clone());
            }
            let mode = if mode == "x" { ClaimMode::Exclusive } else { ClaimMode::Shared };
            let holder = holders.get(&run).cloned().unwrap_or_default();
            held.push(HeldSubject { subject, mode, run, holder });
        }
        let mut doubts = if held.is_empty() { Vec::new() } else { self.doubts().await? };
        doubts.retain(|doubt| addresses.contains(&doubt.key.address));
        doubts.sort_by(|left, right| left.key.cmp(&right.key));
        // Sorted as in the other stores: by subject, then by run id.
        stale.sort();
        held.sort_by(|left: &HeldSubject, right| (&left.subject, &left.run).cmp(&(&right.subject, &right.run)));
        Ok(ClaimAnswer::Refused { stale, held, doubts })
    }

    /// Releases claims. If `all` is true, also records that the CLAIM of the run is no longer in force.
    pub(super) async fn unclaim(&self, lease: &Lease, subjects: &[String], all: bool) -> Result<Words, StoreError> {
        let run = &lease.run;
        let keys = [self.keys.meta(), self.keys.run(run), self.keys.claims()];
        let parts: Vec<&[String]> =
            if subjects.is_empty() { vec![&[]] } else { subjects.chunks(CLAIMS_AT_ONCE).collect() };
        let mut commands = Vec::with_capacity(parts.len());
        for part in parts {
            let mut command = self.calls(lease).begin(Script::Unclaim, &keys);
            command.arg(run.as_str()).arg(u8::from(all)).arg(part);
            commands.push(command);
        }
        let mut last = Words(Vec::new());
        for value in self.connection.all(commands).await? {
            last = self.connection.words(value)?;
            if steps::fenced(&last).is_some() {
                break;
            }
        }
        Ok(last)
    }

    /// Ends a term: releases claims, then sets status and lease.
    pub(super) async fn end(
        &self,
        lease: &Lease,
        ending: TermEnding,
        event: &str,
    ) -> Result<ReleaseAnswer, StoreError> {
        let run = &lease.run;
        if ending == TermEnding::Finished {
            let doubts = self.doubts().await?;
            let kept: BTreeSet<String> = doubts
                .into_iter()
                .filter(|doubt| doubt.run == *run)
                .map(|doubt| codec::subject_text(&Subject::Instance(doubt.key.address)))
                .collect();
            let own = self.of_run(run, RunField::Own).await?;
            let given_back: Vec<String> = own.into_keys().filter(|subject| !kept.contains(subject)).collect();
            if let Some(fenced) = steps::fenced(&self.unclaim(lease, &given_back, true).await?) {
                return Ok(ReleaseAnswer::Fenced(fenced));
            }
        }
        let keys = [self.keys.meta(), self.keys.run(run), self.keys.journal(run)];
        let mut command = self.calls(lease).begin(Script::Finish, &keys);
        let line = steps::line(event, None, None, None);
        let digest = steps::event_digest(&line, &());
        command
            .arg(u8::from(ending == TermEnding::Stopped))
            .arg(steps::plain(&line, &digest))
            .arg(digest)
            .arg(u8::from(event == ABANDONED_EVENT));
        let words = self.connection.script(command).await?;
        if let Some(fenced) = steps::fenced(&words) {
            // A resent RELEASE finds that the lease is free, and that the last line of the journal records the end of
            // this term.
            let ours = matches!(&fenced, Fenced::Token { now: None });
            if !ours || !self.ended(run, event).await? {
                return Ok(ReleaseAnswer::Fenced(fenced));
            }
        }
        if words.text(0) == "OPEN" {
            return Ok(ReleaseAnswer::Open(self.open_intents(run).await?.into_iter().map(|(op, _)| op).collect()));
        }
        self.connection.forget(run);
        let header = self.read_header(run).await?.ok_or_else(|| StoreError::NoRun(run.clone()))?;
        if header.status.is_final() {
            self.prune().await?;
        }
        Ok(ReleaseAnswer::Released(header))
    }

    /// Whether this event is the last line of a run's journal.
    pub(super) async fn ended(&self, run: &RunId, event: &str) -> Result<bool, StoreError> {
        let mut command = redis::cmd("LINDEX");
        command.arg(self.keys.journal(run)).arg(-1);
        let last = codec::text(&self.connection.one(command).await?);
        Ok(last.split(' ').nth(2) == Some(event))
    }

    pub(super) async fn open_intents(&self, run: &RunId) -> Result<Vec<(OpIndex, Attempt)>, StoreError> {
        let ops = self.read_ops(run).await?;
        let open = ops.into_iter().filter(|(_, op)| op.status == OpStatus::Intended);
        Ok(open.map(|(op, record)| (op, record.attempt)).collect())
    }

    /// Whether the lease is current, and whether intents are open.
    pub(super) async fn look(&self, lease: &Lease) -> Result<Result<bool, Fenced>, StoreError> {
        if let Some(fenced) = steps::fenced(&self.unclaim(lease, &[], false).await?) {
            return Ok(Err(fenced));
        }
        let mut command = redis::cmd("HGET");
        command.arg(self.keys.run(&lease.run)).arg("running");
        let running = codec::text(&self.connection.one(command).await?);
        // The count is absent before the first intent.
        let running = if running.is_empty() { Ok(0) } else { running.parse::<u32>() };
        let running = running.map_err(|_| self.damaged(&self.keys.run(&lease.run), Damage::Header))?;
        Ok(Ok(running > 0))
    }

    /// Removes the oldest finished runs.
    pub(super) async fn prune(&self) -> Result<(), StoreError> {
        // If there are few runs, as usual, the headers need not be read.
        let mut command = redis::cmd("HLEN");
        command.arg(self.keys.runs());
        if codec::text(&self.connection.one(command).await?).parse().is_ok_and(|runs: usize| runs <= KEPT_RUNS) {
            return Ok(());
        }
        let headers = self.headers().await?;
        let finished = headers.into_iter().filter(|header| header.status.is_final());
        let surplus: Vec<RunId> = finished.skip(KEPT_RUNS).map(|header| header.id).collect();
        self.forget(&surplus).await
    }

    /// Removes these runs if they are finished.
    pub(super) async fn forget(&self, runs: &[RunId]) -> Result<(), StoreError> {
        let mut commands = Vec::new();
        for run in runs {
            let mut keys = vec![self.keys.meta(), self.keys.runs()];
            keys.extend(self.keys.all_of(run));
            let mut command = self.connection.scripts.call(Script::Prune, &keys);
            command.arg(self.incarnation.to_string()).arg(run.as_str());
            commands.push(command);
        }
        self.connection.all(commands).await.map(drop)
    }
}
