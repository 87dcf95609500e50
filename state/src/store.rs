//! The store trait: the operations of every store, with one method for each atomic step of the run protocol.

use std::fmt;

use async_trait::async_trait;

use crate::content::prepare;
use crate::edit::{Edit, EditAnswer};
use crate::ledger::steps::writes_of;
use crate::record::Opaque;
use crate::result::{CommitRecord, Failure, Writes};
use crate::run::{ChainTip, JournalLine, Lease, NewRun, RunHeader, RunId, RunView};
use crate::snapshot::Snapshot;
use crate::step::{
    Acquire, AcquireAnswer, Claim, ClaimAnswer, CreateAnswer, Intent, ReleaseAnswer, RenewAnswer, StoreAnswer,
    StoreStep, TermEnding,
};
use crate::tfstate::StateFile;

/// The store could not answer. The outcome of the pending steps is unknown, and they may be sent again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// A file operation failed.
    #[error("{doing}: {error}")]
    Io {
        /// The operation, with the path.
        doing: String,
        /// The error of the operating system.
        error: String,
    },
    /// The state file cannot be read.
    #[error(transparent)]
    StateFile(#[from] crate::tfstate::StateFileError),
    /// The file is encrypted, or should be, and cannot be opened.
    #[error("{place}: {error}")]
    Unopened {
        /// The file.
        place: String,
        /// Why.
        error: weft_sealing::OpenError,
    },
    /// The file must be encrypted, and cannot be.
    #[error("{place}: {error}")]
    Unsealed {
        /// The file.
        place: String,
        /// Why.
        error: weft_sealing::SealError,
    },
    /// Another process has the state locked.
    #[error("the state {path} is locked by {holder}: wait for it to end, or stop it")]
    Locked {
        /// The state file, or the place in a backend.
        path: String,
        /// The holder, as far as the lock names it.
        holder: String,
    },
    /// The server cannot be reached, even after retries.
    #[error("the store at {server} does not answer: {error}")]
    Unreachable {
        /// Host, port and database; never a password.
        server: String,
        /// What went wrong.
        error: String,
    },
    /// The server answered with an error of its own.
    #[error("the store at {server} refused: {error}")]
    Refused {
        /// Host, port and database.
        server: String,
        /// The message of the server.
        error: String,
    },
    /// A setting of the server makes it unfit to hold state.
    #[error("{0}")]
    Unfit(String),
    /// The address of the store has a form that Weft does not know.
    #[error("{0}")]
    Address(String),
    /// The stored data is damaged. Everything stops until the user has looked at it.
    #[error("{place} is damaged: {what}. Nothing was changed. {way_out}")]
    Damaged {
        /// File or key.
        place: String,
        /// The damage.
        what: String,
        /// The way out.
        way_out: String,
    },
    /// Acknowledged lines are gone: the server was restored or failed over. All runs freeze.
    #[error(
        "the store has lost acknowledged writes of {run} (line {sequence} is missing): the server was \
         restored or failed over. Nothing is written until this is resolved"
    )]
    LostWrites {
        /// The run.
        run: RunId,
        /// The last acknowledged line.
        sequence: u64,
    },
    /// Acknowledged records of a run are lost, and could not be replayed. The run is frozen until the user gives it up.
    #[error(
        "the store has lost acknowledged records of run {run}: {what}. The run does not go on, so that no call is \
         repeated. Look at these objects, then give the run up with `weft runs abandon {run}` and make a new plan"
    )]
    Frozen {
        /// The run.
        run: RunId,
        /// What is lost, and which objects it is about.
        what: String,
    },
    /// The store has as many unfinished runs as it may have.
    #[error(
        "the store at {store} has {most} runs, which is the maximum. Resume or abandon unfinished runs first: see \
         `weft runs list`"
    )]
    TooManyRuns {
        /// Host, port and database.
        store: String,
        /// The maximum.
        most: u64,
    },
    /// The workspace cannot be deleted.
    #[error(
        "the workspace {workspace:?} in {store} is in use: a run has not ended, or the state has changed meanwhile. \
         Nothing was deleted. Look at `weft runs list`, and try again"
    )]
    InUse {
        /// Host, port and database.
        store: String,
        /// The workspace.
        workspace: String,
    },
    /// The state is not the one that the journal began from.
    #[error(
        "the state file {path} is not the one that run {run} began from; these instances differ: {differ}. The journal \
         was neither replayed nor discarded. Put the state file back, or set the run aside and keep the state file as it \
         is, with `weft runs abandon {run}`",
        differ = .instances.join(", ")
    )]
    StateMismatch {
        /// The state file.
        path: String,
        /// The run.
        run: RunId,
        /// Each instance that differs.
        instances: Vec<String>,
    },
    /// Another file is at the path of the locked state file.
    #[error(
        "the state file {path} was replaced or removed by another program while it was locked. Nothing was written to \
         the file that is there now, and nothing is lost: the journal of run {run} has every result, and {kept} is the \
         whole state as the run leaves it. Look at what is there now. To go on with the state of the run, copy that file \
         to {path} and use `weft runs resume {run}`. To keep what is there now, use `weft runs abandon {run}`"
    )]
    Replaced {
        /// The state file.
        path: String,
        /// The run.
        run: RunId,
        /// The file with the state that could not be written.
        kept: String,
    },
    /// Another file is at the path of the locked state file, and no run had begun.
    #[error(
        "the state file {0} was replaced or removed by another program while it was locked. Nothing was written. Try again"
    )]
    NotThere(String),
    /// The document in a backend is not the one that was read under the lock.
    #[error(
        "the state at {0} was changed by another program while this process had it locked. Nothing was written there. \
         Find out which program that was. If a run was going on, its journal has every result: look at `weft runs list`"
    )]
    Overtaken(String),
    /// The state in Redis and its second copy do not belong together.
    #[error(
        "the state in {store} and its copy in {copy} differ: {what}. Nothing was written. To go on with the state in \
         Redis, move the copy away: it is written again. To go on with the copy, give the state in Redis another name \
         (`?state=NAME`): it begins from the copy"
    )]
    CopyDiffers {
        /// The store, without secrets.
        store: String,
        /// The backend, without secrets.
        copy: String,
        /// How they differ.
        what: String,
    },
    /// A request to a backend failed.
    #[error(transparent)]
    Backend(#[from] crate::remote::BackendError),
    /// The store has never held a state under this name.
    #[error("{0} holds no state yet")]
    NoState(String),
    /// There is no such run.
    #[error("there is no run {0}")]
    NoRun(RunId),
    /// Another process has taken over the run of this journal. It accepts no more writes.
    #[error("another process has taken over the run: a later term has begun after the journal {0}")]
    Superseded(String),
    /// Another process has taken over the lock.
    #[error(
        "another process has taken over the lock of {0}, because this process could not renew it in time. Runs continue \
         there"
    )]
    LockLost(String),
    /// An earlier write failed. The store accepts no more writes.
    #[error("the journal accepts no more records since an earlier write failed: {0}")]
    Closed(String),
    /// A value is larger than the store accepts.
    #[error("{what} is {size} bytes, more than the {limit} that the store accepts")]
    TooLarge {
        /// The name of the value.
        what: String,
        /// The size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A record to be written is not valid, which is a mistake of the caller. Nothing of the batch was written.
    #[error("the record of {name} cannot be stored: {what}")]
    Record {
        /// The instance, output or operation.
        name: String,
        /// What is wrong with it.
        what: String,
    },
    /// The store was opened for reading.
    #[error("the state was opened for reading only")]
    ReadOnly,
    /// The operating system gave no random bytes.
    #[error(transparent)]
    Random(#[from] crate::run::RandomError),
}

/// A state store with its runs. Every step checks incarnation, run and token first, and validates everything before its
/// first write. When a method returns, its answer is durable. An `Err` does not say whether the steps took effect: send
/// the same steps again. Resent steps answer `Ok` with `repeated`.
#[async_trait]
pub trait RunStore: Send + Sync + fmt::Debug {
    /// The location of the store for people, without secrets: `terraform.tfstate` or `redis://host:6379/0?state=x`.
    fn place(&self) -> String;

    /// Whether the state and the data of runs are encrypted.
    fn is_sealed(&self) -> bool {
        false
    }

    /// Whether the plans of runs are encrypted.
    fn seals_plans(&self) -> bool {
        self.is_sealed()
    }

    /// Whether another process has taken over the lock of the state, because this one did not renew it in time. The store
    /// accepts no more writes then. `false` for a store whose lock is for single runs.
    fn is_superseded(&self) -> bool {
        false
    }

    /// Rewrites the state if it is sealed differently than configured now. The state thus moves to encryption or away
    /// from it even if nothing else changes.
    async fn reseal(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// The whole state with revisions and open doubts.
    async fn snapshot(&self) -> Result<Snapshot, StoreError>;

    /// The whole state, and the headers of all runs, newest first. They come from one consistent view if the store can
    /// provide one.
    async fn overview(&self) -> Result<(Snapshot, Vec<RunHeader>), StoreError> {
        Ok((self.snapshot().await?, self.runs().await?))
    }

    /// The state as a file of version 4, as `weft state pull` prints it, or `None` if there is no state yet.
    async fn export(&self) -> Result<Option<Vec<u8>>, StoreError>;

    /// The newest state that is known here, for a run whose store has failed: with the results in these steps, which the
    /// store did not take. `None` if the store has all of it where everybody finds it.
    async fn newest(&self, unrecorded: &[StoreStep]) -> Result<Option<StateFile>, StoreError> {
        let mut unrecorded = unrecorded.to_vec();
        prepare(&mut unrecorded)?;
        let writes: Vec<&Writes> =
            unrecorded.iter().filter_map(writes_of).filter(|writes| !writes.is_empty()).collect();
        if writes.is_empty() {
            return Ok(None);
        }
        let mut file = self.snapshot().await?.into_state_file();
        file.serial += 1;
        writes.into_iter().for_each(|writes| file.write(writes));
        Ok(Some(file))
    }

    /// The place of the journal of a run, for people.
    fn journal_place(&self, run: &RunId) -> String {
        let _ = run;
        self.place()
    }

    /// What failed since the last call without stopping the run.
    fn take_trouble(&self) -> Option<StoreError> {
        None
    }

    /// EDIT: changes the state outside of any run, as a whole or not at all.
    async fn edit(&self, edit: Edit) -> Result<EditAnswer, StoreError>;

    /// Stores a new run with its plan, as `stopped` and without claims.
    async fn create_run(&self, run: NewRun) -> Result<CreateAnswer, StoreError>;

    /// ACQUIRE: requests the lease of a run.
    async fn acquire(&self, request: Acquire) -> Result<AcquireAnswer, StoreError>;

    /// RENEW: increments the heartbeat.
    async fn renew(&self, lease: &Lease) -> Result<RenewAnswer, StoreError>;

    /// CLAIM: claims everything that the plan changes or reads. A run that claims again (a resumed run) gets the union,
    /// and its own claims never conflict.
    async fn claim(&self, lease: &Lease, claims: &[Claim]) -> Result<ClaimAnswer, StoreError>;

    /// Steps of many operations, in order, with one wait for durability. Each step has its own answer. A refused step
    /// does not stop the steps after it.
    async fn step_batch(&self, lease: &Lease, steps: Vec<StoreStep>) -> Result<Vec<StoreAnswer>, StoreError>;

    /// RELEASE: releases the lease.
    async fn release(&self, lease: &Lease, ending: TermEnding) -> Result<ReleaseAnswer, StoreError>;

    /// WITHDRAW: removes a run that has not begun any operation, with its claims, its lease and every record of it. For
    /// any other run, this is RELEASE at its end.
    async fn withdraw(&self, lease: &Lease) -> Result<ReleaseAnswer, StoreError>;

    /// ABANDON: open intents become doubts. Other claims and the lease are released.
    async fn abandon(&self, lease: &Lease) -> Result<ReleaseAnswer, StoreError>;

    /// Removes the plans, journals and records of finished runs that began before this moment, in milliseconds since
    /// 1970, because they may hold secrets. The state keeps what they wrote. Returns the removed runs.
    async fn prune(&self, before_unix_ms: u64) -> Result<Vec<RunId>, StoreError>;

    /// All runs in the store, newest first.
    async fn runs(&self) -> Result<Vec<RunHeader>, StoreError>;

    /// The header of one run.
    async fn header(&self, run: &RunId) -> Result<Option<RunHeader>, StoreError> {
        Ok(self.runs().await?.into_iter().find(|header| header.id == *run))
    }

    /// Declares the lost records of a frozen run lost ([`StoreError::Frozen`]), so that the run can be abandoned. Returns
    /// what was lost, or `None` if the run is not frozen.
    async fn thaw(&self, run: &RunId) -> Result<Option<String>, StoreError> {
        let _ = run;
        Ok(None)
    }

    /// One run with its operations.
    async fn run(&self, run: &RunId) -> Result<Option<RunView>, StoreError>;

    /// The plan file of a run.
    async fn plan(&self, run: &RunId) -> Result<Opaque, StoreError>;

    /// The journal of a run, oldest first.
    async fn journal(&self, run: &RunId) -> Result<Vec<JournalLine>, StoreError>;

    /// The last line of a run's journal.
    async fn tip(&self, run: &RunId) -> Result<ChainTip, StoreError>;

    /// INTENTs of several operations.
    async fn intents(&self, lease: &Lease, intents: Vec<Intent>) -> Result<Vec<StoreAnswer>, StoreError> {
        self.step_batch(lease, intents.into_iter().map(StoreStep::Intent).collect()).await
    }

    /// COMMITs of several operations.
    async fn commits(&self, lease: &Lease, commits: Vec<CommitRecord>) -> Result<Vec<StoreAnswer>, StoreError> {
        self.step_batch(lease, commits.into_iter().map(StoreStep::Commit).collect()).await
    }

    /// FAILs of several operations.
    async fn failures(&self, lease: &Lease, failures: Vec<Failure>) -> Result<Vec<StoreAnswer>, StoreError> {
        self.step_batch(lease, failures.into_iter().map(StoreStep::Fail).collect()).await
    }
}
