//! Reads the state and the runs from Redis, in parts of bounded size.

use std::collections::{BTreeMap, BTreeSet};

use redis::Value;

use super::codec;
use super::keys::RunField;
use super::problems::{self, Damage};
use super::scripts::sha1_hex;
use super::sealed::outcome_name;
use super::steps;
use super::{FIELDS_AT_ONCE, HEADERS_AT_ONCE, MOST_RUNS, RedisCore, holder};
use crate::error::StoreError;
use crate::event::EVENTS;
use crate::ledger::leases::newest_first;
use crate::record::InstanceRecord;
use crate::result::Writes;
use crate::run::{
    Attempt, Digest, JournalLine, LeaseView, OpCounts, OpIndex, OpRecord, RunHeader, RunId, RunPast, RunStatus,
    WorkerId,
};
use crate::snapshot::{Snapshot, StoredInstance, StoredOutput};
use crate::subject::{Doubt, Revision, Subject};

/// Fields of a hash.
pub(super) type Fields = BTreeMap<String, Vec<u8>>;

/// The parts of a run that may have many entries.
pub(super) struct RunContents {
    pub(super) ops: BTreeMap<OpIndex, OpRecord>,
    /// The claims: exclusive (`true`) or shared.
    pub(super) claims: BTreeMap<Subject, bool>,
    pub(super) written: BTreeMap<Subject, Revision>,
}

/// The fields of a header.
const HEADER: [&str; 16] = [
    "plan",
    "operations",
    "started",
    "status",
    "token",
    "beat",
    "holder",
    "beat_at",
    "claimed",
    "abandoned",
    "running",
    "done",
    "failed",
    "skipped",
    "in_doubt",
    "ended",
];

impl RedisCore {
    /// Reads a whole hash, in parts of bounded size.
    pub(super) async fn hash(&self, key: &str) -> Result<Fields, StoreError> {
        self.scan(key, None).await
    }

    /// Reads a hash, or its fields with this prefix, in parts of bounded size.
    async fn scan(&self, key: &str, prefix: Option<&str>) -> Result<Fields, StoreError> {
        let mut found = Fields::new();
        let mut cursor = "0".to_owned();
        loop {
            let mut command = redis::cmd("HSCAN");
            command.arg(key).arg(&cursor).arg("COUNT").arg(FIELDS_AT_ONCE);
            if let Some(prefix) = prefix {
                command.arg("MATCH").arg(format!("{prefix}*"));
            }
            let words = self.connection.script(command).await?;
            cursor = words.text(0);
            if let Some(Value::Array(pairs)) = words.0.into_iter().nth(1) {
                let mut pairs = pairs.into_iter();
                while let (Some(name), Some(value)) = (pairs.next(), pairs.next()) {
                    found.insert(codec::text(&name), codec::bytes(value).unwrap_or_default());
                }
            }
            if cursor == "0" {
                return Ok(found);
            }
        }
    }

    /// Reads a hash of short strings.
    pub(super) async fn texts(&self, key: &str) -> Result<BTreeMap<String, String>, StoreError> {
        let found = self.hash(key).await?;
        Ok(found.into_iter().map(|(name, value)| (name, String::from_utf8_lossy(&value).into_owned())).collect())
    }

    pub(super) async fn doubts(&self) -> Result<Vec<Doubt>, StoreError> {
        let key = self.keys.doubts();
        let found = self.texts(&key).await?;
        let doubts = found.iter().map(|(name, value)| codec::doubt(name, value)).collect::<Option<Vec<_>>>();
        let doubts = doubts.ok_or_else(|| self.damaged(&key, Damage::Doubt))?;
        doubts.into_iter().map(|doubt| self.seal.open_doubt(doubt)).collect()
    }

