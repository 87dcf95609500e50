//! The end of a task, with its diagnostics in decoded form. [`weft_protocol::TaskResult`] is the encoded form for
//! coordinators.

use std::sync::Arc;

use weft_graph_format::value::Value;
use weft_protocol::diagnostics::encode_diagnostics;
use weft_protocol::{ObjectChange, ShownName, TaskDone, TaskResult, TaskWrites};

use crate::problems::reasons::NotCalled;
use crate::subject::Problems;

/// The end of a task.
#[derive(Debug)]
pub(crate) enum TaskOutcome {
    /// The task is done.
    Done(Done),
    /// The provider returned an error, or Weft failed before any call.
    Failed {
        writes: TaskWrites,
        diagnostics: Problems,
        /// Whether a failed create returned no object, although the absence of an object is not proven.
        absence_unproven: bool,
        /// Whether there was no call because the provider could not be opened, and was not open before.
        unopened: bool,
    },
    /// The outcome is unknown.
    InDoubt { reason: String, provider_dead: bool, diagnostics: Problems },
    /// No call was made for the granted intent, and no call will be made.
    NotCalled(NotCalled),
}

/// The result of an operation that is done.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) writes: TaskWrites,
    pub(crate) local: Arc<[u8]>,
    pub(crate) exports: Vec<Arc<[u8]>>,
    pub(crate) diagnostics: Problems,
    pub(crate) shown: Option<ShownName>,
}

impl TaskOutcome {
    /// A failure that changes nothing.
    pub(crate) fn failed(diagnostics: Problems) -> TaskOutcome {
        TaskOutcome::Failed { writes: TaskWrites::default(), diagnostics, absence_unproven: false, unopened: false }
    }

    /// Marks a failure: the provider could not be opened.
    pub(crate) fn into_unopened(self) -> TaskOutcome {
        match self {
            TaskOutcome::Failed { writes, diagnostics, absence_unproven, .. } => {
                TaskOutcome::Failed { writes, diagnostics, absence_unproven, unopened: true }
            }
            other => other,
        }
    }
}

impl From<Done> for TaskDone {
    fn from(done: Done) -> TaskDone {
        TaskDone {
            writes: done.writes,
            local: done.local,
            exports: done.exports,
            diagnostics: encode_diagnostics(&done.diagnostics),
            shown: done.shown,
        }
    }
}

impl From<TaskOutcome> for TaskResult {
    fn from(outcome: TaskOutcome) -> TaskResult {
        match outcome {
            TaskOutcome::Done(done) => TaskResult::Done(done.into()),
            TaskOutcome::Failed { writes, diagnostics, absence_unproven, unopened } => {
                TaskResult::Failed { writes, diagnostics: encode_diagnostics(&diagnostics), absence_unproven, unopened }
            }
            TaskOutcome::InDoubt { reason, provider_dead, diagnostics } => {
                TaskResult::InDoubt { reason, provider_dead, diagnostics: encode_diagnostics(&diagnostics) }
            }
            TaskOutcome::NotCalled(reason) => TaskResult::NotCalled { reason: reason.to_string() },
        }
    }
}

/// What progress lines show to identify the written object: its `id`, or else its `name`. `None` if the task wrote no
/// current object, or if neither attribute is a string that may be shown.
pub(crate) fn shown_name(value: &Value, writes: &TaskWrites) -> Option<ShownName> {
    let puts =
        writes.objects.iter().any(|write| write.deposed.is_none() && matches!(write.change, ObjectChange::Put(_)));
    if !puts {
        return None;
    }
    ShownName::of(value)
}
