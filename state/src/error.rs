//! The errors of stores.

use weft_sealing::{OpenError, SealError};

use crate::remote::BackendError;
use crate::run::{RandomError, RunId};
use crate::tfstate::StateFileError;

/// Why a store could not answer. The outcome of the pending steps is unknown. These steps may be sent again.
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
    StateFile(#[from] StateFileError),
    /// The file is encrypted and cannot be decrypted, or it is not encrypted but should be.
    #[error("{place}: {error}")]
    Unopened {
        /// The file.
        place: String,
        /// The reason.
        error: OpenError,
    },
    /// The file must be encrypted, but encryption failed.
    #[error("{place}: {error}")]
    Unsealed {
        /// The file.
        place: String,
        /// The reason.
        error: SealError,
    },
    /// Another process has locked the state.
    #[error("the state {path} is locked by {holder}: wait until that process ends, or stop that process")]
    Locked {
        /// The state file, or its location in a backend.
        path: String,
        /// The holder, as far as the lock describes it.
        holder: String,
    },
    /// The server cannot be reached, even after retries.
    #[error("the store at {server} does not respond: {error}")]
    Unreachable {
        /// Host, port and database; never a password.
        server: String,
        /// What went wrong.
        error: String,
    },
    /// The server returned an error.
    #[error("the store at {server} refused a request: {error}")]
    Refused {
        /// Host, port and database.
        server: String,
        /// The message of the server.
        error: String,
    },
    /// The server responds, but refuses the connection: a certificate or a password is wrong.
    #[error("no connection to the store at {server}: {error}")]
    NoConnection {
        /// Host, port and database; never a password.
        server: String,
        /// What is wrong, and the remedy.
        error: String,
    },
    /// A setting of the server makes it unsuitable for storing state.
    #[error("{0}")]
    Unfit(String),
    /// The address of the store has a form that Weft does not know.
    #[error("{0}")]
    Address(String),
    /// The stored data is damaged. All work stops until the user has examined the damage.
    #[error("{place} is damaged: {what}. Nothing was changed. {way_out}")]
    Damaged {
        /// File or key.
        place: String,
        /// The damage.
        what: String,
        /// The remedy.
        way_out: String,
    },
    /// Acknowledged lines of a journal are lost: the server was restored or failed over. All runs are frozen.
    #[error(
        "the store has lost acknowledged writes of {run} (line {sequence} is missing): the server was \
         restored or failed over. Nothing more is written. Restore the data of the server from a backup, or look at \
         the affected runs with `weft runs list`"
    )]
    LostWrites {
        /// The run.
        run: RunId,
        /// The number of the last acknowledged line.
        sequence: u64,
    },
    /// The store was emptied or replaced while this process carried out a run.
    #[error("the store at {store} was emptied or replaced, and it has lost run {run}: {what}")]
    Emptied {
        /// The store, without secrets.
        store: String,
        /// The run.
        run: RunId,
        /// Where the results of the run are, and what to do.
        what: String,
    },
    /// Acknowledged records of a run are lost or changed, and could not be replayed. The run is frozen until the user
    /// abandons it.
    #[error(
        "the store has lost or changed acknowledged records of run {run}: {what}. The run is frozen, so that no call \
         is repeated. Check the real objects, then abandon the run with `weft runs abandon {run}` and make a new plan"
    )]
    Frozen {
        /// The run.
        run: RunId,
        /// The lost records, and the objects that they are about.
        what: String,
    },
    /// The store has the maximum number of unfinished runs.
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
    /// The state is not the one that the run began from.
    #[error(
        "the state file {path} is not the one that run {run} began from; these instances differ: {differ}. The journal \
         was neither replayed nor discarded. Restore the state file that the run began from. To keep the present state \
         file instead, set the run aside with `weft runs abandon {run}`",
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
         the new file, and nothing is lost: the journal of run {run} has every result, and {kept} has the whole state \
         at the end of the run. Look at the new file. To continue with the state of the run, copy {kept} to {path} \
         and use `weft runs resume {run}`. To keep the new file, use `weft runs abandon {run}`"
    )]
    Replaced {
        /// The state file.
        path: String,
        /// The run.
        run: RunId,
        /// The file with the state that could not be written to the original path.
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
         Find out which program changed the state. If a run was active, its journal has every result: look at `weft \
         runs list`"
    )]
    Overtaken(String),
    /// The state in Redis and its second copy do not belong together.
    #[error(
        "the state in {store} and its copy in {copy} differ: {what}. Nothing was written. To continue with the state \
         in Redis, move the copy away, and Weft writes a new copy. To continue with the copy, give the state in Redis \
         another name (`?state=NAME`), and the new state begins from the copy"
    )]
    CopyDiffers {
        /// The store, without secrets.
        store: String,
        /// The backend, without secrets.
        copy: String,
        /// The difference between the state and the copy.
        what: String,
    },
    /// A request to a backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The store has never had a state with this name.
    #[error("{0} has no state yet")]
    NoState(String),
    /// There is no such run.
    #[error("there is no run {0}: see `weft runs list`")]
    NoRun(RunId),
    /// Another process has taken over the run of this journal. The journal accepts no more writes.
    #[error("another process has taken over the run: it has begun a journal that follows {0}")]
    Superseded(String),
    /// Another process has taken over the lock.
    #[error(
        "another process has taken over the lock of {0}, because this process could not renew the lock in time. Runs \
         continue in that process"
    )]
    LockLost(String),
    /// An earlier write failed. The store accepts no more writes.
    #[error("the journal accepts no more records: {0}")]
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
    /// A record in a batch is not valid because of a mistake of the caller. Nothing in the batch was written.
    #[error("the record of {name} cannot be stored: {what}")]
    Record {
        /// The instance, output or operation.
        name: String,
        /// What is wrong with the record.
        what: String,
    },
    /// The store was opened for reading.
    #[error("the state was opened for reading only")]
    ReadOnly,
    /// The operating system provided no random bytes.
    #[error(transparent)]
    Random(#[from] RandomError),
}
