//! The Redis store: scripts execute the steps, and all keys of a workspace are in one hash slot.
//!
//! Invariants:
//! - Each new connection checks the server ([`fitness`]): its version, the permissions of the user, `noeviction`, and
//!   an append-only file with `always`. The store refuses a server that does not fit and says why. The settings are
//!   checked again while the connection is in use.
//! - A write is acknowledged when every replica that a failover could promote has it ([`replication`]).
//! - A script for an existing workspace first checks the incarnation (the identity of the store) and, for the holder of
//!   a lease, the token. It validates everything before its first write.
//! - Every call may be sent twice: after a broken connection, the store sends a whole batch again.
//! - Each journal line carries the blake3 digest of its event, and a link. The link is the sha1 of two joined texts:
//!   the previous link and this digest. Scripts can compute sha1. After a reconnect, the last acknowledged link must
//!   still exist. A line also has digests of its own fields and of the records that the event wrote. ACQUIRE compares
//!   these digests with the records of the run, and freezes the run if they differ.
//! - A missing meta record is an error. Only [`RedisStore::connect`] accepts a workspace without any key as unused, and
//!   creates its meta record if `create` is set.

mod address;
mod check;
mod claims;
mod codec;
mod connection;
mod copies;
mod dial;
mod edit;
mod fitness;
mod integrity;
mod keys;
mod marks;
mod permissions;
mod problems;
mod reading;
mod replication;
mod rows;
mod scripts;
mod sealed;
mod server;
mod settings;
mod steps;
mod tls;
mod tokens;
mod workspaces;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use redis::Cmd;
use weft_sealing::Sealing;

use crate::budget::{TokenGrant, TokenRequest};
use crate::content::{ordered, overtaken, prepare, prepare_writes};
use crate::edit::{Edit, EditAnswer};
use crate::error::StoreError;
use crate::event::step_words;
use crate::ledger::leases::ABANDONED;
use crate::record::Opaque;
use crate::run::{
    ChainTip, Digest, Holder, Incarnation, JournalLine, Lease, LeaseView, NewRun, RunHeader, RunId, RunStatus, RunView,
    Stray,
};
use crate::snapshot::Snapshot;
use crate::step::{
    Acquire, AcquireAnswer, Claim, ClaimAnswer, CreateAnswer, ReleaseAnswer, RenewAnswer, StoreAnswer, StoreStep,
    TermEnding,
};
use crate::store::RunStore;
use crate::tfstate::WRITER_VERSION;
pub use check::{DeclaredLoss, Losses, RunReport, ServerReport, StoreProblem, StoreReport};
use claims::ABANDONED_EVENT;
use codec::Words;
use connection::Connection;
use keys::Keys;
pub(crate) use marks::{CopyMark, CopyMarks, Front, Tip};
use problems::{Damage, Large, RunDamage};
use reading::{RunContents, journal_line, link_digest};
use rows::Row;
use scripts::Script;
use sealed::RecordSeal;
pub use server::RedisServer;
pub use settings::{PasswordSource, RedisSettings};
use steps::Calls;

/// Claims per script call. 100,000 keys block the server for a quarter of a second, so 2,000 keys block it for 5 ms.
const CLAIMS_AT_ONCE: usize = 2_000;
/// Fields per request while a large hash is read, so that the server can serve other clients between the requests.
const FIELDS_AT_ONCE: usize = 1_000;
/// Journal lines per request.
const LINES_AT_ONCE: usize = 5_000;
/// The maximum number of runs of a workspace. Only the newest finished runs are kept, so if a workspace has this many
/// runs, nearly all of them are unfinished. The limit exists because lists read every header. A user with so many
/// unfinished runs should resume or abandon some of them.
const MOST_RUNS: usize = 10_000;
/// Headers of runs per request.
const HEADERS_AT_ONCE: usize = 1_000;
/// The number of finished runs that are retained, as in the embedded store.
const KEPT_RUNS: usize = 20;
/// The maximum size of a plan file: below the server's own limit for one value (512 MiB), with room for the command
/// around it.
const MAX_PLAN: usize = 500 * 1024 * 1024;

/// A state and its runs in Redis.
#[derive(Clone)]
pub struct RedisStore {
    core: Arc<RedisCore>,
}

/// The data that all clones of a [`RedisStore`] share.
struct RedisCore {
    connection: Connection,
    keys: Keys,
    incarnation: Incarnation,
    place: String,
    seal: RecordSeal,
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "RedisStore({})", self.core.place)
    }
}

