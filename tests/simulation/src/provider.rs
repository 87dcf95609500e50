//! The results that a provider of the simulation gives a worker.

use std::sync::Arc;

use weft_coordinator::{OperationKind, OutlineOperation};
use weft_graph_format::diagnostic::Diagnostic;
use weft_protocol::diagnostics::encode_diagnostics;
use weft_protocol::{ObjectChange, ObjectWrite, Task, TaskDone, TaskWrites};
use weft_state::{InstanceObject, Opaque, RawJson};

use crate::plan::TRY_AGAIN;

/// The first byte of a result for readers in the same shard. Exported results have a different first byte.
const LOCAL: u8 = 1;
pub(crate) const EXPORT: u8 = 2;

/// Whether an operation calls a provider.
pub(crate) fn needs_provider(operation: &OutlineOperation) -> bool {
    !matches!(operation.kind, OperationKind::Evaluate | OperationKind::Output)
}

/// The error of a provider that cannot be configured. It is short, so that the diary has the whole report.
pub(crate) fn unopened_because() -> Opaque {
    Opaque(vec![1])
}

/// The report of a worker about an operation that took effect.
pub(crate) fn result_of(operation: &OutlineOperation) -> TaskDone {
    let change = match operation.kind {
        OperationKind::Create | OperationKind::Update => {
            let text = format!("{{\"id\":\"{}\"}}", operation.address);
            Some(ObjectChange::Put(Box::new(InstanceObject::new(0, RawJson::new(text)))))
        }
        OperationKind::Delete => Some(ObjectChange::Remove),
        _ => None,
    };
    let objects = change.into_iter().map(|change| ObjectWrite {
        address: operation.address.parse().expect("an address"),
        provider: "provider[\"h/n/t\"]".to_owned(),
        deposed: None,
        change,
    });
    TaskDone {
        writes: TaskWrites { objects: objects.collect(), outputs: Vec::new() },
        local: Arc::from([LOCAL]),
        exports: (0..).zip(&operation.exports).map(|(export, _)| Arc::from([EXPORT, export])).collect(),
        diagnostics: Opaque::default(),
        shown: None,
    }
}

/// The error of a call. For every second task, the error says that the call was temporarily refused.
pub(crate) fn error_of(task: Task) -> Opaque {
    let is_refusal = (task.operation + task.attempt.0).is_multiple_of(2);
    let detail = if is_refusal { TRY_AGAIN } else { "it cannot be" };
    encode_diagnostics(&[Diagnostic::error("No", detail)])
}
