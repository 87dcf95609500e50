//! The context of a task: its run, its shard and the permission to make its call. The events of the task go to the desk
//! ([`crate::desk`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{mpsc, oneshot};
use weft_graph_format::digest::Digest;
use weft_graph_format::graph::OperationId;
use weft_graph_format::run::RunId;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_protocol::clock::Moment;
use weft_protocol::{SettleVerdict, Task, TaskWrites};

use crate::held::is_young;
use crate::host::Host;
use crate::outcome::{Done, TaskOutcome, shown_name};
use crate::problems::reasons::NotCalled;
use crate::results::LiveResults;
use crate::shard::Shard;
use crate::shard::ephemeral::LiveObjects;
use crate::subject::Problems;

/// An event of a task or shard.
pub(crate) enum Event {
    /// A shard was opened, or cannot be opened.
    Opened { run: RunId, shard: u32, outcome: Result<Box<Shard>, Problems> },
    /// A task is ready for its call, and asks for an intent.
    Asked { run: RunId, task: Task, planned: Digest },
    /// A task ended.
    Finished { run: RunId, task: Task, outcome: TaskOutcome },
    /// A panic ended a task.
    Broken { run: RunId, task: Task },
    /// A search for evidence ended.
    Settled { run: RunId, task: Task, verdict: SettleVerdict },
}

/// State shared by all tasks of a run.
#[derive(Debug)]
pub(crate) struct RunContext {
    pub(crate) id: RunId,
    pub(crate) live: LiveResults,
    pub(crate) objects: Arc<LiveObjects>,
    /// Whether providers were asked to end their calls early. Later errors may be a consequence of this request.
    stopping: AtomicBool,
}

impl RunContext {
    pub(crate) fn new(id: RunId) -> RunContext {
        RunContext { id, live: LiveResults::default(), objects: Arc::default(), stopping: AtomicBool::new(false) }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    pub(crate) fn set_stopping(&self, stopping: bool) {
        self.stopping.store(stopping, Ordering::Release);
    }
}

/// The permission of a task to make its call.
pub(crate) struct Permission {
    pub(crate) events: mpsc::Sender<Event>,
    pub(crate) granted: Option<oneshot::Receiver<()>>,
}

/// A task, with its context.
pub(crate) struct TaskContext {
    pub(crate) host: Arc<Host>,
    pub(crate) run: Arc<RunContext>,
    pub(crate) shard: Arc<Shard>,
    pub(crate) task: Task,
    /// Whether an earlier attempt was uncertain or failed, so that the object is read first.
    pub(crate) read_first: bool,
    pub(crate) permission: Permission,
}

impl TaskContext {
    /// The id of the operation.
    pub(crate) fn id(&self) -> OperationId {
        OperationId(self.task.operation)
    }

    /// Asks for a durable intent and waits for it. After `Ok`, the caller must make the call at once.
    ///
    /// # Errors
    /// Returns the reason why there is no permission, or why it has expired.
    pub(crate) async fn ask(&mut self, planned: Digest) -> Result<(), NotCalled> {
        let asked = Moment::now();
        let granted = self.permission.granted.take().ok_or(NotCalled::Cancelled)?;
        let question = Event::Asked { run: self.run.id.clone(), task: self.task, planned };
        self.permission.events.send(question).await.map_err(|_| NotCalled::Cancelled)?;
        granted.await.map_err(|_| NotCalled::Cancelled)?;
        // The process may have been suspended since the grant arrived.
        let waited = u64::try_from(asked.elapsed().as_millis()).unwrap_or(u64::MAX);
        if !is_young(0, waited, self.host.intent_age_ms()) {
            return Err(NotCalled::TooLate);
        }
        Ok(())
    }

    /// The result of an operation that is done. Its value is stored for readers in this shard, and encoded for other
    /// shards.
    pub(crate) fn done(&self, value: Option<&Value>, writes: TaskWrites, diagnostics: Problems) -> Done {
        let nothing = Value::null(Type::Dynamic);
        let value = value.unwrap_or(&nothing);
        let published =
            self.shard.results.publish(self.task.operation, value, &self.run.live).unwrap_or_else(|error| {
                tracing::error!(operation = self.task.operation, %error, "a result cannot be handed to its readers");
                self.shard.results.withheld(self.task.operation)
            });
        let shown = shown_name(value, &writes);
        let exports = published.exports.into_iter().map(Arc::from).collect();
        Done { writes, local: published.local.into(), exports, diagnostics, shown }
    }
}