impl RedisStore {
    /// Connects to `redis://[USER@]HOST[:PORT]/DB?state=NAME`, or to an address of another form, and checks the server.
    /// With `create`, creates the workspace if it does not exist. Everything that contains values is sealed as
    /// `sealing` requires.
    ///
    /// # Errors
    /// - [`StoreError::Address`].
    /// - [`StoreError::Unfit`] names a wrong setting and how to change it.
    /// - [`StoreError::NoConnection`] if a certificate or a password is wrong.
    /// - [`StoreError::Unreachable`].
    /// - [`StoreError::Damaged`] if the workspace has keys but no meta record.
    /// - [`StoreError::NoState`] if the workspace does not exist and `create` is false.
    pub async fn connect(
        server: impl Into<RedisServer>,
        workspace: &str,
        create: bool,
        sealing: Arc<Sealing>,
    ) -> Result<RedisStore, StoreError> {
        let (address, settings) = server.into().parsed()?;
        address::check_name(workspace).map_err(|limit| problems::wrong_workspace(workspace, limit))?;
        let keys = Keys::new(&address.state, workspace);
        let place = address.place();
        let seal = RecordSeal::new(sealing, keys.meta(), place.clone());
        seal.prepare().await?;
        let connection = Connection::new(address, settings, keys.clone());
        let incarnation = if create {
            let wanted = [keys.meta(), keys.runs(), keys.records(), keys.revisions(), keys.outputs()];
            let mut command = connection.scripts.call(Script::CreateStore, &wanted);
            command.arg(Incarnation(random()?).to_string()).arg(uuid::Uuid::new_v4().to_string()).arg(WRITER_VERSION);
            let words = connection.script(command).await?;
            if words.text(0) == "OK" { words.text(1) } else { String::new() }
        } else {
            let (mut identity, mut others) = (redis::cmd("HGET"), redis::cmd("EXISTS"));
            identity.arg(keys.meta()).arg("incarnation");
            others.arg(keys.runs()).arg(keys.records()).arg(keys.revisions());
            let answers: Vec<String> = connection.all(vec![identity, others]).await?.iter().map(codec::text).collect();
            match answers.as_slice() {
                [identity, others] if identity.is_empty() && others == "0" => {
                    return Err(problems::no_store(&place, workspace));
                }
                [identity, ..] => identity.clone(),
                [] => String::new(),
            }
        };
        let Some(incarnation) = steps::incarnation(&incarnation) else {
            return Err(problems::no_meta_record(place));
        };
        Ok(RedisStore { core: Arc::new(RedisCore { connection, keys, incarnation, place, seal }) })
    }
}

impl RedisCore {
    fn damaged(&self, key: &str, damage: Damage<'_>) -> StoreError {
        problems::damaged(key, &self.place, damage)
    }

    fn calls<'a>(&'a self, lease: &'a Lease) -> Calls<'a> {
        Calls { scripts: &self.connection.scripts, keys: &self.keys, lease, seal: &self.seal }
    }

    /// Records the journal line that an answer acknowledges.
    fn acknowledge(&self, run: &RunId, words: &Words, at: usize) {
        if let Ok(lines) = words.text(at).parse() {
            self.connection.acknowledged(run, lines, &words.text(at + 1));
        }
    }
}

/// The name under which the plan of a run is sealed.
fn plan_name(run: &RunId) -> String {
    format!("plan {run}")
}

/// 128 random bits.
fn random() -> Result<u128, StoreError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| crate::run::RandomError)?;
    Ok(u128::from_le_bytes(bytes))
}

/// The holder from its stored form. The stored form is empty for a run that had no holder.
fn holder(text: &str) -> Option<Holder> {
    if text.is_empty() {
        return Some(Holder::default());
    }
    serde_json::from_str(text).ok()
}

#[async_trait]
impl RunStore for RedisStore {
    fn place(&self) -> String {
        self.core.place.clone()
    }

    fn is_sealed(&self) -> bool {
        self.core.seal.seals()
    }

    fn seals_plans(&self) -> bool {
        self.core.seal.seals_plans()
    }

    async fn reseal(&self) -> Result<(), StoreError> {
        if !self.core.seal.covers() {
            return Ok(());
        }
        loop {
            let (snapshot, outdated) = self.core.state_with_seals().await?;
            let Some(writes) = sealed::updated(&snapshot, &outdated) else { return Ok(()) };
            let edit = Edit { seen: snapshot.serial, writes, identity: None };
            // If a run has claimed one of the records, or another edit came first, the records are resealed later.
            if self.core.edit(&edit).await? != EditAnswer::Edited {
                return Ok(());
            }
        }
    }

