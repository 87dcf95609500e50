//! The store: what every kind of it can do, one method per atomic step of the run protocol.

use std::fmt;

use async_trait::async_trait;

use crate::edit::{Edit, EditAnswer};
use crate::record::Opaque;
use crate::run::{ChainTip, JournalLine, Lease, NewRun, RunHeader, RunId, RunView};
use crate::snapshot::Snapshot;
use crate::step::{
    Acquire, AcquireAnswer, Claim, ClaimAnswer, CommitRecord, CreateAnswer, Ending, Failure, Intent, ReleaseAnswer,
    RenewAnswer, StoreAnswer, StoreStep,
};

/// The store could not answer: nothing is known of the steps that were under way, and they may be sent again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The file system refused.
    #[error("{doing}: {error}")]
    Io {
        /// What was being done, with the path.
        doing: String,
        /// What the operating system said.
        error: String,
    },
    /// The state file cannot be read.
    #[error(transparent)]
    StateFile(#[from] crate::tfstate::StateFileError),
    /// It is encrypted, or should be, and cannot be opened.
    #[error("{place}: {error}")]
    Unopened {
        /// The file.
        place: String,
        /// Why.
        error: weft_sealing::OpenError,
    },
    /// It is to be encrypted, and cannot be.
    #[error("{place}: {error}")]
    Unsealed {
        /// The file.
        place: String,
        /// Why.
        error: weft_sealing::SealError,
    },
    /// Another process has the state locked.
    #[error("the state file {path} is locked by {holder}: wait for it to end, or stop it")]
    Locked {
        /// The state file.
        path: String,
        /// Who, as far as the lock file tells.
        holder: String,
    },
    /// The server cannot be reached, also after trying again.
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
        /// Its words.
        error: String,
    },
    /// A setting of the server makes it unfit to hold state.
    #[error("{0}")]
    Unfit(String),
    /// The address of the store is not one that we understand.
    #[error("{0}")]
    Address(String),
    /// What is stored is damaged: everything stops until somebody has looked.
    #[error("{place} is damaged: {what}. Nothing was changed. {way_out}")]
    Damaged {
        /// File or key.
        place: String,
        /// What is wrong with it.
        what: String,
        /// What to do.
        way_out: String,
    },
    /// Lines that had been acknowledged are gone: the server was restored or failed over. All runs freeze.
    #[error(
        "the store has lost acknowledged writes of {run} (line {sequence} is not there any more): the server was \
         restored or failed over. Nothing more is written until this is settled"
    )]
    LostWrites {
        /// The run.
        run: RunId,
        /// The last acknowledged line.
        sequence: u64,
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
    /// Another file is where the locked state file was.
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
    /// Another file is where the locked state file was, and no run had begun.
    #[error(
        "the state file {0} was replaced or removed by another program while it was locked. Nothing was written. Try again"
    )]
    NotThere(String),
    /// Nothing was ever kept under this name.
    #[error("{0} holds no state yet")]
    NoState(String),
    /// There is no such run.
    #[error("there is no run {0}")]
    NoRun(RunId),
    /// Writing failed before; the store takes no more.
    #[error("the journal takes no more records since an earlier write failed: {0}")]
    Closed(String),
    /// Something is larger than the store takes.
    #[error("{what} is {size} bytes, more than the {limit} that the store takes")]
    TooLarge {
        /// What.
        what: String,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A record that was to be written is not sound: a mistake of the caller. Nothing of the batch was written.
    #[error("the record of {name} cannot be stored: {what}")]
    Record {
        /// Instance, output or operation.
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

/// A state store with its runs. Every step checks incarnation, run and token first; it validates everything before
/// its first write; when a method returns, what it answered is durable. An `Err` says nothing about whether the steps
/// took effect: send the same again (the answers of resent steps are `Ok` with `repeated`).
#[async_trait]
pub trait RunStore: Send + Sync + fmt::Debug {
    /// Where the store is, for people, without secrets: `terraform.tfstate` or `redis://host:6379/0?state=x`.
    fn place(&self) -> String;

    /// Whether the state and what is kept of runs is encrypted.
    fn is_sealed(&self) -> bool {
        false
    }

    /// Whether the plans of runs are encrypted.
    fn seals_plans(&self) -> bool {
        self.is_sealed()
    }

    /// Writes the state anew where it is sealed otherwise than it would be now, so that it moves to encryption or away
    /// from it although nothing else changes.
    async fn reseal(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// The whole state with revisions and open doubts.
    async fn snapshot(&self) -> Result<Snapshot, StoreError>;

    /// The whole state, and the headers of all runs, newest first: both as one look finds them where the store can.
    async fn overview(&self) -> Result<(Snapshot, Vec<RunHeader>), StoreError> {
        Ok((self.snapshot().await?, self.runs().await?))
    }

    /// The state as a v4 file, as `weft state pull` prints it; `None` when there is no state yet.
    async fn export(&self) -> Result<Option<Vec<u8>>, StoreError>;

    /// EDIT: change the state outside of any run, all of it or nothing.
    async fn edit(&self, edit: Edit) -> Result<EditAnswer, StoreError>;

    /// Store a new run with its plan, `stopped` and without claims.
    async fn create_run(&self, run: NewRun) -> Result<CreateAnswer, StoreError>;

    /// ACQUIRE a run's lease.
    async fn acquire(&self, request: Acquire) -> Result<AcquireAnswer, StoreError>;

    /// RENEW: heartbeat + 1.
    async fn renew(&self, lease: &Lease) -> Result<RenewAnswer, StoreError>;

    /// CLAIM everything that the plan changes or reads. A run that claims again (resume of a failed run) gets the
    /// union; its own claims never stand in its way.
    async fn claim(&self, lease: &Lease, claims: &[Claim]) -> Result<ClaimAnswer, StoreError>;

    /// Steps of many operations, in order, with one durability wait. Each has its own answer; one that is refused
    /// does not stop those behind it.
    async fn step_batch(&self, lease: &Lease, steps: Vec<StoreStep>) -> Result<Vec<StoreAnswer>, StoreError>;

    /// RELEASE the lease.
    async fn release(&self, lease: &Lease, ending: Ending) -> Result<ReleaseAnswer, StoreError>;

    /// Takes back a run that has not begun any operation: its claims and its lease are released, and no record of it
    /// stays. Of a run that has begun some, this is RELEASE at its end.
    async fn withdraw(&self, lease: &Lease) -> Result<ReleaseAnswer, StoreError>;

    /// ABANDON: open intents become doubts, other claims and the lease are released.
    async fn abandon(&self, lease: &Lease) -> Result<ReleaseAnswer, StoreError>;

    /// Removes the plans, journals and records of finished runs that began before this moment, in milliseconds since 1970:
    /// they may hold secrets. What of them is in the state stays. Gives back the runs that are gone.
    async fn prune(&self, before_unix_ms: u64) -> Result<Vec<RunId>, StoreError>;

    /// All runs that the store knows, newest first.
    async fn runs(&self) -> Result<Vec<RunHeader>, StoreError>;

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
