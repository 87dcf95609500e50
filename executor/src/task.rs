//! Carries out one task.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use weft_graph_format::digest::Digest;
use weft_graph_format::graph::{Operation, OperationId};
use weft_graph_format::run::RunId;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;
use weft_protocol::clock::Moment;
use weft_protocol::{Task, TaskWrites};
use weft_providers::ProviderPool;

use crate::desk::Event;
use crate::ephemeral::LiveObjects;
use crate::held::is_young;
use crate::options::WorkerOptions;
use crate::outcome::{Done, TaskOutcome, shown_name};
use crate::problems;
use crate::results::LiveResults;
use crate::shard::Shard;
use crate::subject::{Problems, has_errors};
use crate::{apply, data, provision, simple};

/// The maximum age of a granted intent, unless the coordinator sets another: a quarter of a lease of ten seconds.
const INTENT_AGE_MS: u64 = 2_500;

/// State shared by all tasks of a worker.
pub(crate) struct Host {
    pub(crate) options: WorkerOptions,
    pub(crate) pool: ProviderPool,
    /// The maximum age of a granted intent, in milliseconds.
    intent_age_ms: AtomicU64,
    /// Work that no task waits for: objects and processes that are being closed.
    closing: Mutex<JoinSet<()>>,
}

impl Host {
    pub(crate) fn new(options: WorkerOptions) -> Host {
        let pool = ProviderPool::new(options.pool.clone());
        Host { options, pool, intent_age_ms: AtomicU64::new(INTENT_AGE_MS), closing: Mutex::default() }
    }

    /// Runs something in the background. The worker waits for it before it ends.
    pub(crate) fn later(&self, closing: impl Future<Output = ()> + Send + 'static) {
        let mut set = self.closing.lock();
        while set.try_join_next().is_some() {}
        set.spawn(closing);
    }

    /// Waits for the background work.
    pub(crate) async fn closed(&self) {
        let set = std::mem::take(&mut *self.closing.lock());
        set.join_all().await;
    }

    pub(crate) fn intent_age_ms(&self) -> u64 {
        self.intent_age_ms.load(Ordering::Relaxed)
    }

    pub(crate) fn set_intent_age_ms(&self, age: u64) {
        self.intent_age_ms.store(age, Ordering::Relaxed);
    }
}

/// State shared by all tasks of a run.
#[derive(Debug)]
pub(crate) struct RunContext {
    pub(crate) id: RunId,
    pub(crate) live: LiveResults,
    pub(crate) objects: Arc<LiveObjects>,
    /// Providers were asked to end their calls early. Their errors from then on may be a consequence.
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

/// A task, with everything that it needs.
pub(crate) struct TaskContext {
    pub(crate) host: Arc<Host>,
    pub(crate) run: Arc<RunContext>,
    pub(crate) shard: Arc<Shard>,
    pub(crate) task: Task,
    /// An earlier attempt was uncertain or failed: the object is read first.
    pub(crate) read_first: bool,
    pub(crate) permission: Permission,
}

impl TaskContext {
    /// The operation.
    pub(crate) fn id(&self) -> OperationId {
        OperationId(self.task.operation)
    }

    /// Asks for a durable intent and waits for it. After `Ok` the call must follow at once.
    ///
    /// # Errors
    /// Why there is no permission, or no longer.
    pub(crate) async fn ask(&mut self, planned: Digest) -> Result<(), String> {
        let asked = Moment::now();
        let forgotten = || String::from("the task was given up");
        let granted = self.permission.granted.take().ok_or_else(forgotten)?;
        let question = Event::Asked { run: self.run.id.clone(), task: self.task, planned };
        self.permission.events.send(question).await.map_err(|_| forgotten())?;
        granted.await.map_err(|_| forgotten())?;
        // The process may have been suspended since the grant arrived.
        let waited = u64::try_from(asked.elapsed().as_millis()).unwrap_or(u64::MAX);
        if !is_young(0, waited, self.host.intent_age_ms()) {
            return Err(String::from("the intent was granted too late"));
        }
        Ok(())
    }

    /// The result of an operation that is done. Its value is kept for readers here and encoded for the others.
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

/// Carries out a task.
pub(crate) async fn run_task(mut context: TaskContext) -> TaskOutcome {
    let shard = context.shard.clone();
    let id = context.id();
    let Some(operation) = shard.operation(id) else { return TaskOutcome::failed(vec![problems::not_here(id)]) };
    let outcome = match operation {
        Operation::Apply { .. } => return apply::apply(&mut context).await,
        Operation::Provision { .. } => return provision::provision(&mut context).await,
        Operation::ReadData { .. } => data::read(&context).await,
        Operation::Evaluate { .. } => simple::evaluate(&context).await,
        Operation::Output { .. } => simple::output(&context).await,
        Operation::Check { .. } => simple::check(&context).await,
        Operation::Depose { .. } | Operation::Forget { .. } | Operation::Record { .. } => simple::record(&context),
        Operation::OpenProvider { .. }
        | Operation::CloseProvider { .. }
        | Operation::PriorState { .. }
        | Operation::Desired { .. }
        | Operation::FinalPlan { .. }
        | Operation::OpenEphemeral { .. }
        | Operation::CloseEphemeral { .. }
        | Operation::EvaluateLive { .. } => Err(vec![problems::not_a_task(id)]),
    };
    match outcome {
        Ok(done) if has_errors(&done.diagnostics) => TaskOutcome::failed(done.diagnostics),
        Ok(done) => TaskOutcome::Done(done),
        Err(problems) => TaskOutcome::failed(problems),
    }
}