    async fn snapshot(&self) -> Result<Snapshot, StoreError> {
        self.core.state().await
    }

    async fn export(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let snapshot = self.core.state().await?;
        if snapshot.is_empty() && snapshot.serial == 0 {
            return Ok(None);
        }
        Ok(Some(snapshot.into_state_file().to_bytes()))
    }

    async fn edit(&self, mut edit: Edit) -> Result<EditAnswer, StoreError> {
        prepare_writes(&mut edit.writes)?;
        self.core.edit(&edit).await
    }

    async fn create_run(&self, run: NewRun) -> Result<CreateAnswer, StoreError> {
        if run.plan.0.len() > MAX_PLAN {
            return Err(problems::too_large(Large::Plan, run.plan.0.len(), MAX_PLAN));
        }
        let core = &self.core;
        let id = &run.id;
        let keys = [core.keys.meta(), core.keys.run(id), core.keys.plan(id), core.keys.runs(), core.keys.journal(id)];
        let mut command = core.connection.scripts.call(Script::CreateRun, &keys);
        command
            .arg(core.incarnation.to_string())
            .arg(id.as_str())
            .arg(Digest::of(&run.plan.0).hex())
            .arg(run.operations)
            .arg(run.started_unix_ms)
            .arg(core.seal.seal_plan(&plan_name(id), &run.plan.0)?)
            .arg(MOST_RUNS);
        let words = core.connection.script(command).await?;
        match words.text(0).as_str() {
            "CREATED" => Ok(CreateAnswer::Created),
            "EXISTS" => RunStatus::parse(&words.text(1))
                .map(CreateAnswer::Exists)
                .ok_or_else(|| core.damaged(&core.keys.run(id), Damage::Status)),
            "MANY" => Err(problems::too_many_runs(&core.place, MOST_RUNS)),
            _ => Err(core.damaged(&core.keys.meta(), Damage::OtherStore)),
        }
    }

    async fn acquire(&self, request: Acquire) -> Result<AcquireAnswer, StoreError> {
        let core = &self.core;
        let keys = [core.keys.meta(), core.keys.run(&request.run), core.keys.journal(&request.run)];
        let mut command = core.connection.scripts.call(Script::Acquire, &keys);
        let seen = request.unmoved.as_ref();
        let line = steps::line("began", None, None, None);
        let digest = steps::event_digest(&line, &(&request.holder, request.term));
        command
            .arg(core.incarnation.to_string())
            .arg(format!("{:032x}", request.term))
            .arg(serde_json::to_string(&request.holder).unwrap_or_default())
            .arg(seen.map(|seen| seen.token.to_string()).unwrap_or_default())
            .arg(seen.map(|seen| seen.heartbeat.to_string()).unwrap_or_default())
            .arg(steps::plain(&line, &digest))
            .arg(digest);
        let words = core.connection.script(command).await?;
        let bad = || core.damaged(&core.keys.run(&request.run), Damage::Lease);
        match words.text(0).as_str() {
            "NORUN" => Ok(AcquireAnswer::NoRun),
            "GRANTED" => {
                core.acknowledge(&request.run, &words, 2);
                let token = codec::token(&words.text(1)).ok_or_else(bad)?;
                let lease = Lease { run: request.run, incarnation: core.incarnation, token };
                // If the journal has only this line, the run has just begun, and there are no earlier records to
                // compare.
                if words.text(2).parse::<u64>().is_ok_and(|lines| lines > 1) {
                    self.check_run(&lease).await?;
                }
                Ok(AcquireAnswer::Granted(lease))
            }
            "HELD" => Ok(AcquireAnswer::Held(LeaseView {
                token: codec::token(&words.text(1)).ok_or_else(bad)?,
                heartbeat: words.text(2).parse().map_err(|_| bad())?,
                holder: holder(&words.text(3))
                    .ok_or_else(|| core.damaged(&core.keys.run(&request.run), Damage::Holder))?,
                age_ms: words.text(4).parse().ok(),
            })),
            "FROZEN" => Err(StoreError::Frozen { run: request.run, what: words.text(1) }),
            "BROKEN" => Err(self.frozen(&request.run, &RunDamage::OtherTip).await?),
            _ => Err(core.damaged(&core.keys.meta(), Damage::OtherStore)),
        }
    }

