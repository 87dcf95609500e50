//! Checks whether a store is intact: counts, digests, revisions, journals, claims. A check changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::codec;
use super::keys::RunField;
use super::problems::{self, Misfit};
use super::reading::Fields;
use super::{RedisCore, RedisStore, steps};
use crate::check::CheckRecord;
use crate::error::StoreError;
use crate::record::{InstanceRecord, OutputRecord};
use crate::run::{RunHeader, RunId};
use crate::store::RunStore as _;
use crate::subject::Subject;

/// The result of a check of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoreReport {
    /// The store, without secrets.
    pub store: String,
    /// The workspace.
    pub workspace: String,
    /// The server.
    pub server: ServerReport,
    /// The lineage of the state.
    pub lineage: String,
    /// The serial of the state.
    pub serial: u64,
    /// The number of records of instances.
    pub records: u64,
    /// The number of outputs.
    pub outputs: u64,
    /// The number of records and outputs of earlier versions, which have no digest.
    pub without_digest: u64,
    /// The runs, by name.
    pub runs: Vec<RunReport>,
    /// The number of claims.
    pub claims: usize,
    /// The objects in doubt.
    pub doubts: Vec<String>,
    /// The losses that users have declared, oldest first.
    pub declared: Vec<DeclaredLoss>,
    /// The problems that were found.
    pub problems: Vec<StoreProblem>,
}

/// A server that holds a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServerReport {
    /// The version of Redis.
    pub version: String,
    /// Whether the connection is encrypted.
    pub tls: bool,
    /// The user.
    pub user: String,
    /// The number of replicas that must confirm each write.
    pub replicas: u32,
}

/// A run of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunReport {
    /// The id of the run.
    pub id: String,
    /// The status of the run.
    pub status: String,
    /// The number of lines of its journal.
    pub lines: u64,
    /// Whether its records were compared with its journal. The records of an active run are not compared.
    pub compared: bool,
    /// The reason why the run is frozen, if it is.
    pub frozen: Option<String>,
}

/// A problem of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoreProblem {
    /// The key, the object or the run.
    pub place: String,
    /// What is wrong.
    pub what: String,
    /// The remedy.
    pub way_out: String,
}

/// The lost records of a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// The serial of the state.
    serial: u64,
    /// The instances and outputs whose records are damaged. The records still exist, but cannot be used.
    pub damaged: Vec<Subject>,
    /// The number of records that are missing.
    pub missing: u64,
    /// The objects that once had a record but have none now. The missing records belong to some of these objects.
    pub candidates: Vec<String>,
}

impl Losses {
    /// Whether nothing is lost.
    pub fn is_nothing(&self) -> bool {
        self.damaged.is_empty() && self.missing == 0
    }
}

/// A loss that a user has declared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct DeclaredLoss {
    /// The time of the declaration, in milliseconds since 1970.
    pub unix_ms: u64,
    /// The user and the machine.
    pub by: String,
    /// The number of missing records.
    pub missing: u64,
    /// The instances and outputs whose records were damaged.
    pub damaged: Vec<String>,
}

/// What a check has found so far.
#[derive(Default)]
struct Findings {
    problems: Vec<StoreProblem>,
    without_digest: u64,
    damaged: Vec<Subject>,
}

impl Findings {
    fn add(&mut self, place: impl ToString, misfit: &Misfit<'_>) {
        let (what, way_out) = problems::misfit(misfit);
        self.problems.push(StoreProblem { place: place.to_string(), what, way_out });
    }
}

/// The counts in the meta record, and the numbers that actually exist.
struct Counts {
    what: &'static str,
    key: String,
    counted: Option<u64>,
    found: u64,
}