    /// The header of a run from its hash, or `None` if there is no such run.
    pub(super) fn header(
        &self,
        id: &RunId,
        fields: &BTreeMap<String, String>,
    ) -> Result<Option<RunHeader>, StoreError> {
        if fields.is_empty() {
            return Ok(None);
        }
        let read = || {
            let text = |name: &str| fields.get(name).map(String::as_str).unwrap_or_default();
            let count = |name: &str| fields.get(name).map_or(Some(0), |text| text.parse::<u32>().ok());
            let mut counts = OpCounts {
                pending: 0,
                running: count("running")?,
                done: count("done")?,
                failed: count("failed")?,
                skipped: count("skipped")?,
                in_doubt: count("in_doubt")?,
            };
            let OpCounts { running, done, failed, skipped, in_doubt, .. } = counts;
            let begun = [running, done, failed, skipped, in_doubt].into_iter().fold(0, u32::saturating_add);
            counts.pending = count("operations")?.saturating_sub(begun);
            let lease = match text("token") {
                "" => None,
                held => Some(LeaseView {
                    token: codec::token(held)?,
                    heartbeat: text("beat").parse().ok()?,
                    holder: holder(text("holder"))?,
                    age_ms: None,
                }),
            };
            Some(RunHeader {
                id: id.clone(),
                plan: Digest::parse(text("plan"))?,
                started_unix_ms: text("started").parse().ok()?,
                status: RunStatus::parse(text("status"))?,
                counts,
                claimed: text("claimed") == "1",
                abandoned: text("abandoned") == "1",
                lease,
                past: RunPast {
                    holder: holder(text("holder")).unwrap_or_default(),
                    ended_unix_ms: text("ended").parse().ok(),
                    totals: None,
                },
            })
        };
        let header = read().ok_or_else(|| self.damaged(&self.keys.run(id), Damage::Header))?;
        Ok(Some(header))
    }

    pub(super) async fn read_header(&self, id: &RunId) -> Result<Option<RunHeader>, StoreError> {
        Ok(self.read_headers(std::slice::from_ref(id)).await?.pop())
    }

    /// The headers of these runs, without runs that do not exist. One request reads all headers.
    async fn read_headers(&self, ids: &[RunId]) -> Result<Vec<RunHeader>, StoreError> {
        let header = |id: &RunId| {
            let mut command = redis::cmd("HMGET");
            command.arg(self.keys.run(id)).arg(&HEADER);
            command
        };
        let commands = std::iter::once(redis::cmd("TIME")).chain(ids.iter().map(header));
        let mut answers = self.connection.all(commands.collect()).await?.into_iter();
        let clock = self.connection.words(answers.next().unwrap_or(Value::Nil))?;
        let now = clock.text(0).parse::<u64>().ok().map(|seconds| seconds * 1_000);
        let mut headers = Vec::with_capacity(ids.len());
        for (id, answer) in ids.iter().zip(answers) {
            let found = self.connection.words(answer)?.0.into_iter().map(codec::bytes);
            let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
            let fields = HEADER.iter().zip(found).filter_map(|(name, found)| Some(((*name).to_owned(), text(found?))));
            let fields: BTreeMap<String, String> = fields.collect();
            let Some(mut header) = self.header(id, &fields)? else { continue };
            if let Some(lease) = &mut header.lease {
                let beat = fields.get("beat_at").and_then(|text| text.parse::<u64>().ok());
                lease.age_ms = now.zip(beat).map(|(now, beat)| now.saturating_sub(beat));
            }
            headers.push(header);
        }
        Ok(headers)
    }

    pub(super) async fn read_ops(&self, id: &RunId) -> Result<BTreeMap<OpIndex, OpRecord>, StoreError> {
        let found = self.of_run(id, RunField::Op).await?;
        self.ops_of(id, found)
    }

    fn ops_of(&self, id: &RunId, found: Fields) -> Result<BTreeMap<OpIndex, OpRecord>, StoreError> {
        let bad = || self.damaged(&self.keys.run(id), Damage::Operation);
        let mut ops = BTreeMap::new();
        for (name, value) in found {
            let index = name.parse().map_err(|_| bad())?;
            let (mut op, outcome) = codec::op(&value).ok_or_else(bad)?;
            if let Some((mark, outcome)) = outcome {
                let outcome = self.seal.open(&outcome_name(id.as_str(), index), outcome)?;
                op = codec::with_outcome(op, mark, outcome).ok_or_else(bad)?;
            }
            ops.insert(OpIndex(index), op);
        }
        Ok(ops)
    }

    /// The fields of one kind in the hash of a run, by their names without the prefix.
    pub(super) async fn of_run(&self, run: &RunId, kind: RunField) -> Result<Fields, StoreError> {
        let found = self.scan(&self.keys.run(run), Some(kind.prefix())).await?;
        Ok(found
            .into_iter()
            .filter_map(|(name, value)| Some((name.strip_prefix(kind.prefix())?.to_owned(), value)))
            .collect())
    }