    async fn renew(&self, lease: &Lease) -> Result<RenewAnswer, StoreError> {
        let core = &self.core;
        let keys = [core.keys.meta(), core.keys.run(&lease.run)];
        let words = core.connection.script(core.calls(lease).begin(Script::Renew, &keys)).await?;
        if let Some(fenced) = steps::fenced(&words) {
            return Ok(RenewAnswer::Fenced(fenced));
        }
        let heartbeat =
            words.text(1).parse().map_err(|_| core.damaged(&core.keys.run(&lease.run), Damage::Heartbeat))?;
        Ok(RenewAnswer::Renewed { heartbeat })
    }

    async fn claim(&self, lease: &Lease, claims: &[Claim]) -> Result<ClaimAnswer, StoreError> {
        let core = &self.core;
        let claims = ordered(claims);
        let mut fresh = Vec::new();
        let looked = core.claim_parts(lease, &claims, false, &mut fresh).await?;
        if let Some(fenced) = looked.fenced {
            return Ok(ClaimAnswer::Fenced(fenced));
        }
        if !looked.is_free() {
            return core.refusal(looked).await;
        }
        let taken = core.claim_parts(lease, &claims, true, &mut fresh).await?;
        if let Some(fenced) = taken.fenced {
            return Ok(ClaimAnswer::Fenced(fenced));
        }
        if !taken.is_free() {
            // Another run has claimed some of the subjects first. Each call of the script takes only a part of the
            // claims, but a run must get all claims or none. So the claims of the earlier parts are released.
            core.unclaim(lease, &fresh, false).await?;
            return core.refusal(taken).await;
        }
        Ok(ClaimAnswer::Claimed)
    }

    async fn step_batch(&self, lease: &Lease, mut steps: Vec<StoreStep>) -> Result<Vec<StoreAnswer>, StoreError> {
        prepare(&mut steps)?;
        let core = &self.core;
        let calls = core.calls(lease);
        let (commands, parts): (Vec<Cmd>, Vec<Row>) = calls.parts(&steps)?.into_iter().unzip();
        let mut words = Vec::with_capacity(steps.len());
        for (value, part) in core.connection.all_durable_at_once(commands).await?.into_iter().zip(parts) {
            words.extend(part.answers(core.connection.words(value)?));
        }
        let damaged = |step| core.damaged(&core.keys.run(&lease.run), Damage::Answer(step_words(step).0));
        let mut answers = Vec::with_capacity(steps.len());
        for (at, step) in steps.iter().enumerate() {
            let words = words.get(at).ok_or_else(|| damaged(step))?;
            let mut answer = steps::answer(words).ok_or_else(|| damaged(step))?;
            if let StoreAnswer::Doubtful(doubt) = answer {
                answer = StoreAnswer::Doubtful(Box::new(core.seal.open_doubt(*doubt)?));
            }
            if answer.is_ok() {
                core.acknowledge(&lease.run, words, 2);
            }
            answers.push(answer);
        }
        for position in overtaken(&steps, &answers) {
            let revisions = core.written(&lease.run, steps[position].writes()).await?;
            answers[position] = StoreAnswer::Ok { revisions, repeated: true };
        }
        Ok(answers)
    }

    async fn take_tokens(&self, requests: &[TokenRequest]) -> Result<Vec<TokenGrant>, StoreError> {
        self.core.take_tokens(requests).await
    }

    async fn release(&self, lease: &Lease, ending: TermEnding) -> Result<ReleaseAnswer, StoreError> {
        let core = &self.core;
        match core.look(lease).await? {
            Err(fenced) => return Ok(ReleaseAnswer::Fenced(fenced)),
            Ok(true) => {
                let open = core.open_intents(&lease.run).await?;
                return Ok(ReleaseAnswer::Open(open.into_iter().map(|(op, _)| op).collect()));
            }
            Ok(false) => {}
        }
        core.end(lease, ending, if ending == TermEnding::Stopped { "stopped" } else { "ended" }).await
    }

    async fn withdraw(&self, lease: &Lease) -> Result<ReleaseAnswer, StoreError> {
        let untouched = self.core.read_ops(&lease.run).await?.is_empty();
        let answer = self.release(lease, TermEnding::Finished).await?;
        if untouched && matches!(answer, ReleaseAnswer::Released(_)) {
            self.core.forget(std::slice::from_ref(&lease.run)).await?;
        }
        Ok(answer)
    }

