//! Progress reports of planning.

use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use weft_graph_format::address::{DeposedKey, ObjectName, ResourceInstance};
use weft_graph_format::shown::ShownName;
use weft_graph_format::value::Value;

/// The kind of a progress report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressStep {
    /// An object is about to be looked up by its ID and imported.
    ImportStarted,
    /// The refresh of a managed object begins.
    RefreshStarted,
    /// The refresh is done.
    RefreshDone,
    /// The read of a data source begins.
    ReadStarted,
    /// The read is done.
    ReadDone,
    /// Opening an ephemeral object begins.
    OpenStarted,
    /// The ephemeral object is open.
    OpenDone,
    /// The renewal of an ephemeral object begins.
    RenewStarted,
    /// The renewal is done.
    RenewDone,
    /// Closing an ephemeral object begins.
    CloseStarted,
    /// The ephemeral object is closed.
    CloseDone,
}

/// A progress report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgressReport {
    /// The instance.
    pub address: ResourceInstance,
    /// The key of a deposed object, or `None` for the current object.
    pub deposed: Option<DeposedKey>,
    /// The event.
    pub what: ProgressStep,
    /// The object's `id`, or else its `name`, with the name of the attribute. `None` if the object has neither
    /// attribute, or if the value is sensitive.
    pub id: Option<ShownName>,
    /// The time since the start.
    pub elapsed: Duration,
}

/// The sender of progress reports.
///
/// Planning does not wait for the receiver, so the queue is unbounded. There are only a few reports for each object,
/// and each report is far smaller than the object itself.
#[derive(Clone, Debug, Default)]
pub struct ProgressSender(Option<UnboundedSender<ProgressReport>>);

impl ProgressSender {
    /// A sender without a receiver.
    pub fn none() -> ProgressSender {
        ProgressSender(None)
    }

    /// Creates a sender and its receiver.
    pub fn new() -> (ProgressSender, UnboundedReceiver<ProgressReport>) {
        let (sender, receiver) = unbounded_channel();
        (ProgressSender(Some(sender)), receiver)
    }

    /// Reports a start. Pass the returned time to the report of the end.
    pub(crate) fn begin<'a>(&self, object: impl Into<ObjectName<'a>>, what: ProgressStep, value: &Value) -> Instant {
        self.tell(object, what, value, Duration::ZERO);
        Instant::now()
    }

    /// Reports an end.
    pub(crate) fn end<'a>(&self, object: impl Into<ObjectName<'a>>, what: ProgressStep, value: &Value, began: Instant) {
        self.tell(object, what, value, began.elapsed());
    }

    /// Reports that an object is about to be imported.
    pub(crate) fn importing(&self, address: &ResourceInstance, name: Option<ShownName>) {
        self.tell_named(address.into(), ProgressStep::ImportStarted, || name, Duration::ZERO);
    }

    pub(crate) fn tell<'a>(
        &self,
        object: impl Into<ObjectName<'a>>,
        what: ProgressStep,
        value: &Value,
        elapsed: Duration,
    ) {
        self.tell_named(object.into(), what, || ShownName::of(value), elapsed);
    }

    fn tell_named(
        &self,
        object: ObjectName<'_>,
        what: ProgressStep,
        name: impl FnOnce() -> Option<ShownName>,
        elapsed: Duration,
    ) {
        if let Some(sender) = &self.0 {
            let ObjectName { address, deposed } = object;
            let id = name();
            let look = ProgressReport { address: address.clone(), deposed: deposed.cloned(), what, id, elapsed };
            // A closed receiver does not affect the plan.
            let _ = sender.send(look);
        }
    }
}