    /// Reads operations, claims and revisions in one pass over the run.
    pub(super) async fn contents_of(&self, run: &RunId) -> Result<RunContents, StoreError> {
        let mut kinds = [Fields::new(), Fields::new(), Fields::new()];
        for (name, value) in self.hash(&self.keys.run(run)).await? {
            for (fields, kind) in kinds.iter_mut().zip(RunField::ALL) {
                let Some(rest) = name.strip_prefix(kind.prefix()) else { continue };
                fields.insert(rest.to_owned(), value);
                break;
            }
        }
        let [ops, own, wrote] = kinds;
        let bad = || self.damaged(&self.keys.run(run), Damage::Entry);
        let claims = own.iter().map(|(name, mode)| Some((codec::subject(name)?, mode == b"x"))).collect::<Option<_>>();
        let revision =
            |(name, number): (&String, &Vec<u8>)| steps::revision_of(name, std::str::from_utf8(number).ok()?);
        let written = wrote.iter().map(revision).collect::<Option<_>>();
        Ok(RunContents {
            ops: self.ops_of(run, ops)?,
            claims: claims.ok_or_else(bad)?,
            written: written.ok_or_else(bad)?,
        })
    }

    /// The revisions that the first delivery of a repeated step returned.
    pub(super) async fn written(
        &self,
        run: &RunId,
        writes: Option<&Writes>,
    ) -> Result<Vec<(Subject, Revision)>, StoreError> {
        let mut found = Vec::new();
        for subject in writes.map(Writes::subjects).unwrap_or_default() {
            let mut command = redis::cmd("HGET");
            let field = format!("{}{}", RunField::Wrote.prefix(), codec::subject_text(&subject));
            command.arg(self.keys.run(run)).arg(field);
            let number = codec::text(&self.connection.one(command).await?);
            found.extend(steps::revision(&number).map(|revision| (subject, revision)));
        }
        Ok(found)
    }

    pub(super) async fn headers(&self) -> Result<Vec<RunHeader>, StoreError> {
        let runs = self.texts(&self.keys.runs()).await?;
        if runs.len() > MOST_RUNS {
            return Err(problems::too_many_runs(&self.place, MOST_RUNS));
        }
        let id = |id: &String| RunId::parse(id).ok_or_else(|| self.damaged(&self.keys.runs(), Damage::RunName(id)));
        let ids = runs.keys().map(id).collect::<Result<Vec<_>, _>>()?;
        let mut headers = Vec::with_capacity(ids.len());
        for part in ids.chunks(HEADERS_AT_ONCE) {
            headers.extend(self.read_headers(part).await?);
        }
        if headers.len() < ids.len() {
            let found: BTreeSet<&RunId> = headers.iter().map(|header| &header.id).collect();
            for missing in ids.iter().filter(|id| !found.contains(id)) {
                // The instance may have been removed in the meantime.
                let mut command = redis::cmd("HEXISTS");
                command.arg(self.keys.runs()).arg(missing.as_str());
                if codec::text(&self.connection.one(command).await?) == "1" {
                    return Err(self.damaged(&self.keys.run(missing), Damage::NoHeader(missing.as_str())));
                }
            }
        }
        newest_first(&mut headers);
        Ok(headers)
    }

    /// Decodes a revision and its record. `key` is the key that holds them.
    fn stored<Record: serde::de::DeserializeOwned>(
        &self,
        subject: &Subject,
        value: &[u8],
        key: &str,
        outdated: &mut Vec<Subject>,
    ) -> Result<(Revision, Record), StoreError> {
        let bad = || self.damaged(key, Damage::Record(subject));
        let (revision, kept) = codec::stored(value).ok_or_else(bad)?;
        let name = codec::subject_text(subject);
        let kept = codec::undigested(&name, kept).ok_or_else(|| self.damaged(key, Damage::Changed(subject)))?;
        let opened = self.seal.opened(&name, kept.bytes)?;
        if opened.outdated {
            outdated.push(subject.clone());
        }
        Ok((revision, codec::record(&opened.plain).ok_or_else(bad)?))
    }

    pub(super) async fn state(&self) -> Result<Snapshot, StoreError> {
        Ok(self.state_with_seals().await?.0)
    }