    async fn abandon(&self, lease: &Lease) -> Result<ReleaseAnswer, StoreError> {
        let core = &self.core;
        match core.look(lease).await? {
            Err(fenced) => return Ok(ReleaseAnswer::Fenced(fenced)),
            Ok(true) => {
                let open = core.open_intents(&lease.run).await?;
                let doubt = |(op, attempt)| StoreStep::Doubt { op, attempt, reason: ABANDONED.to_owned() };
                let answers = self.step_batch(lease, open.into_iter().map(doubt).collect()).await?;
                for answer in answers {
                    if let StoreAnswer::Fenced(fenced) = answer {
                        return Ok(ReleaseAnswer::Fenced(fenced));
                    }
                }
            }
            Ok(false) => {}
        }
        core.end(lease, TermEnding::Finished, ABANDONED_EVENT).await
    }

    async fn prune(&self, before_unix_ms: u64) -> Result<Vec<RunId>, StoreError> {
        let old = self.core.headers().await?.into_iter();
        let old = old.filter(|header| header.status.is_final() && header.started_unix_ms < before_unix_ms);
        let old: Vec<RunId> = old.map(|header| header.id).collect();
        self.core.forget(&old).await?;
        Ok(old)
    }

    async fn runs(&self) -> Result<Vec<RunHeader>, StoreError> {
        self.core.headers().await
    }

    async fn header(&self, run: &RunId) -> Result<Option<RunHeader>, StoreError> {
        self.core.read_header(run).await
    }

    async fn thaw(&self, run: &RunId) -> Result<Option<String>, StoreError> {
        let core = &self.core;
        let keys = [core.keys.meta(), core.keys.run(run), core.keys.journal(run)];
        let mut command = core.connection.scripts.call(Script::Thaw, &keys);
        command.arg(core.incarnation.to_string());
        let words = core.connection.script(command).await?;
        Ok((words.text(0) == "THAWED").then(|| words.text(1)))
    }

    async fn run(&self, run: &RunId) -> Result<Option<RunView>, StoreError> {
        let core = &self.core;
        let Some(header) = core.read_header(run).await? else { return Ok(None) };
        let RunContents { ops, claims, written } = core.contents_of(run).await?;
        let key = core.keys.strays(run);
        let strays = core.hash(&key).await?;
        let read = |(name, value): (&String, &Vec<u8>)| {
            let stray: Option<Stray> = codec::record(&core.seal.open(name, value)?);
            stray.ok_or_else(|| core.damaged(&key, Damage::Entry))
        };
        let mut strays = strays.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        strays.sort_by(|left, right| (left.op, left.attempt, &left.key).cmp(&(right.op, right.attempt, &right.key)));
        Ok(Some(RunView { header, ops, written, claims, strays }))
    }

    async fn plan(&self, run: &RunId) -> Result<Opaque, StoreError> {
        let core = &self.core;
        let Some(header) = core.read_header(run).await? else { return Err(StoreError::NoRun(run.clone())) };
        let mut command = redis::cmd("GET");
        command.arg(core.keys.plan(run));
        let plan = codec::bytes(core.connection.one(command).await?).unwrap_or_default();
        let plan = core.seal.open_plan(&plan_name(run), &plan)?;
        if Digest::of(&plan) != header.plan {
            return Err(core.damaged(&core.keys.plan(run), Damage::OtherPlan));
        }
        Ok(Opaque(plan))
    }

    async fn journal(&self, run: &RunId) -> Result<Vec<JournalLine>, StoreError> {
        let core = &self.core;
        let key = core.keys.journal(run);
        let mut lines: Vec<JournalLine> = Vec::new();
        let mut before = String::new();
        loop {
            let from = lines.len();
            let mut command = redis::cmd("LRANGE");
            command.arg(&key).arg(from).arg(from + LINES_AT_ONCE - 1);
            let part = core.connection.script(command).await?.rest(0);
            if part.is_empty() {
                return Ok(lines);
            }
            for text in part {
                let read = journal_line(&text, &before, lines.len() as u64);
                let read = read.ok_or_else(|| core.damaged(&key, Damage::BrokenChain(lines.len())))?;
                before = read.link;
                lines.push(read.line);
            }
        }
    }

    async fn tip(&self, run: &RunId) -> Result<ChainTip, StoreError> {
        let core = &self.core;
        let (mut length, mut tip) = (redis::cmd("LLEN"), redis::cmd("HGET"));
        length.arg(core.keys.journal(run));
        tip.arg(core.keys.run(run)).arg("tip");
        let answers = core.connection.all(vec![length, tip]).await?;
        let link = answers.get(1).map(codec::text).unwrap_or_default();
        let sequence = answers.first().map(codec::text).unwrap_or_default();
        let sequence = sequence.parse().map_err(|_| core.damaged(&core.keys.journal(run), Damage::Entry))?;
        Ok(ChainTip { incarnation: core.incarnation, sequence, hash: link_digest(&link) })
    }
}