impl RedisStore {
    /// Checks the store, and the server that holds it.
    ///
    /// # Errors
    /// Returns an error if the server is not fit or does not respond, or if the state is encrypted with other keys.
    pub async fn check(&self, workspace: &str) -> Result<StoreReport, StoreError> {
        let core = self.core.as_ref();
        let mut findings = Findings::default();
        let meta = core.texts(&core.keys.meta()).await?;
        let counts = core.counts().await?;
        for Counts { what, key, counted, found } in &counts {
            if let Some(counted) = counted.filter(|counted| counted != found) {
                findings.add(key, &Misfit::Count { what, counted, found: *found });
            }
        }
        core.check_records(&mut findings).await?;
        let runs = self.check_runs(&mut findings).await?;
        let headers: Vec<RunHeader> = runs.iter().map(|(header, _)| header.clone()).collect();
        let claims = core.check_claims(&headers, &mut findings).await?;
        let known: BTreeSet<&RunId> = runs.iter().map(|(header, _)| &header.id).collect();
        let doubts = core.doubts().await?;
        for doubt in doubts.iter().filter(|doubt| !known.contains(&doubt.run)) {
            findings.add(&doubt.key, &Misfit::DoubtOfNoRun(doubt.run.as_str()));
        }
        let found = |what: &str| counts.iter().find(|counts| counts.what == what).map_or(0, |counts| counts.found);
        let text = |name: &str| meta.get(name).cloned().unwrap_or_default();
        Ok(StoreReport {
            store: core.place.clone(),
            workspace: workspace.to_owned(),
            server: core.connection.report().await?,
            lineage: text("lineage"),
            serial: text("serial").parse().unwrap_or_default(),
            records: found(RECORDS),
            outputs: found(OUTPUTS),
            without_digest: findings.without_digest,
            runs: runs.into_iter().map(|(_, report)| report).collect(),
            claims,
            doubts: doubts.iter().map(|doubt| doubt.key.to_string()).collect(),
            declared: declared(&meta),
            problems: findings.problems,
        })
    }

    /// The lost records of the state.
    ///
    /// # Errors
    /// See [`RedisStore::check`].
    pub async fn losses(&self) -> Result<Losses, StoreError> {
        let core = self.core.as_ref();
        let mut findings = Findings::default();
        let meta = core.texts(&core.keys.meta()).await?;
        let counts = core.counts().await?;
        core.check_records(&mut findings).await?;
        let missing = counts.iter().map(|counts| counts.counted.unwrap_or_default().saturating_sub(counts.found)).sum();
        let mut candidates = Vec::new();
        if missing > 0 {
            let (records, outputs) = (core.hash(&core.keys.records()).await?, core.hash(&core.keys.outputs()).await?);
            let gone = |subject: &Subject| match subject {
                Subject::Instance(address) => !records.contains_key(address),
                Subject::Output(name) => !outputs.contains_key(name),
                Subject::Checks | Subject::Dependents(_) => false,
            };
            let known = core.texts(&core.keys.revisions()).await?;
            let known = known.keys().filter_map(|name| codec::subject(name)).filter(gone);
            candidates = known.map(|subject| subject.to_string()).collect();
        }
        let serial = meta.get("serial").and_then(|serial| serial.parse().ok()).unwrap_or_default();
        Ok(Losses { serial, damaged: findings.damaged, missing, candidates })
    }

    /// Declares these records lost: removes the damaged records, so that the state continues with the rest. Records the
    /// loss in the store. Returns `false`, and changes nothing, if the state has changed since `losses` was computed.
    ///
    /// # Errors
    /// Errors of the server.
    pub async fn declare_lost(&self, losses: &Losses, by: &str, unix_ms: u64) -> Result<bool, StoreError> {
        let core = self.core.as_ref();
        let names = losses.damaged.iter().map(ToString::to_string).collect();
        let mut all = declared(&core.texts(&core.keys.meta()).await?);
        all.push(DeclaredLoss { unix_ms, by: by.to_owned(), missing: losses.missing, damaged: names });
        let keys = [
            core.keys.meta(),
            core.keys.records(),
            core.keys.outputs(),
            core.keys.revisions(),
            core.keys.dependencies(),
        ];
        let mut command = core.connection.scripts.call(super::scripts::Script::Declare, &keys);
        let note = serde_json::to_string(&all).unwrap_or_default();
        command.arg(core.incarnation.to_string()).arg(losses.serial).arg(note);
        for subject in &losses.damaged {
            command.arg(codec::subject_text(subject));
        }
        Ok(core.connection.script(command).await?.text(0) == "DECLARED")
    }