    /// The state, and the subjects that would be sealed differently now.
    pub(super) async fn state_with_seals(&self) -> Result<(Snapshot, Vec<Subject>), StoreError> {
        let mut outdated = Vec::new();
        let meta = self.hash(&self.keys.meta()).await?;
        let text = |name: &str| meta.get(name).map(|value| String::from_utf8_lossy(value).into_owned());
        if text("incarnation") != Some(self.incarnation.to_string()) {
            return Err(self.damaged(&self.keys.meta(), Damage::OtherStore));
        }
        // This call checks the number of records.
        self.meta(&["serial"]).await?;
        let mut snapshot = Snapshot {
            lineage: text("lineage").unwrap_or_default(),
            serial: text("serial")
                .unwrap_or_default()
                .parse()
                .map_err(|_| self.damaged(&self.keys.meta(), Damage::Meta("serial")))?,
            terraform_version: text("version").unwrap_or_default(),
            ..Snapshot::default()
        };
        if let Some(value) = meta.get("checks") {
            let (revision, checks) = self.stored(&Subject::Checks, value, &self.keys.meta(), &mut outdated)?;
            snapshot.checks = checks;
            snapshot.checks_revision = revision;
        }
        let mut present = BTreeSet::new();
        for (address, value) in self.hash(&self.keys.records()).await? {
            let subject = Subject::Instance(address);
            let (revision, record) =
                self.stored::<InstanceRecord>(&subject, &value, &self.keys.records(), &mut outdated)?;
            snapshot.instances.insert(record.address.clone(), StoredInstance { record, revision });
            present.insert(subject);
        }
        for (name, value) in self.hash(&self.keys.outputs()).await? {
            let subject = Subject::Output(name.clone());
            let (revision, record) = self.stored(&subject, &value, &self.keys.outputs(), &mut outdated)?;
            snapshot.outputs.insert(name, StoredOutput { record, revision });
        }
        for (name, number) in self.texts(&self.keys.revisions()).await? {
            let found = steps::revision_of(&name, &number);
            let (subject, revision) =
                found.ok_or_else(|| self.damaged(&self.keys.revisions(), Damage::Revision(&name)))?;
            let present = match &subject {
                Subject::Instance(_) => present.contains(&subject),
                Subject::Output(name) => snapshot.outputs.contains_key(name),
                Subject::Checks => true,
                Subject::Dependents(_) => false,
            };
            if !present {
                snapshot.other_revisions.insert(subject, revision);
            }
        }
        snapshot.doubts = self.doubts().await?.into_iter().map(|doubt| (doubt.key.clone(), doubt)).collect();
        Ok((snapshot, outdated))
    }
}

/// A link as a digest. An empty link is the zero digest.
pub(super) fn link_digest(link: &str) -> Digest {
    if link.is_empty() { Digest::default() } else { Digest::of(link.as_bytes()) }
}

/// A parsed journal line.
pub(super) struct ReadLine {
    pub(super) line: JournalLine,
    pub(super) link: String,
    /// The digest of the payload of the event, unless an earlier version wrote the line.
    pub(super) payload: Option<String>,
}

/// Parses a journal line `LINK DIGEST WORD OP ATTEMPT WORKER PAYLOAD CHECK`. `before` is the link of the previous line.
/// Returns `None` if the line does not follow from this link, or was changed. Lines of earlier versions have no
/// `PAYLOAD` and no `CHECK`.
pub(super) fn journal_line(text: &str, before: &str, sequence: u64) -> Option<ReadLine> {
    let (link, rest) = text.split_once(' ')?;
    let payload = codec::payload_of(rest)?.map(str::to_owned);
    let mut words = rest.split(' ');
    let digest = words.next()?;
    if sha1_hex(format!("{before}{digest}").as_bytes()) != link {
        return None;
    }
    let event = words.next()?;
    let event = EVENTS.into_iter().find(|known| *known == event)?;
    let number = |word: &str| if word == "-" { Some(None) } else { word.parse().ok().map(Some) };
    let op = number(words.next()?)?.map(OpIndex);
    let attempt = number(words.next()?)?.map(Attempt);
    let worker = Some(codec::unword(words.next()?)?).filter(|name| !name.is_empty()).map(WorkerId);
    let line = JournalLine { sequence, hash: link_digest(link), event, op, attempt, worker };
    Some(ReadLine { line, link: link.to_owned(), payload })
}
