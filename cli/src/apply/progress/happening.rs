//! Something that happened to an operation, in this process or elsewhere.

use weft_coordinator::client::OperationEvent;
use weft_coordinator::process::worker_name;
use weft_coordinator::result::decode_diagnostics;
use weft_coordinator::{Progress, ProgressKind};
use weft_graph_format::diagnostic::Diagnostic;

/// Something that happened to an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happening {
    /// The operation's number in the plan.
    pub operation: u32,
    /// What it is about.
    pub address: String,
    /// The deposed object that it is about.
    pub deposed: Option<String>,
    /// `create`, `update`, ...
    pub action: String,
    /// As text; empty where there is none.
    pub provider_instance: String,
    /// Name of the worker.
    pub worker: String,
    /// Milliseconds since a worker got it.
    pub elapsed_ms: u64,
    /// What happened; `None` for what a later version of the protocol tells.
    pub what: Option<ProgressKind>,
    /// Errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
}

impl Happening {
    /// The object as lists of what is in doubt name it.
    pub fn subject(&self) -> String {
        match &self.deposed {
            Some(key) => format!("{} (deposed object {key})", self.address),
            None => self.address.clone(),
        }
    }
}

impl From<Progress> for Happening {
    fn from(step: Progress) -> Happening {
        Happening {
            operation: step.operation,
            address: step.address,
            deposed: step.deposed,
            action: step.action,
            provider_instance: step.provider_instance,
            worker: worker_name(&step.worker).to_owned(),
            elapsed_ms: step.elapsed_ms,
            what: Some(step.what),
            diagnostics: decode_diagnostics(&step.diagnostics),
        }
    }
}

impl From<OperationEvent> for Happening {
    fn from(event: OperationEvent) -> Happening {
        Happening {
            operation: event.operation,
            address: event.address,
            deposed: event.deposed,
            action: event.action,
            provider_instance: event.provider_instance,
            worker: event.worker,
            elapsed_ms: event.elapsed_ms,
            what: ProgressKind::of_word(&event.status, event.reason, event.intended),
            diagnostics: event.diagnostics,
        }
    }
}