    async fn check_runs(&self, findings: &mut Findings) -> Result<Vec<(RunHeader, RunReport)>, StoreError> {
        let core = self.core.as_ref();
        let mut reports = Vec::new();
        for name in core.texts(&core.keys.runs()).await?.into_keys() {
            let Some(run) = RunId::parse(&name) else {
                findings.add(core.keys.runs(), &Misfit::RunName(&name));
                continue;
            };
            let header = match core.read_header(&run).await {
                Ok(Some(header)) => header,
                Ok(None) => {
                    findings.add(format!("run {run}"), &Misfit::NoHeader);
                    continue;
                }
                Err(StoreError::Damaged { what, .. }) => {
                    findings.add(format!("run {run}"), &Misfit::Other(&what));
                    continue;
                }
                Err(error) => return Err(error),
            };
            let report = self.check_run_of(&header, findings).await?;
            reports.push((header, report));
        }
        Ok(reports)
    }

    async fn check_run_of(&self, header: &RunHeader, findings: &mut Findings) -> Result<RunReport, StoreError> {
        let core = self.core.as_ref();
        let (run, place) = (&header.id, format!("run {}", header.id));
        let mut command = redis::cmd("HGET");
        command.arg(core.keys.run(run)).arg("frozen");
        let frozen = Some(codec::text(&core.connection.one(command).await?)).filter(|why| !why.is_empty());
        let mut length = redis::cmd("LLEN");
        length.arg(core.keys.journal(run));
        let lines = codec::text(&core.connection.one(length).await?).parse().unwrap_or_default();
        let compared = header.lease.is_none();
        if let Some(why) = &frozen {
            findings.add(&place, &Misfit::Frozen(run.as_str(), why));
        } else if let Some(damage) = core.compared_at_rest(run, compared).await? {
            findings.add(&place, &Misfit::Run(&damage));
        }
        match self.plan(run).await {
            Ok(_) => {}
            Err(StoreError::Damaged { what, .. }) => findings.add(&place, &Misfit::Other(&what)),
            Err(error) => return Err(error),
        }
        let status = header.status.word().to_owned();
        Ok(RunReport { id: run.to_string(), status, lines, compared, frozen })
    }
}

const RECORDS: &str = "records";
const OUTPUTS: &str = "outputs";
/// The field of the meta record with the declared losses, as JSON.
const DECLARED: &str = "lost";

