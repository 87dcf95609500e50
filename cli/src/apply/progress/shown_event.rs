//! An event of an operation, with its diagnostics decoded.

use weft_coordinator::process::worker_name;
use weft_coordinator::{OperationEvent, OperationEventKind};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::operation_kind::NamedAction;
use weft_protocol::diagnostics::decode_diagnostics;

/// An event of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownEvent {
    /// The operation's number in the plan.
    pub operation: u32,
    /// The address of the object.
    pub address: String,
    /// The key of the deposed object.
    pub deposed: Option<String>,
    /// The action of the operation.
    pub action: NamedAction,
    /// The provider instance as text; empty without one.
    pub provider_instance: String,
    /// Name of the worker.
    pub worker: String,
    /// Milliseconds since a worker received the operation.
    pub elapsed_ms: u64,
    /// The kind of event.
    pub what: OperationEventKind,
    /// Errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
}

impl ShownEvent {
    /// The name of the object in lists of doubts.
    pub fn subject(&self) -> String {
        match &self.deposed {
            Some(key) => format!("{} (deposed object {key})", self.address),
            None => self.address.clone(),
        }
    }
}

impl From<OperationEvent> for ShownEvent {
    fn from(step: OperationEvent) -> ShownEvent {
        ShownEvent {
            operation: step.operation,
            address: step.address,
            deposed: step.deposed,
            action: step.action,
            provider_instance: step.provider_instance,
            worker: worker_name(&step.worker).to_owned(),
            elapsed_ms: step.elapsed_ms,
            what: step.what,
            diagnostics: decode_diagnostics(&step.diagnostics),
        }
    }
}
