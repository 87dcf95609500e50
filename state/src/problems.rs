//! Errors that several stores share, as constructors.

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::operation_kind::OperationKind;

use crate::choice::{Choice, commands};
use crate::error::StoreError;
use crate::run::OpIndex;
use crate::subject::Doubt;

/// The process is ending while a store operation is in progress.
pub(crate) fn process_ending() -> StoreError {
    StoreError::Closed("the process is ending".to_owned())
}

/// A resolution has the commit or failure of another operation or attempt.
pub(crate) fn other_resolution(op: OpIndex) -> StoreError {
    StoreError::Record {
        name: format!("operation {op}"),
        what: "the resolution is for another operation or attempt".to_owned(),
    }
}

/// The address of a record does not match its parts, which make up `composed`.
pub(crate) fn other_address(address: &str, composed: &str) -> StoreError {
    StoreError::Record { name: address.to_owned(), what: format!("its parts belong to another address, {composed}") }
}

impl Doubt {
    /// The error that the outcome of the operation is unknown. Lists the commands that settle it.
    pub fn problem(&self) -> Diagnostic {
        in_doubt(&self.key.to_string(), self.run.as_str(), self.action.kind(), &self.reason)
    }
}

/// The outcome of an operation is unknown. Lists the commands that settle it. `name` is the name of the object, and
/// `reason` may be empty.
pub fn in_doubt(name: &str, run: &str, kind: Option<OperationKind>, reason: &str) -> Diagnostic {
    let because = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
    let offers = Choice::fitting(kind).iter().map(|choice| (choice.usage(), choice.meaning(kind)));
    let commands: String = commands(run, name, offers).iter().map(|line| format!("\n  {line}")).collect();
    let detail = format!(
        "The outcome of the operation on {name} is unknown{because}. Look at the real object, then record the outcome:\n  \
         weft runs settle {run}  goes through all doubts of the run, and shows what is known{commands}"
    );
    Diagnostic::error("Resource instance in doubt", detail).about(name)
}