fn declared(meta: &BTreeMap<String, String>) -> Vec<DeclaredLoss> {
    meta.get(DECLARED).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

impl RedisCore {
    async fn counts(&self) -> Result<Vec<Counts>, StoreError> {
        let mut counts = redis::cmd("HMGET");
        counts.arg(self.keys.meta()).arg(RECORDS).arg(OUTPUTS);
        let length = |key: String| {
            let mut command = redis::cmd("HLEN");
            command.arg(key);
            command
        };
        let commands = vec![counts, length(self.keys.records()), length(self.keys.outputs())];
        // One transaction, so that no write changes the numbers between these commands.
        let answers = self.connection.all_durable_at_once(commands).await?;
        let mut answers = answers.into_iter();
        let counted = self.connection.words(answers.next().unwrap_or(redis::Value::Nil))?;
        let kinds = [(RECORDS, self.keys.records()), (OUTPUTS, self.keys.outputs())];
        let kinds = kinds.into_iter().zip(answers).enumerate();
        Ok(kinds
            .map(|(at, ((what, key), found))| Counts {
                what,
                key,
                // Stores of earlier versions have no counts.
                counted: counted.text(at).parse().ok(),
                found: codec::text(&found).parse().unwrap_or_default(),
            })
            .collect())
    }

    /// Checks digests, contents and revisions of all records.
    async fn check_records(&self, findings: &mut Findings) -> Result<(), StoreError> {
        let revisions = self.texts(&self.keys.revisions()).await?;
        let records = self.hash(&self.keys.records()).await?;
        let outputs = self.hash(&self.keys.outputs()).await?;
        let mut checks = redis::cmd("HGET");
        checks.arg(self.keys.meta()).arg("checks");
        let checks = codec::bytes(self.connection.one(checks).await?);
        let checks: Fields = checks.map(|value| (String::new(), value)).into_iter().collect();
        self.check_kind::<InstanceRecord>(&records, Subject::Instance, &revisions, findings)?;
        self.check_kind::<OutputRecord>(&outputs, Subject::Output, &revisions, findings)?;
        self.check_kind::<Option<Vec<CheckRecord>>>(&checks, |_| Subject::Checks, &revisions, findings)
    }

    fn check_kind<Record: serde::de::DeserializeOwned>(
        &self,
        fields: &Fields,
        subject: impl Fn(String) -> Subject,
        revisions: &BTreeMap<String, String>,
        findings: &mut Findings,
    ) -> Result<(), StoreError> {
        for (name, value) in fields {
            let subject = subject(name.clone());
            let text = codec::subject_text(&subject);
            let Some((revision, kept)) = codec::stored(value) else {
                findings.add(&subject, &Misfit::Unreadable);
                findings.damaged.push(subject);
                continue;
            };
            let Some(digested) = codec::undigested(&text, kept) else {
                findings.add(&subject, &Misfit::Changed);
                findings.damaged.push(subject);
                continue;
            };
            findings.without_digest += u64::from(!digested.has_digest);
            let opened = self.seal.opened(&text, digested.bytes)?;
            if codec::record::<Record>(&opened.plain).is_none() {
                findings.add(&subject, &Misfit::Unreadable);
                findings.damaged.push(subject);
                continue;
            }
            let known = revisions.get(&text).and_then(|number| steps::revision(number));
            if known != Some(revision) {
                findings.add(&subject, &Misfit::Revision { record: revision, known });
            }
        }
        Ok(())
    }

    /// Checks whether each claim belongs to a run that has not ended. Returns the number of claims.
    async fn check_claims(&self, runs: &[RunHeader], findings: &mut Findings) -> Result<usize, StoreError> {
        let claims = self.texts(&self.keys.claims()).await?;
        let doubtful: BTreeSet<String> = self.doubts().await?.into_iter().map(|doubt| doubt.key.address).collect();
        let open: BTreeSet<&str> =
            runs.iter().filter(|run| !run.status.is_final()).map(|run| run.id.as_str()).collect();
        for (name, value) in &claims {
            let subject = codec::subject(name);
            // A run that ended with doubts keeps the claims of the objects in doubt.
            let kept = matches!(&subject, Some(Subject::Instance(address)) if doubtful.contains(address));
            for run in value.split(' ').skip(1).filter(|run| !open.contains(run) && !kept) {
                findings.add(subject.as_ref().map_or(name.clone(), ToString::to_string), &Misfit::ClaimOfNoRun(run));
            }
        }
        for run in runs.iter().filter(|run| run.claimed) {
            let own = self.of_run(&run.id, RunField::Own).await?;
            let holds =
                |name: &String| claims.get(name).is_some_and(|value| value.split(' ').any(|id| id == run.id.as_str()));
            if let Some(missing) = own.keys().find(|name| !holds(name)) {
                let subject = codec::subject(missing).map_or(missing.clone(), |subject| subject.to_string());
                findings.add(format!("run {}", run.id), &Misfit::LostClaim(&subject));
            }
        }
        Ok(claims.len())
    }
}
